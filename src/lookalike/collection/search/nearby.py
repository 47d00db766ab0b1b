"""Which pictures were taken nearest to a place."""

from dataclasses import dataclass
from heapq import nsmallest

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
    distances = (
        (kilometres(row.latitude, row.longitude, latitude, longitude), other)
        for other, latitude, longitude in session.answers.read(details.locations)
        if other != number
    )
    return [Nearby(other, distance) for distance, other in nsmallest(k, distances)]
