"""An index whose vectors stay in their file does what one in memory does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.index import DenseIndex, MappedIndex, growing


def saved(path, rng, n=50, d=5):
    index = DenseIndex(d, fingerprint="f")
    ids = np.sort(rng.permutation(3 * n)[:n])
    index.add(rng.standard_normal((n, d)), ids, scales=rng.random(n) + 0.5)
    index.save(path)
    return index


def alike(one, other, rng):
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scales, other.scales)
    np.testing.assert_array_equal(one.vectors, other.vectors)
    queries = rng.standard_normal((3, one.dimension))
    if not len(one):
        return
    some = rng.permutation(one.ids)[: len(one) // 2 + 1]
    np.testing.assert_array_equal(one.take(some), other.take(some))
    np.testing.assert_array_equal(one.scores(queries, some), other.scores(queries, some))
    for among in (None, some, one.ids[:3]):
        found, expected = (it.search(queries, 7, among=among) for it in (one, other))
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_it_does_what_one_in_memory_does(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("mapped") / "index"
    memory = saved(path, rng, n=int(rng.integers(1, 60)))
    mapped = MappedIndex.open(path)
    alike(mapped, memory, rng)
    earlier, before = mapped.copy(), memory.copy()
    for _ in range(4):
        if rng.random() < 0.5 and len(memory):
            gone = rng.permutation(memory.ids)[: rng.integers(1, len(memory) + 1)]
            mapped.remove(gone)
            memory.remove(gone)
        else:
            new = rng.standard_normal((int(rng.integers(1, 9)), 5))
            np.testing.assert_array_equal(mapped.add(new), memory.add(new))
        alike(mapped, memory, rng)
    alike(earlier, before, rng)
    mapped.save(path.with_name("again"))
    alike(DenseIndex.open(path.with_name("again")), memory, rng)


def test_its_vectors_stay_in_the_file_and_outlive_it(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(growing, "MANY", 10)
    memory = saved(tmp_path / "index", rng)
    mapped = MappedIndex.open(tmp_path / "index")
    assert not mapped.vectors.flags.owndata
    assert not mapped.vectors.flags.writeable
    saved(tmp_path / "index", rng)
    alike(mapped, memory, rng)
    (tmp_path / "index").unlink()
    mapped.add(rng.standard_normal((2, 5)))
    np.testing.assert_array_equal(mapped.take(memory.ids), memory.vectors)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "index"
    saved(path, np.random.default_rng(0))
    content = path.read_bytes()
    arrays, manifest = load_arrays(path, kind="dense_index/1")
    for length in (0, 7, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedFile):
            MappedIndex.open(path)
    for wrong in (
        {**arrays, "vectors": arrays["vectors"][:-1]},
        {**arrays, "vectors": arrays["vectors"].astype(np.float64)},
        {**arrays, "ids": np.zeros_like(arrays["ids"])},
        {"ids": arrays["ids"], "scales": arrays["scales"]},
    ):
        save_arrays(path, wrong, kind="dense_index/1", manifest=manifest)
        with pytest.raises(DamagedFile):
            MappedIndex.open(path)
    with pytest.raises(DamagedFile, match="not exist"):
        MappedIndex.open(tmp_path / "nothing")
