"""Describe the pictures of a fold by visterms whose codebook knows its training part only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, UnreadablePicture
from lookalike.core.fingerprint import fingerprint
from lookalike.evaluate.protocols import Fold
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.features import Described, Visterms, describe_files
from lookalike.images import Limits, decode, read_bytes

DIMENSION = 1000
KIND = "fold-vectors/2"


@dataclass(frozen=True)
class FoldVectors:
    """The vectors and classes of both parts of a fold."""

    train: sp.csr_matrix
    train_labels: NDArray[np.str_]
    test: sp.csr_matrix
    test_labels: NDArray[np.str_]

    @classmethod
    def split(cls, rows: sp.csr_matrix, labels: NDArray[np.str_], train: int) -> Self:
        """Take the first ``train`` rows as the training part and the rest as the test part."""
        return cls(rows[:train], labels[:train], rows[train:], labels[train:])


class Pictures(Sequence[Image.Image]):
    """Decode each picture when it is asked for, so that they take no memory."""

    def __init__(self, files: Sequence[Path], side: int) -> None:
        self._files = files
        self._side = side

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, at: int) -> Image.Image: ...
    @overload
    def __getitem__(self, at: slice) -> "Pictures": ...
    def __getitem__(self, at: int | slice) -> "Image.Image | Pictures":
        if isinstance(at, slice):
            return Pictures(self._files[at], self._side)
        limits = Limits()
        try:
            return decode(read_bytes(self._files[at], limits), limits, side=self._side).image
        except UnreadablePicture as error:
            raise _unreadable(self._files[at], str(error)) from error


def fold_vectors(
    pictures: PictureSet, fold: Fold, cache: Path, *, random_state: int
) -> FoldVectors:
    """Describe one fold, or read what an earlier run kept in ``cache`` of the same pictures.

    The codebook, the palette and the weights of the words are learned from the training part
    alone (paper 1, section 3, took other pictures of the web for that).
    """
    rows = np.concatenate([fold.train_rows, fold.test_rows])
    files = [pictures.files[row] for row in rows]
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = fingerprint(
        {"files": facts, "train": len(fold.train_rows), "seed": random_state, "d": DIMENSION}, {}
    )
    path = cache / f"{key}.safetensors"
    labels = pictures.labels[rows]
    try:
        arrays, _ = load_arrays(path, kind=KIND)
        matrix = sp.csr_matrix(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(rows), DIMENSION)
        )
    except (DamagedFile, KeyError, ValueError):
        matrix = _described(files, len(fold.train_rows), random_state)
        kept = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        save_arrays(path, kept, kind=KIND, manifest={})
    return FoldVectors.split(matrix, labels, len(fold.train_rows))


def _described(files: list[Path], train: int, random_state: int) -> sp.csr_matrix:
    visterms = Visterms(dimension=DIMENSION, random_state=random_state)
    visterms.fit(Pictures(files[:train], visterms.decode_side))
    rows: list[Any] = []
    for outcome in describe_files(files, visterms):
        if not isinstance(outcome, Described):
            raise _unreadable(outcome.path, getattr(outcome, "reason", "known already"))
        rows.append(outcome.vector)
    return sp.csr_matrix(sp.vstack(rows, format="csr"), dtype=np.float32)


def _unreadable(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"{path} cannot be read: {reason} Remove or mend it and run again.")
