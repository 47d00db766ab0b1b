"""Who said what: the people of the log, whom the owner trusts, and whose labels are proposals."""

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from lookalike.collection.store import log as rows
from lookalike.collection.store.database import Database
from lookalike.core.text import word_key

OWNER = ""
"""The name of the owner: who has the folder, or the full key, and all who need no key."""

TRUST, ACCEPTANCE = "trust", "acceptance"
"""The kinds of events that say whose word counts for everybody."""

UNDO_PERSON = "undo_person"
"""The kind of events that undo several of a person."""

_EVENTS = "SELECT number, json_extract(body, '$.person'), {} FROM events WHERE kind = ? ORDER BY 1"

_LABELS = (
    "SELECT number, who, json_extract(body, '$.word'), json_extract(body, '$.shows'), picture "
    "FROM events JOIN changes ON event = number WHERE kind = 'label' AND body != '' "
    "AND (?1 IS NULL OR who = ?1) AND (?2 IS NULL OR picture = ?2) ORDER BY number, picture"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A label that somebody gave or refused who is not trusted: shown, and not learned from."""

    event: int
    person: str
    word: str
    shows: bool
    picture: int


def trusted(source: Database | Connection) -> frozenset[str]:
    """Return the people who teach everybody, beside the owner."""
    result: set[str] = set()
    for number, person, is_trusted in read(
        source, _EVENTS.format("json_extract(body, '$.trusts')"), TRUST
    ):
        if not rows.is_undone(source, number):
            (result.add if is_trusted else result.discard)(person)
    return frozenset(result)


def accepted(source: Database | Connection) -> dict[str, int]:
    """Return the event up to which the labels of a person were accepted, for each."""
    answer = read(source, _EVENTS.format("number"), ACCEPTANCE)
    return {person: up_to for number, person, up_to in answer if not rows.is_undone(source, number)}


def names(database: Database) -> list[str]:
    """Return the people who said something, and those who are trusted, in alphabetical order."""
    answer = {who for (who,) in database.rows("SELECT DISTINCT who FROM events")}
    return sorted(answer | trusted(database))


def labels(
    source: Database | Connection, person: str | None = None, picture: int | None = None
) -> list[Proposal]:
    """Return what a person, or everybody, said of words and pictures, one by one, in order."""
    return [
        Proposal(event, who, word, bool(shows), number)
        for event, who, word, shows, number in read(source, _LABELS, person, picture)
    ]


def proposals(
    database: Database, person: str | None = None, picture: int | None = None
) -> list[Proposal]:
    """Return the labels that wait: of people who are not trusted, not undone and not answered.

    Somebody trusted answers by saying the same or the opposite of the same picture and word.
    """
    counts, up_to = {OWNER, *trusted(database)}, accepted(database)
    undone = rows.undone(database)
    waiting: dict[tuple[int, str], dict[str, Proposal]] = {}
    for one in labels(database, picture=picture):
        place = one.picture, word_key(one.word)
        if one.event in undone:
            continue
        if one.person in counts or one.event <= up_to.get(one.person, 0):
            waiting.pop(place, None)
        else:
            waiting.setdefault(place, {})[one.person] = one
    every = [one for some in waiting.values() for one in some.values()]
    chosen = [one for one in every if person is None or one.person == person]
    return sorted(chosen, key=lambda one: (one.event, one.picture))


def own_words(database: Database, person: str) -> dict[tuple[int, str], Proposal]:
    """Return what a person who is not trusted said last, by picture and key of the word.

    Of the owner and of trusted people nothing: what they say everybody's labels have.
    """
    if person in {OWNER, *trusted(database)}:
        return {}
    undone = rows.undone(database)
    return {
        (one.picture, word_key(one.word)): one
        for one in labels(database, person)
        if one.event not in undone
    }


def events_of(source: Database | Connection, person: str, since: str) -> list[rows.Row]:
    """Return the events of a person since a time in UTC, in order."""
    sql = (
        "SELECT number, at, kind, who, body FROM events "
        "WHERE who = ? AND at >= ? AND body != '' ORDER BY number"
    )
    return [rows.Row(*one) for one in read(source, sql, person, since)]


def author(source: Database | Connection, number: int) -> str | None:
    """Return who an event is of; None where there is none."""
    answer = read(source, "SELECT who FROM events WHERE number = ?", number)
    return str(answer[0][0]) if answer else None


def read(source: Database | Connection, sql: str, *values: Any) -> list[Any]:
    """Return the rows of a query, of a database or as an open transaction has them."""
    if isinstance(source, Database):
        return source.rows(sql, *values)
    return source.execute(sql, values).fetchall()
