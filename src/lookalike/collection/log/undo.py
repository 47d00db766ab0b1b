"""Undo an event: another event says that it counts no more, and can itself be undone."""

from dataclasses import dataclass

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import (
    TOUCHES,
    Event,
    Position,
    Touched,
    Unknown,
    event,
    read_event,
)
from lookalike.collection.store import log as rows
from lookalike.collection.store.people import UNDO_PERSON
from lookalike.core.errors import InvalidInput, NotFound


@event("undo", undoable=True, touches={"pictures", "labels", "votes"}, icon="undo")
@dataclass(frozen=True)
class Undo(Event):
    """An event counts no more; ``undid`` is its kind."""

    event: int
    undid: str

    @property
    def about(self) -> str:
        """The event."""
        return f"{rows.UNDO}{self.event}"

    @property
    def touches(self) -> frozenset[Touched]:
        """What the event touches that is undone."""
        return self._touches if self.is_redo else TOUCHES.get(self.undid, frozenset())

    @property
    def is_redo(self) -> bool:
        """Whether it undoes an undo, so that something counts again."""
        return self.undid in {Undo.kind, UndoPart.kind}

    def settle(self, at: Position) -> None:
        """Apply or revert what is undone in the end, through undos of undos."""
        root: Event = self
        number = at.number
        while isinstance(root, Undo):
            number = root.event
            row = rows.read(at.connection, number)
            if row is None:
                return
            root = read_event(row)
        position = Position(at.connection, number)
        if position.is_undone:
            root.revert(position)
        else:
            root.apply(position)

    def sentence(self) -> str:
        """Return what happened."""
        return f"Undid no. {self.event}"


@event("undo_part", touches={"pictures", "labels", "votes"}, hidden=True)
@dataclass(frozen=True)
class UndoPart(Undo):
    """An event counts no more, as one of several that were undone at once."""


def undo(entry: NewEntry, number: int) -> None:
    """Undo an event.

    Raises
    ------
    NotFound
        If there is none of that number.
    InvalidInput
        If it cannot be undone, or is undone already.
    """
    row = rows.read(entry.connection, number)
    if row is None:
        raise no_event(number)
    target = read_event(row)
    root, at = target, row
    while isinstance(root, Undo) and (undone := rows.read(entry.connection, root.event)):
        root, at = read_event(undone), undone
    if isinstance(root, Unknown):
        raise InvalidInput(
            f"Collection.undo: event {number} is about one of a kind that this version does not "
            f"know ({at.kind}), so it can be neither undone nor done again here. Use the version "
            f"of lookalike that wrote it."
        )
    if not target.undoable:
        raise InvalidInput(
            f"Collection.undo: event {number} ({row.kind if row.body else target.kind}) cannot be "
            f"undone. Pictures that were erased can be added again; rollback undoes what was "
            f"learned."
        )
    if rows.is_undone(entry.connection, number):
        raise _undone_already(entry, number)
    entry.append(Undo(number, row.kind))


def no_event(number: int) -> NotFound:
    """Return the error of an event that is not there."""
    return NotFound(
        f"There is no event {number}. See what there is: lookalike history, or "
        f"Collection.log.history."
    )


def _with_others(entry: NewEntry, number: int) -> int:
    """Return the event that undid several, this one among them; else the number itself."""
    for row in rows.of_kinds(entry.connection, [UNDO_PERSON], since=number, newest=True):
        is_held = number in getattr(read_event(row), "events", ())
        if is_held and not rows.is_undone(entry.connection, row.number):
            return row.number
    return number


def _undone_already(entry: NewEntry, number: int) -> InvalidInput:
    """Return the error of an event that was undone before, perhaps by another person."""
    for row in reversed(rows.about(entry.connection, f"{rows.UNDO}{number}")):
        if not rows.is_undone(entry.connection, row.number):
            by = f" by {row.who}" if row.who else ""
            whole = row.number if row.kind != UndoPart.kind else _with_others(entry, number)
            by += "" if row.kind != UndoPart.kind else ", with others of its person"
            return InvalidInput(
                f"Collection.undo: event {number} is already undone{by}; nothing was changed. To "
                f"restore what it said, undo event {whole}."
            )
    return InvalidInput(f"Collection.undo: event {number} is already undone.")
