"""Group near-duplicates, suggest which to keep, and remember which are none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lookalike.collection.log.duplicates import Apart, pictures_apart
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.search.matches import Duplicates
from lookalike.collection.search.near import BITS, NearCopies
from lookalike.collection.store import labels, pictures, places
from lookalike.collection.store.database import Database
from lookalike.core.checks import check_whole, is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress

RADIUS, SPARSE_RADIUS = 40, 48
"""Bits of the codes' 128 that two copies may differ in, by default: of dense and sparse vectors.

Copies share fewer of the words of a sparse vector, so that the angle between them is larger.
"""

LIKE = 0.95
"""How alike the thumbnails of copies are at least, by default.

Of 2,518 changed copies 97 % are. Pictures that differ in a part are below it, see ``near.py``.
"""

_AT_ONCE = 256

# The candidates of a picture that has more are not kept: in a large group they would fill memory.
_MANY = 1000

_FORMATS = {"TIFF": 2, "PNG": 2, "BMP": 2, "GIF": 0}
_OTHER = 1


@dataclass(frozen=True, slots=True)
class Facts:
    """What a picture is chosen to be kept by."""

    id: int
    width: int
    height: int
    format: str
    bytes: int
    taken: str | None
    camera: str
    written: int
    missing: bool
    tagged: bool
    voted: bool
    grey: bool = False

    @property
    def rank(self) -> tuple[object, ...]:
        """What pictures are sorted by, the one to keep first."""
        return (
            self.missing,
            -self.width * self.height,
            self.grey,
            -_FORMATS.get(self.format, _OTHER),
            # A copy may be the larger file: what only the original has counts before.
            not (self.taken or self.camera),
            not (self.tagged or self.voted),
            (self.taken or "")[:19],
            self.written,
            -self.bytes,
            self.id,
        )

    def reason(self, second: "Facts") -> str:
        """Return why this one should be kept rather than the second best, in a few words."""
        reasons = (
            "its file is not missing",
            f"largest, {self.width} × {self.height}",
            "in colour",
            f"richest format, {self.format}",
            "has its date" if self.taken else "has its camera",
            "has tags" if self.tagged else "has votes",
            "taken first",
            "oldest file",
            "largest file",
            "added first",
        )
        pairs = zip(reasons, self.rank, second.rank, strict=True)
        return next(reason for reason, own, other in pairs if own != other)


def default_radius(ranker: Ranker) -> int:
    """Return the radius for the vectors of a ranker."""
    return SPARSE_RADIUS if ranker.space.feature.sparse else RADIUS


def check(radius: int, like: float) -> None:
    """Raise InvalidInput for bits or a likeness that can mean nothing."""
    check_whole("Collection.duplicates", "radius", radius, 0, BITS)
    if not is_number(like) or not 0 < like <= 1:
        raise InvalidInput(
            f"Collection.duplicates: like must be above 0 and at most 1; got {like!r:.80}."
        )


def facts(database: Database, voted: set[int]) -> dict[int, Facts]:
    """Return what is known of all pictures, by id."""
    tagged, missing = labels.labelled(database), places.missing_since(database)
    rows = pictures.file_facts(database)
    return {
        row[0]: Facts(*(*row, row[0] in missing, row[0] in tagged, row[0] in voted)) for row in rows
    }


def find(
    database: Database,
    ranker: Ranker,
    copies: NearCopies,
    like: float,
    voted: set[int],
    progress: Progress,
) -> list[Duplicates]:
    """Return the groups of near-duplicates, the most alike first.

    Pictures are visited from the best to keep to the worst. One that is in no group yet takes all
    that are in none and are copies *of itself*; copies of copies are not taken. So every group has
    its best picture as its centre, and frames of a film, each like the next, fall into several
    groups instead of one; around a grey picture, the best of its copies in colour is the centre
    instead. A picture is left out of a group if somebody said that it is not a duplicate of one in
    it.
    """
    with copies.lock:
        copies.follow(ranker)
        known = facts(database, voted)
        apart = pictures_apart(database)
        order = sorted(
            (known[number] for number in ranker.plain.ids.tolist() if number in known),
            key=lambda one: one.rank,
        )
        free = {one.id for one in order}
        result: list[Duplicates] = []
        for start in range(0, len(order), _AT_ONCE):
            some = [one.id for one in order[start : start + _AT_ONCE] if one.id in free]
            copies.look(some)
            for picture in some:
                if picture in free:
                    free.discard(picture)
                    group = _around(database, copies, picture, like, free, apart)
                    inside = [picture, *(other for _, other in group)]
                    for one in inside:
                        known[one] = replace(known[one], grey=copies.is_grey(database, one))
                    best = min(inside, key=lambda one: known[one].rank)
                    if best != picture:  # a grey copy of one in colour
                        free.update(inside)
                        free.discard(best)
                        copies.look([best])
                        group = _around(database, copies, best, like, free, apart)
                    if group:
                        result.append(_group(known, best, group))
                else:
                    copies.forget([picture])
            progress(min(start + _AT_ONCE, len(order)), len(order))
    return sorted(result, key=lambda group: (-min(group.likeness), group.keeper))


def _around(
    database: Database,
    copies: NearCopies,
    picture: int,
    like: float,
    free: set[int],
    apart: Apart,
) -> list[tuple[float, int]]:
    """Take the free copies of a picture, the most alike first."""
    near = copies.candidates(picture)
    if len(near) > _MANY:
        copies.forget([picture])
    own = apart.get(picture, [])
    near = [it for it in near if it in free and not any(it in others for others in own)]
    alike = zip(copies.alike(database, picture, near), near, strict=True)
    group: list[tuple[float, int]] = []
    inside = {picture}
    for score, other in sorted(alike, key=lambda one: (-one[0], one[1])):
        if score >= like and all(map(inside.isdisjoint, apart.get(other, []))):
            group.append((score, other))
            inside.add(other)
    free -= inside
    return group


def _group(known: dict[int, Facts], picture: int, group: Sequence[tuple[float, int]]) -> Duplicates:
    second = min((known[other] for _, other in group), key=lambda one: one.rank)
    return Duplicates(
        keeper=picture,
        reason=known[picture].reason(second),
        pictures=(picture, *(other for _, other in group)),
        likeness=(1.0, *(min(score, 1.0) for score, _ in group)),
    )
