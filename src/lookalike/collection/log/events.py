"""The log: what people said of pictures, one row each, only ever added to."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any

from lookalike.collection.store import changes
from lookalike.collection.store.database import Database, now
from lookalike.collection.store.seals import digest, new_salt
from lookalike.core.errors import DamagedFile, InvalidInput, NotFound
from lookalike.core.text import first_control


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the log.

    Attributes
    ----------
    number : int
        Rising, never used again.
    at : str
        When, in UTC.
    kind : str
        ``vote``, ``tag``, ``correction`` (a picture does not show a word), ``import`` (of labels
        from a source), ``removal`` (into the bin), ``restoration``, ``erasure``, ``undo``,
        ``reset`` (votes before it count no more), ``distinct`` (pictures are not duplicates),
        ``learn`` or ``rollback``; ``erased`` for something that was said of an erased picture; in
        older collections ``deletion``.
    who : str
        Who said it, where there are several; else empty.
    body : dict
        What was said.
    undone : bool
        Whether it counts no more.
    """

    number: int
    at: str
    kind: str
    who: str
    body: dict[str, Any]
    undone: bool


@dataclass(frozen=True, slots=True)
class WordsToLearn:
    """Words given, refused or imported since models were last trained or rolled back.

    ``event`` is the number of the last of these events, or 0, and ``seconds`` how long ago it was.
    """

    count: int
    event: int
    seconds: float


LONGEST_WHO, LONGEST_KEY = 64, 128

UNDOABLE = (
    *("vote", "tag", "correction", "undo", "reset", "import", "removal", "restoration"),
    "distinct",
)

TEACH = "teach"
"""What earlier votes teach a ranker that came after them: not said by anybody, so not shown."""

ERASED = "erased"
"""The kind of an event that said something of an erased picture, of which nothing else is left."""

_UNDO = "event "

MANY = 100
"""Events from which on all undoings are read at once."""

_LATER = (
    "WITH RECURSIVE later (number, about) AS ("
    "SELECT number, about FROM events WHERE about = ?1 || ?2 UNION ALL "
    "SELECT events.number, events.about FROM later JOIN events "
    "ON events.about = ?1 || later.number) SELECT number, about FROM later ORDER BY 1 DESC"
)
"""The undoing of an event, the undoing of that and so on, the last first."""

_log = logging.getLogger(__name__)


def append(
    connection: Connection,
    kind: str,
    body: dict[str, Any],
    *,
    who: str = "",
    key: str | None = None,
    about: str | None = None,
) -> Event:
    """Add a row in an open transaction; it counts once that is committed.

    Each row carries a digest of itself and of the digest before, so that one that was changed or
    lost afterwards is found. What was said goes into it by its seal, a digest with a salt, so that
    it can be erased.
    """
    at, text = now(), _written(body)
    last = connection.execute("SELECT digest FROM events ORDER BY number DESC LIMIT 1").fetchone()
    salt = new_salt()
    seal = digest(salt, key, about, text)
    number = connection.execute(
        "INSERT INTO events (at, kind, who, key, about, body, salt, seal, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(at, kind, who, key, about, text, salt, seal),
            digest(last[0] if last else b"", at, kind, who, seal.hex()),
        ),
    ).lastrowid
    return Event(int(number or 0), at, kind, who, body, undone=False)


def check_names(who: str, key: str | None) -> None:
    """Raise InvalidInput for names of people and keys of requests that are not short text."""
    for name, value, most in (("who", who, LONGEST_WHO), ("key", key or "", LONGEST_KEY)):
        if not isinstance(value, str) or len(value) > most or first_control(value) is not None:
            raise InvalidInput(
                f"Collection: {name} must be text of at most {most} characters, without control "
                f"characters; got {value!r:.80}."
            )


def with_key(connection: Connection, key: str | None) -> Event | None:
    """Return the event that was stored with a key, if there is one."""
    if key is None:
        return None
    row = connection.execute(
        "SELECT number, at, kind, who, body FROM events WHERE key = ?", (key,)
    ).fetchone()
    return None if row is None else _event(row, shown=True)


def last_number(database: Database) -> int:
    """Return the number of the last event, or 0."""
    return int(database.rows("SELECT ifnull(max(number), 0) FROM events")[0][0])


def words_since_learning(database: Database) -> tuple[int, int, float]:
    """Return how many words were given or refused since models were last trained or rolled back.

    Labels that were imported are among them. With it the number of the last of these events, or 0,
    and the seconds since.
    """
    ((count, last, seconds),) = database.rows(
        "SELECT ifnull(sum(CASE kind WHEN 'import' "
        "THEN json_extract(body, '$.given') + json_extract(body, '$.taken') ELSE 1 END), 0), "
        "ifnull(max(number), 0), "
        "ifnull(86400 * (julianday('now') - julianday(max(at))), 0) FROM events "
        "WHERE kind IN ('tag', 'correction', 'import') AND number > "
        "(SELECT ifnull(max(number), 0) FROM events WHERE kind IN ('learn', 'rollback') "
        # Where only codes were learned, nothing was learned of words.
        "AND (json_type(body, '$.codes') IS NULL OR json_type(body, '$.similarity') IS NOT NULL))"
    )
    return int(count), int(last), float(seconds)


