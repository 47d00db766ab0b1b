"""What votes say of every search: how pictures that were picked together differ."""

from dataclasses import replace

import numpy as np
import pytest

from lookalike.collection import Ask
from lookalike.collection.votes.members import Members
from lookalike.collection.votes.spread import EVIDENCE, Spread
from lookalike.collection.votes.steps import FOLDS
from tests.collection.colours import PALETTE
from tests.collection.votes.inside import ranker_of
from tests.reference import votes as reference


def ids(collection, colour):
    return [p.id for p in collection.pictures.all() if p.places[0].parent.name == colour]


class Log:
    """Votes of random pictures, each by a person of its own."""

    def __init__(self, seed, votes=12, width=6):
        rng = np.random.default_rng(seed)
        self.vectors = rng.normal(size=(30, width)).astype(np.float32)
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)
        sizes = [(int(rng.integers(1, 5)), int(rng.integers(0, 4))) for _ in range(votes)]
        self.stops = np.cumsum([picked + rejected for picked, rejected in sizes])
        self.places = rng.integers(0, 30, self.stops[-1]).astype(np.int32)
        self.picked = np.array([picked for picked, _ in sizes])
        self.folds = rng.integers(0, FOLDS, votes)
        self.trust = rng.integers(0, 2, votes) / 1

    def spread(self, before, count, trust=None):
        """Return what the first votes come to, after what was known before."""
        end = self.stops[count - 1]
        new = {"item": self.places[:end], "step": np.zeros(end)}
        new |= dict.fromkeys(("width", "reach"), np.zeros(count))
        new |= dict.fromkeys(("person", "subject"), np.arange(count))
        new |= {"stop": self.stops[:count], "picked": self.picked[:count]}
        new |= {"fold": self.folds[:count]}
        weights = self.trust if trust is None else trust
        return before.following(self.vectors, Members.none().extended(new), weights[:count])


def same(one, other):
    return all(map(np.array_equal, one.products, other.products)) and one.counts == other.counts


@pytest.mark.parametrize("seed", range(10))
def test_it_makes_no_difference_in_which_order_votes_are_added(seed):
    log = Log(seed)
    at_once = log.spread(Spread.none(6), 12)
    one_by_one = Spread.none(6)
    for count in range(1, 13):
        # Whether a person's votes count changes as they vote.
        trust = np.random.default_rng(count).integers(0, 2, 12) / 1 if count < 12 else None
        one_by_one = log.spread(one_by_one, count, trust)
    assert same(one_by_one, at_once)
    assert any(np.abs(product).any() for product in at_once.products)


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_sum_written_out(seed):
    log = Log(seed)
    log.trust[:] = 1
    spread = log.spread(Spread.none(6), 12)
    starts = [0, *log.stops[:-1]]
    votes = []
    for vote, (start, stop) in enumerate(zip(starts, log.stops, strict=True)):
        picked = log.picked[vote]
        if log.folds[vote] != 2 and picked > 1:
            votes.append((log.vectors[log.places[start:stop]].astype(float), picked))
    query = np.ones(6) / np.sqrt(6)
    turned = spread.turned(query[None], without=2)[0]
    np.testing.assert_allclose(turned, reference.everywhere(votes, query, EVIDENCE), atol=2e-3)
    assert turned @ query == pytest.approx(0, abs=1e-9), "a query is as like itself as before"


@pytest.mark.parametrize("seed", range(5))
def test_queries_are_turned_alike_however_many_are_asked(seed):
    sums = Log(seed).spread(Spread.none(6), 12)
    queries = np.random.default_rng(seed).normal(size=(4, 6))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    turned = sums.turned(queries)
    moved = queries @ sums.matrix()
    own = (moved * queries).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(turned, moved / own - queries, atol=1e-12)
    assert np.abs(turned).max() > 1e-4
    assert [sums.turned(query[None])[0].tolist() for query in queries] == turned.tolist()
    assert not Spread.none(6).turned(queries).any()


def test_nothing_is_known_of_pictures_that_are_the_same():
    log = Log(1)
    log.vectors[:] = log.vectors[0]
    assert log.spread(Spread.none(6), 12).matrix() is None
    assert Spread.none(6).matrix() is None


def test_votes_are_read_a_few_at_once(set_limits):
    log = Log(5, votes=60)
    whole = log.spread(Spread.none(6), 60)
    set_limits(votes_at_once=3)
    assert same(log.spread(Spread.none(6), 60), whole)


def test_of_many_votes_the_last_few_may_be_missing():
    log = Log(3, votes=200)
    whole = log.spread(Spread.none(6), 200)
    assert log.spread(whole, 200) is whole
    early = log.spread(Spread.none(6), 197)
    assert len(early.weights) == 196
    assert same(log.spread(early, 200), whole)


def spread_of(collection):
    return ranker_of(collection).votes.turns.spread


def test_a_search_voted_on_again_counts_once(collection):
    red, blue = ids(collection, "rot"), ids(collection, "blau")
    collection.people.trust("b")
    for picked in red[1:5]:
        collection.vote(Ask((red[0],)), picked=[picked], rejected=blue[:1])
    assert sum(spread_of(collection).counts) == 4
    collection.vote(Ask((red[0],)), picked=[red[1]], rejected=blue[:1], who="b")
    assert sum(spread_of(collection).counts) == 5, "each person has their own word"
    collection.undo(collection.log.history(1)[0].number)
    assert sum(spread_of(collection).counts) == 4


def test_to_pick_the_same_again_and_again_adds_little(collection):
    red, green, blue = (ids(collection, colour) for colour in PALETTE)
    for query in green[1:4]:
        collection.vote(Ask((query,)), picked=[green[4]], rejected=blue[:1])
    near = ranker_of(collection).vectors(np.array(red[:1]))
    lengths = []
    for picked in red[1:6]:
        collection.vote(Ask((red[0],)), picked=[picked])
        near_alone = replace(ranker_of(collection).votes.turns, spread=None)
        lengths.append(float(np.linalg.norm(near_alone.turned(near))))
    assert lengths[0] > 0.1
    assert max(lengths[1:]) < 1.5 * lengths[0]


def test_long_vectors_are_left_as_they_are(collection, set_limits):
    set_limits(max_spread_width=8)
    red, blue = (ids(collection, colour) for colour in list(PALETTE)[:2])
    collection.vote(Ask((red[0],)), picked=red[1:3], rejected=blue[:1])
    assert spread_of(collection) is None
    assert collection.search(Ask((red[5],)), 3)


def test_scores_stay_cosines_however_far_votes_turn_a_search(collection):
    red, green, blue = (ids(collection, colour) for colour in PALETTE)
    for query in red[:5]:
        collection.vote(Ask((query,)), picked=[*red[5:], *green[:2]], rejected=blue[:4])
    ranker = ranker_of(collection)
    asked = ranker.query(ranker.vectors(red[6:7]))
    assert np.linalg.norm(ranker.votes.turns.turned(ranker.vectors(red[6:7]))) > 0.1
    assert np.linalg.norm(asked) == pytest.approx(1, abs=1e-5)
    assert max(match.score for match in collection.search(Ask((red[6],)), 20)) <= 1 + 1e-5
