"""Raters on the page, and the results by command."""

import re

import pytest

from lookalike import Collection
from tests.service.web.served import served


@pytest.fixture
def store(tmp_path, pictures, model, run):
    assert run("index", pictures, "-c", tmp_path / "store", "--model", model).code == 0
    with Collection.open(tmp_path / "store") as opened:
        yield opened


def fields(page):
    form = page.partition('id="judge"')[2].partition("</form>")[0]
    found = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    return {name: [value for key, value in found if key == name] for name, _ in found}


def test_a_rater_rates_by_the_page_and_the_results_are_shown(store, run, tmp_path):
    with served(store) as client:
        start = client.get("/judge?k=2&queries=2").text
        assert 'name="rater"' in start
        page = client.get("/judge?k=2&queries=2&rater=Ada").text
        for number in (1, 2):
            assert f"{number} of 2" in page
            given = fields(page)
            marked = given["relevant"][:1]
            assert "learned" not in page.partition('id="judge"')[2].partition("</form>")[0]
            page = client.post("/part/judge", data={**given, "relevant": marked}).text
        assert "You have rated every picture. Thank you, Ada" in page
        again = client.post("/part/judge", data={**given, "shown": ["1"], "relevant": []})
        assert again.status_code >= 400
    assert [one.kind for one in store.log.history(3)][:2] == ["rating", "rating"]
    store.close()
    out = tmp_path / "out"
    ran = run("judge", tmp_path / "store", "--results", "--out", out, "--json")
    assert ran.json["raters"] == {"Ada": 2}
    assert len(ran.json["precision"]["learned"]["mean"]) == 2
    assert {path.name for path in out.iterdir()} == {"figure-3b.png", "figure-3b.csv"}
    assert "no κ" in run("judge", tmp_path / "store", "--results").out


def test_judging_needs_ratings_and_what_it_compares_with(store, run, tmp_path):
    store.close()
    ran = run("judge", tmp_path / "store", "--results")
    assert (ran.code, "nobody has compared" in ran.err) == (1, True)
    ran = run("judge", tmp_path / "store", "--against", "nothing")
    assert (ran.code, "nothing" in ran.err) == (1, True)
    ran = run("judge", tmp_path / "store", "--out", tmp_path)
    assert (ran.code, "--results" in ran.err) == (1, True)
    ran = run("judge", tmp_path / "store", "--against", "other", "--results")
    assert f"lookalike judge {tmp_path / 'store'} --against other" in " ".join(ran.err.split())
