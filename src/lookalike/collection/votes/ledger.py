"""The votes that count: read from the log once, and kept as a snapshot now and then."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from sqlite3 import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.event import Event
from lookalike.collection.log.log import events_after
from lookalike.collection.log.removals import Erasure
from lookalike.collection.log.undo import Undo
from lookalike.collection.log.votes import Lessons, Reset, Taught, Vote
from lookalike.collection.store import log as rows
from lookalike.collection.store import people, snapshots
from lookalike.collection.store.database import Database
from lookalike.collection.store.log import Row
from lookalike.collection.store.people import OWNER
from lookalike.collection.vectors.queries import read_ask


@dataclass(frozen=True, slots=True)
class Standing:
    """What votes have taught, and whether searches use it.

    Attributes
    ----------
    votes : int
        Votes that count.
    judged : int
        Those of them that compare pictures, and judge all that was shown: where somebody chose
        what to judge, how searches rank it says nothing of how they rank.
    before, after : float or None
        The share of their comparisons that searches had in the right order without votes, and
        with what was learned from votes on *other* queries; None without any.
    labels_before, labels_after : float or None
        Mean average precision on labelled pictures held out, without votes and with them; None
        where no labels were learned from.
    strength : float
        How far searches go with what votes taught: 1, or less where labelled pictures held
        back would else rank worse, or 0 while votes not learned from do.
    reason : str
        Why, in a sentence.
    paused : tuple of str
        The people whose votes are used only in the searches they were given in: with what was
        learned, their own held-out votes rank worse.
    """

    votes: int
    judged: int
    before: float | None
    after: float | None
    labels_before: float | None
    labels_after: float | None
    strength: float
    reason: str
    paused: tuple[str, ...] = ()


SNAPSHOT_EVERY = 256
"""Votes after which a snapshot is taken: so many, or an eighth, are read again on opening."""

CERTAIN = 2.0
"""Standard errors by which a person's held-out votes must rank worse to pause their votes."""

WHOLE = 1.0
"""How far searches go with what votes taught, where nothing speaks against it."""


@dataclass(frozen=True, slots=True)
class Record:
    """How the votes of one person rank, summed up over the last on each of their searches.

    Attributes
    ----------
    judged : int
        The votes that compare pictures and judge all that was shown.
    before : float
        The share of their comparisons that searches had right without votes.
    change, squares : float
        By how much that share grew with what votes on other queries had taught, and its squares.
    """

    judged: int = 0
    before: float = 0.0
    change: float = 0.0
    squares: float = 0.0

    def changed(self, taught: Taught, sign: int) -> "Record":
        """Return the record with one more vote, or with ``sign`` -1 without one of its votes."""
        before, after = taught.right
        if before is None or after is None:
            return self
        change = after - before
        return Record(
            self.judged + sign,
            self.before + sign * before,
            self.change + sign * change,
            max(self.squares + sign * change**2, 0.0),
        )

    @property
    def is_worse(self) -> bool:
        """Whether votes on other queries made these rank worse, beyond two standard errors."""
        return self.change < -CERTAIN * math.sqrt(self.squares)


class Judged(NamedTuple):
    """How labelled pictures rank without votes and with them, and how far votes may go by that."""

    before: float | None = None
    after: float | None = None
    strength: float = WHOLE


