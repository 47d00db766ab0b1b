"""Some voters vote the wrong way round: other searches must stay as good, and honest votes count.

Simulated people take turns to search and to judge the first ten matches, as in
``papers/live.py``; malicious ones pick what is wrong and reject what is right. One person alone who
is malicious, three of nine, and a third of thirty, each without labels and with half of all
pictures labelled, which judge votes where what was learned from them is in use. And one person
alone who spoils searches by corrections: two thumbs for a pair of matches that is in order.
Precision at 10 over pictures nobody has searched with, against no learning; and, where some are
honest, against the gain of the same honest votes alone. The second half of each set, as there.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from live import ALL, CORRECTIONS, SHOWN, World, indexed, judged, picture_sets, second_half

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask

CASES = ((1, 1), (9, 3), (30, 10))
"""People, and how many of them are malicious."""

MAX_LOST, MIN_KEPT = 0.01, 0.5


def session(
    world: World,
    seed: int,
    people: int,
    malicious: int,
    votes: int,
    *,
    only_honest: bool,
    kind: str,
) -> list[float]:
    """Return what is gained over other queries after every tenth of the votes."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(world.ids).tolist()
    asked, others = order[:votes], order[votes : votes + 1000]
    plain = world.precision(others)
    gains = []
    for place, query in enumerate(asked):
        person = place % people
        if person >= malicious or not only_honest:
            shown = [match.id for match in world.collection.search(Ask((query,)), SHOWN)]
            right = np.array(world.right(query, shown)) ^ (person < malicious)
            good, bad = judged(shown, right, kind, rng)
            if good or bad:
                world.collection.vote(
                    Ask((query,)), picked=good, rejected=bad, shown=shown, who=f"person {person}"
                )
        if (place + 1) % (votes // 10) == 0:
            gains.append(world.learned_precision(others) - plain)
    return gains


def labelled(place: Path, classes: dict[Path, str], folder: Path) -> Path:
    """Return a copy of a collection that has learned from half of its pictures' classes."""
    copy = Path(shutil.copytree(place, folder))
    with Collection.open(copy) as collection:
        rows = {p.id: p.places[0] for p in collection.pictures.all()}
        some = np.random.default_rng(0).choice([*rows], len(rows) // 2, replace=False)
        told = collection.learn({rows[n]: [classes[rows[n]]] for n in some.tolist()})
        print(told.similarity.reason, file=sys.stderr)
    return copy


def run(
    place: Path,
    classes: dict[Path, str],
    people: int,
    malicious: int,
    votes: int,
    *,
    only_honest: bool,
    kind: str = ALL,
) -> list[float]:
    """Open a copy of a collection, and simulate a session there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(place, Path(folder) / "collection"))
        with Collection.open(copy) as collection:
            rows = {p.id: p.places[0] for p in collection.pictures.all()}
            world = World(collection, {number: classes[path] for number, path in rows.items()})
            return session(world, 0, people, malicious, votes, only_honest=only_honest, kind=kind)


def measure(options: Options) -> list[Figure]:
    votes = 60 if options.quick else 200
    figures = []
    for name, pictures in picture_sets(options.data):
        if options.quick and name != "objects":
            continue
        half = second_half(pictures)
        place = indexed(name, half)
        figures += poisoned(place, name, dict(half), votes, CASES[:2] if options.quick else CASES)
        if not options.quick:
            with tempfile.TemporaryDirectory() as folder:
                taught = labelled(place, dict(half), Path(folder) / "labelled")
                figures += poisoned(taught, f"{name}, labels", dict(half), votes, CASES)
    return figures


def poisoned(
    place: Path,
    name: str,
    classes: dict[Path, str],
    votes: int,
    cases: Sequence[tuple[int, int]],
) -> list[Figure]:
    """Return the figures of a collection, with some of its voters malicious."""
    spoiled = run(place, classes, 1, 1, votes, only_honest=False, kind=CORRECTIONS)
    figures = [
        Figure(
            f"{name}, one alone by corrections: least gain in P@10 on other queries, at any time",
            min(spoiled),
            ">=",
            -MAX_LOST,
            f"after {votes} searches {spoiled[-1]:+.4f}",
        )
    ]
    for people, malicious in cases:
        settings = (place, classes, people, malicious, votes)
        with_them = run(*settings, only_honest=False)
        who = f"{name}, {malicious} of {people} malicious"
        figures.append(
            Figure(
                f"{who}: least gain in P@10 on other queries, at any time",
                min(with_them),
                ">=",
                -MAX_LOST,
                f"after {votes} votes {with_them[-1]:+.4f}",
            )
        )
        if malicious < people:
            honest = run(*settings, only_honest=True)
            figures.append(
                Figure(
                    f"{who}: gain beside that of the honest votes alone",
                    with_them[-1] / honest[-1],
                    ">=",
                    MIN_KEPT,
                    f"{with_them[-1]:+.4f} / {honest[-1]:+.4f}",
                )
            )
        print(figures[-1], file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    main("trust/poison", measure)
