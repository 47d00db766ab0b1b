"""Texts of several words: what was learned of whole texts ranks pictures that nobody labelled."""

import numpy as np
import pytest
from PIL import Image

from lookalike import Collection
from lookalike.annotation.text_side import TextSide
from lookalike.collection.search import whole_texts
from lookalike.collection.search.reading import text_memory
from tests.collection.colours import Colours
from tests.gates import OPEN

THINGS = {
    "dog": (200, 60, 40),
    "sea": (40, 60, 200),
    "meadow": (60, 190, 60),
    "road": (120, 120, 120),
}


def draw(path, names, seed):
    """Write a picture with a stripe of noise for each thing, at any place."""
    rng = np.random.default_rng(seed)
    order = rng.permutation([*names, *names])
    stripes = [np.clip(rng.normal(THINGS[name], 60, (32, 8, 3)), 0, 255) for name in order]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate(stripes, axis=1).astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("whole")
    names = [*THINGS]
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    for number in range(180):
        pair = pairs[number % len(pairs)]
        draw(home / "files" / f"{number:03d} {pair[0][0]}{pair[1][0]}.png", pair, number)
    with Collection.create(home / "store", features=[Colours()], gate=OPEN) as one:
        one.add([home / "files"])
        shown = {row.id: row.places[0].name for row in one.pictures.all()}
        for name in names:
            some = [n for n, file in shown.items() if file < "150" and name[0] in file.split()[1]]
            one.label(some, name)
        one.learn()
        yield one


def best(store, text):
    """Return what the five best pictures show that nobody labelled."""
    names = [match.path.name for match in store.search_word(text, 200)]
    return [name.split()[1][:2] for name in names if name >= "150"][:5]


def test_what_is_no_better_than_single_words_is_not_used(store):
    session = store._session
    ranker, annotator = session.rankers.annotated(None)
    assert best(store, "dog sea").count("ds") >= 3
    assert session.rankers.classes.text_sides == {(ranker.annotator, ranker.id): None}
    fits, share = whole_texts.fits(session, (ranker, annotator), ["dog"], np.arange(1, 9))
    assert not fits.any()
    assert not share


@pytest.mark.parametrize(
    ("text", "share", "things"),
    [("dog sea", 1, "ds"), ("road with a dog", 1, "dr"), ("puppy sea", 0.5, "ds")],
)
def test_what_was_learned_of_whole_texts_counts_by_the_share_of_taught_words(
    store, text, share, things
):
    session = store._session
    ranker, annotator = session.rankers.annotated(None)
    rows = [row for row in store.pictures.all() if row.places[0].name < "150"]
    words = [[n for n in THINGS if n[0] in row.places[0].stem.split()[1]] for row in rows]
    ids = np.array([row.id for row in rows])
    side = TextSide.fit(ranker.vectors(ids), words, text_memory().encode)
    session.rankers.classes.text_sides[ranker.annotator, ranker.id] = side
    known = [word for word in text.split() if word not in ("with", "a")]
    fits, counts = whole_texts.fits(session, (ranker, annotator), known, np.sort(ids))
    assert counts == share
    assert fits.max() == 1
    assert best(store, text).count(things) >= 3
