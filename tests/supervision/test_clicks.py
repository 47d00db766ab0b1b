import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.supervision import clicks_to_relevance, image_relevance, read_clicks
from tests.reference import supervision as slow

matrices = st.tuples(st.integers(1, 5), st.integers(1, 8)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 1, 2, 0.5, 1000]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@settings(max_examples=100)
@given(matrices, st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.2, 0.5]), st.sampled_from([1, 5, 10**6]))
def test_equations_18_to_20_equal_the_slow_twin(matrix, threshold, block):
    R = np.array(matrix, dtype=float)
    if not R.any():
        with pytest.raises(InvalidInput, match="no entry above 0"):
            clicks_to_relevance(sp.csr_matrix(R))
        return
    expected = slow.image_relevance(R, 0)
    # pairs at the threshold itself may fall either way by rounding
    clear = np.abs(expected - threshold) > 1e-12
    expected[expected <= threshold] = 0
    found = image_relevance(sp.csr_matrix(R), threshold=threshold, block=block).toarray()
    np.testing.assert_allclose(found[clear], expected[clear], rtol=1e-12, atol=0)
    assert (found == found.T).all()
    relevance = clicks_to_relevance(sp.csr_matrix(R), threshold=threshold, block=block)
    rows = relevance.rows(np.arange(R.shape[1]))
    off = clear & ~np.eye(R.shape[1], dtype=bool)
    assert (rows[off] == (expected > 0)[off]).all()
    assert (relevance.known == R.any(axis=0)).all()


@settings(max_examples=50)
@given(matrices)
def test_lists_weigh_as_equation_19(matrix):
    R = np.array(matrix, dtype=float)
    if R.any():
        links = clicks_to_relevance(sp.csr_matrix(R)).links
        joint = (links @ links.T).toarray() * (1 - np.eye(R.shape[1]))
        np.testing.assert_allclose(joint, slow.image_relevance(R, 0), rtol=1e-12, atol=1e-300)


def test_block_size_changes_nothing_and_progress_ends():
    R = sp.random(40, 300, 0.05, random_state=0, format="coo")
    told = []
    whole = image_relevance(R, threshold=1e-6)
    cut = image_relevance(R, threshold=1e-6, block=50, progress=lambda *step: told.append(step))
    assert (whole != cut).nnz == 0
    assert whole.nnz > 0
    assert told[-1][0] == told[-1][1]
    assert len(told) > 10


def test_huge_and_tiny_values_stay_finite():
    R = sp.csr_matrix([[1e308, 1e308, 1e308], [1e-300, 1e-300, 0]])
    found = image_relevance(R, threshold=0)
    assert np.isfinite(found.data).all()
    assert found[0, 2] == pytest.approx(1 / 9)


def test_a_hub_query_is_kept_as_a_list():
    n = 100_000
    hub = sp.csr_matrix(np.ones((1, n)))
    few = sp.csr_matrix((np.full(2, 50.0), ([0, 0], [3, 4])), shape=(1, n))
    R = sp.vstack([hub, few])
    lists = clicks_to_relevance(R)
    assert lists.links.nnz == n + 2
    assert lists.alike(0, n - 1)
    # the bound leaves out all that only the hub holds, so this takes no quadratic time
    pairs = image_relevance(R, threshold=1e-5)
    assert pairs.nnz == 2
    assert pairs[3, 4] > 1e-5


def test_the_bound_leaves_out_nothing_above_the_threshold():
    R = sp.csr_matrix([[1.0, 1.0]])
    assert image_relevance(R, threshold=0.2499).nnz == 2
    assert image_relevance(R, threshold=0.2501).nnz == 0


def test_too_many_pairs_are_refused():
    with pytest.raises(InvalidInput, match="more than 100 pairs"):
        image_relevance(sp.csr_matrix(np.ones((1, 50))), threshold=1e-9, max_pairs=100)


@pytest.mark.parametrize(
    "R",
    [
        np.ones((2, 2)),
        sp.csr_matrix((0, 3)),
        sp.csr_matrix((3, 3)),
        sp.csr_matrix([[1.0, -1.0]]),
        sp.csr_matrix([[1.0, np.nan]]),
        sp.csr_matrix([[1.0, np.inf]]),
        sp.csr_matrix([[1.0, 1j]]),
    ],
)
def test_what_are_no_clicks_is_refused(R):
    with pytest.raises(InvalidInput, match="clicks: R_QI"):
        clicks_to_relevance(R)


def test_wrong_thresholds_and_blocks_are_refused():
    R = sp.csr_matrix([[1.0, 1.0]])
    for threshold in (-0.1, 1, float("nan")):
        with pytest.raises(InvalidInput, match="threshold"):
            clicks_to_relevance(R, threshold=threshold)
    with pytest.raises(InvalidInput, match="block"):
        image_relevance(R, threshold=0.1, block=0)


def test_the_callers_clicks_are_left_alone():
    R = sp.csr_matrix([[2.0, 6.0]])
    clicks_to_relevance(R)
    assert R.data.tolist() == [2, 6]
    R.data[0] = 5


def write(folder, text, name="clicks.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_clicks_are_read_and_add_up(tmp_path):
    path = write(
        tmp_path,
        "Query,File,Clicks\n gru\u0308n ,a.jpg,2\ngr\u00fcn,a.jpg,0.5\n"
        "red,b c.jpg,1\nred,a.jpg,0\n",
    )
    queries, files, R = read_clicks(path)
    assert queries == ["gr\u00fcn", "red"]
    assert files == ["a.jpg", "b c.jpg"]
    assert R.toarray().tolist() == [[2.5, 0], [0, 1]]
    assert R.nnz == 2


def test_clicks_without_weights_count_one_each(tmp_path):
    _, _, R = read_clicks(write(tmp_path, "search;image\nx;a\nx;a\nx;b\n"))
    assert R.toarray().tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("query,file,clicks\nx,a,many\n", "line 2.*number"),
        ("query,file,clicks\nx,a,-1\n", "line 2.*number"),
        ("query,file,clicks\nx,a,nan\n", "line 2.*number"),
        ("query,file,clicks\nx,a,inf\n", "line 2.*number"),
        ("query,file,clicks\nx,a,1\n,a,1\n", "line 3.*no query"),
        ("query,file\nx,\n", "line 2.*no file"),
        ("file,clicks\na,1\n", "'query' or 'search'"),
        ("query,clicks\nx,1\n", "'file' or"),
        ("query,file\n", "no rows"),
        ("", "empty"),
    ],
)
def test_hostile_clicks_are_refused(tmp_path, text, says):
    with pytest.raises(InvalidInput, match=says) as caught:
        read_clicks(write(tmp_path, text))
    assert "clicks.csv" in str(caught.value)