@dataclass(frozen=True)
class Ledger:
    """The votes that count, in order, up to the event ``seen``.

    ``damaged`` is the first event of the log that is not as it was written, from which on votes
    are left out. ``by_subject`` are the votes on each query, ``thumbs`` what each person said there
    last of each picture, with the event, ``records`` how the votes of each person rank by a
    ranker, and ``relabelled`` the events that changed labels since the collection was opened, each
    with the event whose changes say of which pictures, or 0 for any. ``trusted`` are the people
    who teach everybody beside the owner, and ``of`` the person whose layers these are.
    """

    seen: int = 0
    votes: tuple[Vote, ...] = ()
    damaged: int | None = None
    by_subject: dict[str, tuple[Vote, ...]] = field(default_factory=dict)
    thumbs: dict[str, dict[str, dict[int, tuple[int, int]]]] = field(default_factory=dict)
    records: dict[tuple[int, str], Record] = field(default_factory=dict)
    relabelled: tuple[tuple[int, int], ...] = ()
    trusted: frozenset[str] = frozenset()
    of: str = OWNER

    @classmethod
    def read(cls, database: Database, before: "Ledger | None" = None) -> "Ledger":
        """Return what the log comes to: what is new is read, or all where something was undone."""
        start = cls.kept(database) if before is None else before
        if start.damaged is not None or rows.last_number(database) == start.seen:
            return start
        new, damaged = events_after(database, start.seen)
        seen = new[-1][0].number if new else start.seen
        relabelled = () if before is None else _relabelled(new)
        trusted = people.trusted(database)
        if any(_reaches_back(event) for _, event in new):
            start = cls(relabelled=start.relabelled)
            undone = rows.undone(database)
            new, _ = events_after(database, 0)
        else:
            undone = {event.event for _, event in new if isinstance(event, Undo)}
            start = start.without(undone)
        read = start.extended([(row, event) for row, event in new if row.number not in undone])
        labels = start.relabelled + relabelled
        return replace(read, seen=seen, damaged=damaged, relabelled=labels, trusted=trusted)

    def extended(self, new: Iterable[tuple[Row, Event]]) -> "Ledger":
        """Return the ledger with further events; a reset takes away the votes before it.

        One that names a person takes away only theirs.
        """
        votes = list(self.votes)
        changed = False
        for row, event in new:
            if isinstance(event, Vote):
                votes.append(replace(event, number=row.number, who=row.who))
            elif isinstance(event, Reset):
                votes = [it for it in votes if event.of is not None and it.who != event.of]
                changed = True
            elif isinstance(event, Lessons):
                votes = [_with_lesson(vote, event) for vote in votes]
                changed = True
        return _of(votes) if changed else self.added(votes[len(self.votes) :])

    def without(self, gone: set[int]) -> "Ledger":
        """Return the ledger without some votes, by their events."""
        if not gone:
            return self
        left = [vote for vote in self.votes if vote.number not in gone]
        return replace(_of(left), seen=self.seen, relabelled=self.relabelled)

    def added(self, new: Sequence[Vote]) -> "Ledger":
        """Return the ledger with further votes."""
        if not new:
            return self
        by_subject, thumbs, records = dict(self.by_subject), dict(self.thumbs), dict(self.records)
        on: dict[str, list[Vote]] = {}
        for vote in new:
            known = on.setdefault(vote.subject, [*by_subject.get(vote.subject, ())])
            before = next((it for it in reversed(known) if it.who == vote.who), None)
            for ranker, taught in vote.taught.items():
                record = records.get((ranker, vote.who), Record())
                if before is not None and ranker in before.taught:
                    # The last vote of a person on a query has what they said there before.
                    record = record.changed(before.taught[ranker], -1)
                records[ranker, vote.who] = record.changed(taught, 1)
            known.append(vote)
        for subject, some in on.items():
            by_person = {who: dict(own) for who, own in thumbs.get(subject, {}).items()}
            for vote in some[len(by_subject.get(subject, ())) :]:
                own = by_person.setdefault(vote.who, {})
                own |= dict.fromkeys(vote.picked, (1, vote.number))
                own |= dict.fromkeys(vote.rejected, (-1, vote.number))
            thumbs[subject] = by_person
            by_subject[subject] = tuple(some)
        votes = (*self.votes, *new)
        return replace(self, votes=votes, by_subject=by_subject, thumbs=thumbs, records=records)

    def layer(self, who: str, before: "tuple[Ledger, Ledger] | None" = None) -> "Ledger":
        """Return the votes that teach a person: the owner's, those of trusted people, their own.

        ``before`` is an earlier ledger with its layer of the same person, to go on from.
        """
        shared = {OWNER, *self.trusted, who}
        votes, layer = self.votes, Ledger()
        if before is not None and before[0].trusted == self.trusted:
            known = len(before[0].votes)
            if votes[:known] == before[0].votes:
                votes, layer = votes[known:], before[1]
        own = [vote for vote in votes if vote.who in shared]
        layer = self if len(own) == len(self.votes) else layer.added(own)
        rest = {name: getattr(self, name) for name in ("seen", "damaged", "relabelled", "trusted")}
        return replace(layer, of=who, **rest)

    def word_of(self, who: str, subject: str) -> dict[int, int]:
        """Return what a person last said of the pictures found for a query."""
        thumbs = self.thumbs.get(subject, {}).get(who, {})
        return {picture: sign for picture, (sign, _) in thumbs.items()}

    def verdicts(self, subject: str) -> dict[int, int]:
        """Return what was said of the pictures found for a query: +1 picked, -1 rejected.

        The last word of the person whose layers these are holds; else those of others are added
        up.
        """
        total: dict[int, int] = {}
        for own in self.thumbs.get(subject, {}).values():
            for picture, (sign, _) in own.items():
                total[picture] = total.get(picture, 0) + sign
        signs = {picture: (sum_ > 0) - (sum_ < 0) for picture, sum_ in total.items()}
        signs |= self.word_of(self.of, subject)
        return {picture: sign for picture, sign in signs.items() if sign}

    def standing(self, ranker: int, labels: Judged) -> Standing:
        """Return what votes have taught a ranker, and how far searches may go with it.

        A person's votes are paused while, with what was learned, they are in the right order less
        often by more than two standard errors; those of others are not. ``labels`` is what
        labelled pictures say of all that is used.
        """
        records = {who: record for (of, who), record in self.records.items() if of == ranker}
        paused = tuple(sorted(who for who, record in records.items() if record.is_worse))
        used = [record for who, record in records.items() if who not in paused]
        judges = used or [*records.values()]
        judged = sum(record.judged for record in judges)
        before = sum(record.before for record in judges) / judged if judged else None
        change = sum(record.change for record in judges)
        standing = Standing(
            votes=len(self.votes),
            judged=judged,
            before=before,
            after=None if before is None else before + change / judged,
            labels_before=labels.before,
            labels_after=labels.after,
            strength=labels.strength,
            paused=paused,
            reason="",
        )
        strength, reason = _reason(standing, is_used=bool(used))
        if self.damaged is not None:
            reason += f" Votes from event {self.damaged} on are damaged and were left out."
        return replace(standing, strength=strength, reason=reason)

    def pictures(self) -> set[int]:
        """Return the pictures that were picked or rejected."""
        return {number for vote in self.votes for number in (*vote.picked, *vote.rejected)}

    def names(self, ids: NDArray[np.int64]) -> bool:
        """Return whether a vote names one of these pictures, as its query or in what it says."""
        wanted = set(ids.tolist())
        if not wanted:
            return False
        if any(not wanted.isdisjoint((*vote.picked, *vote.rejected)) for vote in self.votes):
            return True
        asks = map(read_ask, self.by_subject)
        return any(not wanted.isdisjoint((*ask.like, *ask.unlike)) for ask in asks)

    def votes_on(self, subject: str, picture: int, who: str) -> list[int]:
        """Return the events in which a person voted on a picture for a query, the last first."""
        votes = self.by_subject.get(subject, ())
        return [vote.number for vote in reversed(votes) if vote.who == who and vote.sign(picture)]

    def saying(
        self, subject: str, picked: Sequence[int], rejected: Sequence[int], who: str
    ) -> int | None:
        """Return the last event in which a person said some of this, if all of it still holds."""
        thumbs = self.thumbs.get(subject, {}).get(who, {})
        wanted = dict.fromkeys(picked, 1) | dict.fromkeys(rejected, -1)
        if any(thumbs.get(picture, (0, 0))[0] != sign for picture, sign in wanted.items()):
            return None
        return max(thumbs[picture][1] for picture in wanted)

    @classmethod
    def kept(cls, database: Database) -> "Ledger":
        """Return the last snapshot, or an empty ledger where there is none that can be read."""
        snapshot = snapshots.last(database)
        return cls() if snapshot is None else _unpacked(*snapshot)

    def keep(self, connection: Connection) -> None:
        """Store a snapshot in place of the last."""
        snapshots.replace(connection, self.seen, packed(self.votes))


