"""Labelled pictures for benchmarks: synthetic ones, and three real sets."""

import csv
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.core.fingerprint import fingerprint
from lookalike.core.settings import cache_folder
from lookalike.evaluate.reproduce.vectors import Pictures, exact_vectors
from lookalike.features import Embedding, Feature, Visterms

CACHE = cache_folder() / "benchmarks"
KIND = "lightfm-vectors/1"
SPLIT_SEED = 0
MIN_PICTURES = 5
VISTERMS = 10_000


@dataclass(frozen=True)
class Part:
    """Pictures: their vectors, and ones where a picture has a word."""

    vectors: sp.csr_matrix
    has: sp.csr_matrix

    def words(self, names: tuple[str, ...]) -> list[set[str]]:
        """Return each picture's words by name."""
        return [
            {names[word] for word in self.has.indices[begin:end]}
            for begin, end in pairwise(self.has.indptr)
        ]

    def precision(self, best: NDArray[np.int32]) -> tuple[float, float]:
        """Judge the ten best words of each picture: precision at 1 and at 10."""
        hits = self._hits(best)
        return float(hits[:, 0].mean()), float(hits.sum(axis=1).mean() / 10)

    def average_precision(self, best: NDArray[np.int32]) -> float:
        """Judge the ten best words of each picture by what both sides choose settings by.

        The mean over the true words within the ten of the precision at their place; a smoother
        figure than precision at 1, and one that both precisions enter.
        """
        hits = self._hits(best)
        precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        most = np.minimum(np.diff(self.has.indptr), hits.shape[1])
        return float(((precisions * hits).sum(axis=1) / most).mean())

    def _hits(self, best: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the given words are correct."""
        rows = np.repeat(np.arange(len(best)), best.shape[1])
        found = np.asarray(self.has[rows, best.ravel()])
        return found.reshape(best.shape) > 0


@dataclass(frozen=True)
class Task:
    """Pictures for training, validation and test."""

    name: str
    words: tuple[str, ...]
    train: Part
    validation: Part
    test: Part


def synthetic(*, train: int = 50_000, held_out: int = 5_000) -> Task:
    """Return synthetic pictures: 10,000 features, about 190 non-zero, and one of 5,000 words each.

    A feature's popularity falls as 1/(rank + 1,000), which is how often visterms occur in photos
    (measured on ``objects``). A word has 100 features of its own, drawn by popularity, with
    falling weights; of the 205 draws that make a picture a fifth is from its word, the rest from
    all features by popularity. Values are counts times the features' idf, in rows of unit length.
    """
    d, Y, own, draws = 10_000, 5_000, 100, 205
    rng = np.random.default_rng(3)
    by_popularity = _falling(d, 1_000)
    by_weight = _falling(own, 10)

    def features(shape: tuple[int, ...]) -> NDArray[np.int32]:
        drawn = np.searchsorted(by_popularity, rng.random(shape, np.float32))
        return np.minimum(drawn, d - 1).astype(np.int32)

    of_word = features((Y, own))
    count = train + 2 * held_out
    words = rng.integers(0, Y, count)
    columns = features((count, draws))
    mine = draws // 5
    places = np.searchsorted(by_weight, rng.random((count, mine), np.float32))
    columns[:, :mine] = of_word[words[:, None], np.minimum(places, own - 1)]
    counts = sp.csr_matrix(
        (np.ones(columns.size, np.float32), columns.ravel(), np.arange(count + 1) * draws),
        shape=(count, d),
    )
    counts.sum_duplicates()
    share = np.bincount(counts.indices[: counts.indptr[train]], minlength=d) / train
    weighed = counts @ sp.diags_array(-np.log(np.clip(share, 1 / train, 0.999)))
    vectors = _unit_rows(sp.csr_matrix(weighed, dtype=np.float32))
    has = sp.csr_matrix((np.ones(count, np.float32), words, np.arange(count + 1)), shape=(count, Y))
    parts = np.split(np.arange(count), [train, train + held_out])
    return Task(
        "synthetic",
        tuple(str(word) for word in range(Y)),
        *(Part(vectors[part], has[part]) for part in parts),
    )


def groceries(data: Path, features: str) -> Task:
    """Return the grocery photos with their 81 fine labels and the set's own split."""
    table = _table(data / "groceries" / "labels.csv")
    splits = np.array([row["split"] for row in table])
    parts = [np.flatnonzero(splits == name) for name in ("train", "val", "test")]
    files = [data / "groceries" / row["file"] for row in table]
    return _task("groceries", features, files, [{row["fine"]} for row in table], parts)


def snapshots(data: Path, features: str) -> Task:
    """Return the holiday photos with their words, several each, and the set's own split."""
    table = _table(data / "snapshots" / "labels.csv")
    splits = np.array([row["split"] for row in table])
    parts = [np.flatnonzero(splits == name) for name in ("train", "validation", "test")]
    files = [data / "snapshots" / row["file"] for row in table]
    words = [set(row["words"].split(";")) for row in table]
    return _task("snapshots", features, files, words, parts)


def clipart(data: Path, features: str) -> Task:
    """Return the drawings, labelled with words of their names that at least five of them have.

    The drawings with such a word, in the order of the table, are shuffled by a fixed seed; the
    first 60 % are to learn from, 20 % to choose settings on, 20 % to be judged on.
    """
    table = _table(data / "clipart" / "labels.csv")
    named = [set(row["name_words"].split()) for row in table]
    uses = Counter(word for words in named for word in words)
    kept = [{word for word in words if uses[word] >= MIN_PICTURES} for words in named]
    some = [row for row, words in enumerate(kept) if words]
    order = np.random.default_rng(SPLIT_SEED).permutation(len(some))
    parts = np.split(order, [round(0.6 * len(some)), round(0.8 * len(some))])
    files = [data / "clipart" / table[row]["file"] for row in some]
    return _task("clipart", features, files, [kept[row] for row in some], parts)


def _task(
    name: str,
    features: str,
    files: list[Path],
    named: list[set[str]],
    parts: list[NDArray[np.int64]],
) -> Task:
    words = tuple(sorted(set().union(*named)))
    number = {word: place for place, word in enumerate(words)}
    columns = [sorted(number[word] for word in some) for some in named]
    has = sp.csr_matrix(
        (
            np.ones(sum(map(len, columns)), np.float32),
            np.concatenate(columns),
            np.r_[0, np.cumsum([len(some) for some in columns])],
        ),
        shape=(len(files), len(words)),
    )
    vectors = _vectors(files, parts[0], features)
    return Task(f"{name}, {features}", words, *(Part(vectors[part], has[part]) for part in parts))


def _vectors(files: list[Path], train: NDArray[np.int64], features: str) -> sp.csr_matrix:
    """Return the vectors of files, computed or loaded from an earlier run.

    The codebook of visterms is learned from the training pictures alone.
    """
    facts = [(str(file), file.stat().st_size) for file in files]
    key = fingerprint({"feature": features, "files": facts}, {"train": train})
    path = CACHE / f"{key}.safetensors"
    try:
        arrays, _ = load_arrays(path, kind=KIND)
    except DamagedFile:
        feature: Feature
        if features == "visterms":
            visterms = Visterms(dimension=VISTERMS, random_state=0)
            feature = visterms.fit(Pictures([files[row] for row in train], visterms.decode_side))
        else:
            feature = Embedding()
        rows = sp.vstack(
            [sp.csr_matrix(row) for row in exact_vectors(files, feature)],
            format="csr",
            dtype=np.float32,
        )
        arrays = {
            "data": rows.data,
            "indices": rows.indices,
            "indptr": rows.indptr,
            "shape": np.array(rows.shape),
        }
        save_arrays(path, arrays, kind=KIND, manifest={})
    return sp.csr_matrix(
        (arrays["data"], arrays["indices"], arrays["indptr"]), tuple(arrays["shape"])
    )


def _falling(count: int, flat: int) -> NDArray[np.float64]:
    """Return the distribution function of 1/(rank + flat)."""
    weights = 1.0 / np.arange(flat, flat + count)
    return np.cumsum(weights / weights.sum())


def _unit_rows(rows: sp.csr_matrix) -> sp.csr_matrix:
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags_array(1.0 / norms) @ rows, dtype=np.float32)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