def after(database: Database, number: int) -> tuple[list[Event], int | None]:
    """Return the events after one, in order, whether undone or not, and the first damaged one.

    Events from a damaged one on are left out: one that is not as it was written, or follows one
    that is missing. None stands for a log that is whole.
    """
    rows = database.rows(
        "SELECT number, at, kind, who, key, about, body, salt, seal, digest FROM events "
        "WHERE number >= ? ORDER BY number",
        number,
    )
    before = rows.pop(0)[-1] if number and rows and rows[0][0] == number else b""
    found: list[Event] = []
    erased: dict[int, str] | None = None
    for own, at, kind, who, key, about, body, salt, seal, kept in rows:
        sealed = digest(salt or b"", key, about, body)
        whole = seal is not None and digest(before, at, kind, who, seal.hex()) == kept
        if whole and sealed != seal:
            erased = seals_of_erased(database) if erased is None else erased
            whole = erased.get(own) == sealed.hex()
        if not whole:
            _log.warning("event %s of the log is not as it was written", own)
            return found, int(own)
        before = kept
        with database.parsing("an event"):
            found.append(_event((own, at, kind, who, body)))
    return found, None


def seals_of_erased(database: Database) -> dict[int, str]:
    """Return the seals of events from which something was erased, as later events record them."""
    found: dict[int, str] = {}
    rows = database.rows("SELECT body FROM events WHERE kind = 'erasure' ORDER BY number")
    with database.parsing("an event"):
        for (body,) in rows:
            said = json.loads(body).get("seals", {})
            found |= {int(number): str(seal) for number, seal in said.items()}
    return found


def replace_said(connection: Connection, number: int, body: dict[str, Any] | None) -> str:
    """Replace what an event says, or erase all of it, and return its new seal.

    An erasure has to record that, or the log is damaged; see :mod:`..pictures.erasing`.
    """
    salt = new_salt()
    if body is None:
        said: tuple[str | None, str | None, str] = (None, None, "")
    else:
        key, about = connection.execute(
            "SELECT key, about FROM events WHERE number = ?", (number,)
        ).fetchone()
        said = (key, about, _written(body))
    connection.execute(
        "UPDATE events SET key = ?, about = ?, body = ?, salt = ? WHERE number = ?",
        (*said, salt, number),
    )
    return digest(salt, *said).hex()


