"""Which pictures were taken nearest to a place."""

from dataclasses import dataclass

import numpy as np

from lookalike.collection.ranking.session import Session
from lookalike.collection.store import details
from lookalike.core.checks import check_whole
from lookalike.core.earth import kilometres
from lookalike.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Nearby:
    """A picture, and how many kilometres from another it was taken."""

    id: int
    kilometres: float


def nearby(session: Session, number: int, k: int) -> list[Nearby]:
    """Return the ``k`` pictures taken nearest to one, the nearest first.

    Raises
    ------
    InvalidInput
        If it is not known where that was taken.
    """
    row = session.picture(number)
    if row.latitude is None or row.longitude is None:
        raise InvalidInput(
            f"Collection.pictures: it is not known where picture {number} was taken. Its file, or "
            f"a sidecar, must have coordinates."
        )
    check_whole("nearby", "k", k, 1)
    places = session.answers.read(details.locations)
    ids, latitudes, longitudes = (np.array(column) for column in zip(*places, strict=True))
    # The order of distances is that of chords, which need no loop.
    first, second = np.radians(latitudes), np.radians(longitudes)
    own, turn = np.radians(row.latitude), np.radians(row.longitude)
    half = np.sin((first - own) / 2) ** 2
    half += np.cos(first) * np.cos(own) * np.sin((second - turn) / 2) ** 2
    half[ids == number] = np.inf
    best = [one for one in np.lexsort((ids, half))[:k].tolist() if np.isfinite(half[one])]
    here = row.latitude, row.longitude
    return [
        Nearby(int(ids[one]), kilometres(*here, float(latitudes[one]), float(longitudes[one])))
        for one in best
    ]
