"""Distances on the surface of the Earth."""

import math

RADIUS = 6371.0088
"""The mean radius of the Earth in kilometres."""

_DEGREE = math.radians(1) * RADIUS


def kilometres(latitude: float, longitude: float, other: float, other_longitude: float) -> float:
    """Return how far two places in degrees are apart, along a great circle.

    Examples
    --------
    >>> vienna, linz = (48.2082, 16.3738), (48.3069, 14.2858)
    >>> round(kilometres(*vienna, *linz)), kilometres(*vienna, *vienna)
    (155, 0.0)
    """
    first, second = math.radians(latitude), math.radians(other)
    half = math.sin((second - first) / 2) ** 2
    turn = math.sin(math.radians(other_longitude - longitude) / 2) ** 2
    half += math.cos(first) * math.cos(second) * turn
    return 2 * RADIUS * math.asin(min(math.sqrt(half), 1.0))


def degrees_north(distance: float) -> float:
    """Return how many degrees of latitude a distance in kilometres is."""
    return distance / _DEGREE
