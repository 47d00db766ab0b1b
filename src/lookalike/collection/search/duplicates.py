"""Group near-duplicates, suggest which to keep, and remember which are none."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Literal, TypeAlias, get_args

from lookalike.collection.log import binned, events
from lookalike.collection.log import labels as by_hand
from lookalike.collection.log.events import Event
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.search.matches import Duplicates
from lookalike.collection.search.near import BITS, NearCopies
from lookalike.collection.store import albums, changes, labels, pictures, places
from lookalike.collection.store.database import Database, numbers
from lookalike.core.checks import check_whole, is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress

Verdict: TypeAlias = Literal["different", "keep"]

Apart: TypeAlias = dict[int, list[frozenset[int]]]

RADIUS, SPARSE_RADIUS = 40, 48
"""Bits of the codes' 128 that two copies may differ in, by default: of dense and sparse vectors.

Copies share fewer of the words of a sparse vector, so that the angle between them is larger.
"""

LIKE = 0.96
"""How alike the thumbnails of copies are at least, by default."""

KIND = "distinct"
"""The kind of events that say which pictures are not duplicates."""

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
    added: str
    missing: bool
    tagged: bool
    voted: bool

    @property
    def rank(self) -> tuple[object, ...]:
        """What pictures are sorted by, the one to keep first."""
        return (
            self.missing,
            -self.width * self.height,
            -_FORMATS.get(self.format, _OTHER),
            -self.bytes,
            not (self.tagged or self.voted),
            (self.taken or self.added)[:19],
            self.id,
        )

    def reason(self, second: "Facts") -> str:
        """Return why this one should be kept rather than the second best, in a few words."""
        reasons = (
            "its file is not missing",
            f"largest, {self.width} × {self.height}",
            f"richest format, {self.format}",
            "largest file",
            "has tags" if self.tagged else "has votes",
            "oldest",
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
    groups instead of one. A picture is left out of a group if somebody said that it is not a
    duplicate of one in it.
    """
    with copies.lock:
        copies.follow(ranker)
        known = facts(database, voted)
        apart = told_apart(database)
        order = sorted(
            (known[number] for number in ranker.plain.ids.tolist() if number in known),
            key=lambda one: one.rank,
        )
        free = {one.id for one in order}
        found: list[Duplicates] = []
        for start in range(0, len(order), _AT_ONCE):
            some = [one.id for one in order[start : start + _AT_ONCE] if one.id in free]
            copies.look(some)
            for picture in some:
                if picture in free:
                    free.discard(picture)
                    group = _around(database, copies, picture, like, free, apart)
                    if group:
                        found.append(_group(known, picture, group))
                else:
                    copies.forget([picture])
            progress(min(start + _AT_ONCE, len(order)), len(order))
    return sorted(found, key=lambda group: (-min(group.likeness), group.keeper))


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


def told_apart(database: Database) -> Apart:
    """Return for each picture the sets of those that it was said not to be a duplicate of."""
    gone = events.undone(database)
    found: Apart = {}
    for event in events.about(database, KIND, undone=True):
        if event.number in gone:
            continue
        with database.parsing("an event"):
            some = frozenset(map(int, event.body["pictures"]))
            others = frozenset(map(int, event.body.get("of", some)))
        for picture in some:
            found.setdefault(picture, []).append(others)
        for picture in others - some:
            found.setdefault(picture, []).append(some)
    return found


def tell_apart(
    connection: Connection,
    some: Sequence[int],
    of: Sequence[int],
    verdict: Verdict,
    *,
    who: str,
    key: str | None,
) -> Event:
    """Record that pictures are not duplicates, of each other or ``of`` others."""
    if verdict not in get_args(Verdict):
        raise InvalidInput(
            f"Collection.not_duplicates: verdict must be different or keep; got {verdict!r:.80}."
        )
    if len(some) < (1 if of else 2) or set(some) & set(of):
        raise InvalidInput(
            "Collection.not_duplicates: give two pictures or more, or one and those it is no "
            "duplicate of."
        )
    body: dict[str, object] = {"pictures": list(some), "verdict": verdict}
    if of:
        body["of"] = list(of)
    return events.append(connection, KIND, body, who=who, key=key, about=KIND)


def keep_one(
    connection: Connection, picture: int, others: Sequence[int], *, who: str, key: str | None
) -> Event:
    """Move the duplicates of a picture to the bin, and return the event.

    What was said of them goes to the picture, in the same event: words, and albums in which they
    were saved.
    """
    if not others or picture in others:
        raise InvalidInput(
            "Collection.keep_one: give one picture or more to remove, and not the one to keep."
        )
    taken = labels.words_to_take(connection, picture, others)
    if joined := albums.holding(connection, others, picture):
        taken.append((picture, "", None, numbers(joined)))
    binned.move(connection, "removal", others, beside=taken, who=who, key=key)
    (number,) = connection.execute("SELECT max(number) FROM events").fetchone()
    event = events.read(connection, number)
    follow(connection, event)
    return event


def follow(connection: Connection, target: Event) -> None:
    """Give the picture kept what was said of its duplicates, or take it back if that was undone."""
    undone = events.undone_in(connection, target.number)
    for picture, key, _, after in changes.of(connection, target.number):
        if key:
            by_hand.settle(connection, key, [picture])
        elif after is not None:
            albums.set_saved(connection, json.loads(after), picture, saved=not undone)
