"""Pictures are found by their captions, cameras, lenses and places."""

import pytest

from lookalike import Collection
from lookalike.collection import Filter, SavedSearch
from lookalike.core.errors import InvalidInput
from tests.collection.colours import Shades
from tests.gates import OPEN
from tests.images.test_details import described, packet
from tests.service.pictures import draw

VIENNA, LINZ = ("48,12.5N", "16,22.0E"), ("48,18.4N", "14,17.1E")
FILES = {
    "red": ((200, 40, 40), "The polar\nbear, asleep", "Canon", "Canon EOS 5D", "EF 50mm", VIENNA),
    "rose": ((210, 60, 60), "Bearings of a polar ship", "Canon", "Canon EOS 6D", "", LINZ),
    "lawn": ((40, 190, 40), "Müllers Rasen", "Apple", "iPhone 12", "iPhone 12 back", None),
    "moss": ((60, 180, 60), "黒犬が寝ている", "", "", "", None),
    "sea": ((40, 40, 200), "", "", "", "", None),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("captions")
    for name, (colour, caption, make, model, lens, place) in FILES.items():
        draw(home / "photos" / f"{name}.png", colour, 1)
        said = {"tiff_Make": make, "tiff_Model": model, "aux_Lens": lens}
        if place is not None:
            said |= dict(zip(("exif_GPSLatitude", "exif_GPSLongitude"), place, strict=True))
        (home / "photos" / f"{name}.png.xmp").write_bytes(packet(described(caption), **said))
    with Collection.create(home / "store", features=[Shades()], gate=OPEN) as collection:
        collection.add([home / "photos"])
        collection.label([collection.pictures.find(home / "photos" / "sea.png")], "ship")
        yield collection


def found(store, text):
    return [(match.path.stem, match.source) for match in store.search_word(text, 9)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("asleep", [("red", "caption")]),
        ("ASLEEP", [("red", "caption")]),
        ('"polar bear"', [("red", "caption")]),
        ("bear", [("red", "caption")]),
        ("mullers", [("lawn", "caption")]),
        ("müller", []),
        ("犬", [("moss", "caption")]),
        ("ship", [("sea", "given"), ("rose", "caption")]),
        ("polar -bear", [("rose", "caption")]),
        ("asleep OR 犬", [("moss", "caption"), ("red", "caption")]),
        ('camera:"canon eos"', [("rose", None), ("red", None)]),
        ("camera:eos-5d", []),
        ('camera:"5d canon"', [("red", None)]),
        ("camera:IPHONE", [("lawn", None)]),
        ("lens:50mm", [("red", None)]),
        ("polar camera:6d", [("rose", "caption")]),
        ("polar -camera:6d", [("red", "caption")]),
        ("near:48.2,16.4", [("red", None)]),
        ("near:48.2,16.4,200", [("rose", None), ("red", None)]),
        ("polar near:48.3,14.3", [("rose", "caption")]),
        ("near:-48.2,-16.4", []),
    ],
)
def test_what_is_typed_finds(store, text, expected):
    order = sorted if expected and expected[0][1] is None else list
    assert order(found(store, text)[: len(expected) or 9]) == order(expected)


def test_what_is_in_captions_is_counted_and_read(store):
    counts = store.words.count("polar asleep")
    assert (counts.tagged, counts.captioned, counts.named, counts.unknown) == (0, 2, 0, ())
    readings = {one.text: one.words[0].source for one in counts.readings}
    assert readings == {"polar": "caption", "asleep": "caption"}
    counts = store.words.count("camera:nikon")
    assert (counts.among, counts.set_aside) == (0, ())
    counts = store.words.count("-camera:nikon -lens:50mm")
    assert (counts.among, counts.set_aside) == (4, ())
    assert store.words.count("near:48.2,16.4").among == 1


def test_a_caption_makes_more_probable_what_is_seen(store):
    alone = {match.path.stem: match.score for match in store.search_word("crimson polar", 9)}
    seen = {match.path.stem: match.score for match in store.search_word("crimson", 9)}
    assert {"red", "rose"} <= alone.keys()
    assert all(alone[name] < seen[name] for name in ("red", "rose"))
    assert all(alone[name] > alone.get("lawn", 0) for name in ("red", "rose"))


def test_filters_by_camera_lens_and_place(store):
    assert store.pictures.cameras() == [
        ("Apple iPhone 12", 1),
        ("Canon EOS 5D", 1),
        ("Canon EOS 6D", 1),
    ]
    assert dict(store.pictures.lenses()) == {"EF 50mm": 1, "iPhone 12 back": 1}

    def names(where):
        return sorted(row.places[0].stem for row in store.pictures.browse(where=where))

    assert names(Filter(cameras=("Canon EOS 5D", "Apple iPhone 12"))) == ["lawn", "red"]
    assert names(Filter(cameras=("Canon EOS 5D",), lenses=("iPhone 12 back",))) == []
    assert names(Filter(near=(48.2, 16.4, 5.0))) == ["red"]
    assert names(Filter(near=(48.2, 16.4, 156.0))) == ["red"]
    assert names(Filter(near=(48.2, 16.4, 158.0))) == ["red", "rose"]
    store.albums.save("Near", SavedSearch(where=Filter(near=(48.2, 16.4, 5.0))))
    assert len(store.albums.get("Near").members) == 1


@pytest.mark.parametrize(
    "near", [(91, 0, 1), (0, 181, 1), (0, 0, 0), (0, 0), (0, 0, float("nan")), "48,16,1"]
)
def test_a_place_that_does_not_exist_is_refused(store, near):
    with pytest.raises(InvalidInput, match="near must be latitude"):
        store.pictures.count(Filter(near=near))
