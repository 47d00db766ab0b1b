"""Paper 3 on our pictures: codes of 32 and 48 bits, ranked by plain and by query-adaptive Hamming.

Encoders and bit weights learn from the training part; every test picture is then ranked against
all others by ΔAP, and the gain of each class is held against its standard error. The rule by which
a query gets its weights is chosen on a third of the training part; the paper's stands beside it.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from oasis import embedded

from bench import Figure, Options, main
from lookalike.codes import S3PLH, DeepBeliefCodes, Encoder, ITQCodes, RidgeCodes
from lookalike.evaluate import class_gains
from lookalike.evaluate.reproduce.picture_sets import picture_sets
from lookalike.evaluate.reproduce.qah import BITS, DEEP, outcome
from lookalike.evaluate.reproduce.qah_figures import GAINS
from lookalike.features import Reduction


@dataclass(frozen=True)
class Split:
    """Vectors and labels to learn from and to be judged on."""

    name: str
    train: NDArray[np.float32]
    train_labels: list[set[str]]
    test: NDArray[np.float32]
    test_labels: list[set[str]]

    @classmethod
    def of(
        cls,
        name: str,
        vectors: NDArray[np.float32],
        labels: list[set[str]],
        train: NDArray[np.intp],
        test: NDArray[np.intp],
    ) -> "Split":
        """Reduce the vectors as collections do; shuffle the test part, since ties go by row."""
        mixed = np.random.default_rng(0).permutation(test)
        reduction = Reduction(dimension=min(256, len(train) - 1))
        reduced = reduction.fit(vectors[train], parent="benchmark").apply(vectors)
        return cls(
            name,
            reduced[train],
            [labels[row] for row in train],
            reduced[mixed],
            [labels[row] for row in mixed],
        )

    def within(self, seed: int = 0) -> "Split":
        """Return a split of the training part alone, for choosing settings."""
        order = np.random.default_rng(seed).permutation(len(self.train))
        first, last = np.split(order, [len(order) * 6 // 10])
        return Split(
            self.name,
            self.train[first],
            [self.train_labels[row] for row in first],
            self.train[last],
            [self.train_labels[row] for row in last],
        )


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def splits(options: Options) -> list[Split]:
    """Return the tasks: objects, groceries by fine and coarse class, clipart and snapshots."""
    found = []
    sets = picture_sets(options.data / "objects", lambda names: {}, random_state=0)
    pictures = next(one for one in sets if one.name == "50")
    fold = pictures.folds[0]
    every = [np.r_[one.train_rows, one.test_rows] for one in pictures.folds]
    rows = np.unique(np.concatenate(every))
    vectors = embedded([pictures.files[row] for row in rows])
    labels = [{str(pictures.labels[row])} for row in rows]
    train, test = (np.searchsorted(rows, part) for part in (fold.train_rows, fold.test_rows))
    found.append(Split.of("objects", vectors, labels, train, test))
    folder = options.data / "groceries"
    listed = [row for row in table(folder / "labels.csv") if row["split"] in ("train", "test")]
    parts = np.array([row["split"] for row in listed])
    vectors = embedded([folder / row["file"] for row in listed])
    train, test = np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test")
    for kind in ("fine", "coarse"):
        labels = [{row[kind]} for row in listed]
        found.append(Split.of(f"groceries, {kind}", vectors, labels, train, test))
    folder = options.data / "clipart"
    listed = table(folder / "labels.csv")
    labels = [{row["category"], row["subcategory"]} - {""} for row in listed]
    vectors = embedded([folder / row["file"] for row in listed])
    order = np.random.default_rng(0).permutation(len(listed))
    train, test = np.split(order, [len(order) * 6 // 10])
    found.append(Split.of("clipart", vectors, labels, train, test))
    folder = options.data / "snapshots"
    listed = table(folder / "labels.csv")
    labels = [set(row["words"].split(";")) - {""} for row in listed]
    vectors = embedded([folder / row["file"] for row in listed])
    judged = np.array([row["split"] == "test" for row in listed])
    found.append(
        Split.of("snapshots", vectors, labels, np.flatnonzero(~judged), np.flatnonzero(judged))
    )
    return found


def encoders(bits: int) -> dict[str, Encoder]:
    return {
        "S3PLH": S3PLH(bits=bits, random_state=0),
        "deep": DeepBeliefCodes(bits=bits, **DEEP, random_state=0),
        "ITQ": ITQCodes(bits=bits, random_state=0),
        "ridge": RidgeCodes(bits=bits, random_state=0),
    }


def measure(options: Options) -> list[Figure]:
    options.settings["deep"] = DEEP
    options.settings["vectors"] = "EfficientNet-Lite0 reduced to 256"
    figures = []
    for split in splits(options)[: 1 if options.quick else None]:
        for bits in BITS[: 1 if options.quick else None]:
            means = {}
            for name, encoder in encoders(bits).items():
                found = outcome(
                    encoder, (split.train, split.train_labels), (split.test, split.test_labels)
                )
                print(f"{split.name}, {name}, {bits} bits", file=sys.stderr)
                first, chosen = found.entire["plain"], found.entire["chosen"]
                plain, adaptive = np.nanmean(first), np.nanmean(chosen)
                means[name] = plain
                what = f"{split.name}, {name}, {bits} bits"
                figures.append(Figure(f"{what}: ΔMAP by plain Hamming", float(plain)))
                gain = 100 * (adaptive / plain - 1)
                change = chosen - first
                error = np.nanstd(change, ddof=1) / np.sqrt(np.count_nonzero(~np.isnan(change)))
                paper = GAINS.get(name, {}).get(bits)
                papers = float(100 * (np.nanmean(found.entire["paper"]) / plain - 1))
                judged = name in GAINS
                figures.append(
                    Figure(
                        f"{what}: % gained by the chosen rule",
                        float(gain),
                        ">=",
                        max(papers, 0.0) - 1 if judged else None,
                        f"the better of the paper's rule and plain, less 1; {found.rule}",
                        float(100 * error / plain),
                    )
                )
                against = "" if paper is None else f"the paper has {paper:g} on NUS-WIDE"
                figures.append(
                    Figure(f"{what}: % gained by the paper's rule", papers, against=against)
                )
                for part, values in (
                    ("class weights", found.entire["by_class"]),
                    ("margins", found.entire["by_margin"]),
                ):
                    alone = 100 * (np.nanmean(values) / plain - 1)
                    figures.append(Figure(f"{what}: % gained by {part} alone", float(alone)))
                upper = [float(np.nanmean(found.upper[one])) for one in ("plain", "chosen")]
                half = 100 * (upper[1] / upper[0] - 1)
                figures.append(Figure(f"{what}: % gained, upper half", float(half)))
                gains = class_gains(first, chosen, split.test_labels)
                worse = [one for one in gains if one.worse()]
                # By chance one class in forty is two standard errors worse.
                figures.append(
                    Figure(
                        f"{what}: classes worse by two standard errors",
                        len(worse),
                        "<=",
                        float(np.ceil(len(gains) / 40)) if judged else None,
                        f"of {len(gains)}",
                    )
                )
            figures.append(
                Figure(
                    f"{split.name}, {bits} bits: ΔMAP of supervised codes over ITQ's",
                    float(max(means["ridge"], means["deep"]) / means["ITQ"]),
                    ">=",
                    1.0,
                    "the better of ridge and deep; test pictures, plain Hamming",
                )
            )
    return figures


if __name__ == "__main__":
    main("papers/qah", measure)
