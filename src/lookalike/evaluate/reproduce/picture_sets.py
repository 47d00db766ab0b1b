"""Find the picture sets of an experiment, and their splits into training and test parts."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput
from lookalike.evaluate.protocols import Fold, class_folds
from lookalike.images import ENDINGS

TRAIN, TEST, FOLDS = 40, 25, 5
"""Pictures per class to train and to test on, and the number of draws (section 5.3.2)."""


@dataclass(frozen=True, eq=False)
class PictureSet:
    """Pictures of some classes, and their splits.

    Attributes
    ----------
    name : str
        The name in file names, such as ``10``.
    files : tuple of Path
        The pictures.
    labels : ndarray of str
        Each picture's class.
    folds : tuple of Fold
        The splits.
    source : str
        A short description of its origin.
    """

    name: str
    files: tuple[Path, ...]
    labels: NDArray[np.str_]
    folds: tuple[Fold, ...]
    source: str

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(np.unique(self.labels))

    @property
    def title(self) -> str:
        """The name in tables and plots."""
        plain = f"{self.classes} classes"
        return plain if self.name in (str(self.classes), plain) else f"{self.name}: {plain}"

    @property
    def shape(self) -> str:
        """How many pictures per class are trained on and tested on."""
        fold = self.folds[0]
        return f"{len(fold.train_rows) // self.classes} + {len(fold.test_rows) // self.classes}"


def picture_sets(
    data: Path,
    class_sets: Callable[[Sequence[str]], dict[int, list[str]]],
    *,
    random_state: int,
) -> list[PictureSet]:
    """Return the sets of a folder, those with the fewest classes first.

    If the folder has ``splits/<set>_fold<number>.csv`` with the columns file, class and split
    (``train`` or ``test``), these are the sets. Otherwise it must have one folder per class, and
    the sets are those that ``class_sets`` finds; if there are none, all classes with 65 pictures
    are one set. From each class 40 and 25 pictures are then drawn, five times.
    """
    if not data.is_dir():
        raise InvalidInput(f"{data} is not a folder. Give a folder with a folder for each class.")
    tables = sorted((data / "splits").glob("*_fold*.csv"))
    sets = _from_tables(data, tables) if tables else _from_folders(data, class_sets, random_state)
    return sorted(sets, key=lambda one: (one.classes, one.name))


def _from_tables(data: Path, tables: list[Path]) -> list[PictureSet]:
    by_set: dict[str, list[tuple[int, Path]]] = {}
    for path in tables:
        pattern = re.fullmatch(r"(.+)_fold(\d+)\.csv", path.name)
        if pattern:
            by_set.setdefault(pattern.group(1), []).append((int(pattern.group(2)), path))
    if not by_set:
        raise InvalidInput(
            f"{data / 'splits'} must contain files named <set>_fold<number>.csv, such as "
            f"10_fold0.csv; got {tables[0].name}."
        )
    return [
        _joined(data, name, [path for _, path in sorted(pattern)])
        for name, pattern in by_set.items()
    ]


def _joined(data: Path, name: str, tables: list[Path]) -> PictureSet:
    labels: dict[str, str] = {}
    splits = []
    for path in tables:
        parts: dict[str, list[str]] = {"train": [], "test": []}
        for file, label, part in _rows(path):
            if part not in parts or labels.setdefault(file, label) != label:
                raise InvalidInput(
                    f"{path}: {file} must be in train or test and always of the same class; "
                    f"got {part!r} and {label!r}."
                )
            parts[part].append(file)
        if not parts["train"] or not parts["test"]:
            raise InvalidInput(f"{path} must list pictures of both splits, train and test.")
        splits.append(parts)
    files = sorted(labels)
    missing = [file for file in files if not (data / file).is_file()]
    if missing:
        raise InvalidInput(
            f"{data / missing[0]} does not exist; {len(missing)} of the {len(files)} pictures in "
            f"the splits of {name} are missing."
        )
    row = {file: number for number, file in enumerate(files)}
    folds = [
        Fold(*(np.sort(np.array([row[file] for file in parts[part]])) for part in parts))
        for parts in splits
    ]
    return PictureSet(
        name,
        tuple(data / file for file in files),
        np.array([labels[file] for file in files]),
        tuple(folds),
        f"the folds in {data.name}/splits",
    )


def _rows(path: Path) -> list[tuple[str, str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [(row["file"], row["class"], row["split"]) for row in csv.DictReader(file)]
    except (KeyError, OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(
            f"{path} must be a table with the columns file, class and split: {error!r}."
        ) from error


def _from_folders(
    data: Path, class_sets: Callable[[Sequence[str]], dict[int, list[str]]], random_state: int
) -> list[PictureSet]:
    pictures = {
        folder.name: sorted(
            file
            for file in folder.iterdir()
            if file.suffix.lower() in ENDINGS and not file.name.startswith(".") and file.is_file()
        )
        for folder in sorted(data.iterdir())
        if folder.is_dir() and not folder.name.startswith(".")
    }
    sizes = {name: len(files) for name, files in pictures.items() if files}
    if not sizes:
        raise InvalidInput(
            f"{data} must contain a folder of pictures for each class, or "
            f"splits/<set>_fold<n>.csv; found neither."
        )
    enough = [name for name, size in sizes.items() if size >= TRAIN + TEST]
    if len(enough) < 2:
        largest = max(sizes, key=lambda name: sizes[name])
        raise InvalidInput(
            f"{data} must contain at least 2 class folders with {TRAIN} + {TEST} pictures; "
            f"{len(enough)} of {len(sizes)} have enough; the largest is {largest!r} with "
            f"{sizes[largest]}. Add pictures."
        )
    known = class_sets(enough)
    source = f"the classes of Appendix B in {data.name}"
    if not known:
        known, source = {len(enough): enough}, f"the classes with 65 pictures in {data.name}"
    sets = []
    for size, classes in known.items():
        files = [file for name in classes for file in pictures[name]]
        labels = np.array([file.parent.name for file in files])
        rng = np.random.default_rng([random_state, size])
        folds = class_folds(labels.tolist(), train=TRAIN, test=TEST, folds=FOLDS, random_state=rng)
        sets.append(PictureSet(str(size), tuple(files), labels, tuple(folds), source))
    return sets
