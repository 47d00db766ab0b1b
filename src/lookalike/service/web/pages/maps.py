"""A plain map of places, drawn as dots between lines of latitude and longitude, without tiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.earth import RADIUS

Numbers: TypeAlias = NDArray[np.float64]

WIDTH, HEIGHT, MARGIN = 960, 480, 36
CELL = 18
"""Pixels within which pictures share a dot."""

MIN_SPAN = 0.004
"""Degrees that a map shows at least: some 400 m."""

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45)
_LINES = 6
_SLACK = 1.05
"""How much further than the picture furthest away the pictures of a dot are looked for."""


@dataclass(frozen=True, slots=True)
class Dot:
    """Pictures that were taken near each other: where on the map, how many, and where on Earth."""

    x: float
    y: float
    radius: float
    count: int
    latitude: float
    longitude: float
    kilometres: float

    @property
    def near(self) -> str:
        """The filter that its pictures pass."""
        return f"{self.latitude:.6f},{self.longitude:.6f},{self.kilometres:.3f}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of latitude (``across``) or longitude, and what is written at it."""

    at: float
    text: str
    across: bool


@dataclass(frozen=True, slots=True)
class Map:
    """The dots, the largest first, so that none hides a smaller one, and the lines of a map."""

    dots: list[Dot]
    lines: list[Line]


def draw_map(places: Sequence[tuple[float, float]]) -> Map:
    """Return a map of places, latitude and longitude in degrees, that shows all of them.

    Examples
    --------
    >>> plain = draw_map([(48.2, 16.4), (48.2, 16.4), (48.3, 14.3)])
    >>> sorted(dot.count for dot in plain.dots), len(plain.lines) > 2
    ([1, 2], True)
    """
    latitudes, longitudes = (np.array(column) for column in zip(*places, strict=True))
    middle = (latitudes.min() + latitudes.max()) / 2, (longitudes.min() + longitudes.max()) / 2
    narrow = max(math.cos(math.radians(middle[0])), 0.05)
    spans = max(float(np.ptp(latitudes)), MIN_SPAN), max(float(np.ptp(longitudes)), MIN_SPAN)
    scale = min((HEIGHT - 2 * MARGIN) / spans[0], (WIDTH - 2 * MARGIN) / (spans[1] * narrow))
    x = WIDTH / 2 + (longitudes - middle[1]) * narrow * scale
    y = HEIGHT / 2 - (latitudes - middle[0]) * scale
    return Map(_dots(latitudes, longitudes, x, y), _lines(middle, scale, narrow))


def _dots(latitudes: Numbers, longitudes: Numbers, x: Numbers, y: Numbers) -> list[Dot]:
    cells = np.stack([x // CELL, y // CELL], axis=1)
    _, own = np.unique(cells, axis=0, return_inverse=True)
    own = own.ravel()
    counts = np.bincount(own)
    means = [np.bincount(own, values) / counts for values in (x, y, latitudes, longitudes)]
    north = np.radians(latitudes - means[2][own])
    east = np.radians(longitudes - means[3][own]) * np.cos(np.radians(latitudes))
    reach = np.zeros(len(counts))
    np.maximum.at(reach, own, RADIUS * np.hypot(north, east))
    rows = zip(counts.tolist(), reach.tolist(), *(mean.tolist() for mean in means), strict=True)
    dots = [
        Dot(
            x=round(across, 1),
            y=round(down, 1),
            radius=round(4 + 2 * math.log2(count), 1),
            count=count,
            latitude=round(latitude, 6),
            longitude=round(longitude, 6),
            kilometres=max(reached * _SLACK, 0.05),
        )
        for count, reached, across, down, latitude, longitude in rows
    ]
    return sorted(dots, key=lambda dot: -dot.count)


def _lines(middle: tuple[float, float], scale: float, narrow: float) -> list[Line]:
    result = []
    for across, centre, each, length, most, sides in (
        (True, middle[0], scale, HEIGHT, 90, "NS"),
        (False, middle[1], scale * narrow, WIDTH, 180, "EW"),
    ):
        half = length / 2 / each
        step = next((one for one in _STEPS if 2 * half / one <= _LINES), _STEPS[-1])
        for number in range(math.ceil((centre - half) / step), int((centre + half) // step) + 1):
            degrees = number * step
            if abs(degrees) <= most:
                away = (degrees - centre) * each
                at = length / 2 - away if across else length / 2 + away
                text = f"{abs(round(degrees, 3)):g}° {sides[degrees < 0]}"
                result.append(Line(round(at, 1), text, across))
    return result
