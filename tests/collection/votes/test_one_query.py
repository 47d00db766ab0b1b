"""One person who votes many times on one query: as one vote that says all of it."""

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from lookalike.collection import Ask, Collection
from lookalike.collection.votes.steps import MAX_TAUGHT
from tests.collection.colours import Colours
from tests.collection.votes.inside import ledger_of, ranker_of

COUNT = 400


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
        collection.people.trust("Ada")
        collection.people.trust("Bea")
    return folder / "store"


@pytest.fixture
def collection(digits):
    with Collection.open(digits, features=[Colours(8)]) as opened:
        opened.votes.reset()
        yield opened
        opened.votes.reset()


def digit_of(collection):
    return {p.id: p.places[0].name[0] for p in collection.pictures.all()}


def precision(collection, query):
    """The precision at 10 of searches with other pictures."""
    digit = digit_of(collection)
    return np.mean(
        [
            digit[match.id] == digit[other]
            for other in [*digit][::4]
            if other != query
            for match in collection.search(Ask((other,)), 10)
        ]
    )


def lessons(collection):
    return ranker_of(collection).votes.turns.lessons


def turned(collection):
    ranker = ranker_of(collection)
    return ranker.votes.turns.turned(ranker.plain.vectors)


def random_votes(collection, query, count, seed=0):
    rng = np.random.default_rng(seed)
    others = [one for one in digit_of(collection) if one != query]
    for _ in range(count):
        good, bad = rng.choice(others, 2, replace=False).tolist()
        collection.vote(Ask((query,)), picked=[good], rejected=[bad], who="Ada")


def test_random_votes_on_one_query_cost_other_searches_no_more_than_one_would(collection):
    query = 24
    before = precision(collection, query)
    random_votes(collection, query, 40)
    many = precision(collection, query)
    (taught,) = ledger_of(collection).votes[-1].taught.values()
    collection.votes.reset()
    picked, rejected = taught.pictures[1 : taught.picked], taught.pictures[taught.picked :]
    assert len(picked) == len(rejected) == MAX_TAUGHT
    collection.vote(Ask((query,)), picked=picked, rejected=rejected)
    once = precision(collection, query)
    # Digits are so alike that a single random vote reaches many; forty cost .14 before.
    assert many > once - 0.01
    assert many > before - 0.08


def test_nothing_that_others_taught_is_lost(collection):
    digit = digit_of(collection)
    for query in range(30, 70, 4):
        shown = [match.id for match in collection.search(Ask((query,)), 10)]
        right = [one for one in shown if digit[one] == digit[query]]
        wrong = [one for one in shown if one not in right]
        collection.vote(Ask((query,)), picked=right, rejected=wrong, shown=shown, who="Bea")
    before = turned(collection)
    random_votes(collection, 24, 20)
    assert turned(collection).tobytes() != before.tobytes()
    assert lessons(collection).counts[:10].all()
    for event in collection.log.history(20):
        collection.undo(event.number)
    assert turned(collection).tobytes() == before.tobytes()


def test_small_votes_teach_as_much_as_one_that_says_all(collection):
    digit, query = digit_of(collection), 52
    shown = [match.id for match in collection.search(Ask((query,)), 14)]
    right = [one for one in shown if digit[one] == digit[query]]
    wrong = [one for one in shown if one not in right]
    assert min(len(right), len(wrong)) >= 3
    for one in right[::-1]:
        collection.vote(Ask((query,)), picked=[one])
    for one in wrong[::-1]:
        collection.vote(Ask((query,)), rejected=[one])
    small = turned(collection)
    collection.votes.reset()
    collection.vote(Ask((query,)), picked=right, rejected=wrong)
    whole = turned(collection)
    assert np.linalg.norm(whole) > 1
    assert np.linalg.norm(small - whole) < 0.1 * np.linalg.norm(whole)


def test_only_the_last_vote_of_each_person_on_each_query_teaches(collection):
    random_votes(collection, 24, 3)
    collection.vote(Ask((24,)), picked=[25], rejected=[26], who="Bea")
    collection.vote(Ask((27,)), picked=[28], rejected=[29], who="Ada")
    assert lessons(collection).counts.tolist() == [False, False, True, True, True]
    with Collection.open(collection.path, features=[Colours(8)]) as other:
        assert lessons(other).counts.tolist() == lessons(collection).counts.tolist()
        assert turned(other).tobytes() == turned(collection).tobytes()
