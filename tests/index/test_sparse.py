import numpy as np
import scipy.sparse as sp

from lookalike.checks.index import SlowIndex
from lookalike.index import SparseIndex


def test_lists_and_tail_and_dense_queries_agree_to_the_last_bit(set_limits):
    set_limits(sparse_tail=48)
    rng = np.random.default_rng(0)
    index = SparseIndex(20)
    vectors = (rng.standard_normal((150, 20)) * (rng.random((150, 20)) < 0.3)).astype(np.float32)
    queries = (rng.standard_normal((9, 20)) * (rng.random((9, 20)) < 0.3)).astype(np.float32)
    covered = set()
    for start in range(0, 150, 5):
        index.add(sp.csr_matrix(vectors[start : start + 5]))
        covered.add(index._state.rows.lists.covered)
        sparse, dense = index.search(sp.csr_matrix(queries), 6), index.search(queries, 6)
        np.testing.assert_array_equal(sparse.ids, dense.ids)
        np.testing.assert_array_equal(sparse.scores, dense.scores)
    assert 3 < len(covered) < 20
    slow = SlowIndex()
    slow.add(vectors)
    for row, query in enumerate(queries):
        assert [number for number, _ in slow.search(query, 6)] == sparse.ids[row].tolist()


def test_few_long_rows_are_listed_and_many_short_ones_wait(set_limits):
    set_limits(sparse_tail=99)
    rng = np.random.default_rng(0)
    index = SparseIndex(50)
    index.add(sp.csr_matrix(rng.random((2, 50), np.float32)))
    assert index._state.rows.lists.covered == 2
    index.add(sp.csr_matrix(np.eye(50, dtype=np.float32)[:20]))
    assert index._state.rows.lists.covered == 2


def test_rows_out_of_order_with_duplicates_are_summed():
    index = SparseIndex(4)
    messy = sp.csr_matrix(([1.0, 2.0, 3.0], [3, 0, 3], [0, 3]), shape=(1, 4))
    index.add(messy)
    assert index.search(messy, 1).scores.tolist() == [[20.0]]
    assert messy.nnz == 3


def test_other_sparse_formats_are_taken():
    index = SparseIndex(3)
    index.add(sp.coo_array(np.eye(3)))
    index.add(sp.csc_matrix(np.eye(3)))
    assert index.search(sp.csr_array(np.eye(3)[1:2]), 2).ids.tolist() == [[1, 4]]
