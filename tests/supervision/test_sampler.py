import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.core.seeds import generator, loop_state
from lookalike.supervision import Relevance, TripletSampler, clicks_to_relevance
from tests.reference.supervision import image_relevance, shared_labels, triplet_probabilities

SINGLE = ["a", "a", "a", "b", "b", "c", None, "d"]
MULTI = [{"a", "b", "c"}, {"a", "b", "c"}, {"a"}, {"b", "d"}, {"d"}, set(), {"e"}, {"c", "e"}]
WEIGHTS = np.array(
    [
        [9, 1, 0, 0, 2, 0],
        [1, 0, 3, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0.5, 0, 7, 0, 0],
        [2, 0, 0, 0, 0, 0.1],
        [0, 0, 0, 0, 0.1, 0],
    ]
)
CLICKS = np.array([[5, 1, 2, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0], [3, 3, 0, 0, 1, 0]])


def state(seed=0):
    return loop_state(generator(seed))


def cases():
    pairs = WEIGHTS * (1 - np.eye(len(WEIGHTS)))
    return {
        "single": (Relevance.of(SINGLE), shared_labels([[x] if x else [] for x in SINGLE])),
        "multi": (Relevance.of(MULTI), shared_labels(MULTI)),
        "pairs": (Relevance.of(sp.csr_matrix(WEIGHTS)), pairs),
        "click lists": (clicks_to_relevance(sp.csr_matrix(CLICKS)), image_relevance(CLICKS, 0)),
        "click pairs": (
            clicks_to_relevance(sp.csr_matrix(CLICKS), threshold=0.05),
            image_relevance(CLICKS, 0.05),
        ),
        "one stranger": (
            Relevance.of([{"a"}, {"a", "b"}, {"a"}, {"a", "b"}, {"c", "b"}]),
            shared_labels([{"a"}, {"a", "b"}, {"a"}, {"a", "b"}, {"c", "b"}]),
        ),
    }


@pytest.mark.parametrize("anchors", [None, [0, 1, 3]])
@pytest.mark.parametrize("negatives", ["unrelated", "all"])
@pytest.mark.parametrize("sampling", ["uniform", "relevance"])
@pytest.mark.parametrize("case", list(cases()))
def test_draws_have_exactly_the_enumerated_distribution(case, sampling, negatives, anchors):
    relevance, r = cases()[case]
    expected = triplet_probabilities(
        r, relevance.known, sampling=sampling, negatives=negatives, anchors=anchors
    ).ravel()
    assert expected.sum() == pytest.approx(1)
    sampler = TripletSampler(relevance, sampling=sampling, negatives=negatives, anchors=anchors)
    count = 200_000
    drawn = sampler.draw(state(), count)
    n = len(relevance)
    seen = np.bincount(np.ravel_multi_index(drawn.T.astype(int), (n, n, n)), minlength=n**3)
    assert seen[expected == 0].sum() == 0
    possible = expected > 0
    chi = ((seen - count * expected)[possible] ** 2 / (count * expected[possible])).sum()
    freedom = max(possible.sum() - 1, 1)
    assert chi < freedom + 5 * np.sqrt(2 * freedom) + 5


label_sets = st.lists(st.sets(st.integers(0, 5), max_size=4), min_size=1, max_size=14)


@settings(max_examples=80)
@given(label_sets, st.sampled_from(["uniform", "relevance"]), st.sampled_from(["unrelated", "all"]))
def test_every_triplet_of_labels_is_right(y, sampling, negatives):
    check_triplets(Relevance.of(y), sampling, negatives)


@settings(max_examples=80)
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=n, max_size=n
        )
    ),
    st.sampled_from(["uniform", "relevance"]),
    st.sampled_from(["unrelated", "all"]),
)
def test_every_triplet_of_pairs_is_right(matrix, sampling, negatives):
    check_triplets(Relevance.of(sp.csr_matrix(np.array(matrix))), sampling, negatives)


def check_triplets(relevance, sampling, negatives):
    reason = relevance.trainable()
    if reason is not None and (negatives == "unrelated" or relevance.known.all()):
        with pytest.raises(InvalidInput, match=re.escape(reason)):
            TripletSampler(relevance, sampling=sampling, negatives=negatives)
        return
    if not relevance.has_alike.any():
        return
    sampler = TripletSampler(relevance, sampling=sampling, negatives=negatives)
    for i, more, less in sampler.draw(state(1), 60).tolist():
        assert i != more
        assert less not in (i, more)
        assert relevance.alike(i, more)
        if negatives == "unrelated":
            assert not relevance.alike(i, less)
            assert relevance.known[less]


