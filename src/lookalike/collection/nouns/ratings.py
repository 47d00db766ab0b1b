"""Ratings: people compare two rankings, side by side, without knowing which is which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from xxhash import xxh3_64_intdigest

from lookalike.collection.log.entry import Entry
from lookalike.collection.log.ratings import Rating, ratings
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.search import searching
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput

if TYPE_CHECKING:
    from lookalike.evaluate.raters import RankingPrecision

MAX_NAME = 64
QUERIES, PICTURES = 25, 10
"""Queries to rate and pictures of each ranking, as in appendix A of paper 1."""

COSINE = "cosine"


@dataclass(frozen=True)
class Comparison:
    """Two rankings of a query, for one rater: which is learned is not said.

    Attributes
    ----------
    query : int
    left, right : tuple of int
        Pictures, best first.
    number, count : int
        How many queries the rater has rated, this one with them, and how many there are.
    """

    query: int
    left: tuple[int, ...]
    right: tuple[int, ...]
    number: int
    count: int


@dataclass(frozen=True)
class RatedRankings:
    """What raters said of what was learned and of what it is compared with.

    Attributes
    ----------
    raters : dict of str to int
        How many queries each has rated.
    queries : int
        How many queries were rated by somebody.
    kappa : float or None
        Their agreement: the mean of Cohen's κ over pairs of raters; None if no two rated the same.
    learned, other : RankingPrecision
    """

    raters: dict[str, int]
    queries: int
    kappa: float | None
    learned: "RankingPrecision"
    other: "RankingPrecision"


class Ratings(Noun):
    """Ratings of two rankings side by side: what was learned, and another."""

    def next(
        self,
        rater: str,
        *,
        against: str = COSINE,
        by: str | None = None,
        queries: int = QUERIES,
        k: int = PICTURES,
        seed: int = 0,
    ) -> Comparison | None:
        """Return what a rater is to compare next, or None if all queries are rated.

        Parameters
        ----------
        rater : str
            The rater's name; each rates the same queries, in an order of their own.
        against : str
            ``cosine``, or the ranker that is compared with.
        by : str, optional
            The ranker that is judged, by all that it learned; by default the first.
        queries, k : int
            Queries, drawn at random, and pictures of each ranking.
        seed : int
            Draws the queries; those that somebody rated already come first.
        """
        name = _checked(rater)
        check_whole("ratings", "queries", queries, 1)
        check_whole("ratings", "k", k, 1, 50)
        ranker = self._session.rankers.get(by).name
        if against == ranker:
            raise InvalidInput(
                f"ratings: {ranker} cannot be compared with itself. Compare it with {COSINE}, or "
                f"with another ranker."
            )
        given = [one for one in ratings(self._session.database) if _is_of(one, ranker, against)]
        ids = np.sort(self._session.rankers.get(by).plain.ids)
        if len(ids) < 3:
            raise InvalidInput(
                f"ratings: two rankings need at least 3 pictures; the collection has {len(ids)}. "
                f"Add pictures."
            )
        rated = [one.query for one in given if one.query in set(ids.tolist())]
        drawn = np.random.default_rng(seed).permutation(ids).tolist()
        every = list(dict.fromkeys([*rated, *drawn]))[:queries]
        own = {one.query for one in given if one.rater == name}
        open_queries = sorted(
            (query for query in every if query not in own), key=lambda query: _draw(name, query)
        )
        if not open_queries:
            return None
        query = open_queries[0]
        learned, other = self._rankings(query, by, against, k)
        left, right = (learned, other) if _is_left(name, query) else (other, learned)
        number = len(every) - len(open_queries) + 1
        return Comparison(query, left, right, number, len(every))

    def rate(
        self,
        rater: str,
        query: int,
        relevant: Iterable[int],
        *,
        shown: Sequence[int] | None = None,
        against: str = COSINE,
        by: str | None = None,
        k: int = PICTURES,
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Record which pictures of the two rankings of a query a rater found relevant.

        It is an event of the log, which can be undone; a second rating of the same query by the
        same rater counts instead of the first.

        Parameters
        ----------
        rater, against, by, k
            As for :meth:`next`.
        query : int
        relevant : iterable of int
            Pictures of either ranking.
        shown : sequence of int, optional
            What the rater saw: if that is not what the rankings are now, nothing is recorded.
        who, key
            As for :meth:`Collection.vote`.
        """
        name = _checked(rater)
        learned, other = self._rankings(self._session.id_of(query), by, against, k)
        pictures = {*learned, *other}
        marked = tuple(sorted(set(relevant)))
        if shown is not None and set(shown) != pictures:
            raise InvalidInput(
                "ratings: the rankings have changed since they were shown; nothing was recorded. "
                "Look at this query again."
            )
        if not pictures.issuperset(marked):
            raise InvalidInput(
                "ratings: relevant pictures must be among those of the two rankings."
            )
        ranker = self._session.rankers.get(by).name
        rating = Rating(query, name, learned, other, marked, against, ranker, _is_left(name, query))
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                entry.append(rating)
        return entry.result

    def figures(self, *, against: str = COSINE, by: str | None = None) -> RatedRankings | None:
        """Return agreement, and precision at k of both rankings; None without ratings."""
        from lookalike.evaluate.raters import mean_kappa, ranking_precision

        ranker = self._session.rankers.get(by).name
        given = [one for one in ratings(self._session.database) if _is_of(one, ranker, against)]
        if not given:
            return None
        by_query: dict[int, list[Rating]] = {}
        marks: dict[str, dict[tuple[int, int], bool]] = {}
        for one in given:
            by_query.setdefault(one.query, []).append(one)
            for picture in {*one.learned, *one.other}:
                marks.setdefault(one.rater, {})[one.query, picture] = picture in one.relevant
        sides = [
            ranking_precision(
                [
                    [[picture in one.relevant for picture in getattr(one, side)] for one in several]
                    for several in by_query.values()
                ]
            )
            for side in ("learned", "other")
        ]
        counts = {name: sum(one.rater == name for one in given) for name in marks}
        return RatedRankings(counts, len(by_query), mean_kappa(list(marks.values())), *sides)

    def _rankings(
        self, query: int, by: str | None, against: str, k: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        def ranked(by: str | None, learned: bool) -> tuple[int, ...]:
            matches = searching.search(
                self._session, query, k, by, learned, 0, None, None, None, ""
            )
            return tuple(match.id for match in matches)

        other = ranked(by, False) if against == COSINE else ranked(against, True)
        return ranked(by, True), other


def _is_of(rating: Rating, ranker: str, against: str) -> bool:
    return rating.against == against and rating.by == ranker


def _checked(rater: str) -> str:
    name = " ".join(rater.split())
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInput(
            f"ratings: a rater must have a name of 1 to {MAX_NAME} characters; got {rater!r:.80}."
        )
    return name


def _draw(rater: str, query: int) -> int:
    return xxh3_64_intdigest(f"{query} {rater}".encode())


def _is_left(rater: str, query: int) -> bool:
    """Return whether what was learned stands on the left: by chance, but always the same."""
    return bool(_draw(rater, query) & 1)
