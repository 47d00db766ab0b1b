"""Bring a log of version 8 to version 9: its events are written anew, and sealed again."""

import json
from collections.abc import Callable
from sqlite3 import Connection
from typing import Any

from lookalike.collection.store import changes
from lookalike.collection.store.log import Body
from lookalike.collection.store.seals import digest, new_salt
from lookalike.core.errors import DamagedFile
from lookalike.core.text import word_key

_KINDS = {"tag": "label", "correction": "label", "teach": "lessons", "deletion": "erasure"}
_TAUGHT = ("pictures", "picked", "steps", "width", "right", "agreement")


def rewrite_log(connection: Connection) -> None:
    """Write every event as this version does, or raise DamagedFile if the log is not whole.

    What was erased stays erased, and need not be recorded by seals any more.
    """
    rows = connection.execute(
        "SELECT number, at, kind, who, key, about, body, salt, seal, digest FROM events "
        "ORDER BY number"
    ).fetchall()
    _check(rows)
    before = b""
    for number, at, kind, who, key, about, text, *_ in rows:
        new_kind, subject, body = _KINDS.get(kind, kind), about, ""
        if text:
            subject, content = _event(connection, number, kind, about, json.loads(text))
            body = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        salt = new_salt()
        seal = digest(salt, key, subject, body)
        before = digest(before, at, new_kind, who, seal.hex())
        connection.execute(
            "UPDATE events SET kind = ?, about = ?, body = ?, salt = ?, seal = ?, digest = ? "
            "WHERE number = ?",
            (new_kind, subject, body, salt, seal, before, number),
        )
    connection.execute("DELETE FROM snapshots")


def _check(rows: list[tuple[Any, ...]]) -> None:
    erased: dict[int, str] = {}
    for _, _, kind, _, _, _, text, *_ in rows:
        if kind == "erasure" and text:
            seals = json.loads(text).get("seals", {})
            erased |= {int(event): str(seal) for event, seal in seals.items()}
    before = b""
    for number, at, kind, who, key, about, text, salt, seal, stored in rows:
        sealed = digest(salt or b"", key, about, text)
        whole = seal is not None and digest(before, at, kind, who, seal.hex()) == stored
        if not whole or (sealed != seal and erased.get(number) != sealed.hex()):
            raise DamagedFile(
                f"the log is damaged from event {number} on, so the collection cannot be brought "
                f"to this version. Restore a backup of the collection."
            )
        before = stored


def _event(
    connection: Connection, number: int, kind: str, about: str | None, body: Body
) -> tuple[str | None, Body]:
    """Return what an event is about, and its body, as this version has them."""
    if kind in ("tag", "correction"):
        return None, _label(connection, number, kind == "tag", body)
    if kind in ("import", "removal", "restoration"):
        stored = changes.written(changes.digest(changes.of(connection, number)))
        return about, {**body, "changes": stored}
    subject = about if kind in ("distinct", "undo") else None
    return subject, _BODIES.get(kind, dict)(body)


def _vote(body: Body) -> Body:
    taught = body["taught"]
    sides = {name: body.get(name) for name in ("unlike", "picked", "rejected", "shown")}
    return {
        "like": body["like"],
        **{name: side for name, side in sides.items() if side},
        "taught": _taught({"1": taught} if "pictures" in taught else taught),
    }


def _lessons(body: Body) -> Body:
    return {"ranker": body["ranker"], "votes": _taught(body["votes"])}


def _distinct(body: Body) -> Body:
    sides = {name: body[name] for name in ("pictures", "of") if body.get(name)}
    return {**sides, **({"difference": "keep"} if body.get("verdict") == "keep" else {})}


def _erasure(body: Body) -> Body:
    pictures = body["pictures"]
    count = len(pictures) if isinstance(pictures, list) else pictures
    return {"pictures": count, "erased": {}, "seals": {}}


def _undo(body: Body) -> Body:
    return {**body, "undid": _KINDS.get(body["undid"], body["undid"])}


def _learn(body: Body) -> Body:
    parts = {name: it for name, it in body.items() if name != "import" and it is not None}
    return {**parts, **({"labels": body["import"]} if "import" in body else {})}


def _rollback(body: Body) -> Body:
    return {"models": body}


_BODIES: dict[str, Callable[[Body], Body]] = {
    "vote": _vote,
    "teach": _lessons,
    "distinct": _distinct,
    "erasure": _erasure,
    "deletion": _erasure,
    "undo": _undo,
    "learn": _learn,
    "rollback": _rollback,
}


def _label(
    connection: Connection, number: int, shows: bool, body: dict[str, Any]
) -> dict[str, Any]:
    """Return a word that was given or refused; its pictures stand in the changes from now on."""
    word = body["word"]
    before, after = (None, word) if shows else (word, None)
    if "picture" in body:
        connection.execute(
            "INSERT INTO changes SELECT ?, id, ?, ?, ? FROM all_pictures WHERE id = ?",
            (number, word_key(word), before, after, body["picture"]),
        )
    else:
        connection.execute(
            "UPDATE changes SET before = ?, after = ? WHERE event = ?", (before, after, number)
        )
    return {
        "word": word,
        "shows": shows,
        "pictures": body.get("pictures", 1),
        "changes": changes.written(changes.digest(changes.of(connection, number))),
    }


def _taught(taught: Body) -> Body:
    """Return what votes taught; steps of a form that is not known any more teach nothing."""
    return {
        name: {part: one.get(part, 0.0) for part in _TAUGHT}
        for name, one in taught.items()
        if "steps" in one and one.get("picked") is not None and one.get("power") == 2
    }
