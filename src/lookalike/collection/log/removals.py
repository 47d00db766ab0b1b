"""Events that move pictures into the bin and out of it, or erase them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lookalike.collection.log import labels
from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import Event, Position, event, pictures_text
from lookalike.collection.store import albums
from lookalike.collection.store import bin as stored
from lookalike.collection.store import log as rows
from lookalike.collection.store.labels import Change
from lookalike.core.text import counted


@dataclass(frozen=True)
class _Move(Event):
    """Pictures that went into the bin or out of it; which they are stands in the changes.

    ``words`` counts what a picture got from its duplicates when these were removed.
    """

    pictures: int
    changes: str
    words: int = 0

    def settle(self, at: Position) -> None:
        """Move pictures as the last event that counts says; none leaves them outside."""
        moves = stored.moves(at.connection, at.number, [Removal.kind, Restoration.kind])
        undone = rows.undone_among(at.connection, sorted({number for _, number, _ in moves}))
        last = {picture: Restoration.kind for picture, _, _ in moves}
        last |= {picture: kind for picture, number, kind in moves if number not in undone}
        for kind, move in ((Removal.kind, stored.put), (Restoration.kind, stored.take)):
            move(at.connection, [picture for picture, own in last.items() if own == kind])


@event("removal", undoable=True, touches={"pictures", "labels"}, icon="bin")
@dataclass(frozen=True)
class Removal(_Move):
    """Pictures moved into the bin."""

    def settle(self, at: Position) -> None:
        """Move pictures, and give the duplicate that was kept what the others had."""
        super().settle(at)
        for picture, key, _, after in at.changes():
            if key:
                labels.settle(at.connection, key, [picture])
            elif after is not None:
                saved = not at.is_undone
                albums.set_saved(at.connection, json.loads(after), picture, saved=saved)

    def sentence(self) -> str:
        """Return what happened."""
        moved = f"; {counted(self.words, 'tag')} went to the one kept" if self.words else ""
        return f"Removed {pictures_text(self.pictures)}{moved}"


@event("restoration", undoable=True, touches={"pictures", "labels"}, icon="undo")
@dataclass(frozen=True)
class Restoration(_Move):
    """Pictures moved out of the bin."""

    def sentence(self) -> str:
        """Return what happened."""
        return f"Restored {pictures_text(self.pictures)}"


@event("erasure", touches={"pictures", "labels", "votes"}, icon="bin")
@dataclass(frozen=True)
class Erasure(Event):
    """Pictures erased with all that was kept of them.

    ``erased`` has the digests of the changes that went with them, by event, and ``seals`` those of
    events that say less now, so that the log can still be checked.
    """

    pictures: int
    erased: Mapping[str, str] = field(default_factory=dict)
    seals: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return its fields as JSON knows them."""
        return {"pictures": self.pictures, "erased": self.erased, "seals": self.seals}

    def sentence(self) -> str:
        """Return what happened."""
        return f"Erased {pictures_text(self.pictures)}"


def move(
    entry: NewEntry,
    kind: type[Removal] | type[Restoration],
    ids: Sequence[int],
    beside: Sequence[Change] = (),
) -> int:
    """Move pictures into the bin or out of it, and return how many.

    ``beside`` is what the picture that is kept instead of its duplicates gets.
    """
    if ids:
        words = sum(word is not None for _, key, _, word in beside if key)
        entry.append(
            lambda changes: kind(len(ids), changes, words),
            [*((picture, "", None, None) for picture in ids), *beside],
        )
    return len(ids)
