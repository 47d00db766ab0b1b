"""Collections with several rankers: the API, the client and the page."""

import re

import pytest

from lookalike import Collection
from lookalike.core.errors import InvalidInput
from lookalike.service.client import Client
from lookalike.service.web.app import make_app
from lookalike.similarity import OASIS, SIMILARITIES
from tests.gates import OPEN
from tests.service.web.inside import Inside
from tests.service.web.served import job_over, png, served

NAMES = ["embedding", "brightness"]
CHOICES = "Choose one of embedding, brightness."


@pytest.fixture
def store(two):
    with Collection.open(two, gate=OPEN) as opened:
        yield opened


@pytest.fixture
def client(store):
    inside = Inside(make_app(store))
    inside.headers["X-Lookalike-Client"] = "1"
    yield inside
    inside.close()


@pytest.fixture
def alone(learned):
    """A client of a collection with one ranker."""
    with Collection.open(learned) as opened:
        inside = Inside(make_app(opened))
        yield inside
        inside.close()


def got(answer, status=200):
    assert answer.status_code == status, answer.text
    return answer.json()


def found(client, path):
    return [match["id"] for match in got(client.get(path))["matches"]]


def links(page):
    return re.findall(r'(?:href|hx-get|hx-post)="([^"]+)"', page.replace("&amp;", "&"))


def test_rankers_are_listed(client):
    told = got(client.get("/api/rankers"))
    assert [one["name"] for one in told] == NAMES
    assert told[1] == {
        **{"name": "brightness", "feature": "brightness", "method": "cosine", "ready": True},
        **{"pictures": 27, "undescribed": 0, "trouble": "", "codes": None},
    }
    assert got(client.get("/api/status"))["rankers"] == told


def test_answers_are_those_of_the_ranker(client, store):
    first = found(client, "/api/search?like=1")
    second = found(client, "/api/search?like=1&by=brightness")
    assert first == found(client, "/api/search?like=1&by=embedding")
    assert sorted(first) == sorted(second)
    assert first != second
    page = got(client.get("/api/search?like=1&by=brightness&k=5"))
    assert "by=brightness" in page["next"]
    assert found(client, page["next"]) == second[5:10]
    store.label(2, "odd")
    for path in ("reasons?like=1&picture=2", "suggestions/1?k=3", "standing?"):
        assert got(client.get(f"/api/{path}&by=brightness"))
    assert client.get("/api/export?by=brightness").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        *["search?like=1", "search?word=red", "reasons?like=1&picture=2", "suggestions/1?k=3"],
        *["standing?", "export?"],
    ],
)
def test_an_unknown_ranker_lists_the_choices(client, path):
    answer = client.get(f"/api/{path}&by=dreams")
    assert CHOICES in got(answer, 400)["error"]
    assert client.get(f"/api/{path}&by={'x' * 65}").status_code == 422


def test_a_vote_returns_the_standing_of_a_ranker(client, store):
    vote = {"like": [1], "picked": [9], "rejected": [2]}
    assert CHOICES in got(client.post("/api/votes", json={**vote, "by": "dreams"}), 400)["error"]
    assert "vote" not in {event.kind for event in store.log.history()}
    for by in (None, "brightness"):
        said = got(client.post("/api/votes", json={**vote, "by": by}))
        assert said["standing"] == got(client.get("/api/standing", params={"by": by} if by else {}))
    number = said["event"]["number"]
    assert CHOICES in got(client.post("/api/undo", json={"event": number, "by": "x"}), 400)["error"]
    assert got(client.post("/api/undo", json={"event": number, "by": "brightness"}))["standing"]
    assert CHOICES in got(client.post("/api/reset", json={"by": "dreams"}), 400)["error"]


def test_a_learning_job_takes_method_ranker_and_settings(client, store):
    wanted = {"kind": "learn", "folders": True}
    for wrong, words in (
        ({"method": "magic"}, "no similarity 'magic'. Choose one of oasis"),
        ({"feature": "dreams"}, CHOICES),
        ({"settings": {"magic": 1}}, "no setting 'magic'"),
        ({"words": "magic"}, "words must be one of auto, wsabie,"),
    ):
        assert words in got(client.post("/api/jobs", json={**wanted, **wrong}), 400)["error"]
    settings = {"aggressiveness": 0.05}
    asked = {**wanted, "feature": "brightness", "words": "linear", "settings": settings}
    job = job_over(client, got(client.post("/api/jobs", json=asked), 202))
    assert job["state"] == "done", job
    made = [model for model in store.models.all() if model.ranker == "brightness"]
    assert made[0].settings["aggressiveness"] == 0.05
    assert made[1].method == job["result"]["words"]["method"] == "linear"
    told = got(client.get("/api/models"))
    assert {model["ranker"] for model in told} == set(NAMES)
    assert {"oasis", "linear"} <= {model["method"] for model in told}


