"""Erase pictures: all that is kept of them, and what was said of them in the log.

The log keeps that something was said, when and by whom, not what. Each event is in the chain of
digests by a salted digest of what it says, its seal; what is erased takes the salt along, and the
erasure records the new seals, so that the log can still be checked.
"""

import json
from collections.abc import Collection, Iterable
from sqlite3 import Connection
from typing import Any

from lookalike.collection.log import events
from lookalike.collection.store import changes
from lookalike.collection.store.database import numbers
from lookalike.collection.store.labels import Change


def erase(connection: Connection, ids: Iterable[int]) -> dict[str, dict[str, str]]:
    """Erase pictures with all that is kept of them.

    Returns what an event has to record so that the log is still true: ``erased``, the digests of
    what events did to these pictures, by event, and ``seals``, those of events that say less now.
    """
    gone = set(ids)
    some = numbers(gone)
    found: dict[int, list[Change]] = {}
    for event, *row in connection.execute(
        "SELECT event, picture, key, before, after FROM changes "
        "WHERE picture IN (SELECT value FROM json_each(?)) AND event != ?",
        (some, changes.PENDING),
    ):
        picture, key, before, after = row
        found.setdefault(event, []).append((picture, key, before, after))
    regions = connection.execute(
        "SELECT token FROM queries WHERE picture IN (SELECT value FROM json_each(?))", (some,)
    )
    tokens = {token for (token,) in regions}
    connection.execute(
        "DELETE FROM all_pictures WHERE id IN (SELECT value FROM json_each(?))", (some,)
    )
    digests = {str(event): changes.written(changes.digest(rows)) for event, rows in found.items()}
    return {"erased": digests, "seals": _forget(connection, gone, tokens, found)}


def _forget(
    connection: Connection, gone: set[int], tokens: set[str], touched: Collection[int]
) -> dict[str, str]:
    """Take what was said of erased pictures out of the log, and return the new seals of events."""
    if not gone:
        return {}
    seals: dict[str, str] = {}
    emptied: set[int] = set()
    rows = connection.execute(
        "SELECT number, kind, body FROM events "
        "WHERE kind IN ('vote', 'tag', 'correction', 'distinct', ?) AND body != '' ORDER BY number",
        (events.TEACH,),
    ).fetchall()
    for number, kind, text in rows:
        body = json.loads(text)
        if kind == "vote":
            left = _vote_without(body, gone, tokens)
        elif kind == events.TEACH:
            left = _lessons_without(body, gone, emptied)
        elif kind == "distinct":
            left = _distinction_without(body, gone)
        elif "picture" in body:
            left = None if body["picture"] in gone else body
        else:
            left = None if number in touched and _is_empty(connection, number) else body
        if left != body:
            seals[str(number)] = events.replace_said(connection, number, left)
            emptied |= {number} if left is None else set()
    if seals:
        # It has the votes as they were.
        connection.execute("DELETE FROM snapshots")
    return seals


def _is_empty(connection: Connection, event: int) -> bool:
    left = connection.execute("SELECT 1 FROM changes WHERE event = ? LIMIT 1", (event,))
    return left.fetchone() is None


def _vote_without(body: dict[str, Any], gone: set[int], tokens: set[str]) -> dict[str, Any] | None:
    """Return a vote without erased pictures; None if it was about them alone."""
    if not {*gone, *tokens}.isdisjoint((*body["like"], *body["unlike"])):
        return None
    lists = {
        name: [number for number in body.get(name, ()) if number not in gone]
        for name in ("picked", "rejected", "shown")
    }
    if not lists["picked"] and not lists["rejected"]:
        return None
    taught = body["taught"]
    if "pictures" in taught:
        less: Any = _taught_without(taught, gone)
    else:
        less = {ranker: _taught_without(one, gone) for ranker, one in taught.items()}
    return {**body, **{name: it for name, it in lists.items() if name in body}, "taught": less}


def _distinction_without(body: dict[str, Any], gone: set[int]) -> dict[str, Any] | None:
    """Return that pictures are no duplicates without erased ones; None if one side is empty."""
    lists: dict[str, list[int]] = {
        name: [number for number in body[name] if number not in gone]
        for name in ("pictures", "of")
        if name in body
    }
    empty = not all(lists.values()) or ("of" not in lists and len(lists["pictures"]) < 2)
    return None if empty else {**body, **lists}


def _lessons_without(body: dict[str, Any], gone: set[int], emptied: set[int]) -> dict[str, Any]:
    lessons = {
        number: _taught_without(one, gone)
        for number, one in body["votes"].items()
        if int(number) not in emptied
    }
    return {**body, "votes": lessons}


def _taught_without(taught: dict[str, Any], gone: set[int]) -> dict[str, Any]:
    """Return what a vote taught without the steps of erased pictures."""
    stays = [number not in gone for number in taught["pictures"]]
    if all(stays):
        return taught
    less = {**taught, "pictures": _chosen(taught["pictures"], stays)}
    if "weights" in taught:  # of an older log, a row for each part
        less["weights"] = [_chosen(row, stays) for row in taught["weights"]]
    else:
        less["steps"] = _chosen(taught["steps"], stays)
        less["picked"] = sum(stays[: taught["picked"]])
    return less


def _chosen(values: list[Any], stays: list[bool]) -> list[Any]:
    return [value for value, stay in zip(values, stays, strict=True) if stay]
