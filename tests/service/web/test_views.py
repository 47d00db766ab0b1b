"""A collection of several views, from the command line to the API and the page."""

import re

import pytest

from lookalike import Collection
from lookalike.service.client import Client
from lookalike.service.web.app import make_app
from tests.gates import OPEN
from tests.service.web.inside import Inside
from tests.service.web.served import served

VIEWS = ("--feature", "views", "--set", "views=colour,lbp", "--set", "components=4")
QUICK = {"steps": 300, "landmarks": 32}


@pytest.fixture(scope="module")
def place(tmp_path_factory, photos, run):
    """A collection of two views that learned from folders by OMKS."""
    made = tmp_path_factory.mktemp("views") / "store"
    told = run("index", photos, "-c", made, *VIEWS, "--json")
    assert told.code == 0
    assert [one["name"] for one in told.json["rankers"]] == ["views"]
    return made


@pytest.fixture(scope="module")
def taught(place):
    with Collection.open(place, gate=OPEN) as store:
        learned = store.learn(folders=True, method="omks", settings=QUICK).similarity
    assert learned.published, learned.reason
    return place


@pytest.fixture
def client(taught):
    with Collection.open(taught) as opened:
        inside = Inside(make_app(opened))
        inside.headers["X-Lookalike-Client"] = "1"
        yield inside
        inside.close()


class TestCommandLine:
    def test_search_by_views(self, place, photos, run):
        told = run("search", photos / "red" / "0.png", "-c", place, "--by", "views", "--json")
        assert told.code == 0
        assert len(told.json["matches"]) > 5

    def test_indexing_again_goes_on(self, place, photos, run):
        told = run("index", photos, "-c", place, *VIEWS, "--json").json
        assert (told["added"], told["known"]) == (0, 27)

    def test_learning_shows_the_weights(self, taught, run):
        learn = ("learn", "-c", taught, "--method", "omks")
        learn += tuple(word for pair in QUICK.items() for word in ("--set", "{}={}".format(*pair)))
        told = run(*learn, "--json").json
        assert list(told["views"]) == ["colour", "lbp"]
        assert sum(told["views"].values()) == pytest.approx(1)
        shown = run(*learn).out
        assert re.search(r"view +weight", shown)
        assert re.search(r"colour +\d+\.\d %", shown)

    def test_an_unknown_view_is_refused_with_the_choices(self, photos, tmp_path, run):
        asked = ("index", photos, "-c", tmp_path / "s", "--feature", "views")
        ran = run(*asked, "--set", "views=colour,smell")
        assert ran.code == 1
        assert "no view 'smell'. Choose from colour, edges," in ran.err
        assert not (tmp_path / "s").exists()

    def test_too_few_pictures_leave_no_collection(self, photos, tmp_path, run):
        ran = run("index", photos, "-c", tmp_path / "s", "--feature", "views")
        assert ran.code == 1
        assert "below the number of training pictures, 27; got 50" in ran.err
        assert not (tmp_path / "s").exists()


class TestPage:
    def test_weights_are_bars(self, client):
        weights = client.get("/api/views").json()
        page = client.get("/learned").text
        card = page[page.index("<h3>Views</h3>") :]
        names = re.findall(r'figure-name">(\w+)<', card)
        widths = [float(width) for width in re.findall(r'<rect width="([\d.]+)"', card)]
        assert names == list(weights)
        assert widths == pytest.approx([100 * share for share in weights.values()], abs=0.06)
        assert "before a similarity is learned" not in card

    def test_reasons_have_a_bar_for_each_view(self, client):
        parts = client.get("/api/reasons?like=1&picture=2").json()["views"]
        assert sum(map(abs, parts.values())) == pytest.approx(1)
        told = client.get("/part/reasons?like=1&picture=2").text
        assert "<h3>By view</h3>" in told
        assert re.findall(r'figure-name">(\w+)<', told) == list(parts)
        widths = [float(width) for width in re.findall(r'<rect width="(-?[\d.]+)"', told)]
        assert widths == pytest.approx([100 * abs(part) for part in parts.values()], abs=0.06)
        assert told.count('class="figure before"') == sum(part < 0 for part in parts.values())

    def test_one_view_shows_none(self, learned):
        with Collection.open(learned) as opened:
            inside = Inside(make_app(opened))
            assert inside.get("/api/views").json() == {}
            assert inside.get("/api/reasons?like=1&picture=2").json()["views"] == {}
            assert "<h3>Views</h3>" not in inside.get("/learned").text
            assert "By view" not in inside.get("/part/reasons?like=1&picture=2").text
            inside.close()

    def test_an_unknown_ranker_is_refused(self, client):
        answer = client.get("/api/views?by=dreams")
        assert answer.status_code in (400, 404, 422)
        assert "views" in answer.text


def test_the_client_has_them(taught):
    with (
        Collection.open(taught) as opened,
        served(opened) as http,
        Client(str(http.base_url)) as client,
    ):
        assert client.view_weights() == opened.models.view_weights()
