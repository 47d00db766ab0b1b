"""Judge how well objects are found: Oxford's protocol, its revisited form, and UKBench's."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.errors import InvalidInput

Level: TypeAlias = Literal["oxford", "easy", "medium", "hard"]

LEVELS: dict[Level, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "oxford": (("good", "ok"), ("junk",)),
    "easy": (("good",), ("ok", "junk")),
    "medium": (("good", "ok"), ("junk",)),
    "hard": (("ok",), ("good", "junk")),
}
"""Which lists count as positive and which are ignored. In the revisited ground truth *good* are the
easy pictures and *ok* the hard ones; medium is Oxford's own rule."""

VIEWS = 4
"""Pictures of each object of UKBench."""


@dataclass(frozen=True)
class Truth:
    """What a query should find: three lists of pictures; all others are absent.

    Attributes
    ----------
    good, ok, junk : frozenset
        The object is seen well; more than a quarter of it; less, or hardly.
    """

    good: frozenset[int]
    ok: frozenset[int]
    junk: frozenset[int]

    def positive(self, level: Level = "oxford") -> frozenset[int]:
        """Return what counts as found."""
        return self._joined(LEVELS[level][0])

    def ignored(self, level: Level = "oxford") -> frozenset[int]:
        """Return what is taken out of a ranking before it is judged."""
        return self._joined(LEVELS[level][1])

    def _joined(self, names: Sequence[str]) -> frozenset[int]:
        return frozenset[int]().union(*(getattr(self, name) for name in names))


def object_average_precision(
    ranked: ArrayLike, positive: Collection[int], ignored: Collection[int] = ()
) -> float:
    """Return the average precision of one query, as Oxford's ``compute_ap`` computes it.

    The area under the curve of precision over recall by trapezes: at the j-th positive, found at
    rank r_j (from 1), (1/R)·((j−1)/(r_j−1) + j/r_j) / 2, the first term 1 where r_j is 1. Ignored
    pictures are taken out of the ranking first; positives that are not in it count as not found.

    Parameters
    ----------
    ranked : sequence of int
        The pictures found, best first; each once.
    positive, ignored : collection of int

    Examples
    --------
    >>> object_average_precision([7, 3, 9, 5], positive={7, 5}, ignored={3})
    0.7916666666666666
    """
    order = np.asarray(ranked)
    if order.ndim != 1 or len(np.unique(order)) != len(order):
        raise InvalidInput("object_average_precision: ranked must have each picture at most once.")
    wanted, out = set(positive), set(ignored)
    if not wanted:
        raise InvalidInput("object_average_precision: there must be at least one positive picture.")
    if wanted & out:
        raise InvalidInput(
            f"object_average_precision: a picture cannot be positive and ignored; "
            f"{len(wanted & out)} are."
        )
    result, rank, total = 0, 0, 0.0
    for picture in order.tolist():
        if picture in out:
            continue
        rank += 1
        if picture in wanted:
            before = 1.0 if rank == 1 else result / (rank - 1)
            result += 1
            total += (before + result / rank) / 2
    return total / len(wanted)


def object_map(
    rankings: Sequence[ArrayLike],
    truths: Sequence[Truth],
    *,
    level: Level = "oxford",
    own: Sequence[int] | None = None,
    query_in_database: bool = True,
) -> float:
    """Return the mean average precision over queries; those without positives are left out.

    Parameters
    ----------
    rankings : sequence of int arrays
        The pictures found for each query, best first.
    truths : sequence of Truth
    level : {"oxford", "easy", "medium", "hard"}
        Oxford's own rule, or one of the three of Radenović et al., *Revisiting Oxford and Paris*
        (2018).
    own : sequence of int, optional
        The picture that each query is cut from.
    query_in_database : bool
        Oxford's rule is True: the picture of the query is among those to find, and finding it
        counts. With False, as in the revisited form, ``own`` is ignored in each ranking.
    """
    if not query_in_database and own is None:
        raise InvalidInput("object_map: own must be given if queries are not in the database.")
    values = []
    for place, (ranked, truth) in enumerate(zip(rankings, truths, strict=True)):
        positive, ignored = truth.positive(level), truth.ignored(level)
        if own is not None and not query_in_database:
            positive, ignored = positive - {own[place]}, ignored | {own[place]}
        if positive:
            values.append(object_average_precision(ranked, positive, ignored))
    if not values:
        raise InvalidInput(f"object_map: no query has a positive picture at the level {level}.")
    return float(np.mean(values))


def ukbench_score(ranked: ArrayLike, objects: ArrayLike) -> float:
    """Return N-S of UKBench: how many of the first four are views of the query, on average.

    Nistér and Stewénius, *Scalable recognition with a vocabulary tree* (2006). The query is in the
    database, and itself one of the four.

    Parameters
    ----------
    ranked : int array of shape (queries, at least 4)
        Row i has what query i found, best first, as rows of ``objects``; query i is picture i.
    objects : array of shape (pictures,)
        The object of each picture.

    Examples
    --------
    >>> ukbench_score([[0, 1, 2, 9]], [5, 5, 5, 5, 6, 6, 6, 6, 7, 7])
    3.0
    """
    order, owners = np.asarray(ranked), np.asarray(objects)
    if order.ndim != 2 or order.shape[1] < VIEWS or len(order) > len(owners) or not len(order):
        raise InvalidInput(
            f"ukbench_score: ranked must have a row of at least {VIEWS} for each query; got the "
            f"shape {order.shape}."
        )
    first: NDArray[np.intp] = order[:, :VIEWS]
    is_known = first >= 0
    right = (owners[first] == owners[: len(order), None]) & is_known
    return float(right.sum(axis=1).mean())
