import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import ndcg_score

from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import Judgement, discounted_gains, judge, judge_in_blocks
from tests.reference.ranking import judge_slowly


@st.composite
def rankings(draw):
    q, n = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    few = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1.0, 1.5, np.inf])
    scores = draw(hnp.arrays(dtype, (q, n), elements=few))
    relevant = draw(hnp.arrays(np.bool_, (q, n)))
    own = draw(hnp.arrays(np.int64, q, elements=st.integers(-1, n - 1)))
    return scores, relevant, own


@settings(max_examples=200)
@given(rankings(), st.lists(st.integers(1, 15), max_size=3))
def test_fast_equals_slow(case, cutoffs):
    scores, relevant, own = case
    found = judge(scores, relevant, own=own, cutoffs=cutoffs)
    for row in range(len(scores)):
        average, precisions = judge_slowly(scores[row], relevant[row], own[row], cutoffs)
        np.testing.assert_allclose(found.average_precision[row], average, rtol=1e-12)
        np.testing.assert_allclose(found.precision[row], precisions, rtol=1e-12)
        assert found.judged[row] == (not np.isnan(average))


def test_equals_slow_on_many_items():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 50, (6, 400)).astype(np.float32)
    relevant = rng.random((6, 400)) < [[0.001], [0.01], [0.1], [0.5], [0.9], [1.0]]
    own = np.arange(6)
    found = judge(scores, relevant, own=own)
    for row in range(6):
        average, precisions = judge_slowly(scores[row], relevant[row], row, (1, 10, 50))
        np.testing.assert_allclose(found.average_precision[row], average)
        np.testing.assert_allclose(found.precision[row], precisions)


def test_all_relevant_first_gives_one():
    found = judge([[5.0, 4.0, 3.0, 9.0]], np.array([[True, True, False, True]]), own=[3])
    assert found.mean_average_precision == 1.0


def test_precision_is_a_share_of_k_even_with_fewer_items():
    found = judge([[1.0, 0.0]], np.array([[True, True]]), cutoffs=[8])
    assert found.precision_at(8) == 0.25


def test_queries_without_a_relevant_item_enter_no_mean():
    relevant = np.array([[True, False], [False, False]])
    found = judge([[1.0, 0.0], [1.0, 0.0]], relevant, cutoffs=[1])
    assert found.judged.tolist() == [True, False]
    assert found.mean_average_precision == found.precision_at(1) == 1.0
    assert found.chance == 0.5
    assert np.isnan(found.average_precision[1])


def test_the_query_itself_counts_for_nothing():
    scores, relevant = [[9.0, 1.0, 0.0]], np.array([[True, False, True]])
    assert judge(scores, relevant, own=[0], cutoffs=[1]).precision_at(1) == 0.0
    assert judge(scores, relevant, own=[0]).mean_average_precision == 0.5
    assert not judge(scores, np.array([[True, False, False]]), own=[0]).judged.any()


def test_a_score_of_nan_is_refused_but_for_the_query_itself():
    relevant = np.array([[True, True]])
    with pytest.raises(InvalidInput, match="row 0"):
        judge([[np.nan, 1.0]], relevant)
    assert judge([[np.nan, 1.0]], relevant, own=[0]).mean_average_precision == 1.0


def test_no_mean_over_nothing():
    found = judge(np.zeros((0, 3)), np.zeros((0, 3), np.bool_))
    with pytest.raises(InvalidInput, match="none of the 0 queries"):
        _ = found.mean_average_precision
    with pytest.raises(InvalidInput, match="nothing to average"):
        _ = judge([[1.0]], np.array([[False]])).chance


def test_whole_numbers_and_columns_of_another_array_are_taken():
    scores = np.arange(12).reshape(4, 3).T
    relevant = np.asfortranarray(np.eye(3, 4, dtype=np.bool_))
    assert judge(scores, relevant).average_precision.tolist() == [1 / 4, 1 / 3, 1 / 2]


@pytest.mark.parametrize(
    ("scores", "relevant", "others"),
    [
        ([1.0], np.array([True]), {}),
        ([[1.0]], np.array([[1]]), {}),
        ([[1.0]], np.array([[True, False]]), {}),
        ([["a"]], np.array([[True]]), {}),
        ([[1.0]], np.array([[True]]), {"own": [1]}),
        ([[1.0]], np.array([[True]]), {"own": [-2]}),
        ([[1.0]], np.array([[True]]), {"own": [0.0]}),
        ([[1.0]], np.array([[True]]), {"own": [0, 0]}),
        ([[1.0]], np.array([[True]]), {"cutoffs": [0]}),
        ([[1.0]], np.array([[True]]), {"cutoffs": [1.5]}),
        ([[1.0]], np.array([[True]]), {"cutoffs": [[1]]}),
    ],
)
def test_bad_input_is_refused(scores, relevant, others):
    with pytest.raises(InvalidInput):
        judge(scores, relevant, **others)


def test_precision_at_an_unknown_cutoff_is_refused():
    with pytest.raises(InvalidInput, match="k must be one of"):
        judge([[1.0]], np.array([[True]]), cutoffs=[1]).precision_at(2)


def test_blocks_equal_the_whole():
    rng = np.random.default_rng(1)
    scores = rng.random((23, 23))
    relevant = rng.random((23, 23)) < 0.2
    whole = judge(scores, relevant, own=np.arange(23))
    told = []
    parts = judge_in_blocks(
        lambda rows: scores[rows],
        lambda rows: relevant[rows],
        23,
        block_scores=100,
        progress=lambda done, total: told.append((done, total)),
    )
    assert isinstance(parts, Judgement)
    np.testing.assert_array_equal(parts.average_precision, whole.average_precision)
    np.testing.assert_array_equal(parts.precision, whole.precision)
    np.testing.assert_array_equal(parts.prevalence, whole.prevalence)
    assert told == [(4, 23), (8, 23), (12, 23), (16, 23), (20, 23), (23, 23)]


def test_no_items_are_refused():
    with pytest.raises(InvalidInput):
        judge_in_blocks(lambda _: np.zeros((0, 0)), lambda _: np.zeros((0, 0), np.bool_), 0)


def test_discounted_gains_equal_scikit_learns():
    rng = np.random.default_rng(0)
    scores, values = rng.random((20, 20)), rng.integers(0, 4, (20, 20)).astype(float)
    off = ~np.eye(20, dtype=bool)
    expected = [
        ndcg_score(values[i, off[i]][None], scores[i, off[i]][None], k=7) for i in range(20)
    ]
    np.testing.assert_allclose(discounted_gains(scores, values, 7), expected)
    np.testing.assert_allclose(
        discounted_gains(scores, values, 50),
        [ndcg_score(values[i, off[i]][None], scores[i, off[i]][None]) for i in range(20)],
    )
    values[3] = 0
    assert np.isnan(discounted_gains(scores, values)[3])
