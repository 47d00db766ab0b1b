"""Read the log: its history, single entries, what is new since, and whether it is whole."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lookalike.collection.log.entry import MAX_SHOWN, Entry, hidden_kinds
from lookalike.collection.log.event import KINDS, Damaged, Event, read_event
from lookalike.collection.log.labels import Label
from lookalike.collection.log.models import Learn, Rollback
from lookalike.collection.log.removals import Erasure
from lookalike.collection.log.undo import no_event
from lookalike.collection.store import changes, people
from lookalike.collection.store import log as rows
from lookalike.collection.store.database import Database, seconds_since
from lookalike.core.errors import DamagedFile

_log = logging.getLogger(__name__)

MAX_CHECKED = 100
"""Pictures of an event up to which what it did to them is checked whenever it is shown."""

_DAMAGED = "event %s of the log is not as it was written"


@dataclass(frozen=True, slots=True)
class NewWords:
    """Words given, refused or imported since models were last trained or rolled back.

    ``event`` is the number of the last of these events, or 0, and ``seconds`` how long ago it was.
    """

    count: int
    event: int
    seconds: float


def history(
    database: Database, limit: int, before: int | None = None, who: str | None = None
) -> list[Entry]:
    """Return entries before one, or the last, newest first; with a name only those of a person."""
    page = rows.page(database, limit, before, who, hidden_kinds())
    damaged = rows.damaged(database, [row.number for row in page])
    with database.parsing("an event"):
        return [
            _entry(database, row) if row.number not in damaged else _unreadable(row) for row in page
        ]


def entry(database: Database, number: int) -> Entry:
    """Return one entry, or raise NotFound."""
    row = rows.row(database, number)
    if row is None:
        raise no_event(number)
    if rows.damaged(database, [number]):
        return _unreadable(row)
    with database.parsing("an event"):
        return _entry(database, row)


def _unreadable(row: rows.Row) -> Entry:
    _log.warning(_DAMAGED, row.number)
    event = Damaged()
    text, icon = event.sentence(), event.icon
    return Entry(row.number, row.at, event.kind, "", {}, False, text, can_undo=False, icon=icon)


def _entry(database: Database, row: rows.Row) -> Entry:
    changed = changes.first_pictures(database, row.number, MAX_SHOWN)
    if not _are_changes_whole(database, row):
        _log.warning("what event %s did to pictures is not as it was written", row.number)
    return Entry.of(row, undone=rows.is_undone(database, row.number), changed=changed)


def _are_changes_whole(database: Database, row: rows.Row) -> bool:
    """Return whether what an event did to a few pictures is as it was written, or erased since."""
    event = read_event(row)
    due = getattr(event, "changes", "")
    if not due or getattr(event, "pictures", 0) > MAX_CHECKED:
        return True
    rest = changes.less(int(due, 16), changes.digest_of(database, row.number))
    if rest:
        for other in map(read_event, rows.of_kinds(database, [Erasure.kind], since=row.number)):
            if isinstance(other, Erasure):
                rest = changes.less(rest, int(other.erased.get(str(row.number), "0"), 16))
    return not rest


def labels_of(database: Database, picture: int, key: str, who: str) -> list[Entry]:
    """Return the entries that say only of one picture that it shows a word or not, the last first.

    Only those that count: to the owner those of trusted people as well, to everybody else their
    own, since what somebody takes back of another's no revoking brings back.
    """
    whose = {people.OWNER, *people.trusted(database)} if who == people.OWNER else {who}
    every = (entry(database, n) for n in changes.events_of_word(database, picture, key))
    return [one for one in every if one.can_undo and one.who in whose and _is_single(one)]


def _is_single(one: Entry) -> bool:
    return one.kind == Label.kind and one.body["pictures"] == 1


def events_after(
    database: Database, number: int
) -> tuple[list[tuple[rows.Row, Event]], int | None]:
    """Return the events after one, in order, whether undone or not, and the first damaged one."""
    read, damaged = rows.chain(database, number)
    if damaged is not None:
        _log.warning(_DAMAGED, damaged)
    with database.parsing("an event"):
        return [(row, read_event(row)) for row in read], damaged


def new_words(database: Database) -> NewWords:
    """Return the words that were given since models were last trained or rolled back.

    By the owner and trusted people; proposals count as one word when they are accepted.
    """
    learned = next(
        (
            row.number
            for row, run in _runs(database)
            if isinstance(run, Rollback) or run.learns_words
        ),
        0,
    )
    kinds = [kind for kind, cls in KINDS.items() if cls.new_words is not Event.new_words]
    shared = {people.OWNER, *people.trusted(database)}
    given = [row for row in rows.of_kinds(database, kinds, since=learned) if row.who in shared]
    with database.parsing("an event"):
        count = sum(read_event(row).new_words for row in given)
    last = given[-1] if given else None
    return NewWords(
        count, 0 if last is None else last.number, 0.0 if last is None else seconds_since(last.at)
    )


def _runs(database: Database) -> Iterator[tuple[rows.Row, Learn | Rollback]]:
    with database.parsing("an event"):
        for row in rows.of_kinds(database, [Learn.kind, Rollback.kind], newest=True):
            run = read_event(row)
            if isinstance(run, Learn | Rollback):
                yield row, run


def imported_for(database: Database, models: Iterable[int | None]) -> int | None:
    """Return the event that imported the labels one of some models learned from, if it counts."""
    sought = {number for number in models if number is not None}
    for _, run in _runs(database):
        if isinstance(run, Learn) and sought & {one.get("model") for one in run.trials.values()}:
            number = run.labels
            return None if number is None or rows.is_undone(database, number) else number
    return None


def check(database: Database) -> None:
    """Check that the log is as it was written, with what events did to many pictures.

    Raises
    ------
    DamagedFile
        Naming the first event that was changed, or that follows one that is missing, or saying
        that the last ones are gone.
    """
    database.check_end()
    events, damaged = events_after(database, 0)
    if damaged is None:
        damaged = _first_changed(database, [(row.number, event) for row, event in events])
    if damaged is not None:
        raise DamagedFile(
            f"the log is damaged from event {damaged} on; what was said before it is intact. "
            f"Restore a backup of the collection."
        )


def _first_changed(database: Database, log: Iterable[tuple[int, Event]]) -> int | None:
    """Return the first event whose changes are not as they were written, or None."""
    stored = changes.digests(database)
    due: dict[int, int] = {}
    for number, event in log:
        if digest := getattr(event, "changes", ""):
            due[number] = int(digest, 16)
        elif isinstance(event, Erasure):
            for one, erased in event.erased.items():
                # Unknown where nothing is left of the event, either.
                if int(one) in due:
                    due[int(one)] = changes.less(due[int(one)], int(erased, 16))
    wrong = [one for one in due.keys() | stored.keys() if due.get(one) != stored.get(one, 0)]
    return min(wrong, default=None)