@settings(max_examples=80)
@given(label_sets)
def test_whether_triplets_exist_agrees_with_enumeration(y):
    relevance = Relevance.of(y)
    exists = triplet_probabilities(
        shared_labels(y), relevance.known, sampling="uniform", negatives="unrelated"
    ).any()
    assert (relevance.trainable() is None) == exists


@pytest.mark.parametrize("case", list(cases()))
def test_the_same_state_draws_the_same(case):
    sampler = TripletSampler(cases()[case][0])
    first, again, other = state(3), state(3), state(4)
    a = sampler.draw(first, 500)
    assert a.dtype == np.uint32
    assert a.shape == (500, 3)
    assert (a == sampler.draw(again, 500)).all()
    assert (first == again).all()
    assert (a != sampler.draw(other, 500)).any()
    assert (a != sampler.draw(first, 500)).any()


def test_no_triplets_asked_none_drawn():
    unmoved = state()
    assert TripletSampler(Relevance.of(SINGLE)).draw(unmoved, 0).shape == (0, 3)
    assert (unmoved == state()).all()


def test_anchors_are_kept_to():
    sampler = TripletSampler(Relevance.of(SINGLE), anchors=np.array([4, 3, 3, 5, 6]))
    assert sampler.anchors_.tolist() == [3, 4]
    assert set(sampler.draw(state(), 100)[:, 0].tolist()) == {3, 4}


def test_one_huge_weight_does_not_stop_the_draw():
    clicks = sp.csr_matrix([[1e12, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    sampler = TripletSampler(clicks_to_relevance(clicks), sampling="relevance", negatives="all")
    drawn = sampler.draw(state(), 1000)
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_the_lone_stranger_among_many_is_found():
    n = 3000
    y = [{"hub", str(i % 7)} for i in range(n)] + [{"lone"}]
    drawn = TripletSampler(Relevance.of(y)).draw(state(), 200)
    assert (drawn[:, 2] == n).all()


def test_all_alike_by_no_single_label_is_seen():
    """Pair by pair, 20,000 pictures would take minutes."""
    pairs = [{"a", "b"}, {"b", "c"}, {"a", "c"}]
    relevance = Relevance.of([pairs[i % 3] for i in range(20_000)])
    assert "nothing to compare" in relevance.trainable()


def test_unlabelled_pictures_are_less_alike_only_among_all():
    relevance = Relevance.of(["a", "a", None, None])
    with pytest.raises(InvalidInput, match="same label 'a'"):
        TripletSampler(relevance)
    drawn = TripletSampler(relevance, negatives="all").draw(state(), 100)
    assert set(drawn[:, 2].tolist()) == {2, 3}


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([], "No picture has a label"),
        ([None, ""], "No picture has a label"),
        (["a", "b", "c"], "No two pictures are related"),
        (["a", "a", "a"], "same label 'a'"),
        ([{"a", "b"}, {"b", "c"}, {"c", "a"}], "nothing to compare"),
        (sp.csr_matrix(np.ones((3, 3))), "nothing to compare"),
        (sp.csr_matrix((3, 3)), "No two pictures are related"),
    ],
)
def test_what_cannot_be_learned_is_said(y, says):
    relevance = Relevance.of(y)
    assert says in relevance.trainable()
    for negatives in ("unrelated", "all"):
        with pytest.raises(InvalidInput, match="no triplet can be drawn"):
            TripletSampler(relevance, negatives=negatives)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sampling": "odd"},
        {"negatives": "odd"},
        {"anchors": [5, 6]},
        {"anchors": [8]},
        {"anchors": [-1]},
        {"anchors": []},
        {"anchors": [0.5]},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InvalidInput, match="TripletSampler"):
        TripletSampler(Relevance.of(SINGLE), **wrong)


@pytest.mark.parametrize("wrong", [np.zeros(4, np.uint64), np.ones(3, np.uint64), np.ones(4)])
def test_a_state_that_cannot_move_is_refused(wrong):
    with pytest.raises(InvalidInput, match="state"):
        TripletSampler(Relevance.of(SINGLE)).draw(wrong, 1)
    with pytest.raises(InvalidInput, match="count"):
        TripletSampler(Relevance.of(SINGLE)).draw(state(), -1)


def test_two_hundred_thousand_pictures():
    sampler = TripletSampler(Relevance.of(np.arange(200_000) % 1000))
    drawn = sampler.draw(state(), 200_000).astype(int)
    assert (drawn[:, 0] % 1000 == drawn[:, 1] % 1000).all()
    assert (drawn[:, 0] % 1000 != drawn[:, 2] % 1000).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()
