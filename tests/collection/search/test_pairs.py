"""Text ranks pictures by the pair of models that describes them."""

import pytest

from lookalike import Collection
from lookalike.features import Embedding
from tests.collection.colours import picture
from tests.features.pairs import write_pair

COLOURS = {"red": (220, 30, 30), "green": (30, 220, 30), "blue": (30, 30, 220)}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("pairs")
    image, text = write_pair(home)
    files = [
        picture(home / "photos" / f"{name[0]}{number}.png", colour, number)
        for name, colour in COLOURS.items()
        for number in range(4)
    ]
    feature = Embedding(image, mean=0, std=1, text=text)
    with Collection.create(home / "store", features=[feature]) as one:
        one.add(files)
    for file in home.glob("*.onnx"):
        file.unlink()  # the collection keeps its own
    with Collection.open(home / "store") as one:
        yield one


@pytest.mark.parametrize("text", ["red", "a red thing", "redish xyzzy", '"red"', "red -green"])
def test_a_text_finds_its_pictures(store, text):
    best = store.search_word(text, 4)
    assert {match.path.name[0] for match in best} == {"r"}
    assert {match.source for match in best} == {"meaning"}
    assert store.words.count(text).unknown == ()


def test_a_label_comes_first(store):
    (blue,) = [row.id for row in store.pictures.all() if row.places[0].name == "b0.png"]
    entry = store.label(blue, "red")
    assert [match.path.name[0] for match in store.search_word("red", 5)] == [*"brrrr"]
    store.undo(entry.number)


@pytest.mark.parametrize("text", ["red", "red xyzzy"])
def test_what_people_said_does_not_fit_is_not_found_by_the_pair(store, text):
    (red,) = [row.id for row in store.pictures.all() if row.places[0].name == "r0.png"]
    entry = store.label(red, "red", shows=False)
    label = store.label([one.id for one in store.search_word("blue", 4)], "red")
    found = [match.id for match in store.search_word(text, 99)]
    assert red not in found[: 4 + 3]
    for event in (label, entry):
        store.undo(event.number)


@pytest.mark.parametrize("text", ["x" * 10_000, "the and of", "☃", "red " * 400])
def test_any_text_is_answered(store, text):
    assert len(store.search_word(text, 99)) <= 12
