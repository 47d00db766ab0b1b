"""An index whose vectors stay in their file does what one in memory does, and notices damage."""

import json
import os
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import check_file, load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.index import DenseIndex, MappedIndex, checked_rows
from lookalike.index.checked_rows import row_sums
from tests.reference.index import row_sum

pytestmark = pytest.mark.usefixtures("way")


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


@settings(max_examples=25)
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


def test_its_vectors_stay_in_the_file_and_outlive_it(tmp_path):
    rng = np.random.default_rng(0)
    memory = saved(tmp_path / "index", rng, 2 * checked_rows.MANY)
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


def places_of(path):
    """Where the parts of a file are, by name: the first byte and the one behind."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    found = {"header": (0, begin)}
    for name, entry in header.items():
        if name != "__metadata__":
            found[name] = tuple(begin + offset for offset in entry["data_offsets"])
    return found


def flip(path, place, bit=0):
    """Change one bit of a file as it is, also under those who have mapped it."""
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


def answers(index, queries):
    found = index.search(queries, 7)
    some = index.ids[::3]
    return (
        *(index.ids, index.scales, found.ids, found.scores),
        *(index.take(some), index.scores(queries, some), index.vectors),
    )


@settings(max_examples=150)
@given(data=st.data())
@pytest.mark.parametrize("kind", [MappedIndex, DenseIndex])
@pytest.mark.parametrize(("n", "d"), [(50, 6), (51, 5), (51, 6)])
def test_every_flipped_bit_is_noticed_before_it_changes_an_answer(
    tmp_path_factory, n, d, kind, data
):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.getbasetemp() / f"flipped-{n}-{d}-{kind.name}"
    saved(path, rng, n, d)
    queries = rng.standard_normal((2, d)).astype(np.float32)
    sound = answers(kind.open(path), queries)
    region = data.draw(st.sampled_from(["header", "ids", "scales", "sums", "vectors"]))
    first, last = places_of(path)[region]
    flip(path, data.draw(st.integers(first, last - 1)), data.draw(st.integers(0, 7)))
    with pytest.raises(DamagedFile):
        check_file(path)
    try:
        found = answers(kind.open(path), queries)
    except DamagedFile:
        return
    # Only the checksum of the whole file, which `lookalike check` reads, is left out.
    assert region == "header"
    for one, other in zip(found, sound, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "d"), [(50, 6), (51, 5)])
def test_vectors_damaged_since_it_was_opened_are_noticed_or_mended(tmp_path, n, d):
    rng = np.random.default_rng(0)
    path = tmp_path / "index"
    memory = saved(path, rng, n, d)
    asked = []

    def mend(ids, error):
        assert isinstance(error, DamagedFile)
        asked.append(ids.tolist())
        return memory.take(ids)

    bare, mended = MappedIndex.open(path), MappedIndex.open(path, mend)
    for index in (bare, mended):
        alike(index, memory, rng)
        assert not index.damaged
    flip(path, places_of(path)["vectors"][0] + 4 * d * 7 + 5, 3)
    broken = memory.ids[7]
    np.testing.assert_array_equal(bare.take(memory.ids[8:]), memory.vectors[8:])
    for read in (
        lambda: bare.search(np.ones(d)),
        lambda: bare.scores(np.ones(d), [broken]),
        lambda: bare.take([broken]),
        lambda: bare.vectors,
        lambda: bare.save(tmp_path / "other"),
    ):
        with pytest.raises(
            DamagedFile, match=r"index is damaged: .* of 1 vector differ, .* number 7"
        ):
            read()
    assert bare.damaged
    assert not mended.damaged
    copy = mended.copy()
    alike(copy, memory, rng)
    assert asked
    assert {name for names in asked for name in names} == {broken}
    assert mended.damaged
    for index in (copy, memory):
        index.remove(memory.ids[:3])
        index.add(np.ones((2, d)))
    alike(copy, memory, rng)
    assert not MappedIndex(3).damaged


def test_threads_may_mend_the_same_rows(tmp_path, set_limits):
    rng = np.random.default_rng(0)
    set_limits(many_rows=1)
    memory = saved(tmp_path / "index", rng, 300, 8)
    mapped = MappedIndex.open(tmp_path / "index", lambda ids, _: memory.take(ids))
    first, last = places_of(tmp_path / "index")["vectors"]
    for place in range(first, last, 500):
        flip(tmp_path / "index", place)
    expected, wrong = memory.search(np.ones(8), 300), []

    def search():
        for _ in range(30):
            found = mapped.search(np.ones(8), 300)
            if not np.array_equal(found.ids, expected.ids):
                wrong.append(found)

    threads = [Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_file_without_sums_is_refused(tmp_path):
    path = tmp_path / "index"
    saved(path, np.random.default_rng(0))
    arrays, manifest = load_arrays(path, kind="dense_index/1")
    plain = {name: arrays[name] for name in ("ids", "scales", "vectors")}
    for content in (manifest, {name: it for name, it in manifest.items() if name != "seal"}):
        save_arrays(path, plain, kind="dense_index/1", manifest=content)
        for kind in (MappedIndex, DenseIndex):
            with pytest.raises(DamagedFile, match="not as it was written"):
                kind.open(path)


@pytest.mark.parametrize("d", [6, 5])
def test_lengths_are_computed_while_sums_are_checked(tmp_path, d):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1100, d)).astype(np.float32)
    rows[0], rows[1], rows[2] = 0, 1e-30, 3e38
    found = checked_rows.checked_lengths(tmp_path, rows, row_sums(rows))
    exact = np.linalg.norm(rows.astype(np.float64), axis=1)
    exact[2] = np.inf
    np.testing.assert_allclose(found, exact, rtol=d * 2**-25, atol=1e-18)
    wrong = rows.copy()
    wrong[[7, 1099]] += 1
    with pytest.raises(DamagedFile, match="of 2 vectors differ"):
        checked_rows.checked_lengths(tmp_path, wrong, row_sums(rows))


@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_vectors_whose_squares_are_out_of_range_are_searched_as_before(tmp_path, scale):
    rng = np.random.default_rng(0)
    index = DenseIndex(8)
    index.add(scale * rng.standard_normal((300, 8)))
    index.save(tmp_path / "index")
    opened = DenseIndex.open(tmp_path / "index")
    for query in rng.standard_normal((5, 8)):
        one, other = index.search(query, k=9), opened.search(query, k=9)
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_file_with_what_is_no_number_is_refused_though_its_sums_are_right(tmp_path, value):
    path = tmp_path / "index"
    saved(path, np.random.default_rng(0))
    arrays, manifest = load_arrays(path, kind="dense_index/1")
    arrays["vectors"][3, 2] = value
    arrays["sums"] = row_sums(arrays["vectors"])
    save_arrays(path, arrays, kind="dense_index/1", manifest=manifest)
    with pytest.raises(DamagedFile, match="finite"):
        DenseIndex.open(path)


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_sums_of_rows_are_those_of_the_reference(d, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**32, (5, d), dtype=np.uint32)
    rows[0], rows[1] = 0, 2**32 - 1
    found = row_sums(rows.view(np.float32))
    assert found.tolist() == [row_sum(row, checked_rows._key(d)) for row in rows.view(np.float32)]
    # No change inside a word leaves the sum as it was.
    row, word = rng.integers(5), rng.integers(d)
    rows[row, word] ^= rng.integers(1, 2**32, dtype=np.uint32)
    after = row_sums(rows.view(np.float32))
    assert (after != found).tolist() == [one == row for one in range(5)]


def test_sums_stay_as_files_have_them():
    """Else the vectors of all files would count as damaged."""
    # What SplitMix64 gives from 0 on.
    assert checked_rows._key(3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert row_sums(np.array([[1, 2, 3]], np.float32)).tolist() == [11354003648664676002]


def test_a_file_cut_while_it_is_mapped_is_an_error(tmp_path):
    """It was the end of the process (SIGBUS)."""
    rng = np.random.default_rng(0)
    saved(tmp_path / "index", rng, n=5000, d=64)
    mapped = MappedIndex.open(tmp_path / "index")
    ids = mapped.ids.copy()
    os.truncate(tmp_path / "index", (tmp_path / "index").stat().st_size // 2)
    with pytest.raises(DamagedFile, match="damaged"):
        mapped.take(ids[-3:])
