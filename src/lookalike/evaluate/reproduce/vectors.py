"""Describe the pictures of an experiment, fitted on the training part only; cache the vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core import sparse as sp
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, UnreadablePicture
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.evaluate.protocols import Fold
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.features import Embedding, Feature, Unchanged, Vectors, Visterms
from lookalike.features.pipeline import map_pictures
from lookalike.images import Limits, Refused, decode, read_bytes

DIMENSION = 1000
"""d of paper 1's visterms."""

KIND = "experiment-vectors/1"

FeatureName = Literal["visterms", "embedding"]


@dataclass(frozen=True)
class FoldVectors:
    """The vectors and classes of both parts of a fold."""

    train: sp.csr_matrix
    train_labels: NDArray[np.str_]
    test: sp.csr_matrix
    test_labels: NDArray[np.str_]

    @classmethod
    def split(cls, rows: sp.csr_matrix, labels: NDArray[np.str_], train: int) -> Self:
        """Return the first ``train`` rows as the training part and the rest as the test part."""
        return cls(rows[:train], labels[:train], rows[train:], labels[train:])


class Pictures(Sequence[Image.Image]):
    """A sequence that decodes each picture on demand, so that they take no memory."""

    def __init__(self, files: Sequence[Path], side: int | None) -> None:
        self._files = files
        self._side = side

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, at: int) -> Image.Image: ...
    @overload
    def __getitem__(self, at: slice) -> Pictures: ...
    def __getitem__(self, at: int | slice) -> Image.Image | Pictures:
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
    """Describe one fold by visterms (paper 1, section 3, with a codebook from web pictures)."""
    rows = np.concatenate([fold.train_rows, fold.test_rows])
    files = [pictures.files[row] for row in rows]
    train = len(fold.train_rows)
    vectors = stored_vectors(files, train, cache, dimension=DIMENSION, random_state=random_state)
    return FoldVectors.split(sp.csr_matrix(vectors), pictures.labels[rows], train)


def stored_vectors(
    files: Sequence[Path],
    train: int,
    cache: Path,
    *,
    feature: FeatureName = "visterms",
    dimension: int,
    random_state: int,
    progress: Progress = silent,
) -> Vectors:
    """Return the vectors of pictures; load them from ``cache`` if an earlier run saved them.

    Parameters
    ----------
    files : sequence of Path
        The pictures, the training part first.
    train : int
        The size of the training part: the codebook of visterms, the palette and the weights come
        from it alone.
    cache : Path
        A folder.
    feature : {"visterms", "embedding"}
        The feature that describes pictures.
    dimension : int
        d of visterms.
    random_state : int
        Seeds the codebook.
    progress : callable
        Called with the number of pictures described and the total.
    """
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = fingerprint(
        {"files": facts, "train": train, "seed": random_state, "d": dimension, "by": feature}, {}
    )
    path = cache / f"{key}.safetensors"
    try:
        arrays, manifest = load_arrays(path, kind=KIND)
        if feature == "embedding":
            return arrays["rows"]
        return sp.csr_matrix(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=manifest["shape"]
        )
    except (DamagedFile, KeyError, ValueError):
        pass
    described: Feature = Embedding()
    if feature == "visterms":
        visterms = Visterms(dimension=dimension, random_state=random_state)
        described = visterms.fit(Pictures(files[:train], visterms.decode_side))
    rows: list[Any] = []
    for row in exact_vectors(files, described):
        rows.append(row)
        progress(len(rows), len(files))
    if feature == "embedding":
        dense = np.asarray(np.concatenate(rows), dtype=np.float32)
        save_arrays(path, {"rows": dense}, kind=KIND, manifest={})
        return dense
    matrix = sp.csr_matrix(sp.vstack(rows, format="csr"), dtype=np.float32)
    kept = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    save_arrays(path, kept, kind=KIND, manifest={"shape": list(matrix.shape)})
    return matrix


def exact_vectors(files: Sequence[Path], feature: Feature) -> Iterator[Vectors]:
    """Yield the vector of each picture as one row, at full precision.

    Raises
    ------
    InvalidInput
        If a picture cannot be read or described.
    """
    outcomes = map_pictures(
        files, lambda _, picture: feature.describe([picture.image]), side=feature.decode_side
    )
    for outcome in outcomes:
        if isinstance(outcome, Refused | Unchanged):
            raise _unreadable(outcome.path, getattr(outcome, "reason", "known already"))
        yield outcome


def _unreadable(path: Path, reason: str) -> InvalidInput:
    text = reason.removesuffix(".")
    return InvalidInput(f"{path} cannot be read: {text}. Remove or repair it, then run again.")