def _written(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def about(database: Database, subject: str, *, undone: bool = False) -> list[Event]:
    """Return the events about something in order, those undone too or only those that count."""
    rows = database.rows(
        "SELECT number, at, kind, who, body FROM events WHERE about = ? ORDER BY number", subject
    )
    with database.parsing("an event"):
        found = [_event(row) for row in rows]
    return [event for event in found if undone or not is_undone(database, event.number)]


def history(
    database: Database, limit: int, before: int | None, of: str | None = None
) -> list[Event]:
    """Return events before one, or the last, newest first; with a name only those of a person."""
    rows = database.rows(
        "SELECT number, at, kind, who, body FROM events WHERE number < ?1 AND kind != ?2 "
        "AND (?3 IS NULL OR who = ?3) ORDER BY 1 DESC LIMIT ?4",
        2**62 if before is None else before,
        TEACH,
        of,
        limit,
    )
    with database.parsing("an event"):
        return [
            replace(_event(row, shown=True), undone=is_undone(database, row[0])) for row in rows
        ]


def event(database: Database, number: int) -> Event:
    """Return one event."""
    row = database.row("SELECT number, at, kind, who, body FROM events WHERE number = ?", number)
    if row is not None:
        with database.parsing("an event"):
            return replace(_event(row, shown=True), undone=is_undone(database, number))
    raise NotFound(
        f"There is no event {number}. See what there is: lookalike history, or Collection.history."
    )


def read(connection: Connection, number: int) -> Event:
    """Return one event that counts, as an open transaction has it."""
    row = connection.execute(
        "SELECT number, at, kind, who, body FROM events WHERE number = ?", (number,)
    ).fetchone()
    return _event(row, shown=True)


def bodies(database: Database, kind: str) -> Iterator[dict[str, Any]]:
    """Return what was said in the events of a kind, the last first."""
    rows = database.rows(
        "SELECT body FROM events WHERE kind = ? AND body != '' ORDER BY number DESC", kind
    )
    with database.parsing("an event"):
        yield from (json.loads(body) for (body,) in rows)


def undid(database: Database, event: Event) -> Event:
    """Return what an event undid in the end, through undoings of undoings; itself if nothing."""
    found = event
    while found.kind == "undo":
        rows = database.rows(
            "SELECT number, at, kind, who, body FROM events WHERE number = ?", found.body["event"]
        )
        with database.parsing("an event"):
            found = _event(rows[0])
    return found


def is_undone(database: Database, number: int) -> bool:
    """Return whether an event was undone, and that not undone again."""
    return number in _undone(database.rows(_LATER, _UNDO, number))


def undone_in(connection: Connection, number: int) -> bool:
    """Return the same as an open transaction has it."""
    return number in _undone(connection.execute(_LATER, (_UNDO, number)))


_UNDOINGS = "SELECT number, about FROM events WHERE kind = 'undo' ORDER BY 1 DESC"


def undone(database: Database) -> set[int]:
    """Return the numbers of all events that were undone."""
    return _undone(database.rows(_UNDOINGS))


def undone_among(connection: Connection, numbers: Sequence[int]) -> set[int]:
    """Return those of some events that were undone, as an open transaction has it."""
    if len(numbers) > MANY:
        return _undone(connection.execute(_UNDOINGS)).intersection(numbers)
    return {number for number in numbers if undone_in(connection, number)}


def _undone(rows: Iterable[Sequence[Any]]) -> set[int]:
    """Return what undoing events, the last first, have undone."""
    found: set[int] = set()
    for number, subject in rows:
        # A later event may have undone this one; those come first.
        if number not in found:
            found.add(int(subject.removeprefix(_UNDO)))
    return found


def undo(
    database: Database, connection: Connection, number: int, *, who: str, key: str | None
) -> tuple[Event, Event]:
    """Add the undoing of an event, and return it after what it undoes; see Collection.undo."""
    target = event(database, number)
    if target.kind not in UNDOABLE:
        raise InvalidInput(
            f"Collection.undo: event {number} ({target.kind}) cannot be undone. "
            f"Pictures that were erased can be added again; rollback undoes what was learned."
        )
    if target.undone:
        raise _undone_already(database, number)
    body = {"event": target.number, "undid": target.kind}
    return target, append(
        connection, "undo", body, who=who, key=key, about=f"{_UNDO}{target.number}"
    )


def _undone_already(database: Database, number: int) -> InvalidInput:
    """Return the error of an event that was undone before, perhaps by another."""
    for later, who in database.rows(
        "SELECT number, who FROM events WHERE about = ? ORDER BY number DESC", f"{_UNDO}{number}"
    ):
        if not is_undone(database, later):
            by = f" by {who}" if who else ""
            return InvalidInput(
                f"Collection.undo: event {number} is already undone{by}; nothing was changed. To "
                f"restore what it said, undo event {later}."
            )
    return InvalidInput(f"Collection.undo: event {number} is already undone.")


def check(database: Database) -> None:
    """Check that the log is as it was written, with what events did to many pictures.

    Raises
    ------
    DamagedFile
        Naming the first event that was changed, or that follows one that is missing, or saying
        that the last ones are gone.
    """
    database.check_end()
    found, damaged = after(database, 0)
    if damaged is None:
        damaged = _first_changed(database, found)
    if damaged is not None:
        raise DamagedFile(
            f"the log is damaged from event {damaged} on; what was said before it is intact. "
            f"Restore a backup of the collection."
        )


def _first_changed(database: Database, log: Iterable[Event]) -> int | None:
    """Return the first event whose changes are not as they were written, or None."""
    kept = changes.digests(database)
    due: dict[int, int] = {}
    with database.parsing("an event"):
        for event in log:
            if "changes" in event.body:
                due[event.number] = int(event.body["changes"], 16)
            for number, erased in event.body.get("erased", {}).items():
                # Unknown where nothing is left of the event, either.
                if int(number) in due:
                    due[int(number)] = changes.less(due[int(number)], int(erased, 16))
    wrong = [
        number for number in due.keys() | kept.keys() if due.get(number) != kept.get(number, 0)
    ]
    return min(wrong, default=None)


def shown(event: Event) -> Event:
    """Return an event without what only the learner reads."""
    return replace(event, body={k: it for k, it in event.body.items() if k != "taught"})


def _event(row: Sequence[Any], *, shown: bool = False) -> Event:
    """Return a row as an event; ``shown`` leaves out what only the learner reads."""
    number, at, kind, who, text = row
    if not text:
        return Event(number, at, ERASED, who, {}, undone=False)
    body = json.loads(text)
    if shown:
        body.pop("taught", None)
    return Event(number, at, kind, who, body, undone=False)
