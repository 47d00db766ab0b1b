from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collection.training import paths as names
from lookalike.collection.training.paths import Places

PLACES = [
    ("/a/katzen/1.jpg", 1),
    ("/a/hunde/1.jpg", 2),
    ("/a/hunde/2.jpg", 3),
    ("/b/hunde/2.jpg", 3),
    ("/b/f\u00fc\u00dfe.jpg", 4),
    ("/b/Gru\u0308n/einzig.png", 5),
]


@pytest.mark.parametrize(
    ("name", "picture"),
    [
        ("/a/katzen/1.jpg", 1),
        ("/a/hunde/../katzen/1.jpg", 1),
        ("hunde/1.jpg", 2),
        ("2.jpg", 3),
        ("fu\u0308\u00dfe.jpg", 4),
        ("/b/Gr\u00fcn/einzig.png", 5),
        ("Gr\u00fcn/einzig.png", 5),
        ("einzig.png", 5),
        ("1.jpg", None),
        ("zig.png", None),
        ("Einzig.png", None),
        ("/x/einzig.png", None),
        ("", None),
        (".", None),
        ("..", None),
    ],
)
def test_finds_the_one_that_is_meant(name, picture):
    assert Places(PLACES, ["/a", "/b"]).find(name)[0] == picture


def test_says_why_not():
    places = Places(PLACES, [])
    assert places.find("1.jpg")[1] == "it could be /a/hunde/1.jpg or /a/katzen/1.jpg"
    assert places.find("3.jpg")[1] == "it is not in the collection"


def test_the_current_folder_and_the_roots_decide_before_endings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = str(Path.cwd() / "1.jpg")
    places = Places([("/a/1.jpg", 1), (here, 2), ("/b/c/1.jpg", 3)], ["/b"])
    assert places.find("1.jpg") == (2, "")
    assert places.find("c/1.jpg") == (3, "")
    monkeypatch.chdir("/")
    assert Places([("/a/1.jpg", 1), ("/b/c/1.jpg", 3)], ["/b/c"]).find("1.jpg") == (3, "")


def test_both_spellings_may_exist():
    places = Places([("/a/\u00fc.jpg", 1), ("/a/u\u0308.jpg", 2)], ["/a"])
    assert places.find("\u00fc.jpg") == (1, "")
    assert places.find("/a/u\u0308.jpg") == (2, "")


PART = st.sampled_from(["a", "b", "\u00fc", "u\u0308", "1.jpg"])
PATH = st.lists(PART, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@settings(max_examples=200)
@given(st.dictionaries(PATH, st.integers(1, 3), max_size=6), PATH)
def test_whole_paths_are_found_and_nothing_is_guessed(places, name):
    found = Places(places.items(), [])
    for path, picture in places.items():
        assert found.find(path) == (picture, "")
    picture, why = found.find(name.removeprefix("/"))
    assert (picture is None) == bool(why)
    assert picture is None or picture in places.values()


def test_many_files_of_one_name_are_found_quickly(monkeypatch):
    places = Places([(f"/a/{n}/image.jpg", n) for n in range(3000)], [])
    spelled = []
    original = names._spelled

    def counted(text):
        spelled.append(text)
        return original(text)

    monkeypatch.setattr(names, "_spelled", counted)
    for n in range(0, 3000, 3):
        assert places.find(f"{n}/image.jpg") == (n, "")
        assert places.find("image.jpg")[1].endswith("or 2998 more")
        assert places.find("x/" * n + "image.jpg")[0] is None or n == 0
    assert len(spelled) < 4 * 3000 + 3 * 3000
