"""The commands ``history`` and ``undo``: what was said, and taking it back."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.core.errors import CollectionError
from lookalike.service.options import HERE, AsJson, CollectionPath
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Collection, Entry

NAMED = 3
"""Pictures of an event that are named."""


def history(
    *,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=1000, help="How many events to list.")
    ] = 20,
    before: Annotated[
        int | None, typer.Option(min=1, metavar="EVENT", help="List those before this one.")
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """List what was said and done, newest first: votes, tags, imports, removals, learning.

    The number in front is what lookalike undo takes.
    """
    from lookalike.collection import Collection
    from lookalike.core.text import shown

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        events = store.log.history(count, before=before)
        about = [_about(store, event) for event in events]
    rows = []
    for event, pictures in zip(events, about, strict=True):
        text = f"{event.sentence}{pictures}"
        rows.append(
            [
                event.number,
                event.at,
                shown(event.who),
                f"{text} (undone)" if event.undone else text,
            ]
        )
    if rows:
        screen.table(["event", "time", "who", "what"], rows, numbers=["event"])
    else:
        screen.say("Nothing was said or done yet.")
    screen.result({"collection": collection, "events": [asdict(event) for event in events]})


def _about(store: "Collection", entry: "Entry") -> str:
    """Return which pictures an entry is about, in brackets; empty where it names none."""
    body = entry.body
    sides = (("+", body.get("picked")), ("−", body.get("rejected")), ("for", body.get("like")))
    named = [f"{mark} {_names(store, refs)}" for mark, refs in sides if refs]
    if not named and entry.pictures and body.get("pictures") == 1:
        named = [_names(store, entry.pictures)]
    return f" ({', '.join(named)})" if named else ""


def _names(store: "Collection", refs: Iterable[Any]) -> str:
    """Return the file names of the first pictures, and how many more there are."""
    from lookalike.core.text import shown

    every, names = list(refs), []
    for ref in every[:NAMED]:
        try:
            kept = isinstance(ref, int)
            names.append(
                shown(store.pictures.get(ref).places[0].name) if kept else "a picture of your own"
            )
        except CollectionError:
            names.append(f"picture {ref}")
    rest = len(every) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")


def undo(
    event: Annotated[
        int, typer.Argument(min=1, help="Its number in lookalike history.", show_default=False)
    ],
    *,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Take back an event: a vote, a tag, an import of labels, a removal, or an undo itself."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        done = store.undo(event)
    screen.say(f"Undid event {event}. To redo it: lookalike undo {done.number}.")
    screen.result({"collection": collection, "undone": event, "event": done.number})
