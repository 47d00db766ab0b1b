"""The words that people gave or refused pictures by hand, as the log tells."""

import json
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import NamedTuple

from lookalike.collection.log import events
from lookalike.collection.log.events import Event
from lookalike.collection.store import changes
from lookalike.collection.store.database import numbers
from lookalike.collection.store.labels import HAND, set_by_hand
from lookalike.core.errors import InvalidInput
from lookalike.core.text import first_control, label_name, word_key

SAID = ("tag", "correction")
"""The kinds of events in which people say that pictures show what a word names, or do not."""


class Last(NamedTuple):
    """The last event about a picture and a word that counts."""

    number: int
    kind: str
    word: str


def subject_of(picture: int, word: str) -> str:
    """Return what events about a picture and a word are found by, however the word is written."""
    return f"picture {picture} {word_key(word)}"


def check_word(word: str) -> str:
    """Return a word as labels are spelled, or raise InvalidInput."""
    name = label_name(word) if isinstance(word, str) else ""
    if not name:
        raise InvalidInput(f"Collection.say: a word must be non-empty text; got {word!r:.80}.")
    if (sign := first_control(name)) is not None:
        raise InvalidInput(
            f"Collection.say: a word must not contain control characters; got {sign!r} in "
            f"{word!r:.80}. Leave it out."
        )
    return name


def say(
    connection: Connection, picture: int, word: str, *, shows: bool, who: str, key: str | None
) -> Event:
    """Record that a picture shows what a word names, or that it does not.

    What holds already is not recorded again: the event in which it was said is returned.
    """
    kind, name = "tag" if shows else "correction", word_key(word)
    said = last_said(connection, name, [picture]).get(picture)
    if said is not None and said.kind == kind and _holding(connection, name, [picture], kind):
        known = events.read(connection, said.number)
        # A word that came from a duplicate is said anew: to undo that restores no duplicate.
        if known.kind == kind:
            return known
    event = events.append(
        connection,
        kind,
        {"picture": picture, "word": word},
        who=who,
        key=key,
        about=subject_of(picture, word),
    )
    _apply(connection, name, [picture], kind, word)
    return event


def say_many(
    connection: Connection,
    pictures: Sequence[int],
    word: str,
    *,
    shows: bool,
    who: str,
    key: str | None,
) -> Event:
    """Record in one event that pictures show what a word names, or that they do not."""
    kind, name = "tag" if shows else "correction", word_key(word)
    said = _same_said(connection, kind, name, pictures)
    if said is not None:
        return said
    rows = ((picture, name, None, word) for picture in pictures)
    body = {
        "pictures": len(pictures),
        "word": word,
        "changes": changes.written(changes.digest(rows)),
    }
    event = events.append(connection, kind, body, who=who, key=key, about=_about_word(name))
    changes.keep_word(connection, event.number, pictures, name, word)
    _apply(connection, name, pictures, kind, word)
    return event


def follow(connection: Connection, target: Event) -> None:
    """Bring pictures' words to what the log says once an event of ``SAID`` was undone or redone."""
    name = word_key(target.body["word"])
    if "picture" in target.body:
        found = connection.execute(
            "SELECT id FROM all_pictures WHERE id = ?", (target.body["picture"],)
        )
    else:
        found = connection.execute("SELECT picture FROM changes WHERE event = ?", (target.number,))
    settle(connection, name, [picture for (picture,) in found.fetchall()])


def settle(connection: Connection, key: str, pictures: Sequence[int]) -> None:
    """Let pictures have a word by hand, or be refused it, as was last said of them."""
    said = last_said(connection, key, pictures)
    together: dict[tuple[str, str], list[int]] = {}
    for picture in pictures:
        last = said.get(picture)
        state = ("", "") if last is None else (last.kind, last.word)
        together.setdefault(state, []).append(picture)
    for (kind, word), some in together.items():
        _apply(connection, key, some, kind, word)


