"""Check where words lie: hits whose regions are placed like the query's come first."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput
from lookalike.features.region_records import RegionRecord, unpack_regions
from lookalike.index._fast.spatial import best_hypothesis, pair_signatures, pair_words
from lookalike.index.base import Hits
from lookalike.index.reranker import Query, Reranker

MAX_PAIRS_A_WORD = 12
MAX_PAIRS = 4_000
MAX_SIGNED = 600
"""Regions of a picture, the strongest, that are compared by their signatures."""
RATIO = 0.8
"""The nearest signature differs in fewer bits than this share of those of the second nearest."""
MAX_BITS = 14
"""Regions with the same word differ in no more bits, of 64, where signatures are known."""
HYPOTHESES = 400
MAX_SCALE = 10.0
"""The most by which an object may be larger in one picture than in the other."""
ROUGH, FINE = 0.04, 0.02
"""How far a region may lie from where a map puts it, as a share of the picture's longer side."""
HALF = 20.0
"""Regions that lie alike with which a score is half way from one half to 1."""
MIN_HOMOGRAPHY = 12
"""Pairs from which a homography is estimated; fewer say no more than an affine map."""


@dataclass(frozen=True)
class Agreement:
    """The regions of two pictures that lie alike.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n, 2)
        Regions of the first and the second picture; each occurs once.
    matrix : ndarray of float64, shape (3, 3)
        The map from the first picture to the second, in pixels.
    """

    pairs: NDArray[np.int64]
    matrix: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)

    def mapped_back(self, places: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return where places of the second picture lie in the first."""
        return mapped(np.asarray(np.linalg.pinv(self.matrix), np.float64), places)


NOTHING = Agreement(np.zeros((0, 2), np.int64), np.eye(3))


def agreement(first: RegionRecord, second: RegionRecord) -> Agreement:
    """Return the regions of two pictures with the same words that one map takes to each other.

    Philbin et al. (2007), section 4: each pair of regions with the same word gives an affine map;
    the one most pairs agree with is fitted to them by least squares, and then a homography, where
    more agree with it.

    Notes
    -----
    *Departures.* Regions have orientations or are upright, so that one pair gives all six numbers
    of the map; they fix the direction of gravity instead. Words with more than 12 pairs are left
    out.
    """
    pairs = likely_pairs(first, second)
    if len(pairs) < 3:
        return NOTHING
    side = max(second.size)
    best = np.zeros(6, np.float32)
    shaped = first.places, first.shapes, second.places, second.shapes
    if best_hypothesis(pairs, *shaped, ROUGH * side, MAX_SCALE, HYPOTHESES, best) < 3:
        return NOTHING
    a, b = first.places[pairs[:, 0]].astype(float), second.places[pairs[:, 1]].astype(float)
    matrix = np.array([[best[0], best[1], best[4]], [best[2], best[3], best[5]], [0, 0, 1]], float)
    for share in (ROUGH, ROUGH, FINE):
        close = _close(matrix, a, b, share * side)
        if close.sum() < 3:
            return NOTHING
        fitted = _affine(a[close], b[close])
        if not _is_sound(fitted, a[close]):
            break
        matrix = fitted
    close = _close(matrix, a, b, FINE * side)
    if close.sum() >= MIN_HOMOGRAPHY:
        rough = _close(matrix, a, b, ROUGH * side)
        result, _ = cv2.findHomography(a[rough], b[rough], cv2.USAC_MAGSAC, FINE * side / 2)
        if result is not None and np.isfinite(result).all() and _is_sound(result, a[rough]):
            more = _close(result, a, b, FINE * side)
            if more.sum() > close.sum():
                matrix, close = result, more
    return Agreement(_once(pairs[close]), matrix)


def likely_pairs(first: RegionRecord, second: RegionRecord) -> NDArray[np.int64]:
    """Return the pairs of regions with like signatures, then those with the same words.

    Of small pictures, and of things seen from the side, few regions have the same words; where
    signatures are known, the strongest regions are compared with each other, whatever their words.
    Regions with the same word must then have signatures that are not too different, either.
    """
    pairs = same_words(first, second)
    one, two = first.signatures, second.signatures
    if one is None or two is None:
        return pairs
    pairs = pairs[np.bitwise_count(one[pairs[:, 0]] ^ two[pairs[:, 1]]) <= MAX_BITS]
    room = np.empty((MAX_SIGNED, 2), np.int64)
    count = pair_signatures(one[:MAX_SIGNED], two[:MAX_SIGNED], RATIO, room)
    both = np.concatenate([room[:count], pairs])
    return both[np.sort(np.unique(both, axis=0, return_index=True)[1])]


def same_words(first: RegionRecord, second: RegionRecord) -> NDArray[np.int64]:
    """Return the pairs of regions whose nearest words are the same, rows of two region numbers."""
    room = np.empty((MAX_PAIRS, 2), np.int64)
    one, two = (np.ascontiguousarray(each.words[:, 0]) for each in (first, second))
    orders = (np.argsort(words, kind="stable") for words in (one, two))
    count = pair_words(one, next(orders), two, next(orders), MAX_PAIRS_A_WORD, room)
    return room[:count]


class SpatialCheck(Reranker):
    """Put hits first whose regions are placed like the query's.

    Spatial re-ranking of Philbin et al. (2007), as paper 4 uses it (section V): of the first
    ``top`` hits, those with at least ``least`` regions that one map takes to the query's come
    first, by how many they have; the others stay in their order behind them.

    Parameters
    ----------
    top : int, default=200
        Hits that are checked.
    least : int, default=6
        Regions that must agree.

    Raises
    ------
    InvalidInput
        When the query or a hit has no record of regions.

    Examples
    --------
    >>> SpatialCheck(top=100).name
    'spatial'
    """

    name = "spatial"
    needs_record = True

    def __init__(self, *, top: int = 200, least: int = 6) -> None:
        self.top = top
        self.least = least

    @property
    def depth(self) -> int:
        """``top``."""
        return self.top

    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits, those that lie like the query first."""
        self._check_parameters()
        return ranked(hits, self.agreements(query, hits), self.least)

    def agreements(self, query: Query, hits: Hits) -> dict[int, Agreement]:
        """Return what agrees with the query in each of the first hits, by id."""
        ids = hits.ids[0][hits.ids[0] >= 0][: self.top]
        if not ids.size:
            return {}
        own = read_regions(query.record)
        records = query.records(ids)
        return {
            int(number): agreement(own, read_regions(record))
            for number, record in zip(ids, records, strict=True)
        }

    def _check_parameters(self) -> None:
        check_whole("SpatialCheck", "top", self.top, 1)
        check_whole("SpatialCheck", "least", self.least, 3)


def ranked(hits: Hits, agreements: dict[int, Agreement], least: int) -> Hits:
    """Return hits with those first that agree in at least ``least`` regions, by how many.

    Of these, r regions score (1 + r / (r + 20)) / 2; the others half of what they did.
    """
    is_known = hits.ids[0] >= 0
    scores = hits.scores.copy()
    if is_known.any():
        top = max(1.0, float(hits.scores[0][is_known].max()))
        scores[0, is_known] *= np.float32(0.5 / top)
        for place, number in enumerate(hits.ids[0]):
            result = agreements.get(int(number))
            if result is not None and len(result) >= least:
                scores[0, place] = confirmed_score(len(result), float(hits.scores[0, place]) / top)
    return Hits.best_first(hits.ids, scores)


def confirmed_score(regions: int, before: float) -> float:
    """Return the score of a hit of which so many regions lie alike.

    The score before counts as less than one region: it decides between equals.

    Examples
    --------
    >>> [round(confirmed_score(regions, 0), 2) for regions in (6, 20, 60, 600)]
    [0.62, 0.75, 0.88, 0.98]
    """
    counted = regions + 0.5 * max(0.0, before)
    return 0.5 + 0.5 * counted / (counted + HALF)


def agreeing_regions(score: float) -> float:
    """Return how many regions lie alike in a hit with a score of :func:`ranked`; 0 if too few do.

    Examples
    --------
    >>> round(agreeing_regions(confirmed_score(12, 0)), 6), agreeing_regions(0.4)
    (12.0, 0.0)
    """
    above = 2 * score - 1
    return HALF * above / (1 - above) if 0 < above < 1 else 0.0


def read_regions(record: bytes | None) -> RegionRecord:
    """Return a record of regions, or raise InvalidInput if it is none."""
    try:
        return unpack_regions(record or b"")
    except ValueError as error:
        raise InvalidInput(
            f"Spatial checking needs records of regions; {error}. Search by the feature regions."
        ) from error


def mapped(matrix: NDArray[np.float64], places: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return places moved by a homography; far away where it maps them to infinity."""
    moved = np.column_stack([places, np.ones(len(places))]) @ matrix.T
    below = np.where(np.abs(moved[:, 2:]) > 1e-9, moved[:, 2:], 1e-9)
    return np.asarray(moved[:, :2] / below)


def _close(
    matrix: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64], near: float
) -> NDArray[np.bool_]:
    return np.asarray(np.square(mapped(matrix, a) - b).sum(axis=1) < near * near)


def _affine(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    solved = np.linalg.lstsq(np.column_stack([a, np.ones(len(a))]), b, rcond=None)[0]
    return np.vstack([solved.T, [0, 0, 1]])


def _is_sound(matrix: NDArray[np.float64], places: NDArray[np.float64]) -> bool:
    """Return whether a map keeps the sense of turning, and does not flatten a picture to a line."""
    centre = places.mean(axis=0)
    corners = mapped(matrix, centre + np.array([[0, 0], [1, 0], [0, 1]]))
    right, down = corners[1] - corners[0], corners[2] - corners[0]
    area = right[0] * down[1] - right[1] * down[0]
    longer = max(right @ right, down @ down)
    return bool(area > 1 / MAX_SCALE**2 and area < MAX_SCALE**2 and area > 0.05 * longer)


def _once(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs in which no region occurs twice."""
    for column in (0, 1):
        chosen = np.sort(np.unique(pairs[:, column], return_index=True)[1])
        pairs = pairs[chosen]
    return pairs
