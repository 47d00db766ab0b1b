"""Simulated people vote on matches; searches for other pictures must get no worse.

A person searches with a picture, looks at the first ten matches and votes by class: those of the
picture's class are correct. After 0, 5, 10, 20, 50 and 200 votes, each in another search, precision
at 10 is measured over pictures nobody has searched with. Votes go through a real collection, one
event in its log each. There are three kinds of people: those who judge all ten matches, those who
pick a correct one and reject a wrong one, and those who only correct: they reject the first wrong
match, pick the first correct one below it, and leave a search without such a pair alone. Each
without mistakes and with one vote in ten flipped.

Compared with no learning, with Rocchio's formula and with a linear SVM per session, where a session
is all votes so far: both ignore which query a vote was about, so for other queries they can only
add the direction of all picked pictures. The case they are made for, the query that was voted on,
is measured too: precision at 10 among pictures not shown yet.

Half of each set was used to design how votes are learned; this benchmark uses the other half.
"""

import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask
from lookalike.core.settings import cache_folder
from lookalike.evaluate.plots import Series, curve_plot

MARKS = (0, 5, 10, 20, 50, 200)
SHOWN = 10
OF_CLASSES = 20
"""Votes after which other queries of the classes voted on are measured."""
ALL, SOME, CORRECTIONS = "all ten", "one of each", "only corrections"
"""What people vote on."""
GAINS = {
    ("groceries", ALL): {50: 0.012, 200: 0.045},
    ("clipart", ALL): {50: 0.012, 200: 0.050},
    ("objects", ALL): {50: 0.005, 200: 0.017},
    ("groceries", SOME): {50: 0.004, 200: 0.012},
}
"""What is to be gained by set and kind of person, without mistakes; with some, half of it."""
CLASS_GAINS = {"groceries": 0.035, "clipart": 0.010, "objects": 0.010}
PLOTS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
WRONG = 0.1

Vectors = NDArray[np.float32]


def picture_sets(data: Path) -> Iterator[tuple[str, list[tuple[Path, str]]]]:
    """Return the sets, with the class of each picture."""
    objects = sorted((data / "objects" / "images").glob("*/*.jpg"))
    yield "objects", [(path, path.parent.name) for path in objects]
    for name, column in (("groceries", "fine"), ("clipart", "category")):
        folder = data / name
        with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
            yield name, [(folder / row["file"], row[column]) for row in csv.DictReader(file)]


