"""How far a person's votes are believed, who chooses what to judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits

from lookalike.collection import Ask, Collection
from lookalike.collection.votes.steps import PREDICTED, Geometry, learn
from lookalike.core.vectors import unit_rows
from tests.collection.colours import Colours, picture
from tests.collection.votes.inside import ledger_of, ranker_of

COUNT, SHOWN, SEARCHES = 400, 10, 80


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return the place of a collection of handwritten digits."""
    folder = tmp_path_factory.mktemp("digits")
    data = load_digits()
    for number in range(COUNT):
        pixels = (data.images[number] * 15).astype(np.uint8)
        place = folder / "pictures" / f"{data.target[number]}-{number:03}.png"
        place.parent.mkdir(exist_ok=True)
        Image.fromarray(np.dstack([pixels] * 3)).save(place)
    with Collection.create(folder / "store", features=[Colours(8)]) as collection:
        collection.add([folder / "pictures"])
    return folder / "store"


def corrections(collection, *, contrary):
    """Correct searches by two thumbs: the first wrong match, and the first right one below it."""
    digit = {p.id: p.places[0].name[0] for p in collection.pictures.all()}
    rng = np.random.default_rng(0)
    for query in rng.permutation([*digit])[:SEARCHES].tolist():
        shown = [match.id for match in collection.search(Ask((query,)), SHOWN)]
        right = [(digit[one] == digit[query]) != contrary for one in shown]
        wrong = right.index(False) if False in right else SHOWN
        if True in right[wrong:]:
            picked = shown[right.index(True, wrong)]
            collection.vote(Ask((query,)), picked=[picked], rejected=[shown[wrong]], shown=shown)


@pytest.mark.parametrize("contrary", [False, True])
def test_who_only_corrects_is_believed_and_who_spoils_is_not(digits, contrary):
    with Collection.open(digits, features=[Colours(8)]) as collection:
        corrections(collection, contrary=contrary)
        standing = collection.votes.standing()
        ledger = ledger_of(collection)
        (record,) = ledger.records.values()
        contradicted = np.mean([vote.taught[1].right[0] == 0.0 for vote in ledger.votes])
        collection.votes.reset()
    # Both contradict the searches they were cast in.
    assert record.judged >= 15
    assert contradicted > 0.6
    assert record.weight == (0.0 if contrary else 1.0)
    assert standing.strength == (0.0 if contrary else 1.0)
    assert ("they contradict how the pictures look" in standing.reason) == contrary
    assert "in use" not in standing.reason or not contrary


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 4))
def test_agreement_is_between_bounds_and_turns_with_the_vote(seed, picked, rejected):
    rng = np.random.default_rng(seed)
    count = picked + rejected
    V = unit_rows(rng.normal(size=(count, 7)))
    G, common = V @ V.T, rng.integers(0, 3, count).astype(float)
    swapped = [0, *range(picked, count), *range(1, picked)]
    for second in (None, common):
        found = []
        for order, sides in (([*range(count)], picked), (swapped, 1 + rejected)):
            some = G[np.ix_(order, order)]
            view = None if second is None else second[order]
            one = Geometry(some, some, some, 0 * some, 0 * some[0], view)
            found.append(learn(order, sides, one, 9.0).agreement)
        assert found[0] == pytest.approx(-found[1], abs=1e-4)
        assert abs(found[0]) <= 0.5 + PREDICTED / 2


def test_all_that_was_shown_is_judged_by_the_first_view_and_a_part_by_the_second(digits):
    with Collection.open(digits, features=[Colours(8)]) as collection:
        shown = [match.id for match in collection.search(Ask((1,)), 4)]
        for said in (shown, shown[:3], ()):
            collection.vote(Ask((1,)), picked=shown[:1], rejected=shown[1:], shown=said)
            (vote,) = ledger_of(collection).votes
            # What one person has in order is right in the first view, whatever the second says.
            assert vote.taught[1].right[0] == 1.0
            assert (vote.taught[1].agreement == 0.5) == bool(said)
            collection.votes.reset()
        collection.vote(Ask((1,)), picked=shown[:1], rejected=shown[1:3], shown=shown)
        (vote,) = ledger_of(collection).votes
        assert vote.taught[1].agreement != 0.5
        collection.votes.reset()


def test_neighbours_are_looked_for_among_pictures_that_came_later(collection, tmp_path):
    collection.vote(Ask((1,)), picked=[2], rejected=[9])
    assert ranker_of(collection).votes.around.among.shape[0] == 24
    collection.add([picture(tmp_path / "neu.png", (9, 9, 9), 999)])
    assert ranker_of(collection).votes.around.among.shape[0] == 25