def test_the_python_client_names_rankers(store):
    with served(store) as server, Client(str(server.base_url)) as client:
        chosen = client.set_default_ranker("brightness")
        assert [one.name for one in client.rankers()] == NAMES[::-1]
        assert client.undo(chosen.number).event.kind == "undo"
        assert [one.name for one in client.rankers()] == NAMES
        by = {"by": "brightness"}
        ids = [match.id for match in client.search(1, **by)]
        assert ids == found(server, "/api/search?like=1&by=brightness&k=10")
        assert client.search_file(store.pictures.get(1).places[0], **by)
        assert client.reasons(1, picture=ids[0], **by)
        assert client.suggestions(1, **by) is not None
        assert client.vote(1, picked=[ids[3]], **by).standing == client.standing(**by)
        job = client.learn(folders=True, feature="brightness", settings={"aggressiveness": 0.2})
        assert job.state == "done"
        with pytest.raises(InvalidInput, match=CHOICES):
            client.search(1, by="dreams")


def test_the_page_offers_a_choice_where_there_is_one(client, alone):
    assert "Search by <select" not in alone.get("/search?like=1").text
    page = client.get("/search?like=1").text
    assert '<option value="" selected>Content</option>' in page
    assert '<option value="brightness">brightness</option>' in page
    chosen = client.get("/search?like=1&by=brightness").text
    assert '<option value="brightness" selected>brightness</option>' in chosen
    assert "Search by <select" not in client.get("/search?word=red&by=brightness").text


def test_links_carry_the_ranker(client, set_limits):
    set_limits(page=5)
    for path in ("/search?like=1", "/search?word=red", "/", "/picture/1?like=2&at=3", "/learned"):
        sign = "&" if "?" in path else "?"
        page = client.get(f"{path}{sign}by=brightness").text
        carrying = "/(search[?]|part/.*[?]|part/tags|learned|picture/.*at)"
        kept = [link for link in links(page) if re.match(carrying, link)]
        assert len(kept) > 1, path
        if path != "/learned":
            assert [link for link in kept if "by=brightness" not in link] == [], path
            assert '<input type="hidden" name="by" value="brightness">' in page
        plain = client.get(path).text
        assert [link for link in links(plain) if "by=" in link and "/learned?" not in link] == []
    assert "offset=5" in " ".join(links(client.get("/search?like=1&by=brightness").text))


def test_parts_of_the_page_use_the_ranker(client, store):
    def order(text):
        return [int(number) for number in re.findall(r'data-id="(\d+)"', text)]

    by = {"like": "1", "by": "brightness"}
    answer = client.get("/part/matches", params=by)
    assert "by=brightness" in answer.headers["HX-Replace-Url"]
    assert order(answer.text)[:10] == found(client, "/api/search?like=1&by=brightness&k=10")
    assert "by=" not in client.get("/part/matches?like=1&by=").headers["HX-Replace-Url"]
    vote = {**by, "picture": "9", "verdict": "1"}
    voted = client.post("/part/votes", data=vote)
    assert order(voted.text)[:10] == found(client, "/api/search?like=1&by=brightness&k=10")
    assert client.get("/part/reasons", params={**by, "picture": "2"}).status_code == 200
    assert client.get("/part/reasons?like=1&picture=2&by=dreams").status_code == 400
    assert client.get("/part/suggestions/1?by=brightness").status_code == 200
    for path in ("reset", "rollback"):
        told = client.post(f"/part/{path}?by=brightness")
        assert told.status_code == 200
        assert "about <b>brightness</b>" in told.text
    assert client.get("/part/learned?by=dreams").status_code == 400


def test_an_unknown_ranker_on_the_page_is_named(client):
    for path in ("/search?like=1&by=dreams", "/learned?by=dreams", "/picture/1?by=dreams"):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert answer.status_code == 400
        assert CHOICES in answer.text


