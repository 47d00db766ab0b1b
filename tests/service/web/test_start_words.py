"""Start words on the page and in the API: typed, found, suggested, and told apart."""

import re

import pytest

from lookalike import Collection
from lookalike.collection import Ask
from lookalike.service.web.app import make_app
from tests.collection.colours import Shades, album
from tests.gates import OPEN
from tests.service.web.inside import Inside


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    album(folder / "photos", 4)
    with Collection.create(folder / "store", features=[Shades()], gate=OPEN) as made:
        made.add([folder / "photos"])
        yield made


@pytest.fixture
def client(fresh):
    inside = Inside(make_app(fresh))
    inside.headers["X-Lookalike-Token"] = inside.app.state.token
    yield inside
    inside.close()


def typed(client, text):
    return re.findall(r'data-word="([^"]*)"', client.get(f"/part/words?start={text}").text)


def test_the_search_box_offers_start_words_after_tags(client, fresh):
    assert typed(client, "")[:4] == ["nature", "crimson", "lawn", "sky"]
    assert typed(client, "S") == ["sky", "crimson", "photos"]
    assert "about 4" in client.get("/part/words?start=sky").text
    fresh.label(1, "seaside")
    said = fresh.label(1, "SKY")
    try:
        assert typed(client, "s") == ["SKY", "seaside", "crimson", "photos"]
    finally:
        for event in (said.number, said.number - 1):
            fresh.undo(event)


def test_a_start_word_finds_pictures_and_says_so(client, fresh):
    page = client.get("/search?word=sky").text
    sure = [f"{100 * match.score:.0f} %" for match in fresh.search_word("sky", 60)]
    assert re.findall(r'title="How probable it is that this fits">([^<]*)<', page) == sure
    found = [int(n) for n in re.findall(r'href="/picture/(\d+)', page)]
    assert list(dict.fromkeys(found)) == [match.id for match in fresh.search_word("sky", 60)]
    assert "start word" not in client.get("/search?word=nowhere").text
    near = client.get("/search?word=cr1ms0n").text
    assert 'href="/search?word=crimson"' in near


def test_suggestions_of_a_picture_say_so(client, fresh):
    picture = fresh.search_word("sky", 1)[0].id
    part = client.get(f"/part/suggestions/{picture}").text
    assert part.index(">sky") < part.index(">nature")
    assert "built-in word" in part
    sure = [f"{100 * one.confidence:.0f} %" for one in fresh.suggest(picture)]
    assert re.findall(r'title="Confidence of the built-in word">([^<]*)<', part) == sure


def test_the_api_tells_words_and_sources(client):
    words = client.get("/api/words?start=s&k=1").json()
    assert words == [{"word": "sky", "pictures": 4, "source": "start"}]
    matches = client.get("/api/search?word=skies&k=3").json()["matches"]
    assert [match["source"] for match in matches] == ["start"] * 3
    assert all(0 < match["score"] <= 1 for match in matches)
    like = client.get(f"/api/search?like={matches[0]['id']}").json()["matches"]
    assert {match["source"] for match in like} == {None}
    suggested = client.get(f"/api/suggestions/{matches[0]['id']}").json()["suggestions"]
    assert [(one["word"], one["source"]) for one in suggested] == [
        ("sky", "start"),
        ("nature", "start"),
    ]
    odd = client.get("/api/search?word=sky%00").json()
    assert odd["matches"] == client.get("/api/search?word=sky").json()["matches"]
    unknown = client.get("/api/search?word=cr1ms0n").json()
    assert (unknown["matches"], unknown["counts"]["unknown"]) == ([], ["cr1ms0n"])


def test_a_word_that_suits_no_picture_says_so(client, fresh, stand_in):
    stand_in(Collection, search_word=lambda *given, **more: [])
    assert "tagged or named “sky”, and none seems to show it" in client.get("/search?word=sky").text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("bratislava", "No picture is tagged or named “bratislava”", "Tag some pictures with it"),
        ("label:nowhere", "No pictures match the filters of “label:nowhere”", ""),
        ("-", "There is nothing to look for in “-”", ""),
        ("   ", "What are you looking for?", ""),
    ],
)
def test_the_page_says_why_nothing_is_found(client, text, message, hint):
    page = client.get("/search", params={"word": text}).text
    assert message in page
    assert hint in page
    assert ("Tag some pictures" in page) == bool(hint)
    assert "Did you mean" not in page


def test_pictures_and_words_together_by_the_api_and_on_the_page(client, fresh):
    number = fresh.search_word("sky", 1)[0].id
    address = f"/search?like={number}&word=crimson+-lawn&weight=0.75"
    answer = client.get(f"/api{address}").json()
    found = [match["id"] for match in answer["matches"]]
    like = Ask((number,))
    assert found == [m.id for m in fresh.search(like, 50, words="crimson -lawn", weight=0.75)]
    assert [one["without"] for one in answer["counts"]["readings"]] == [False, True]
    page = client.get(address).text
    assert [
        int(n) for n in re.findall(r'<figure class="tile result[^>]*data-id="(\d+)"', page)
    ] == found
    assert 'value="crimson -lawn"' in page
    assert "More like this" in page
