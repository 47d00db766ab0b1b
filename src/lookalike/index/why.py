"""Say why two pictures match: which regions, by which words, each with its share of the score."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors
from lookalike.features.region_records import RegionRecord
from lookalike.index.spatial import FINE, Agreement, agreement, mapped

AGREES, DIFFERS = (0, 158, 115), (153, 153, 153)
"""Of the palette of Okabe and Ito; grey for pairs that do not lie alike."""
SIDE = 640
GAP = 12
POINTS = 24
MAX_PAIRS_A_WORD = 36

Places: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class RegionMatch:
    """Two regions that make two pictures alike.

    Attributes
    ----------
    words : tuple of int
        The word of each; the same, or two that were learned to speak for each other.
    share : float
        Their share of the score; 0 for regions of other words whose signatures are alike.
    agrees : bool
        Whether they lie where the map of the other matches puts them.
    places : tuple of (float, float)
        The centre of each, in pixels of its picture.
    shapes : tuple of tuple of float
        The matrix from the unit circle to each region, row by row.
    """

    words: tuple[int, int]
    share: float
    agrees: bool
    places: Places
    shapes: tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class WhyAlike:
    """The matches of two pictures, the largest share first.

    Attributes
    ----------
    score : float
    agreeing : float
        The share of the score from words of which regions lie alike.
    sizes : tuple of (int, int)
        Width and height of each picture, to which places refer.
    matches : tuple of RegionMatch
        Their shares sum to 1, or there are none.
    """

    score: float
    agreeing: float
    sizes: tuple[tuple[int, int], tuple[int, int]]
    matches: tuple[RegionMatch, ...]

    def as_json(self, most: int = 200) -> dict[str, Any]:
        """Return JSON values, of the ``most`` largest matches."""
        return {**asdict(self), "matches": [asdict(match) for match in self.matches[:most]]}

    def picture(self, first: Image.Image, second: Image.Image, most: int = 60) -> Image.Image:
        """Return both pictures side by side, the largest matches drawn between them."""
        return _drawn(self, first, second, most)


def why_alike(
    first: RegionRecord,
    second: RegionRecord,
    x: Vectors,
    y: Vectors,
    matrix: sp.csr_matrix | None = None,
    result: Agreement | None = None,
) -> WhyAlike:
    """Explain the score of two pictures by pairs of their regions.

    The score xᵀMy is a sum over pairs of words, x_u·M_uv·y_v. That of a pair of words belongs to
    their regions that lie alike, or, where none do, to all of them in equal parts.

    Parameters
    ----------
    first, second : RegionRecord
    x, y : matrix of one row
        Their tf-idf vectors.
    matrix : csr_matrix, optional
        M of a :class:`~lookalike.similarity.SparseSimilarity`, its ``matrix``; by default the
        identity.
    result : Agreement, optional
        What of them lies alike, if that is known already.
    """
    one, two = sp.csr_matrix(x), sp.csr_matrix(y)
    M = sp.eye_array(one.shape[1], format="csr") if matrix is None else matrix
    own = [float((row @ M @ row.T).toarray()[0, 0]) for row in (one, two)]
    between = sp.coo_array(sp.csr_matrix(M)[one.indices][:, two.indices])
    values = one.data[between.row] * between.data * two.data[between.col]
    total = float(values.sum())
    sizes = (first.size, second.size)
    if total <= 0 or min(own) <= 0:
        return WhyAlike(0.0, 0.0, sizes, ())
    known = agreement(first, second) if result is None else result
    pairs = zip(one.indices[between.row], two.indices[between.col], values / total, strict=True)
    matches: list[RegionMatch] = []
    for u, v, share in pairs:
        matches += _of_words(first, second, (int(u), int(v)), float(share), known)
    matches += _of_signatures(first, second, known, {match.places for match in matches})
    matches.sort(key=lambda match: -match.share)
    agreeing = sum(match.share for match in matches if match.agrees)
    return WhyAlike(total / float(np.sqrt(own[0] * own[1])), agreeing, sizes, tuple(matches))


def _of_words(
    first: RegionRecord,
    second: RegionRecord,
    words: tuple[int, int],
    share: float,
    result: Agreement,
) -> list[RegionMatch]:
    rows = [
        np.flatnonzero((record.words == word).any(axis=1))
        for record, word in zip((first, second), words, strict=True)
    ]
    pairs = np.array([(a, b) for a in rows[0] for b in rows[1]]).reshape(-1, 2)[:MAX_PAIRS_A_WORD]
    if not len(pairs):
        return []
    agrees = np.zeros(len(pairs), np.bool_)
    if len(result):
        there = mapped(result.matrix, first.places[pairs[:, 0]])
        gaps = np.linalg.norm(there - second.places[pairs[:, 1]], axis=1)
        agrees = gaps < FINE * max(second.size)
    chosen = pairs[agrees] if agrees.any() else pairs
    return [
        RegionMatch(
            words,
            share / len(chosen),
            bool(agrees.any()),
            (_pair(first.places[a]), _pair(second.places[b])),
            (_numbers(first.shapes[a]), _numbers(second.shapes[b])),
        )
        for a, b in chosen
    ]


def _of_signatures(
    first: RegionRecord, second: RegionRecord, result: Agreement, places: set[Places]
) -> list[RegionMatch]:
    """Return the regions that lie alike and are not among the places of other matches."""
    pairs = [
        RegionMatch(
            (int(first.words[a, 0]), int(second.words[b, 0])),
            0.0,
            True,
            (_pair(first.places[a]), _pair(second.places[b])),
            (_numbers(first.shapes[a]), _numbers(second.shapes[b])),
        )
        for a, b in result.pairs
    ]
    return [match for match in pairs if match.places not in places]


def _pair(place: NDArray[np.float32]) -> tuple[float, float]:
    return round(float(place[0]), 1), round(float(place[1]), 1)


def _numbers(shape: NDArray[np.float32]) -> tuple[float, ...]:
    return tuple(round(float(number), 2) for number in shape.ravel())


def _drawn(why: WhyAlike, first: Image.Image, second: Image.Image, most: int) -> Image.Image:
    shown = [image.convert("RGB") for image in (first, second)]
    scales = [min(1.0, SIDE / max(image.size)) for image in shown]
    small = [
        image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
        for image, scale in zip(shown, scales, strict=True)
    ]
    size = (small[0].width + GAP + small[1].width, max(image.height for image in small))
    sheet = Image.new("RGB", size, "white")
    shifts = (0, small[0].width + GAP)
    for image, shift in zip(small, shifts, strict=True):
        sheet.paste(image, (shift, 0))
    pen = ImageDraw.Draw(sheet)
    # Places refer to the pictures of which records were made; these may have another size.
    ratios = [
        (image.width / known[0], image.height / known[1])
        for image, known in zip(small, why.sizes, strict=True)
    ]
    largest = why.matches[0].share if why.matches else 1.0
    for match in reversed(why.matches[:most]):
        colour = AGREES if match.agrees else DIFFERS
        width = 1 + round(2 * match.share / largest)
        ends = []
        for side in (0, 1):
            ring = _ring(match.places[side], match.shapes[side])
            at = ring * ratios[side] + (shifts[side], 0)
            pen.line([tuple(point) for point in at], fill=colour, width=width)
            centre = np.array(match.places[side]) * ratios[side] + (shifts[side], 0)
            ends.append(tuple(centre))
        pen.line(ends, fill=colour, width=width)
    return sheet


def _ring(place: tuple[float, float], shape: tuple[float, ...]) -> NDArray[np.float64]:
    turns = np.linspace(0, 2 * np.pi, POINTS + 1)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    return np.asarray((np.reshape(shape, (2, 2)) @ circle).T * 2 + place)