def _reason(standing: Standing, *, is_used: bool) -> tuple[float, str]:
    """Return how far searches go with votes, and why."""
    strength = standing.strength
    if not standing.votes:
        return 0.0, "No votes yet."
    if standing.paused and not is_used:
        return 0.0, "Votes are paused: with them, held-out votes rank worse."
    if not strength:
        text = "Votes are paused: with them, held-out labelled pictures rank worse."
    elif strength < WHOLE:
        text = (
            f"Votes are used at {strength:.0%} strength; with more, held-out labelled pictures "
            f"rank worse."
        )
    elif standing.before is not None:
        text = "Votes are in use: with them, held-out votes rank no worse."
    else:
        text = "Votes are in use; none judges all that was shown, so they cannot be evaluated."
    if paused := len(standing.paused):
        whose = "one person" if paused == 1 else f"{paused} people"
        text += (
            f" The votes of {whose} are used only in the searches they were given in: with what "
            f"was learned, their own held-out votes rank worse."
        )
    return strength, text


def _of(votes: Sequence[Vote]) -> Ledger:
    return Ledger().added(votes)


def _with_lesson(vote: Vote, lessons: Lessons) -> Vote:
    """Return a vote with what it taught a ranker that came after it."""
    taught = lessons.votes.get(vote.number)
    return vote if taught is None else vote.with_taught(lessons.ranker, taught)


