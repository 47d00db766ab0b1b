"""Pictures in parts on disk: all come back, mixed, and damage is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.annotation import WSABIE, Parts
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    """Make three parts of 700, 1 and 299 pictures, of which every tenth has no word."""
    made = Parts.create(tmp_path / "parts")
    rng = np.random.default_rng(0)
    first = 0
    for count in (700, 1, 299):
        dense = rng.random((count, 50)) * (rng.random((count, 50)) < 0.2)
        dense[:, 0] = np.arange(first, first + count) + 1  # tells rows apart
        X = sp.csr_matrix(dense)
        y = [
            None if (first + i) % 10 == 9 else {f"w{(first + i) % 7}", "all"} for i in range(count)
        ]
        made.add(X, y)
        first += count
    return Parts.open(made.folder)


def test_rows_come_back(parts: Parts) -> None:
    assert len(parts) == 900
    assert len(parts.words) == 8
    vectors, has = parts.rows(np.array([0, 5, 899]))
    assert vectors[:, 0].toarray().ravel().tolist() == [1, 6, 999]
    assert np.diff(has.indptr).tolist() == [2, 2, 2]
    assert parts.uses.sum() == 1800


def test_a_pass_visits_every_row_once_and_mixes(parts: Parts) -> None:
    skip = np.array([3, 4, 500])
    blocks = list(parts.blocks(np.random.default_rng(0), skip, run=16, block_bytes=30_000))
    assert len(blocks) > 3
    numbers = np.concatenate([vectors[:, 0].toarray().ravel() for vectors, _ in blocks])
    skipped = parts.rows(skip)[0][:, 0].toarray().ravel()
    assert len(numbers) == len(set(numbers)) == 897
    assert not set(numbers) & set(skipped)
    assert np.ptp(blocks[0][0][:, 0].toarray()) > 400  # from all over


def test_mean_length_is_that_of_all(parts: Parts) -> None:
    vectors, _ = parts.rows(np.arange(900))
    assert parts.mean_length == pytest.approx(float((vectors.data.astype(float) ** 2).sum() / 900))


def test_a_list_of_parts_without_a_checksum_is_refused(parts: Parts) -> None:
    index = json.loads((parts.folder / "parts.json").read_text())
    del index["xxh3"]
    (parts.folder / "parts.json").write_text(json.dumps(index))
    with pytest.raises(DamagedFile):
        Parts.open(parts.folder)


@pytest.mark.parametrize("name", ["000000.safetensors", "parts.json"])
def test_every_flipped_bit_is_noticed(parts: Parts, name: str) -> None:
    path = parts.folder / name
    content = path.read_bytes()
    for place in np.linspace(0, len(content) - 1, 200).astype(int).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            len(Parts.open(parts.folder))


def test_a_part_that_is_cut_while_it_is_used_is_an_error(parts: Parts) -> None:
    """To read a mapping past the end of its file ends the process."""
    assert parts.rows(np.arange(2))[0].shape[0] == 2
    file = parts.folder / "000000.safetensors"
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(DamagedFile, match="was cut"):
        parts.rows(np.arange(2))


def test_an_unfinished_part_is_not_there(parts: Parts) -> None:
    (parts.folder / "000003.safetensors").write_bytes(b"rubbish")
    assert len(Parts.open(parts.folder)) == 900
    parts.add(np.ones((2, 50)), ["new", "w1"])
    again = Parts.open(parts.folder)
    assert len(again) == 902
    assert again.words[-1] == "new"


def test_a_failed_add_changes_nothing(parts: Parts) -> None:
    with pytest.raises(InvalidInput, match="50 columns"):
        parts.add(np.ones((2, 51)), ["a", "b"])
    with pytest.raises(InvalidInput, match="characters"):
        parts.add(np.ones((1, 50)), ["x" * 10_000])
    assert len(parts) == len(Parts.open(parts.folder)) == 900


@pytest.mark.parametrize("what", ["data", "columns", "indptr", "words", "word_indptr"])
@pytest.mark.parametrize("damage", ["cut", "high", "gone"])
def test_arrays_that_do_not_fit_are_refused(parts: Parts, what: str, damage: str) -> None:
    path = parts.folder / "000000.safetensors"
    loaded, _ = load_arrays(path, kind="part/1")
    arrays = dict(loaded)
    array = arrays.pop(what).copy()
    array.view(np.uint8)[:8] = 255
    if damage != "gone":
        arrays[what] = array if damage == "high" else loaded[what][:-1]
    save_arrays(path, arrays, kind="part/1", manifest={})
    with pytest.raises(DamagedFile, match="000000"):
        WSABIE(epochs=1).fit(Parts.open(parts.folder))


@pytest.mark.parametrize("change", [{"data": np.ones(3)}, {"more": np.ones(1)}])
def test_a_foreign_part_is_refused(parts: Parts, change: dict[str, np.ndarray]) -> None:
    path = parts.folder / "000000.safetensors"
    arrays, _ = load_arrays(path, kind="part/1")
    save_arrays(path, {**arrays, **change}, kind="part/1", manifest={})
    with pytest.raises(DamagedFile, match="000000"):
        WSABIE(epochs=1).fit(Parts.open(parts.folder))


@pytest.mark.parametrize(
    "index", ["", "{}", '{"kind": "oasis/1"}', '{"kind": "parts/1", "parts": ["../x"]}']
)
def test_a_foreign_index_is_refused(parts: Parts, index: str) -> None:
    (parts.folder / "parts.json").write_text(index)
    with pytest.raises(DamagedFile, match=r"parts\.json"):
        Parts.open(parts.folder)


def test_parts_are_made_once(parts: Parts) -> None:
    with pytest.raises(InvalidInput, match="already"):
        Parts.create(parts.folder)
    with pytest.raises(DamagedFile):
        Parts.open(parts.folder / "nowhere")


def test_parts_with_one_word_teach_nothing(tmp_path: Path) -> None:
    parts = Parts.create(tmp_path)
    parts.add(np.eye(2), ["a", "a"])
    with pytest.raises(InvalidInput, match="at least two"):
        WSABIE().fit(parts)
