"""Events about people: whom the owner trusts, whose labels are accepted, all of a person undone."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from sqlite3 import Connection
from typing import Literal, TypeAlias, get_args

from lookalike.collection.log.albums import AlbumChange
from lookalike.collection.log.duplicates import Distinct
from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import Event, Position, event, read_event
from lookalike.collection.log.labels import Label, settle
from lookalike.collection.log.models import DefaultRanker
from lookalike.collection.log.ratings import Rating
from lookalike.collection.log.removals import Removal, Restoration
from lookalike.collection.log.undo import Undo, UndoPart
from lookalike.collection.log.votes import Reset, Vote
from lookalike.collection.store import log as rows
from lookalike.collection.store import people
from lookalike.collection.store.database import Database
from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted, shown, word_key

PersonKind: TypeAlias = Literal["votes", "tags", "refusals", "albums", "removals", "others"]
"""What of a person can be undone at once."""

UNDOABLE: tuple[PersonKind, ...] = get_args(PersonKind)

_KINDS: dict[type[Event], PersonKind] = {
    Vote: "votes",
    AlbumChange: "albums",
    Removal: "removals",
    **dict.fromkeys((Undo, Reset, Distinct, Restoration, Rating, DefaultRanker), "others"),
}

_TIME = re.compile(r"([0-9]{4}(-[0-9]{2}){0,2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}Z?)?)?)?")


class _Word(Event):
    """What says whether the labels of a person count."""

    person: str

    @property
    def new_words(self) -> int:
        """Some, however many labels the person gave."""
        return 1

    def settle(self, at: Position) -> None:
        """Give pictures the words they have now that these labels count, or count no more."""
        answer = sorted(
            {(word_key(one.word), one.picture) for one in people.labels(at.connection, self.person)}
        )
        for key, some in groupby(answer, lambda one: one[0]):
            settle(at.connection, key, [picture for _, picture in some])


@event(people.TRUST, undoable=True, touches={"labels", "votes"}, icon="up")
@dataclass(frozen=True)
class Trust(_Word):
    """What a person says teaches everybody, or only that person."""

    person: str
    trusts: bool

    def sentence(self) -> str:
        """Return what happened."""
        return f"{'Trusted' if self.trusts else 'Trusts no more:'} {shown(self.person)}"


@event(people.ACCEPTANCE, undoable=True, touches={"labels"}, icon="tag")
@dataclass(frozen=True)
class Acceptance(_Word):
    """The labels that a person has proposed so far count for everybody."""

    person: str

    def sentence(self) -> str:
        """Return what happened."""
        return f"Accepted the labels of {shown(self.person)}"


@event(
    people.UNDO_PERSON,
    undoable=True,
    touches={"pictures", "labels", "votes", "models"},
    icon="undo",
)
@dataclass(frozen=True)
class UndoPerson(Event):
    """Several events of a person count no more; ``words`` is how many of them gave or took one."""

    person: str
    events: tuple[int, ...]
    words: int = 0

    @property
    def new_words(self) -> int:
        """Those that models have learned from, or would have."""
        return self.words

    def apply(self, at: Position) -> None:
        """Undo each of the events that counts, the last first."""
        for number in reversed(self.events):
            if not rows.is_undone(at.connection, number):
                _undo_part(at, number)

    def revert(self, at: Position) -> None:
        """Undo the undo of each of the events that does not count."""
        for number in self.events:
            subject = f"{rows.UNDO}{number}"
            for row in reversed(rows.about(at.connection, subject, since=at.number)):
                if row.kind == UndoPart.kind and not rows.is_undone(at.connection, row.number):
                    _undo_part(at, row.number)
                    break

    def sentence(self) -> str:
        """Return what happened."""
        whose = shown(self.person) or "the owner"
        return f"Undid {counted(len(self.events), 'event')} of {whose}"


def _undo_part(at: Position, number: int) -> None:
    row = rows.read(at.connection, number)
    if row is not None:
        part = UndoPart(number, row.kind)
        added = rows.insert(
            at.connection, part.kind, part.body(), who=people.OWNER, key=None, about=part.about
        )
        part.apply(Position(at.connection, added.number))


def undoable(
    source: Database | Connection,
    person: str,
    kinds: Iterable[str] = UNDOABLE,
    since: str = "",
) -> dict[str, dict[int, int]]:
    """Return the events of a person that count, by what they are, since a time in UTC.

    With how much each changes: the pictures of a word or a removal, else 1. That a person undid
    something of their own is left out: it is undone with that.
    """
    wanted = [*kinds]
    if not _TIME.fullmatch(since):
        raise InvalidInput(
            f"Collection.people: since must be a day or a time in UTC, as 2026-11-05 or "
            f"2026-11-05T09:30:00Z; got {since!r:.80}."
        )
    if wrong := [kind for kind in wanted if kind not in UNDOABLE]:
        raise InvalidInput(
            f"Collection.people: {wrong[0]!r:.80} cannot be undone at once. Choose from "
            f"{', '.join(UNDOABLE)}."
        )
    result: dict[str, dict[int, int]] = {kind: {} for kind in wanted}
    for row in people.events_of(source, person, since):
        event = read_event(row)
        kind = _kind(event)
        if kind not in result or rows.is_undone(source, row.number):
            continue
        if isinstance(event, Undo) and people.author(source, event.event) == person:
            continue
        result[kind][row.number] = event.pictures if isinstance(event, Label | Removal) else 1
    return result


def undo_person(entry: NewEntry, person: str, result: Mapping[str, Collection[int]]) -> None:
    """Undo events of a person, by what they are, in one event."""
    numbers = tuple(sorted(number for some in result.values() for number in some))
    if not numbers:
        raise InvalidInput("Collection.people: there is nothing of this person to undo.")
    words = sum(len(result.get(kind, ())) for kind in ("tags", "refusals"))
    entry.append(UndoPerson(person, numbers, words))


def _kind(event: Event) -> str:
    if isinstance(event, Label):
        return "tags" if event.shows else "refusals"
    return _KINDS.get(type(event), "")
