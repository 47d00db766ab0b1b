"""The votes that count, read from the log, and kept as a snapshot now and then."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from sqlite3 import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection import events
from lookalike.collection.database import Database
from lookalike.collection.records import Event
from lookalike.collection.voting import FOLDS

SNAPSHOT_EVERY = 256
"""Votes after which a snapshot is taken: so many, at most, are read again on opening."""


@dataclass(frozen=True, slots=True, eq=False)
class Vote:
    """What one vote taught; see :mod:`lookalike.collection.voting`.

    ``subject`` is the query it is about. The picture 0 stands for the query itself.
    """

    number: int
    who: str
    subject: str
    pictures: tuple[int, ...]
    weights: NDArray[np.float64]
    right: tuple[float | None, float | None]

    @property
    def reach(self) -> float:
        """How far it goes, all its steps together."""
        return float(np.abs(self.weights[-1]).sum()) / 2

    @classmethod
    def of(cls, event: Event) -> "Vote":
        """Read a vote from the log; ValueError, TypeError or KeyError if it is not one."""
        taught = event.body["taught"]
        pictures = tuple(map(int, taught["pictures"]))
        weights = np.array(taught["weights"], np.float64).reshape(FOLDS + 1, len(pictures))
        if not np.isfinite(weights).all():
            raise ValueError("a weight is not finite")
        before, after = taught["right"]
        return cls(
            event.number, event.who, event.body["subject"], pictures, weights, (before, after)
        )


@dataclass(frozen=True)
class Ledger:
    """The votes that count, in order, up to the event ``seen``."""

    seen: int = 0
    votes: tuple[Vote, ...] = ()
    damaged: int | None = None
    totals: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, database: Database, before: "Ledger | None" = None) -> "Ledger":
        """Read what is new in the log; all of it where something earlier was undone."""
        start = cls.kept(database) if before is None else before
        if start.damaged is not None or events.last_number(database) == start.seen:
            return start
        damaged = events.first_damaged(database, start.seen)
        new = events.after(database, start.seen)
        if damaged is not None:
            new = [event for event in new if event.number < damaged]
        if any(_reaches_back(event, start.seen) for event in new):
            start = cls()
            gone = events.undone(database)
            every = [event for event in events.after(database, 0) if event.number <= new[-1].number]
        else:
            gone = {event.body["event"] for event in new if event.kind == "undo"}
            every = new
        read = start.extended(database, [event for event in every if event.number not in gone])
        return replace(read, seen=new[-1].number if new else start.seen, damaged=damaged)

    def extended(self, database: Database, new: Iterable[Event]) -> "Ledger":
        """Add votes; a reset takes away those before it."""
        votes, totals = list(self.votes), dict(self.totals)
        with database.parsing("a vote"):
            for event in new:
                if event.kind == "reset":
                    votes.clear()
                    totals.clear()
                elif event.kind == "vote":
                    votes.append(Vote.of(event))
                    totals[event.who] = totals.get(event.who, 0.0) + votes[-1].reach
        return replace(self, votes=tuple(votes), totals=totals)

    @classmethod
    def kept(cls, database: Database) -> "Ledger":
        """Return the last snapshot, or an empty ledger where there is none that can be read."""
        row = database.row("SELECT event, state FROM snapshots ORDER BY event DESC LIMIT 1")
        return cls() if row is None else _unpacked(int(row[0]), row[1])

    def keep(self, connection: Connection) -> None:
        """Store a snapshot in place of the last."""
        connection.execute("DELETE FROM snapshots")
        connection.execute("INSERT INTO snapshots VALUES (?, ?)", (self.seen, packed(self.votes)))


def _reaches_back(event: Event, seen: int) -> bool:
    """Return whether an event changes what counts of what was read before.

    An undoing of something new may itself be undone: then all is read again as well.
    """
    return event.kind == "undo" and (
        event.body["event"] <= seen or event.body["undid"] not in ("vote", "tag", "correction")
    )


def _totals(votes: Sequence[Vote]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for vote in votes:
        totals[vote.who] = totals.get(vote.who, 0.0) + vote.reach
    return totals


def packed(votes: Sequence[Vote]) -> bytes:
    """Write votes as a safetensors block."""
    from safetensors.numpy import save

    names = [[vote.who, vote.subject, *vote.right] for vote in votes]
    text = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode()
    weights = [vote.weights for vote in votes]
    arrays = {
        "numbers": np.array([vote.number for vote in votes], np.int64),
        "counts": np.array([len(vote.pictures) for vote in votes], np.int64),
        "pictures": np.array([p for vote in votes for p in vote.pictures], np.int64),
        "weights": np.hstack(weights) if weights else np.zeros((FOLDS + 1, 0)),
        "names": np.frombuffer(text, np.uint8),
    }
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def _unpacked(event: int, block: bytes) -> Ledger:
    """Read what :func:`packed` wrote; a damaged block is as none, since the log has it all."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, Any] = load(block)
        names = json.loads(arrays["names"].tobytes())
        ends = np.cumsum(arrays["counts"])
        pictures = np.split(arrays["pictures"], ends)[:-1]
        weights = np.split(arrays["weights"], ends, axis=1)[:-1]
        if len(names) != len(ends) or not np.isfinite(arrays["weights"]).all():
            raise ValueError("its parts do not fit")
        votes = tuple(
            Vote(
                int(number), who, subject, tuple(some.tolist()), np.ascontiguousarray(part), (a, b)
            )
            for number, (who, subject, a, b), some, part in zip(
                arrays["numbers"], names, pictures, weights, strict=True
            )
        )
    except (SafetensorError, ValueError, KeyError, TypeError, IndexError):
        return Ledger()
    return Ledger(event, votes, None, _totals(votes))