def test_the_page_about_learning_is_about_a_ranker(client, alone, store):
    assert "Ways to search" not in alone.get("/learned").text
    page = client.get("/learned").text
    assert "Ways to search" in page
    assert "Added the feature brightness" in page
    assert "about <b>Content</b>" in page
    assert '{"kind": "learn"}' in page.replace("&#34;", '"')
    other = client.get("/learned?by=brightness").text.replace("&#34;", '"')
    assert '{"feature": "brightness", "kind": "learn"}' in other
    assert "nothing yet" in other


def test_a_ranker_becomes_the_default_one(client, store):
    page = client.get("/learned").text
    assert 'data-default-ranker="brightness"' in page
    assert 'data-default-ranker="embedding"' not in page
    other = found(client, "/api/search?like=1&by=brightness")
    event = got(client.post("/api/rankers/brightness/default"))
    assert (event["kind"], event["can_undo"]) == ("default_ranker", True)
    assert [one["name"] for one in got(client.get("/api/rankers"))] == NAMES[::-1]
    assert found(client, "/api/search?like=1") == other
    assert 'data-default-ranker="embedding"' in client.get("/learned").text
    assert '<option value="" selected>brightness</option>' in client.get("/search?like=1").text
    got(client.post("/api/undo", json={"event": event["number"]}))
    assert [one["name"] for one in got(client.get("/api/rankers"))] == NAMES
    told = got(client.post("/api/rankers/none/default"), 400)
    assert "no ranker 'none'" in told["error"]


def test_a_word_is_found_by_a_ranker_that_knows_it(client, store):
    page = client.get("/search?word=red&by=brightness").text
    assert page.count('class="tile') >= 9


def test_a_ranker_in_trouble_is_told_and_others_go_on(client, store, without_brightness, two):
    store.close()
    without_brightness()
    with Collection.open(two) as again:
        inside = Inside(make_app(again))
        inside.headers["X-Lookalike-Client"] = "1"
        try:
            page = inside.get("/learned").text
            assert "cannot be used" in page
            assert "is not installed. Install it" in page
            assert "Search by <select" not in inside.get("/search?like=1").text
            told = got(inside.get("/api/rankers"))[1]
            assert (told["ready"], "not installed" in told["trouble"]) == (False, True)
            wrong = got(inside.get("/api/search?like=1&by=brightness"), 409)
            assert "not installed" in wrong["error"]
            shown = inside.get("/search?like=1&by=brightness")
            assert "The feature &#39;brightness&#39;" in shown.text
            assert "<option selected disabled>brightness</option>" in shown.text
            assert '<option value="">Content</option>' in shown.text
            assert got(inside.post("/api/queries", content=png()))["token"]
            assert len(found(inside, "/api/search?like=1")) == 26
        finally:
            inside.close()


def test_a_similarity_that_is_gone(two, monkeypatch):
    class Mine(OASIS):
        name = "mine"

    SIMILARITIES.register(Mine)
    with Collection.open(two, gate=OPEN) as store:
        assert store.learn(method="mine").similarity.published
        assert store.models.rankers()[0].method == "mine"
    monkeypatch.delitem(SIMILARITIES._here, "mine")
    with Collection.open(two) as store:
        first, second = store.models.rankers()
        assert "the similarity 'mine'" in first.trouble
        assert (first.ready, second.ready) == (False, True)
        inside = Inside(make_app(store))
        try:
            page = inside.get("/learned").text
            assert "The similarity &#39;mine&#39;" in page
            assert "about <b>brightness</b>" in page
        finally:
            inside.close()


def test_the_first_ranker_in_trouble(tmp_path, photos, model, run, known_brightness, monkeypatch):
    from lookalike.features import FEATURES

    place = tmp_path / "s"
    features = ("--feature", "brightness", "--feature", "embedding", "--model", model)
    assert run("index", photos, "-c", place, *features).code == 0
    monkeypatch.delitem(FEATURES._here, "brightness")
    with Collection.open(place) as store:
        inside = Inside(make_app(store))
        inside.headers["X-Lookalike-Client"] = "1"
        try:
            page = inside.get("/search?like=1").text
            assert page.count('class="tile') == 26
            assert any("by=embedding" in link for link in links(page))
            said = inside.post("/api/votes", json={"like": [1], "picked": [5]})
            assert got(said)["standing"]["votes"] == 1
            assert "about <b>Content</b>" in inside.get("/learned").text
        finally:
            inside.close()
