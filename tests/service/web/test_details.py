"""Captions, cameras, lenses and places over the API, by the client, and on the page."""

import pytest

from lookalike.collection import Collection, Filter
from lookalike.service.client import Client
from tests.collection.colours import Colours
from tests.gates import OPEN
from tests.images.test_details import described, packet
from tests.service.pictures import draw
from tests.service.web.served import served

EVIL = "&lt;script&gt;alert(1)&lt;/script&gt; on the beach"
FILES = {
    "vienna": (EVIL, "Canon", "Canon EOS 5D", "EF 50mm", ("48,12.5N", "16,22.0E")),
    "linz": ("A ship", "Apple", "iPhone <12>", "", ("48,18.4N", "14,17.1E")),
    "cape": ("", "", "", "", ("33,54.0S", "18,24.0E")),
    "nowhere": ("", "", "", "", None),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("details")
    for number, (name, (caption, make, model, lens, place)) in enumerate(FILES.items()):
        draw(home / "photos" / f"{name}.png", (50 * number, 90, 200), number)
        model = model.replace("<", "&lt;").replace(">", "&gt;")
        said = {"tiff_Make": make, "tiff_Model": model, "aux_Lens": lens}
        if place is not None:
            said |= dict(zip(("exif_GPSLatitude", "exif_GPSLongitude"), place, strict=True))
        (home / "photos" / f"{name}.png.xmp").write_bytes(packet(described(caption), **said))
    with Collection.create(home / "store", features=[Colours()], gate=OPEN) as made:
        made.add([home / "photos"])
        yield made


@pytest.fixture(scope="module")
def http(store):
    with served(store) as made:
        yield made


@pytest.fixture(scope="module")
def numbers(store):
    return {row.places[0].stem: row.id for row in store.pictures.all()}


def test_json_has_them(http, numbers):
    picture = http.get(f"/api/pictures/{numbers['vienna']}").json()
    assert picture["caption"] == "<script>alert(1)</script> on the beach"
    assert (picture["camera"], picture["lens"]) == ("Canon EOS 5D", "EF 50mm")
    assert (picture["latitude"], picture["longitude"]) == (48.208333, 16.366667)
    other = http.get(f"/api/pictures/{numbers['nowhere']}").json()
    assert (other["caption"], other["latitude"]) == ("", None)
    facets = http.get("/api/facets").json()
    assert facets["cameras"] == {"Apple iPhone <12>": 1, "Canon EOS 5D": 1}
    assert facets["lenses"] == {"EF 50mm": 1}


def test_filters_and_words_by_the_client(http, numbers):
    with Client(str(http.base_url)) as client:

        def ids(where):
            return {row.id for row in client.pictures(where=where)}

        assert ids(Filter(cameras=("Canon EOS 5D",))) == {numbers["vienna"]}
        assert ids(Filter(lenses=("EF 50mm",))) == {numbers["vienna"]}
        assert ids(Filter(near=(-33.9, 18.4, 0.5))) == {numbers["cape"]}
        assert ids(Filter(near=(48.2, 16.4, 200))) == {numbers["vienna"], numbers["linz"]}
        match = client.search(word="ship")[0]
        assert (match.id, match.source, match.caption) == (numbers["linz"], "caption", "A ship")
        assert client.count_word("ship").captioned == 1


@pytest.mark.parametrize("near", ["here", "48.2", "91,0", "48.2,16.4,0", "48.2,16.4,1,1", "nan,1"])
def test_a_place_that_does_not_exist_is_refused(http, near):
    answer = http.get("/api/pictures", params={"near": near})
    assert answer.status_code in (400, 422), answer.text
    assert "near" in answer.json()["error"]
    assert "latitude and longitude" in answer.json()["error"] or "latitude (-90" in answer.text


def test_the_page_of_a_picture_shows_them(http, numbers):
    text = http.get(f"/picture/{numbers['vienna']}").text
    assert '<p class="caption" dir="auto">&lt;script&gt;alert(1)' in text
    assert 'href="/?camera=Canon+EOS+5D"' in text
    assert 'href="/?lens=EF+50mm"' in text
    assert "48.20833° N, 16.36667° E" in text
    assert "33.90000° S" in http.get(f"/picture/{numbers['cape']}").text
    text = http.get(f"/picture/{numbers['nowhere']}").text
    assert "Camera" not in text
    assert 'aria-label="Caption"' not in text


def test_the_page_filters_and_marks(http, numbers):
    text = http.get("/?camera=Apple+iPhone+%3C12%3E").text
    assert f'data-id="{numbers["linz"]}"' in text
    assert f'data-id="{numbers["vienna"]}"' not in text
    assert "camera: Apple iPhone &lt;12&gt;" in text
    assert "within 10 km of 48.20000° N" in http.get("/?near=48.2,16.4").text
    text = http.get("/part/filters?lens=Gone").text
    assert '<option value="Gone" selected>' in text
    assert "EF 50mm (1)" in text
    assert "in the caption" in http.get("/search?word=ship").text