def _same_said(
    connection: Connection, kind: str, key: str, pictures: Sequence[int]
) -> Event | None:
    """Return the event in which the same was said last of the same pictures, if it still holds."""
    row = connection.execute(
        "SELECT number, kind FROM events WHERE about = ? ORDER BY number DESC LIMIT 1",
        (_about_word(key),),
    ).fetchone()
    if row is None or row[1] != kind or events.undone_in(connection, row[0]):
        return None
    named = connection.execute("SELECT picture FROM changes WHERE event = ?", (row[0],))
    if {picture for (picture,) in named} != set(pictures):
        return None
    holds = _holding(connection, key, pictures, kind) == len(pictures)
    return events.read(connection, row[0]) if holds else None


def last_said(connection: Connection, key: str, pictures: Iterable[int]) -> dict[int, Last]:
    """Return what was last said of pictures and a word, of all that counts."""
    some = list(pictures)
    said = [
        *_said_of_many(connection, key, some),
        *_said_of_each(connection, key, some),
        *_said_of_duplicates(connection, key, some),
    ]
    return dict(sorted(said, key=lambda it: it[1].number))


def _said_of_many(
    connection: Connection, key: str, pictures: list[int]
) -> Iterable[tuple[int, Last]]:
    rows = connection.execute(
        "SELECT number, kind, body FROM events WHERE about = ?", (_about_word(key),)
    ).fetchall()
    for number, kind, body in rows:
        if not events.undone_in(connection, number):
            last = Last(number, kind, json.loads(body)["word"])
            named = connection.execute(
                "SELECT picture FROM changes WHERE event = ? "
                "AND picture IN (SELECT value FROM json_each(?))",
                (number, numbers(pictures)),
            )
            yield from ((picture, last) for (picture,) in named.fetchall())


def _said_of_each(
    connection: Connection, key: str, pictures: list[int]
) -> Iterable[tuple[int, Last]]:
    rows = connection.execute(
        "SELECT number, kind, body FROM events WHERE about IN "
        "(SELECT 'picture ' || value || ' ' || ? FROM json_each(?))",
        (key, numbers(pictures)),
    ).fetchall()
    gone = events.undone_among(connection, [number for number, _, _ in rows])
    for number, kind, text in rows:
        if number not in gone:
            body = json.loads(text)
            yield body["picture"], Last(number, kind, body["word"])


def _said_of_duplicates(
    connection: Connection, key: str, pictures: list[int]
) -> Iterable[tuple[int, Last]]:
    """Return what was said of duplicates of pictures that were kept instead of them."""
    rows = connection.execute(
        "SELECT picture, event, before, after FROM changes JOIN events ON number = event "
        "WHERE picture IN (SELECT value FROM json_each(?)) AND changes.key = ? "
        "AND kind = 'removal'",
        (numbers(pictures), key),
    ).fetchall()
    gone = events.undone_among(connection, sorted({event for _, event, _, _ in rows}))
    for picture, event, refused, word in rows:
        if event not in gone:
            kind = "tag" if refused is None else "correction"
            yield picture, Last(event, kind, word if refused is None else refused)


def _holding(connection: Connection, key: str, pictures: Sequence[int], kind: str) -> int:
    """Count the pictures that have a word by hand, or were refused it."""
    table = f"given WHERE source = {HAND} AND" if kind == "tag" else "refusals WHERE"
    ((count,),) = connection.execute(
        f"SELECT count(*) FROM {table} key = ? "  # noqa: S608
        "AND picture IN (SELECT value FROM json_each(?))",
        (key, numbers(pictures)),
    )
    return int(count)


def _apply(connection: Connection, key: str, pictures: Sequence[int], kind: str, word: str) -> None:
    set_by_hand(
        connection,
        key,
        pictures,
        yes=word if kind == "tag" else None,
        no=word if kind == "correction" else None,
    )


def _about_word(key: str) -> str:
    return f"word {key}"
