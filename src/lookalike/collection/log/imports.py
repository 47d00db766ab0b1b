"""Import labels from elsewhere: each source is a layer of its own, and each import one event."""

from collections.abc import Iterable, Mapping
from sqlite3 import Connection

from lookalike.collection.log import events
from lookalike.collection.log.events import Event
from lookalike.collection.store import changes
from lookalike.collection.store.labels import Change, LabelSource, layer_changes, set_layer
from lookalike.core.errors import InvalidInput


def import_labels(
    connection: Connection,
    source: LabelSource,
    new: Mapping[int, Iterable[str]],
    *,
    whole: bool = False,
) -> Event | None:
    """Replace the labels that a source gives pictures, and record it; None if nothing changed.

    ``whole`` replaces those of all pictures; else of the pictures named. What other sources give,
    and above all what people said by hand, stays.
    """
    rows = layer_changes(connection, source, new, whole=whole)
    set_layer(connection, source, [(picture, key, after) for picture, key, _, after in rows])
    return record(connection, source, rows)


def record(connection: Connection, source: LabelSource, rows: list[Change]) -> Event | None:
    """Record what was changed in the layer of a source; None if nothing was."""
    if not rows:
        return None
    body = {
        "source": source,
        "pictures": len({picture for picture, *_ in rows}),
        "given": sum(after is not None for *_, after in rows),
        "taken": sum(after is None for *_, after in rows),
        "changes": changes.written(changes.digest(rows)),
    }
    event = events.append(connection, "import", body, about=_about(source))
    changes.keep(connection, event.number, rows)
    return event


def follow(connection: Connection, target: Event) -> None:
    """Bring a layer to what it was before an import that was undone, or after one redone.

    Raises
    ------
    InvalidInput
        If a later import of that source changed the same labels: that has to be undone first.
    """
    source: LabelSource = target.body["source"]
    later = connection.execute(
        "SELECT number FROM events WHERE about = ? AND number > ? ORDER BY number DESC",
        (_about(source), target.number),
    ).fetchall()
    gone = events.undone_among(connection, [number for (number,) in later])
    for (number,) in later:
        shared = connection.execute(
            "SELECT 1 FROM changes AS one JOIN changes AS other USING (picture, key) "
            "WHERE one.event = ? AND other.event = ? LIMIT 1",
            (target.number, number),
        ).fetchone()
        if number not in gone and shared:
            raise InvalidInput(
                f"Collection.undo: event {number} imported labels of the same source later, over "
                f"those of event {target.number}. Undo event {number} first."
            )
    undone = events.undone_in(connection, target.number)
    rows = changes.of(connection, target.number)
    set_layer(
        connection,
        source,
        [(picture, key, before if undone else after) for picture, key, before, after in rows],
    )


def _about(source: LabelSource) -> str:
    return f"source {source}"
