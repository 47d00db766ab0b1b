"""How well start words find and name pictures that nobody has taught anything about.

The words are those of the sets' own labels that the table of start words knows, by an exact match
of the name (underscores as spaces; case, hyphens, spaces and plural do not matter), before any
result is looked at. P@10 is the share of right ones among the first ten that a word finds; nothing
was learned. How sure words are is fitted on the training parts of groceries and snapshots, pairs of
picture and word with a sum of 0.05 or more, both sets weighing the same; the line "fitted" of the
settings gives slope and shift for features/efficientnet.py. It is judged on the test parts.
"""

import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oasis import embedded

from bench import Figure, Options, main
from lookalike.collection.ranking.start_words import MIN_CONFIDENCE
from lookalike.core.errors import MissingPart
from lookalike.features import Embedding, Likely, StartWords, pack_vector

MIN_PICTURES = 5
MIN_SUM = 0.05
MANY = 100_000


@dataclass(frozen=True)
class Named:
    """Pictures with words, and which of them are to be judged by."""

    files: list[Path]
    words: list[set[str]]
    test: NDArray[np.bool_]


def objects(data: Path) -> Named:
    files = sorted((data / "objects" / "images").glob("*/*"))
    words = [{file.parent.name.replace("_", " ")} for file in files]
    return Named(files, words, np.ones(len(files), bool))


def groceries(data: Path) -> Named:
    rows = _table(data / "groceries" / "labels.csv")
    words = [{row[level].replace("-", " ") for level in ("fine", "coarse")} for row in rows]
    files = [data / "groceries" / row["file"] for row in rows]
    return Named(files, words, np.array([row["split"] == "test" for row in rows]))


def snapshots(data: Path) -> Named:
    rows = _table(data / "snapshots" / "labels.csv")
    files = [data / "snapshots" / row["file"] for row in rows]
    words = [set(row["words"].split(";")) for row in rows]
    return Named(files, words, np.array([row["split"] == "test" for row in rows]))


@dataclass(frozen=True)
class Judged:
    """The words judged: P@10 of each, what was said of each pair, and what is true."""

    precision: dict[str, float]
    said: NDArray[np.float32]
    true: NDArray[np.bool_]


def judged(start: StartWords, likely: Likely, named: Named, rows: NDArray[np.bool_]) -> Judged:
    """Search by each word that is known, among some of the pictures."""
    some, words = likely.taken(rows), [named.words[row] for row in np.flatnonzero(rows)]
    precision, said, true = {}, [], []
    for word in sorted(set().union(*words)):
        found = start.vocabulary.find(word)
        has = np.array([word in those for those in words])
        if found is None or has.sum() < MIN_PICTURES:
            continue
        sure = start.confidences(some, found[1])
        first = np.argsort(-sure, kind="stable")[:10]
        precision[word] = float((has[first] & (sure[first] >= MIN_CONFIDENCE)).sum() / 10)
        said.append(sure)
        true.append(has)
    return Judged(precision, np.concatenate(said), np.concatenate(true))


def fitted(parts: list[Judged]) -> tuple[float, float]:
    """Return the slope and shift that make what is true most likely, each part weighing one."""
    kept = [part.said >= MIN_SUM for part in parts]
    pairs = list(zip(parts, kept, strict=True))
    p = np.concatenate([part.said[rows] for part, rows in pairs])
    sign = np.concatenate([2.0 * part.true[rows] - 1 for part, rows in pairs])
    weights = np.concatenate([np.full(rows.sum(), 1 / rows.sum()) for rows in kept])
    odds = np.log(np.clip(p, 1e-6, 1 - 1e-6) / (1 - np.clip(p, 1e-6, 1 - 1e-6)))

    def surprise(x: NDArray[np.float64]) -> float:
        return float(weights @ np.logaddexp(0, -sign * (x[0] * odds + x[1])))

    slope, shift = minimize(surprise, [1.0, 0.0]).x
    return float(slope), float(shift)


def network(options: Options, name: str, sets: dict[str, Named]) -> list[Figure]:
    """Measure one network."""
    embedding = Embedding(name)
    start = embedding.start_words
    assert start is not None
    plain = StartWords(start.vocabulary, start.classifier, scale=start.scale)
    figures, training = [], []
    for called, named in sets.items():
        vectors = embedded(named.files, embedding)
        stored = embedding.vectors([pack_vector(row) for row in vectors])
        likely = Likely.stacked(
            [start.likely(stored[at : at + 4096]) for at in range(0, len(stored), 4096)]
        )
        found = judged(start, likely, named, named.test)
        values = list(found.precision.values())
        everything = len(set().union(*named.words))
        figures.append(
            Figure(
                f"{name}, {called}: P@10 of a word as a query, nothing taught",
                float(np.mean(values)),
                ">=",
                0.6 if called == "objects" and name == "lite0" else None,
                f"{len(values)} of {everything} words known; by chance {found.true.mean():.3f}",
                float(np.std(values, ddof=1) / len(values) ** 0.5),
            )
        )
        if called == "objects":
            continue
        training.append(judged(plain, likely, named, ~named.test))
        for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
            rows = (found.said >= low) & (found.said < high)
            said = found.said[rows].mean()
            figures.append(
                Figure(
                    f"{name}, {called}: share right of words said with {low} to {min(high, 1):g}",
                    float(found.true[rows].mean()),
                    against=f"said {said:.3f} on average, {rows.sum():,} words",
                )
            )
    if training:
        slope, shift = fitted(training)
        options.settings[f"{name}, fitted"] = f"slope {slope:.2f}, shift {shift:.2f}"
    return figures


def speed(options: Options) -> list[Figure]:
    """Time the classes of many pictures, and a search among them by a word of many classes."""
    embedding = Embedding()
    start = embedding.start_words
    assert start is not None
    rng = np.random.default_rng(0)
    count = 10_000 if options.quick else MANY
    block = np.abs(rng.normal(size=(4096, embedding.dimension))).astype(np.float32)
    block /= np.linalg.norm(block, axis=1, keepdims=True)
    start.likely(block[:16])
    begin = time.perf_counter()
    parts = [start.likely(block[: count - at]) for at in range(0, count, 4096)]
    middle = time.perf_counter()
    likely = Likely.stacked(parts)
    found = start.vocabulary.find("animal")
    assert found is not None
    before = time.perf_counter()
    start.confidences(likely, found[1])
    after = time.perf_counter()
    start.counts(likely, 0.5)
    end = time.perf_counter()
    return [
        Figure(f"seconds for the classes of {count:,} pictures", middle - begin, "<="),
        Figure(f"seconds for how sure “animal” is of {count:,}", after - before, "<=", 0.5),
        Figure(f"seconds to count the words of {count:,}", end - after, "<="),
    ]


def measure(options: Options) -> list[Figure]:
    sets = {"objects": objects(options.data)}
    if not options.quick:
        sets |= {"groceries": groceries(options.data), "snapshots": snapshots(options.data)}
    figures = network(options, "lite0", sets)
    if not options.quick:
        try:
            figures += network(options, "lite2", sets)
        except MissingPart as error:
            options.settings["lite2"] = str(error)
    return [*figures, *speed(options)]


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main("papers/start_words", measure)
