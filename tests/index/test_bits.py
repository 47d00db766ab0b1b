"""What a BitIndex promises beyond the contract: distances, radii, cells, maps, little memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.codes import Codes
from lookalike.core.errors import DamagedFile, FingerprintMismatch, InvalidInput
from lookalike.index import BitIndex
from lookalike.index._fast import shuffle
from lookalike.index._fast.row_order import unpack_rows
from lookalike.index.bit_cells import SortedCodes, _packed
from lookalike.index.bit_rows import BitRows
from tests.reference import bits as slow


def clustered(rng, n, bits, clusters=20, flip=0.1):
    centres = rng.random((clusters, bits)) < 0.5
    return np.packbits(
        centres[rng.integers(0, clusters, n)] ^ (rng.random((n, bits)) < flip), axis=1
    )


def some_weights(rng, kind, queries, bits):
    return {
        "none": np.ones(bits),
        "zero": np.zeros(bits),
        "one set": rng.random(bits),
        "each": rng.random((queries, bits)),
        "skewed": rng.exponential(size=(queries, bits)) ** 4,
        "few": rng.random((queries, bits)) * (rng.random((queries, bits)) < 0.2),
        "tiny": rng.random((queries, bits)) * 1e-41,
        "huge": rng.random((queries, bits)) * 1e36,
    }[kind]


WEIGHTS = ["none", "zero", "one set", "each", "skewed", "few", "tiny", "huge"]


def sorting(**limits):
    """Return the class of an index that sorts few codes into cells, by these limits."""
    rows = type("SortingRows", (BitRows,), {"sorted_from": 40, **limits})
    return type("SortingIndex", (BitIndex,), {"rows": rows})


@pytest.fixture(params=[BitIndex, sorting(cell=50)], ids=["scanned", "sorted"])
def kind(request):
    return request.param


@pytest.mark.parametrize("bits", [1, 5, 8, 12, 48, 64, 100])
def test_nearest_and_within_equal_brute_force(kind, bits):
    rng = np.random.default_rng(bits)
    codes = clustered(rng, 3000, bits)
    queries = np.vstack([clustered(rng, 3, bits), codes[:3]])
    names = np.arange(7, 3007)
    index = kind(bits)
    index.add_codes(codes[:2900], names[:2900])
    index.add_codes(codes[2900:], names[2900:])
    assert (index._state.rows.near.covered > 0) == (kind is not BitIndex)
    for form in WEIGHTS:
        weights = some_weights(rng, form, len(queries), bits)
        expected = slow.distances(codes, queries, weights, bits)
        for k in (1, 10, 100):
            hits = index.nearest(queries, k, weights=None if form == "none" else weights)
            order = np.argsort(expected, axis=1, kind="stable")[:, :k]
            np.testing.assert_array_equal(hits.ids, names[order])
            np.testing.assert_array_equal(-hits.scores, np.take_along_axis(expected, order, 1))
        radius = float(np.median(np.sort(expected, axis=1)[:, 50]))
        for row, (ids, found) in enumerate(index.within(queries, radius, weights=weights)):
            inside = np.flatnonzero(expected[row] <= np.float32(radius))
            order = inside[np.lexsort((inside, expected[row, inside]))]
            np.testing.assert_array_equal(ids, names[order])
            np.testing.assert_array_equal(found, expected[row, order])


def test_shuffled_ids_excluded_ones_and_few_chosen(kind):
    rng = np.random.default_rng(3)
    codes, names = clustered(rng, 500, 24), rng.permutation(900)[:500]
    index = kind(24)
    index.add_codes(codes, names)
    queries = codes[:6]
    weights = rng.random((6, 24))
    expected = slow.distances(codes, queries, weights, 24)
    exclude = np.stack([names[:6], names[6:12]], axis=1)
    among = rng.permutation(names)[:200]
    hits = index.nearest(queries, 20, weights=weights, exclude=exclude)
    few = index.nearest(queries, 20, weights=weights, exclude=exclude, among=among)
    for row in range(6):
        order = np.lexsort((names, expected[row]))
        select = names[order][~np.isin(names[order], exclude[row])]
        np.testing.assert_array_equal(hits.ids[row], select[:20])
        np.testing.assert_array_equal(few.ids[row], select[np.isin(select, among)][:20])


@pytest.mark.parametrize("share", [1, 12, 10**6])
def test_a_search_that_would_visit_too_much_scans_instead(share):
    rng = np.random.default_rng(4)
    codes = np.packbits(rng.random((4000, 64)) < 0.5, axis=1)
    codes[:40] = codes[0]
    index = sorting(share=share)(64)
    index.add_codes(codes)
    # The first query finds all in its own cell, the others nothing near.
    queries = codes[[0, 100, 200]]
    hits = index.nearest(queries, 30)
    expected = slow.distances(codes, queries, np.ones(64), 64)
    np.testing.assert_array_equal(hits.ids, np.argsort(expected, axis=1, kind="stable")[:, :30])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.floats(0.0, 0.4), st.floats(0.0, 0.6))
def test_cells_stay_exact_when_codes_come_and_go(seed, clusters, flip, gone):
    rng = np.random.default_rng(seed)
    codes = clustered(rng, 700, 48, clusters, flip)
    names = rng.permutation(5000)[:700]
    index = sorting(sorted_from=200, cell=30, share=1)(48)
    index.add_codes(codes[:500], names[:500])
    select = np.ones(700, np.bool_)
    for _ in range(2):
        left = select & (rng.random(700) >= gone)
        left[500:] = True
        left[0] = True
        if (select & ~left)[:500].any():
            index.remove(names[:500][(select & ~left)[:500]])
        select = left
    index.add_codes(codes[500:], names[500:])
    np.testing.assert_array_equal(index.codes(names[select]), codes[select])
    weights = rng.random(48) ** 2
    expected = slow.distances(codes[select], codes[:4], weights, 48)
    hits = index.nearest(codes[:4], 9, weights=weights)
    inside = index.within(codes[:4], 2.0, weights=weights)
    asked = rng.standard_normal((2, 48)).astype(np.float32)
    products = np.unpackbits(codes[select], axis=1) @ asked.T.astype(np.float64)
    best = np.sort(products.astype(np.float32), axis=0)[::-1][:9].T
    np.testing.assert_allclose(index.search(asked, 9).scores, best, rtol=1e-6)
    for row in range(4):
        order = np.lexsort((names[select], expected[row]))
        np.testing.assert_array_equal(hits.ids[row], names[select][order][:9])
        near = order[expected[row][order] <= 2]
        np.testing.assert_array_equal(inside[row][0], names[select][near])


def test_what_is_left_of_a_ring_is_still_found_in_it():
    rng = np.random.default_rng(8)
    near = SortedCodes.of(Codes(clustered(rng, 2000, 48, 10), 48), 100)
    mask = rng.random(2000) < 0.7
    fewer = near.select(mask)
    before, after = near.order(), fewer.order()
    renamed = np.cumsum(mask) - 1

    def visited(order, rings, cell, ring):
        first, last = int(rings[cell, ring]) // 64 * 64, -(-int(rings[cell, -1]) // 64) * 64
        return order[first:last]

    for cell in range(len(near.cells.rings)):
        for ring in range(near.cells.rings.shape[1] - 1):
            old = visited(before, near.cells.rings, cell, ring)
            new = visited(after, fewer.cells.rings, cell, ring)
            assert set(renamed[old[mask[old]]]) <= set(new)
    loose = before[near.cells.loose // 64 * 64 :]
    assert set(renamed[loose[mask[loose]]]) <= set(after[fewer.cells.loose // 64 * 64 :])


@pytest.mark.parametrize("count", [1, 64, 127, 129, 200, 5000, 100_000])
def test_rows_are_packed_and_found_again(count):
    order = np.random.default_rng(count).permutation(count)
    packed = _packed(order)
    found = np.empty(count, np.int64)
    unpack_rows(packed, found)
    for first in range(0, count, 64):
        assert found[first : first + 64].tolist() == sorted(order[first : first + 64])
    assert packed.nbytes <= 3 * count + 64 * 8


@pytest.mark.parametrize("columns", [1, 6, 8, 9])
def test_lanes_equal_the_slow_twin(columns):
    rng = np.random.default_rng(columns)
    blocks = rng.integers(0, 256, (3, columns, 32), dtype=np.uint8)
    half = rng.integers(0, 60, (2 * columns, 16), dtype=np.uint8)
    half[0, 0] = 255
    tables = np.hstack([half, half])
    for number in range(3):
        for most in (0, 40, 100, 254, 255):
            expected = slow.near_lanes(blocks[number], half, most)
            arguments = (blocks, number, tables, columns, np.uint8(most))
            assert shuffle.plain_lanes(*arguments) == expected
            if shuffle.has_shuffle():
                assert shuffle.shuffled_lanes(*arguments) == expected


@pytest.mark.parametrize("bits", [48, 64])
def test_a_code_takes_its_bytes_and_little_more(bits):
    rng = np.random.default_rng(0)
    index = sorting(sorted_from=40_001)(bits)
    index.add_codes(np.packbits(rng.random((40_000, bits)) < 0.5, axis=1))
    state = index._state
    assert state.rows._buffer.nbytes <= 40_000 * bits // 8 * 1.01
    assert index.scales.strides == (0,)
    assert state.ids.first == 0
    index.add_codes(np.packbits(rng.random((1, bits)) < 0.5, axis=1))
    rows = index._state.rows
    assert rows.near.covered == 40_001
    assert rows.memory <= 40_001 * bits // 8 * 1.5


def test_a_file_is_mapped_and_grows_apart_from_it(kind, tmp_path):
    rng = np.random.default_rng(5)
    codes = clustered(rng, 200, 20)
    index = kind(20, fingerprint="f")
    index.add_codes(codes)
    index.save(tmp_path / "a")
    opened = BitIndex.open(tmp_path / "a")
    assert not opened._state.rows._buffer.flags.writeable
    assert opened._state.rows.near.covered == (0 if kind is BitIndex else 200)
    hits, before = opened.nearest(codes[:5], 7), index.nearest(codes[:5], 7)
    np.testing.assert_array_equal(hits.ids, before.ids)
    opened.add_codes(codes[:9])
    opened.remove([3])
    opened.save(tmp_path / "a")
    again = BitIndex.open(tmp_path / "a")
    assert again.ids.tolist() == [*range(3), *range(4, 209)]
    np.testing.assert_array_equal(again.codes([205, 0]), codes[[5, 0]])
    assert BitIndex.saved_ids(tmp_path / "a", fingerprint="f").tolist() == again.ids.tolist()
    assert BitIndex.saved_ids(tmp_path / "a", fingerprint="g").tolist() == []


def test_a_file_with_wrong_cells_or_cut_short_is_refused(tmp_path):
    index = sorting()(16)
    index.add_codes(clustered(np.random.default_rng(6), 100, 16))
    index.save(tmp_path / "a")
    arrays, manifest = load_arrays(tmp_path / "a", kind="bits_index/1")
    for name, wrong in {
        "rows": arrays["rows"][::-1],
        "rings": arrays["rings"] + np.uint32(100),
        "centres": arrays["centres"][:, :-1],
        "covered": arrays["covered"] + 1,
        "blocks": arrays["blocks"][:-1],
    }.items():
        changed = {**arrays, name: wrong}
        save_arrays(tmp_path / "bad", changed, kind="bits_index/1", manifest=manifest)
        with pytest.raises(DamagedFile, match="bad"):
            BitIndex.open(tmp_path / "bad")
    whole = (tmp_path / "a").read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        (tmp_path / "bad").write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match="bad"):
            BitIndex.open(tmp_path / "bad")


def test_bad_input_changes_nothing():
    index = BitIndex(12, fingerprint="model")
    index.add_codes([[1, 16], [2, 32]])
    for bad in (
        [[1]],
        [[1, 2, 3]],
        [[1, 1]],
        [[1.0, 16.0]],
        [[300, 0]],
        [[-1, 0]],
        [["a", "b"]],
        [[[1, 16]]],
    ):
        with pytest.raises(InvalidInput, match="BitIndex: codes"):
            index.add_codes(bad)
        with pytest.raises(InvalidInput, match="BitIndex: codes"):
            index.nearest(bad)
    with pytest.raises(InvalidInput, match="0 or 1"):
        index.add(np.full((1, 12), 2.0))
    for bad in (np.ones(11), -np.ones(12), np.full(12, np.nan), np.ones((2, 12)), ["a"] * 12):
        with pytest.raises(InvalidInput, match="BitIndex: weights"):
            index.nearest([[1, 16]], weights=bad)
    for bad in (-1, np.nan, np.inf, "2", None):
        with pytest.raises(InvalidInput, match="radius"):
            index.within([[1, 16]], bad)
    for call in (index.nearest, lambda c, **f: index.within(c, 1, **f), index.add_codes):
        with pytest.raises(FingerprintMismatch):
            call([[1, 16]], fingerprint="another")
    for bad in (0, -1, 2.0, None, 1 << 17):
        with pytest.raises(InvalidInput, match="dimension"):
            BitIndex(bad)
    assert index.codes().tolist() == [[1, 16], [2, 32]]
    assert index.nearest([[1, 16]], 5).ids.tolist() == [[0, 1, -1, -1, -1]]
    empty = BitIndex(12)
    assert empty.nearest([[1, 16]], 2).ids.tolist() == [[-1, -1]]
    assert empty.within([[1, 16]], 3)[0][0].tolist() == []