def _reaches_back(event: Event) -> bool:
    """Return whether the log is to be read again for an event.

    So it is when votes count again, and when something was erased from the log.
    """
    if isinstance(event, Erasure):
        return bool(event.seals)
    return isinstance(event, Undo) and (event.is_redo or event.undid == Reset.kind)


def _relabelled(new: Iterable[tuple[Row, Event]]) -> tuple[tuple[int, int], ...]:
    """Return the events that changed labels, each with the one that has the changes, or 0."""
    return tuple(
        (row.number, _changed_by(row, event)) for row, event in new if "labels" in event.touches
    )


def _changed_by(row: Row, event: Event) -> int:
    if isinstance(event, Undo):
        return 0 if event.is_redo else event.event
    return row.number if hasattr(event, "changes") else 0


def packed(votes: Sequence[Vote]) -> bytes:
    """Return votes as a safetensors block."""
    from safetensors.numpy import save

    names = [
        [
            *(
                vote.number,
                vote.who,
                vote.like,
                vote.unlike,
                vote.picked,
                vote.rejected,
                vote.shown,
            ),
            [
                [
                    *(ranker, len(taught.pictures), taught.picked, taught.width),
                    *taught.right,
                ]
                for ranker, taught in lessons
            ],
        ]
        for vote in votes
        for lessons in [sorted(vote.taught.items())]
    ]
    text = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode()
    lessons = [taught for vote in votes for _, taught in sorted(vote.taught.items())]
    arrays = {
        "pictures": np.array([p for taught in lessons for p in taught.pictures], np.int64),
        "steps": np.hstack([np.zeros(0), *(one.steps for one in lessons)]),
        "names": np.frombuffer(text, np.uint8),
    }
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def _unpacked(event: int, block: bytes) -> Ledger:
    """Read what :func:`packed` wrote; a damaged block is as none, since the log has it all."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, Any] = load(block)
        pictures, steps = arrays["pictures"].tolist(), arrays["steps"]
        if steps.shape != (len(pictures),) or not np.isfinite(steps).all():
            raise ValueError("its parts do not fit")
        votes, at = [], 0
        for number, who, *sides, lessons in json.loads(arrays["names"].tobytes()):
            taught = {}
            for ranker, count, chosen, width, before, after in lessons:
                own = slice(at, at + count)
                part = steps[own].copy()
                taught[int(ranker)] = Taught(
                    *(tuple(pictures[own]), chosen, part, width, (before, after)),
                )
                at += count
            like, unlike, picked, rejected, shown = map(tuple, sides)
            vote = Vote(like, unlike, picked, rejected, shown, taught, number, who)
            votes.append(vote)
        if at != len(pictures):
            raise ValueError("its parts do not fit")
    except (SafetensorError, ValueError, KeyError, TypeError, IndexError):
        return Ledger()
    return replace(_of(votes), seen=event)