def second_half(pictures: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    order = np.random.default_rng(5).permutation(len(pictures))
    return [pictures[place] for place in sorted(order[len(pictures) // 2 :].tolist())]


def indexed(name: str, pictures: list[tuple[Path, str]]) -> Path:
    """Index a set once and keep the collection for later runs."""
    place = cache_folder() / "benchmarks" / f"live-{name}-{len(pictures)}"
    if not place.exists():
        made = place.with_name(f"{place.name}.making")
        shutil.rmtree(made, ignore_errors=True)
        with Collection.create(made) as collection:
            collection.add([path for path, _ in pictures])
        made.rename(place)
    return place


@dataclass
class World:
    """A collection with the true class of every picture, and its vectors."""

    collection: Collection
    classes: dict[int, str]
    ids: NDArray[np.int64] = field(init=False)
    vectors: Vectors = field(init=False)

    def __post_init__(self) -> None:
        self.ids = np.array(sorted(self.classes), np.int64)
        self.vectors = self.collection._session.rankers.get().vectors(self.ids)
        self.names = np.array([self.classes[number] for number in self.ids.tolist()])

    def row(self, number: int) -> int:
        """Return the place of a picture."""
        return int(np.searchsorted(self.ids, number))

    def right(self, query: int, found: list[int]) -> list[bool]:
        """Return which of the matches are of the query's class."""
        return [self.classes[number] == self.classes[query] for number in found]

    def precision(self, queries: list[int], added: Vectors | None = None) -> float:
        """Precision at 10 by cosine, where something may be added to every query."""
        asked = self.vectors[[self.row(number) for number in queries]]
        return self._precision(queries, asked if added is None else asked + added)

    def learned_precision(self, queries: list[int]) -> float:
        """Precision at 10 by what the collection has learned: as its searches rank, all at once."""
        ranker = self.collection._session.rankers.get()
        rows = [self.row(number) for number in queries]
        parts = np.array_split(rows, len(rows) // 32 + 1)
        asked = np.vstack([ranker.query(self.vectors[part]) for part in parts])
        return self._precision(queries, asked)

    def _precision(self, queries: list[int], asked: Vectors) -> float:
        rows = [self.row(number) for number in queries]
        scores = asked @ self.vectors.T
        scores[np.arange(len(rows)), rows] = -np.inf
        best = np.argpartition(-scores, SHOWN, axis=1)[:, :SHOWN]
        return float((self.names[best] == self.names[rows][:, None]).mean())


def judged(
    shown: list[int], right: NDArray[np.bool_], person: str, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Return which of the matches a person picks, and which they reject."""
    good = [number for number, is_right in zip(shown, right, strict=True) if is_right]
    bad = [number for number in shown if number not in good]
    if person == SOME:
        good, bad = (rng.permutation(side)[:1].tolist() for side in (good, bad))
    elif person == CORRECTIONS:
        bad = bad[:1]
        good = [number for number in good if bad and shown.index(number) > shown.index(bad[0])][:1]
        bad = bad if good else []
    return good, bad


def session(world: World, seed: int, *, wrong: float, person: str) -> dict[str, list[float]]:
    """Simulate one person; return precision over other queries at the marks, for each method."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(world.ids).tolist()
    asked, others = order[: MARKS[-1]], order[MARKS[-1] :]
    curves: dict[str, list[float]] = {"ours": [], "none": [], "Rocchio": [], "SVM": []}
    own: dict[str, list[float]] = {"ours": [], "none": [], "Rocchio": [], "SVM": []}
    picked: list[int] = []
    rejected: list[int] = []
    for votes in range(MARKS[-1] + 1):
        if votes in MARKS:
            for name, value in _over_others(world, others, picked, rejected).items():
                curves[name].append(value)
        if votes == OF_CLASSES:
            voted = {world.classes[query] for query in asked[:votes]}
            alike = [query for query in others if world.classes[query] in voted]
            for name, value in _over_others(world, alike, picked, rejected).items():
                curves[f"{name}, same classes"] = [value]
        if votes == MARKS[-1]:
            break
        query = asked[votes]
        shown = [match.id for match in world.collection.search(Ask((query,)), SHOWN)]
        right = np.array(world.right(query, shown)) ^ (rng.random(len(shown)) < wrong)
        good, bad = judged(shown, right, person, rng)
        if good or bad:
            world.collection.vote(Ask((query,)), picked=good, rejected=bad, shown=shown)
        picked += good
        rejected += bad
        if person == ALL and votes % 4 == 0:
            for name, value in _for_the_same(world, query, shown, good, bad).items():
                own[name].append(value)
    return curves | {f"{name}, same query": [float(np.mean(v))] for name, v in own.items() if v}


def _over_others(
    world: World, others: list[int], picked: list[int], rejected: list[int]
) -> dict[str, float]:
    plain = world.precision(others)
    return {
        "ours": world.learned_precision(others),
        "none": plain,
        "Rocchio": world.precision(others, _rocchio(world, picked, rejected)) if picked else plain,
        "SVM": world.precision(others, _svm(world, picked, rejected)) if rejected else plain,
    }


def _for_the_same(
    world: World, query: int, shown: list[int], good: list[int], bad: list[int]
) -> dict[str, float]:
    """Return precision at 10 for the query voted on, among pictures not shown yet."""
    again = world.collection.search(Ask((query,)), 2 * SHOWN + len(shown))
    found = {"ours": [match.id for match in again]}
    row = world.row(query)
    for name, vector in (
        ("none", world.vectors[row]),
        ("Rocchio", world.vectors[row] + _rocchio(world, good, bad)),
        ("SVM", _svm(world, [query, *good], bad)),
    ):
        scores = world.vectors @ vector
        found[name] = world.ids[np.argsort(-scores)].tolist()
    return {
        name: float(
            np.mean(world.right(query, [n for n in some if n not in (query, *shown)][:SHOWN]))
        )
        for name, some in found.items()
    }


def _rocchio(world: World, picked: list[int], rejected: list[int]) -> Vectors:
    total = np.zeros(world.vectors.shape[1], np.float32)
    for side, weight in ((picked, 0.75), (rejected, -0.25)):
        if side:
            total += weight * world.vectors[[world.row(number) for number in side]].mean(axis=0)
    return total


def _svm(world: World, picked: list[int], rejected: list[int]) -> Vectors:
    if not picked or not rejected:
        return _rocchio(world, picked, rejected)
    rows = [world.row(number) for number in (*picked, *rejected)]
    signs = np.repeat([1, -1], [len(picked), len(rejected)])
    machine = LinearSVC(random_state=0).fit(world.vectors[rows], signs)
    weights = machine.coef_[0]
    return np.asarray(weights / (np.linalg.norm(weights) or 1.0), np.float32)


def measure(options: Options) -> list[Figure]:
    seeds = range(1 if options.quick else 10)
    options.settings |= {"votes": MARKS, "seeds": len(seeds)}
    figures = []
    for name, pictures in picture_sets(options.data):
        half = second_half(pictures)
        made = indexed(name, half)
        curves: dict[str, dict[str, list[float]]] = {}
        for person in (ALL,) if options.quick else (ALL, SOME, CORRECTIONS):
            for wrong in (0.0, WRONG):
                runs = []
                for seed in seeds:
                    with tempfile.TemporaryDirectory() as place:
                        copy = Path(shutil.copytree(made, Path(place) / "collection"))
                        with Collection.open(copy) as collection:
                            labels = dict(half)
                            classes = {p.id: labels[p.places[0]] for p in collection.pictures.all()}
                            world = World(collection, classes)
                            runs.append(session(world, seed, wrong=wrong, person=person))
                figures += _figures(name, runs, person=person, wrong=wrong)
                if person == ALL:
                    curves[f", {wrong:.0%} wrong" if wrong else ""] = {
                        method: np.mean([run[method] for run in runs], axis=0).tolist()
                        for method in ("ours", "none", "Rocchio", "SVM")
                    }
                print(name, person, wrong, "done", file=sys.stderr)
        if not options.quick:
            draw(name, curves)
    return figures


def draw(name: str, curves: dict[str, dict[str, list[float]]]) -> None:
    """Draw precision over other queries against votes, for each method, with and without errors."""
    series = [
        Series(f"{method}{errors}", np.array(MARKS, float), np.array(values))
        for errors, methods in curves.items()
        for method, values in methods.items()
        if not errors or method == "ours"
    ]
    curve_plot(
        series,
        path=PLOTS / f"papers-live-{name}.svg",
        title=f"{name}: precision over other queries",
        x_label="votes, each on the ten pictures shown",
        y_label="precision at 10",
    )


def _figures(
    name: str, runs: list[dict[str, list[float]]], *, person: str, wrong: float
) -> list[Figure]:
    who = f"{name}, {person}, {wrong:.0%} wrong"
    cast = "searches" if person == CORRECTIONS else "votes"
    found = []
    none = np.array([run["none"] for run in runs])
    ours = np.array([run["ours"] for run in runs])
    for place, votes in enumerate(MARKS):
        if votes == 0:
            continue
        gains = ours[:, place] - none[:, place]
        rivals = ", ".join(
            f"{rival} {np.mean([run[rival][place] for run in runs]):.4f}"
            for rival in ("Rocchio", "SVM")
        )
        found.append(
            Figure(
                f"{who}: gain in P@10 on other queries after {votes} {cast}",
                float(gains.mean()),
                ">=",
                GAINS.get((name, person), {}).get(votes, 0.0) / (2 if wrong else 1),
                f"none {none[:, place].mean():.4f}, ours {ours[:, place].mean():.4f}, {rivals}",
                float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None,
            )
        )
    if person == ALL and not wrong:
        of_classes = {
            rival: float(np.mean([run[f"{rival}, same classes"][0] for run in runs]))
            for rival in ("ours", "none", "Rocchio", "SVM")
        }
        gains = np.array(
            [run["ours, same classes"][0] - run["none, same classes"][0] for run in runs]
        )
        found.append(
            Figure(
                f"{who}: gain on other queries of the classes voted on, {OF_CLASSES} votes",
                float(gains.mean()),
                ">=",
                CLASS_GAINS[name],
                ", ".join(f"{rival} {value:.4f}" for rival, value in of_classes.items()),
                float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None,
            )
        )
    if person == ALL:
        same = {
            rival: [run[f"{rival}, same query"][0] for run in runs]
            for rival in runs[0]
            if ", " not in rival
        }
        found.append(
            Figure(
                f"{who}: P@10 of the query voted on, among what was not shown",
                float(np.mean(same["ours"])),
                ">=",
                None,
                ", ".join(
                    f"{rival} {np.mean(same[rival]):.4f}" for rival in same if rival != "ours"
                ),
            )
        )
    return found


if __name__ == "__main__":
    main("papers/live", measure)
