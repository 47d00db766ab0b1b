"""How well terms fit pictures, by what is said of them and by what is seen, all in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.search.conditions import Ids
from lookalike.collection.search.matches import Source

SOFT = 0.02
"""What a term counts that does not fit at all, so that others still put pictures in order."""

MIN_WITHOUT = 0.5
"""How probable a term that is typed with a minus must be for a picture to be left out: by what is
seen, labels and captions. Names of files and folders, and writing, only lower."""

SOURCES: tuple[Source | None, ...] = (
    *("given", "caption", "name", "written", "name", "learned", "start", "meaning"),
    None,
)
GIVEN, CAPTIONED, NAMED, WRITTEN, IN_FOLDER, LEARNED, START, MEANING, NO_SOURCE = range(9)

TEXT_CHANCES = {CAPTIONED: 0.8, NAMED: 0.5, WRITTEN: 0.5, IN_FOLDER: 0.15}
"""How probable it is that a picture shows what its caption says, what its file is named after, what
is written in it, and what a folder is named after: guesses. Of several that say it, the first is
told."""

Chances: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Fit:
    """How a term fits pictures.

    Attributes
    ----------
    given : ndarray of bool
        Those it was given to.
    evidence : mapping of int to ndarray of bool
        By each of ``TEXT_CHANCES``, the pictures of which it says so.
    likely : ndarray
        How well it fits by what is seen, and ``source``, where that comes from.
    refused : ndarray of bool or None
        Those of which people said that it does not fit.
    """

    given: Mask
    evidence: Mapping[int, Mask]
    likely: Chances
    source: int
    refused: Mask | None = None

    @property
    def chances(self) -> Chances:
        """How probable it is that the term fits: what is said is evidence beside looks."""
        unlikely = 1 - self.likely
        for source, says in self.evidence.items():
            unlikely = np.where(says, unlikely * (1 - TEXT_CHANCES[source]), unlikely)
        return np.where(self.given, 1.0, 1 - unlikely)

    @property
    def without_names(self) -> Fit:
        """What is seen, given and said in captions: no guess by the name of a file or a folder."""
        sure = {part: says for part, says in self.evidence.items() if part == CAPTIONED}
        return replace(self, evidence=sure)

    @property
    def parts(self) -> NDArray[np.uint8]:
        """Where the fit of each picture comes from."""
        masks = [self.given, *self.evidence.values()]
        return np.select(masks, [GIVEN, *self.evidence], self.source).astype(np.uint8)


@dataclass(frozen=True)
class Likeness:
    """How like pictures are to others, by rising id, and how much words count beside it.

    A picture counts by l^(2 - 2w)·p^2w, with l its likeness, p how probable it is that the words
    fit, and w the ``weight`` of words from 0 to 1.
    """

    ids: Ids
    chances: Chances
    weight: float

    def of(self, ids: Ids) -> tuple[Chances, float]:
        """Return the likeness of some pictures, which all have one, and the weight of words."""
        return self.chances[np.searchsorted(self.ids, ids)], self.weight


def combined(
    ids: Ids,
    groups: list[list[list[str]]],
    against: list[list[str]],
    fits: Mapping[str, Fit],
    alike: tuple[Chances, float] | None = None,
) -> tuple[Ids, Chances, NDArray[np.uint8]]:
    """Return the pictures that terms fit, ranked, with their scores and parts."""
    positive = [
        [[fits[term] for term in part if term in fits] for part in group] for group in groups
    ]
    positive = [[part for part in group if part] for group in positive]
    positive = [group for group in positive if group]
    parts = np.full(len(ids), GIVEN if positive else NO_SOURCE, np.uint8)
    best, typical = [], np.ones(len(ids))
    for group in positive:
        each = np.stack([_all([fit.chances for fit in part]) for part in group])
        best.append(1 - np.prod(1 - each, axis=0))
        seen = [_all([fit.likely for fit in part]) for part in group]
        typical *= 1 - np.prod([1 - one for one in seen], axis=0)
        # Where a match comes from is told by the surest alternative, and of its terms the last.
        own = np.stack([np.max([fit.parts for fit in part], axis=0) for part in group])
        surest = np.argmax(each, axis=0)[None]
        parts = np.maximum(parts, np.take_along_axis(own, surest, axis=0)[0])
    chances = _all(best) if best else np.full(len(ids), float(not groups or alike is not None))
    if alike is not None:
        likeness, weight = alike
        parts[chances <= 0] = NO_SOURCE
        chances = _softened(likeness) ** (2 - 2 * weight) * _softened(chances) ** (2 * weight)
    for part in against:
        some = [fits[term] for term in part if term in fits]
        if some:
            chance = _all([fit.chances for fit in some])
            certain = [fit.without_names for fit in some]
            # How well a learned word fits is no probability: it lowers, and drops nothing.
            is_learned = np.any([fit.parts == LEARNED for fit in certain], axis=0)
            is_sure = (_all([fit.chances for fit in certain]) >= MIN_WITHOUT) & ~is_learned
            rest = np.maximum(1 - chance * np.where(is_learned, 0.5, 1), SOFT)
            chances = np.where(is_sure, 0, chances * rest)
            typical *= rest
    rows = np.flatnonzero(chances > 0)
    given = parts[rows] == GIVEN
    order = rows[np.lexsort((ids[rows], -typical[rows], ~given, -chances[rows]))]
    return ids[order], chances[order], parts[order]


def _softened(chances: Chances) -> Chances:
    return SOFT + (1 - SOFT) * chances


def _all(chances: list[Chances]) -> Chances:
    """Return how probable it is that all fit; one that does not fit at all leaves a little."""
    if len(chances) == 1:
        return chances[0]
    soft = np.prod([_softened(one) for one in chances], axis=0)
    least = SOFT ** len(chances)
    return np.asarray((soft - least) / (1 - least))


def spread_over(ids: Ids, own: Ids, likely: Chances) -> Chances:
    """Return what is known of some pictures, by their rising ids, for each of others."""
    result = np.zeros(len(ids))
    here, there = np.isin(ids, own), np.isin(own, ids)
    result[here] = likely[there]
    return result
