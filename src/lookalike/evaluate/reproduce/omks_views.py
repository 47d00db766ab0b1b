"""Describe the pictures of an experiment in the nine ways of paper 5; cache the views."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.vectors import unit_rows
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.evaluate.reproduce.vectors import Pictures, exact_vectors
from lookalike.features.views import PAPER, Views

KIND = "experiment-views/1"

NamedViews: TypeAlias = Mapping[str, NDArray[np.float32]]
"""A matrix for each view, with one row per picture at unit length, in order."""


def described(
    files: Sequence[Path], cache: Path, *, random_state: int, progress: Progress = silent
) -> NamedViews:
    """Return the nine views of pictures; load them from ``cache`` if an earlier run saved them.

    Vocabularies and principal components are learned from the pictures themselves, without their
    classes, as in section 6.3.1.
    """
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = fingerprint({"files": facts, "seed": random_state, "views": list(PAPER)}, {})
    path = cache / f"{key}.safetensors"
    try:
        arrays, _ = load_arrays(path, kind=KIND)
        return {name: arrays[name] for name in PAPER}
    except (DamagedFile, KeyError):
        pass
    feature = Views(views=PAPER, random_state=random_state)
    feature.fit(Pictures(files, feature.decode_side))
    rows = []
    for row in exact_vectors(files, feature):
        rows.append(np.asarray(row))
        progress(len(rows), len(files))
    views = split_views(np.concatenate(rows), feature.blocks)
    save_arrays(path, dict(views), kind=KIND, manifest={})
    return views


def split_views(rows: NDArray[np.float32], blocks: Mapping[str, int]) -> NamedViews:
    """Return the blocks of rows by name, each at unit length."""
    ends = np.cumsum(list(blocks.values()))
    parts = np.split(rows, ends[:-1], axis=1)
    return {name: unit_rows(part) for name, part in zip(blocks, parts, strict=True)}


@dataclass(frozen=True)
class ViewSet:
    """Pictures with their views and classes."""

    pictures: PictureSet
    views: NamedViews

    @classmethod
    def of(cls, pictures: PictureSet, files: Sequence[Path], views: NamedViews) -> "ViewSet":
        """Return the set with the views of its files, among those of others."""
        place = {file: number for number, file in enumerate(files)}
        rows = np.array([place[file] for file in pictures.files])
        return cls(pictures, {name: matrix[rows] for name, matrix in views.items()})
