"""A collection without pictures, uploads with names, and figures that are worth showing."""

import re

import pytest

from lookalike import Collection
from lookalike.service.web.app import make_app
from lookalike.service.web.jobs.jobs import figures, outcome
from tests.service.pictures import draw
from tests.service.web.inside import Inside
from tests.service.web.served import job_over, png


def test_an_empty_collection_asks_for_a_folder_and_imports_it(tmp_path):
    from lookalike.service.web.settings import Settings

    draw(tmp_path / "home" / "photos" / "a.png", (200, 0, 0), 1)
    Collection.create(tmp_path / "store").close()
    with Collection.open(tmp_path / "store") as store:
        client = Inside(make_app(store, Settings(allow=(tmp_path / "home",))))
        client.headers["X-Lookalike-Client"] = "1"
        page = client.get("/").text
        assert "No pictures yet" in page
        assert 'id="import"' in page
        assert "Rescan" not in page
        folder = {"kind": "import", "folder": str(tmp_path / "home" / "photos")}
        job = client.post("/api/jobs", json=folder).json()
        assert job_over(client, job)["message"] == "1 added."
        assert "1 picture" in re.sub("<[^>]+>", "", client.get("/").text)
        client.close()


def test_uploads_keep_their_names(served, indexed):
    client = served()

    def upload(name, seed):
        answer = client.post("/api/pictures", params={"name": name}, content=png(seed=seed))
        assert answer.status_code == 201
        return answer.json()["picture"]["path"].rpartition("/")

    for place, (name, kept) in enumerate(
        [
            ("Straße \u00e4.PNG", "Straße ä.PNG"),
            ("a\u0308.jpg", "ä.jpg.png"),
            ("Straße ä.PNG", "Straße ä 2.PNG"),
            ("../../etc/passwd", "passwd.png"),
            ("C:\\\\pictures\\\\cat.png", "cat.png"),
            ("two\nlines.png", "two\ufffdlines.png"),
            ("x" * 255, "x" * 200 + ".png"),
            (".hidden.png", "hidden.png"),
        ]
    ):
        folder, _, path = upload(name, 100 + place)
        assert path == kept, name
        assert folder == str(indexed / "uploads")
    for place, name in enumerate(["", "..", "/", "."]):
        assert re.fullmatch("[0-9a-f]{64}.png", upload(name, 200 + place)[2])
    found = client.get("/api/search", params={"word": "straße"}).json()
    assert found["counts"]["named"] == 2


def test_the_best_matches_only(served):
    client = served()
    whole = client.get("/api/search?like=1&k=50").json()["matches"]
    cut = client.get("/api/search?like=1&k=2&most=3").json()
    assert [one["id"] for one in cut["matches"]] == [one["id"] for one in whole[:2]]
    rest = client.get(cut["next"]).json()
    assert ([one["id"] for one in rest["matches"]], rest["next"]) == ([whole[2]["id"]], None)
    assert client.get("/api/search?like=1&k=2&most=3&offset=3").json()["matches"] == []


def test_counts_and_parts_are_the_same_for_all(served, run, indexed):
    from lookalike.service.client import Client

    client = served()
    store = client.app.state.collection
    store.label(2, "gem")
    answer = client.get("/api/search?word=gem").json()
    first, *others = answer["matches"]
    assert (first["id"], first["source"]) == (2, "given")
    assert {one["source"] for one in others} == {"learned"}
    probable = answer["counts"]["probable"]
    assert probable >= len(others) > 0
    counts = {"tagged": 1, "named": 0, "probable": probable, "terms": ["gem"], "unknown": []}
    assert answer["counts"].items() >= counts.items()
    told = run("search", "--word", "gem", "-c", indexed, "--json").json
    assert told["counts"] == answer["counts"]
    assert [match["id"] for match in told["matches"]] == [2, *(one["id"] for one in others)]
    assert client.get("/api/search?like=1").json()["counts"] is None
    assert hasattr(Client, "count_word")


def test_scores_are_shown_from_0_to_1(served, stand_in):
    client = served()
    store = client.app.state.collection
    real = type(store).search
    from dataclasses import replace

    def above(self, *given, **more):
        found = real(self, *given, **more)
        return [replace(one, score=1.3 - 0.4 * place) for place, one in enumerate(found)]

    stand_in(type(store), search=above)
    page = client.get("/search?like=1").text
    shown = [float(one) for one in re.findall(r'class="score"[^>]*>([^<]+)<', page)]
    assert shown == [1.0, 0.9, 0.5, 0.1, 0.0]


@pytest.mark.parametrize(("queries", "percent"), [(29, False), (30, True)])
def test_figures_of_few_pictures_are_no_percentages(queries, percent):
    from lookalike.service.web.pages.routes import templates

    macro = templates.env.get_template("macros.html").module.compared
    text = str(macro("First match correct", 0.5, 0.75, queries))
    assert ("75.0 %" in text) is percent
    assert ("Too few test pictures for a figure." in text) is not percent
    assert ("Better so far" in text) is not percent


def test_what_learning_came_to_in_a_few_words():
    from lookalike.collection import Figures, Gain, Learned, Trial
    from lookalike.core.evidence import Difference

    seen = Figures(0.5, 0.5, 0.5, 9)
    words = Trial(Figures(0.4, 0.5, 0.5, 9), seen, True, "…", 9, 3, 2, 1)
    gain = Gain(Difference(0.012, 0.01), Difference(-0.002, 0.004), 209)
    likeness = Trial(seen, seen, False, "…", 9, 3, 2, None, gain=gain)
    learned = Learned(likeness, words)
    assert outcome(learned) == (
        "Words: better on 9 test pictures; now in use. "
        "Similarity: no clear improvement on 209 test pictures; nothing changed."
    )
    assert figures(learned) == (
        "Words: mAP +0.100, P@1 +0.000, judged by 9 pictures. "
        "Similarity: mAP +0.012 ± 0.010, P@1 -0.002 ± 0.004, judged by 209 pictures."
    )
    failed = Learned(Trial.failed("Give more labels.", 1, 1), None)
    assert outcome(failed) == "Similarity: nothing learned. Give more labels."
