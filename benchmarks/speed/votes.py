"""Votes in the log, from 10 to 100,000: what a search, a vote and opening the collection take.

100,000 pictures as in ``speed/service.py``. The votes are written to the log as a collection would
write them, ten pictures judged in each, by a hundred people, with steps of the lengths that real
votes have. Searches are for pictures drawn at random. A collection keeps a snapshot of its votes
now and then, so that opening reads few of them from the log; without one is timed as well.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask
from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.votes import Taught, Vote
from lookalike.evaluate.plots import Series, curve_plot
from service import make

MARKS = (10, 100, 1000, 2000, 10_000, 100_000)
JUDGED = 10
SEARCHES = 40
NEIGHBOURHOOD = 5000
"""Pictures among which a vote's are the nearest to its query."""
PLOTS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def write_votes(store: Collection, count: int, rng: np.random.Generator) -> None:
    """Add votes to the log, as many as are missing to ``count``."""
    opened = store._session
    ranker = opened.rankers.get()
    ids = rng.choice(ranker.plain.ids, min(NEIGHBOURHOOD, len(ranker.plain)), replace=False)
    vectors = ranker.vectors(ids)
    done = len(opened.rankers.ledger.votes)
    with opened.database.transaction() as connection:
        for _ in range(done, count):
            place = int(rng.integers(len(ids)))
            best = np.argpartition(-(vectors @ vectors[place]), JUDGED)[: JUDGED + 1]
            query, others = int(ids[place]), [n for n in ids[best].tolist() if n != ids[place]]
            others = rng.permutation(others)[:JUDGED].tolist()
            picked = int(rng.integers(2, JUDGED - 1))
            steps = np.round(rng.uniform(0, 0.8, JUDGED + 1), 4)
            taught = Taught((0, *others), 1 + picked, steps, ranker.votes.width, (0.6, 0.7))
            vote = Vote(
                (query,),
                picked=tuple(others[:picked]),
                rejected=tuple(others[picked:]),
                shown=tuple(others),
                taught={1: taught},
            )
            NewEntry(connection, f"person {rng.integers(100)}").append(vote)


def keep_snapshot(store: Collection) -> None:
    """Keep a snapshot of the votes, as recording them does."""
    ledger = store._session.rankers.ledger
    with store._session.database.transaction() as connection:
        ledger.keep(connection)


def opened(place: Path) -> float:
    """Return the seconds of opening a collection and its first search."""
    start = time.perf_counter()
    with Collection.open(place) as store:
        store.search(1, JUDGED)
        return time.perf_counter() - start


def seconds(work: list[float]) -> float:
    return float(np.median(work))


def timed(store: Collection, rng: np.random.Generator, count: int) -> tuple[float, float]:
    """Return the seconds of a search, and of a vote together with the search after it."""
    ids = store._session.rankers.get().plain.ids
    searches, votes = [], []
    for query in rng.choice(ids, count, replace=False).tolist():
        start = time.perf_counter()
        found = [match.id for match in store.search(Ask((query,)), JUDGED)]
        searches.append(time.perf_counter() - start)
        start = time.perf_counter()
        store.vote(Ask((query,)), picked=found[:5], rejected=found[5:], shown=found, who="timed")
        store.search(Ask((query,)), JUDGED)
        votes.append(time.perf_counter() - start)
    return seconds(searches), seconds(votes)


def measure(options: Options) -> list[Figure]:
    pictures = 2000 if options.quick else 100_000
    marks = [mark for mark in MARKS if mark <= (1000 if options.quick else MARKS[-1])]
    judged = 1000 if options.quick else 2000
    rng = np.random.default_rng(0)
    rows: dict[int, tuple[float, ...]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "collection"
        make(place, Path(folder) / "pictures", pictures, options)
        with Collection.open(place) as store:
            store.search(1, JUDGED)
            timed(store, rng, 3)
            alone = seconds([_search(store, query) for query in range(1, SEARCHES)])
        for mark in marks:
            with Collection.open(place) as store:
                write_votes(store, mark, rng)
            reading = opened(place)
            with Collection.open(place) as store:
                keep_snapshot(store)
            opening = opened(place)
            with Collection.open(place) as store:
                timed(store, rng, 3)
                search, vote = timed(store, rng, SEARCHES // 2)
            rows[mark] = (search, vote, opening, reading)
            print(mark, *(f"{1000 * value:.1f} ms" for value in rows[mark]), file=sys.stderr)
    if not options.quick:
        draw(rows)
    figures = [
        Figure(
            f"vote and the search after it / a search without votes, {judged:,} votes in the log",
            rows[judged][1] / alone,
            "<=",
            2.0,
            f"{1000 * rows[judged][1]:.1f} ms / {1000 * alone:.1f} ms",
        ),
        Figure(
            f"the same / a search with them, {judged:,} votes in the log",
            rows[judged][1] / rows[judged][0],
            "<=",
            2.0,
            f"{1000 * rows[judged][1]:.1f} ms / {1000 * rows[judged][0]:.1f} ms",
        ),
    ]
    few, many = (rows[mark][1] for mark in (100, 1000 if options.quick else 10_000))
    figures.append(
        Figure(
            f"vote and search, {1000 if options.quick else 10_000:,} votes in the log / 100",
            many / few,
            "<=",
            2.0,
            f"{1000 * many:.1f} ms / {1000 * few:.1f} ms",
        )
    )
    for mark, (search, vote, opening, reading) in rows.items():
        figures.append(
            Figure(
                f"a search with {mark:,} votes in the log / without",
                search / alone,
                "<=",
                None,
                f"search {1000 * search:.1f} ms, vote and search {1000 * vote:.1f} ms, opening "
                f"and first search {opening:.2f} s, without a snapshot {reading:.2f} s",
            )
        )
    return figures


def _search(store: Collection, query: int) -> float:
    start = time.perf_counter()
    store.search(query, JUDGED, learned=False)
    return time.perf_counter() - start


def draw(rows: dict[int, tuple[float, ...]]) -> None:
    """Draw the times against the number of votes."""
    votes = np.array([*rows], float)
    names = (
        "a search",
        "a vote and the search after it",
        "opening and the first search",
        "opening without a snapshot",
    )
    curve_plot(
        [
            Series(name, votes, np.array([1000 * row[place] for row in rows.values()]))
            for place, name in enumerate(names)
        ],
        path=PLOTS / "speed-votes-times.svg",
        title="100,000 pictures: time by votes in the log",
        x_label="votes in the log",
        y_label="milliseconds",
        logarithmic=True,
    )


if __name__ == "__main__":
    main("speed/votes", measure)
