"""Paper 4, sparse similarity: Tables II to IV and Figures 1 to 6, on a folder of sights."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.evaluate.landmarks import Landmarks, read_landmarks
from lookalike.evaluate.reproduce import sparse_figures as figures
from lookalike.evaluate.reproduce import sparse_paper as paper
from lookalike.evaluate.reproduce.oasis_figures import Drawn, write_report
from lookalike.evaluate.reproduce.sparse_data import Search, Sights
from lookalike.evaluate.reproduce.vectors import Pictures
from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Cell, Table
from lookalike.features.regions import Regions
from lookalike.index import SpatialExpansion
from lookalike.similarity import SparseSimilarity

TRAINING = 0.8
"""The share of pictures, other than those of queries, to learn from (section V)."""
NEIGHBOURS = (0, 1, 2, 3)
CHOSEN = 2
LEARNING_SECONDS = 400.0
"""What one of nine runs of learning takes for two million triplets on two cores, about."""


@dataclass(frozen=True)
class Learned:
    """A similarity learned on one split, and what it reached."""

    similarity: SparseSimilarity
    seconds: float
    plain: NDArray[np.float64]
    expanded: NDArray[np.float64] | None
    milliseconds: float


def reproduce(
    data: Path,
    out: Path,
    *,
    vocabulary: int = 200_000,
    pictures: int | None = None,
    root: bool = True,
    splits: int = 3,
    query_in_database: bool = True,
    quick: bool = False,
    random_state: int = 0,
    progress: Progress = silent,
) -> list[Table]:
    """Reproduce the experiments of paper 4, section V.

    Parameters
    ----------
    data : Path
        A folder with pictures and ground truth, as Oxford5K and Paris6K are published.
    out : Path
        A folder for tables and plots. It also keeps the vocabulary, the records and what was
        learned, so that a run that was ended goes on.
    vocabulary : int
        Words; 500,000 in the paper.
    pictures : int, optional
        Use so many pictures only: those in the lists of queries, then others.
    root : bool
        RootSIFT, or SIFT.
    splits : int
        Random splits into pictures to learn from and others.
    query_in_database : bool
        Oxford's rule: the picture of a query is among those to find. With False it is left out.
    quick : bool
        One split, a vocabulary of at most 20,000 words, and fewer triplets.

    Notes
    -----
    *Departures.* Regions are upright, and vocabularies only those of the same pictures. Figure 6
    shows mAP on held-out pictures, by which an iterate is chosen, not on the test part. Distractors
    (Oxford105K) count if they lie in the folder.
    """
    landmarks = _fewer(read_landmarks(data), pictures)
    words = min(vocabulary, 20_000) if quick else vocabulary
    runs = 1 if quick else splits
    feature = Regions(dimension=words, root=root, upright=True, random_state=random_state)
    steps = runs + len(NEIGHBOURS) - 1 + 2
    describing = 2 * len(landmarks.files)
    share = max(1, describing // 8)
    total = describing + steps * share
    sights = Sights.described(
        landmarks, feature, out / "described", lambda done, _: progress(done, total)
    )
    done = describing

    def one() -> None:
        nonlocal done
        done += share
        progress(done, total)

    expansion = SpatialExpansion()
    start = Search.of(sights)
    tf_idf = start.judged(None, query_in_database), start.judged(expansion, query_in_database)
    one()
    neighbours = sights.feature.word_neighbours(max(NEIGHBOURS))
    by_k: dict[int, list[Learned]] = {k: [] for k in NEIGHBOURS}
    for k in NEIGHBOURS:
        for split in range(runs if k == CHOSEN else 1):
            seed = random_state + split
            model = _learn(sights, neighbours, k, seed, quick, out / "learned")
            search = Search.of(sights, model[0])
            expanded = search.judged(expansion, query_in_database) if k == CHOSEN else None
            plain = search.judged(None, query_in_database)
            by_k[k].append(Learned(*model, plain, expanded, search.milliseconds()))
            one()
    made = [
        _table_2(data.name, root, tf_idf, by_k[CHOSEN], len(landmarks.files), words),
        _table_3(data.name, root, tf_idf, by_k[CHOSEN]),
        _table_4(by_k),
    ]
    panels = _figures(sights, start, tf_idf, by_k, out)
    heading = (
        "# Sparse similarity: Tables II to IV and Figures 1 to 6\n\n"
        "Yan and Yu, *Sparse Similarity Matrix Learning for Visual Object Retrieval* (2013), "
        f"reproduced on the pictures in `{data.name}`.{_missing(landmarks)}"
    )
    write_report(out, heading, made, panels, values=["value"])
    progress(total, total)
    return made


def _missing(landmarks: Landmarks) -> str:
    """Return what the lists name that is not there; empty if nothing."""
    names = landmarks.missing
    if not names:
        return ""
    more = " …" if len(names) > 20 else ""
    return f" Left out, since no picture is there: {', '.join(names[:20])}{more}."


def estimate(
    data: Path, *, vocabulary: int = 200_000, pictures: int | None = None, quick: bool = False
) -> float:
    """Return how many seconds :func:`reproduce` takes here, by trying a few pictures."""
    landmarks = _fewer(read_landmarks(data), pictures)
    words = min(vocabulary, 20_000) if quick else vocabulary
    feature = Regions(dimension=words, upright=True)
    made = feature.estimate(Pictures(landmarks.files, feature.decode_side))
    share = min(1.0, len(landmarks.files) / 5_000)
    return made.total + 1.3 * made.describing + (3 + len(NEIGHBOURS)) * LEARNING_SECONDS * share


def training_labels(
    landmarks: Landmarks, rng: np.random.Generator
) -> tuple[NDArray[np.intp], list[str | None]]:
    """Return the pictures to learn from, and their labels: four fifths, none of a query."""
    labels = landmarks.labels()
    queries = {query.picture for query in landmarks.queries}
    others = [place for place in range(len(labels)) if place not in queries]
    drawn = np.sort(rng.permutation(others)[: round(TRAINING * len(others))])
    return drawn, [labels[place] for place in drawn]


def _learn(
    sights: Sights, neighbours: NDArray[np.int32], k: int, seed: int, quick: bool, folder: Path
) -> tuple[SparseSimilarity, float]:
    """Return what is learned on one split and its time; what ``folder`` has is not done again."""
    rows, labels = training_labels(sights.landmarks, np.random.default_rng(seed))
    most = 200_000 if quick else 2_000_000
    task = {"rows": rows.tolist(), "labels": labels, "k": k, "seed": seed, "triplets": most}
    own = sights.feature.fingerprint
    file = folder / fingerprint({"feature": own, **task}, {})
    answer = file.with_suffix(".json")
    try:
        known = SparseSimilarity.load(file)
        facts = json.loads(answer.read_text())
        known.history_ = facts["history"]
        return known, float(facts["seconds"])
    except (LookalikeError, OSError, ValueError, KeyError):
        folder.mkdir(parents=True, exist_ok=True)
    model = SparseSimilarity(neighbours=k, random_state=seed, max_triplets=most)
    start = time.perf_counter()
    model.set_neighbours(neighbours).fit(sights.vectors[rows], labels)
    seconds = time.perf_counter() - start
    model.save(file, fingerprint=own)
    write_whole(answer, json.dumps({"history": model.history_, "seconds": seconds}).encode())
    return model, seconds


def _fewer(landmarks: Landmarks, pictures: int | None) -> Landmarks:
    """Return a set of at most so many pictures, those in lists first."""
    if pictures is None or pictures >= len(landmarks.files):
        return landmarks
    listed = {query.picture for query in landmarks.queries}
    for query in landmarks.queries:
        listed |= query.truth.positive() | query.truth.junk
    if pictures < len(listed):
        raise InvalidInput(
            f"reproduce: pictures must be at least those in the lists of queries, {len(listed)}; "
            f"got {pictures}."
        )
    others = [place for place in range(len(landmarks.files)) if place not in listed]
    kept = sorted([*listed, *others[: pictures - len(listed)]])
    return landmarks.part(kept)


def _table_2(
    name: str,
    root: bool,
    tf_idf: tuple[NDArray[np.float64], NDArray[np.float64]],
    learned: list[Learned],
    pictures: int,
    words: int,
) -> Table:
    rows: list[list[Cell]] = []
    descriptor = "R" if root else "S"
    ours = [
        (False, tf_idf[0], [one.plain for one in learned]),
        (True, tf_idf[1], [one.expanded for one in learned if one.expanded is not None]),
    ]
    for is_expanded, start, ends in ours:
        spread = Spread.of([float(end.mean()) for end in ends])
        gain = 100 * (spread.mean / float(start.mean()) - 1)
        rows.append([name, descriptor, _yes(is_expanded), float(start.mean()), spread, gain])
    for (data, by, is_expanded), (before, after, deviation, gain) in paper.TABLE_2.items():
        spread = Spread(after, deviation, 2)
        rows.append([f"paper, {data}", by, _yes(is_expanded), before, spread, gain])
    return Table(
        ["set", "FD", "SR/QE", "tf-idf", "learned", "gain %"],
        rows,
        title="Table II: mAP of tf-idf and of the learned similarity",
        notes=(f"{pictures:,} pictures, {words:,} words; the paper's vocabularies have 500,000.",),
        digits=3,
    )


def _table_3(
    name: str,
    root: bool,
    tf_idf: tuple[NDArray[np.float64], NDArray[np.float64]],
    learned: list[Learned],
) -> Table:
    best = [float(one.expanded.mean()) for one in learned if one.expanded is not None]
    by = "R" if root else "S"
    rows: list[list[Cell]] = [
        [f"ours, {name}, tf-idf", by, "D", "", float(tf_idf[1].mean()), None],
        [f"ours, {name}, learned", by, "D", "", float(np.mean(best)), None],
    ]
    rows += [[who, fd, v, _yes(soft), one, two] for who, fd, v, soft, one, two in paper.TABLE_3]
    return Table(
        ["approach", "FD", "V", "SA", "mAP here, or Oxford5K", "Paris6K"],
        rows,
        title="Table III: beside other approaches, with spatial re-ranking and expansion",
        digits=3,
    )


def _table_4(by_k: dict[int, list[Learned]]) -> Table:
    rows: list[list[Cell]] = []
    for k, learned in by_k.items():
        hours = float(np.mean([one.seconds for one in learned])) / 3600
        unknowns, printed = paper.TABLE_4[k]
        size = learned[0].similarity.mask_.size
        triplets = int(np.mean([one.similarity.triplets_ for one in learned]))
        rows.append([k, size, unknowns, triplets, hours, printed])
    return Table(
        ["k", "unknowns", "paper", "triplets", "hours", "paper, 12 cores"],
        rows,
        title="Table IV: unknowns and time of learning",
        digits=3,
    )


def _figures(
    sights: Sights,
    start: Search,
    tf_idf: tuple[NDArray[np.float64], NDArray[np.float64]],
    by_k: dict[int, list[Learned]],
    out: Path,
) -> dict[int, list[Drawn]]:
    chosen = by_k[CHOSEN][0]
    means = [float(by_k[k][0].plain.mean()) for k in NEIGHBOURS]
    return {
        1: [figures.triplets(sights, out)],
        2: [figures.by_landmark(sights.landmarks, tf_idf[0], chosen.plain, out)],
        3: figures.distributions(sights, chosen.similarity, out),
        4: [figures.by_neighbours(NEIGHBOURS, means, float(tf_idf[0].mean()), out)],
        5: [
            figures.search_time(
                NEIGHBOURS, [by_k[k][0].milliseconds for k in NEIGHBOURS], start, out
            )
        ],
        6: [figures.iterations(chosen.similarity.history_, out)],
    }


def _yes(value: bool) -> str:
    return "yes" if value else ""
