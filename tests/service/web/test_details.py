"""Captions, cameras, lenses and places over the API, by the client, and on the page."""

import csv
import io
import re
from html import unescape

import numpy as np
import pytest

from lookalike.collection import Collection, Filter, SavedSearch, Subfolder
from lookalike.collection.store.database import stored
from lookalike.collection.store.sums import row_sum
from lookalike.core.earth import kilometres
from lookalike.core.errors import InvalidInput
from lookalike.service.client import Client
from lookalike.service.web.pages.albums import search_of
from lookalike.service.web.pages.maps import HEIGHT, WIDTH, draw_map
from lookalike.service.web.pages.tree import MAX_SHOWN
from tests.collection.beside import beside
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


def test_the_nearest_by_place(http, store, numbers, run):
    near = [(one.id, round(one.kilometres)) for one in store.pictures.nearby(numbers["vienna"])]
    assert near == [(numbers["linz"], 154), (numbers["cape"], 9132)]
    assert len(store.pictures.nearby(numbers["vienna"], 1)) == 1
    with Client(str(http.base_url)) as client:
        answer = client.nearby(numbers["vienna"], 1)
        assert [(one.id, round(one.kilometres)) for one in answer] == near[:1]
        assert answer[0].caption == "A ship"
        with pytest.raises(InvalidInput, match="not known where picture"):
            client.nearby(numbers["nowhere"])
    folder = store.path.parent / "photos"
    shown = run("search", folder / "vienna.png", "--nearby", "-c", store.path, "--json").json
    assert [(one["id"], round(one["kilometres"])) for one in shown["nearby"]] == near
    refused = run("search", folder.parent / "x.png", "--nearby", "-c", store.path)
    assert refused.code == 1
    assert "is not in the collection" in refused.err
    text = http.get(f"/places?of={numbers['vienna']}").text
    assert text.index("154 km") < text.index("9,132 km")
    assert http.get(f"/places?of={numbers['nowhere']}").status_code == 400
    assert (
        f'href="/places?of={numbers["vienna"]}"' in http.get(f"/picture/{numbers['vienna']}").text
    )


def test_the_map_has_a_dot_for_pictures_that_its_filter_finds(http, numbers):
    text = http.get("/places").text
    assert "3 pictures with a known place" in text
    dots = [unescape(link) for link in re.findall(r'<a href="(/\?near=[^"]*)"', text)]
    assert len(dots) == 2, "on a map from the Cape to Vienna, Linz is where Vienna is"
    closer = http.get("/places?near=48.2,16.4,200").text
    assert len(re.findall("<circle cx[^>]*><title", closer)) == 2
    ids = {int(one) for link in dots for one in re.findall(r'data-id="(\d+)"', http.get(link).text)}
    assert ids == {numbers[name] for name in ("vienna", "linz", "cape")}
    assert "1 picture with a known place" in http.get("/places?camera=Canon+EOS+5D").text
    assert "No places known" in http.get("/places?camera=none").text


@pytest.mark.parametrize("many", [1, 2, 500])
def test_every_picture_of_a_dot_lies_within_its_distance(many):
    rng = np.random.default_rng(many)
    places = np.stack([rng.uniform(-90, 90, many), rng.uniform(-180, 180, many)], axis=1)
    places[many // 2 :] = np.array((48.2, 16.4)) + rng.normal(0, 0.01, (many - many // 2, 2))
    plain = draw_map([tuple(place) for place in places.tolist()])
    assert sum(dot.count for dot in plain.dots) == many
    assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for dot in plain.dots)
    for dot in plain.dots:
        here = sum(
            kilometres(dot.latitude, dot.longitude, *place) <= dot.kilometres for place in places
        )
        assert here >= dot.count


def test_folders_are_opened_one_by_one(tmp_path):
    for number, name in enumerate(("a/b/1", "a/b/2", "a/3", "a & <b>/4")):
        draw(tmp_path / "photos" / f"{name}.png", (40 * number, 90, 200), number)
    top = str(tmp_path / "photos")
    with Collection.create(tmp_path / "store", features=[Colours()], gate=OPEN) as store:
        store.add([top])
        with served(store) as http, Client(str(http.base_url)) as client:
            assert client.subfolders() == [Subfolder(top, 4, 2)]
            assert client.subfolders(top) == [
                Subfolder(f"{top}/a", 3, 1),
                Subfolder(f"{top}/a & <b>", 1, 0),
            ]
            assert client.subfolders("/nowhere") == []
            text = http.get("/folders").text
            assert "photos/a" not in text, "what is closed is not sent"
            part = http.get("/part/folders", params={"above": top}).text
            assert "a &amp; &lt;b&gt;</a>" in part
            link = unescape(re.findall(r'href="(/\?folder=[^"]*)"', part)[1])
            page = http.get(link).text
            assert len(re.findall('class="tile"', page)) == 1
            assert ">photos</a>" in page, "the folders above it lead back"


def test_ten_thousand_folders_are_shown_a_part_at_a_time(tmp_path):
    with Collection.create(tmp_path / "store", features=[Colours()], gate=OPEN) as store:
        draw(tmp_path / "a.png", (40, 90, 200), 1)
        store.add([tmp_path / "a.png"])
        number = store.pictures.find(tmp_path / "a.png")
        with beside(store).database.transaction() as connection:
            for folder in range(10_000):
                path = tmp_path / f"{folder:05}" / "a.png"
                connection.execute(
                    "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                    "VALUES (CAST(? AS TEXT), ?, 1, 1, ?)",
                    (stored(path), number, row_sum(number, stored(path))),
                )
        with served(store) as http:
            part = http.get("/part/folders", params={"above": str(tmp_path)}).text
            assert part.count("<li>") == MAX_SHOWN + 1
            assert f"{10_000 - MAX_SHOWN:,} more" in part
            more = unescape(re.findall('hx-get="([^"]*start=[^"]*)"', part)[-1])
            assert f"/{MAX_SHOWN:05}" in http.get(more).text


def test_an_album_is_exported_with_them(http, store, numbers):
    album = store.albums.save("Trip", pictures=[numbers["vienna"], numbers["nowhere"]])
    exported = http.get(f"/api/albums/{album.id}/export?format=json").json()
    by_id = {row["id"]: row for row in exported["pictures"]}
    assert by_id[numbers["vienna"]]["caption"].endswith("on the beach")
    assert by_id[numbers["vienna"]]["camera"] == "Canon EOS 5D"
    assert by_id[numbers["nowhere"]]["latitude"] is None
    table = csv.DictReader(io.StringIO(http.get(f"/api/albums/{album.id}/export").text))
    rows = {int(row["id"]): row for row in table}
    assert rows[numbers["vienna"]]["latitude"] == "48.208333"
    assert rows[numbers["nowhere"]]["longitude"] == ""


def test_the_page_of_an_album_searches_with_all_its_filters(http, store):
    where = Filter(
        cameras=("Canon EOS 5D",),
        lenses=("EF 50mm",),
        near=(48.2083, 16.3667, 12.3456789),
        without_tags=("dog",),
        untagged=True,
        missing=False,
    )
    album = store.albums.save("Filtered", SavedSearch(word="ship", where=where), most=9)
    assert search_of(album).where() == where
    assert http.get(f"/album/{album.id}").status_code == 200
