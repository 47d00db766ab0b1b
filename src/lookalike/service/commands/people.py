"""The command ``lookalike people``: who teaches everybody, their keys, and undoing a person."""

from dataclasses import asdict
from typing import Annotated, Literal, TypeAlias

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted, shown
from lookalike.service.options import HERE, AsJson, CollectionPath
from lookalike.service.screen import Screen

TEXTS = {"albums": "album change", "others": "other change"}
"""What is counted, where that is not the name of a kind."""

Action: TypeAlias = Literal["list", "trust", "revoke", "accept", "undo", "key", "rename", "lock"]


def people(
    action: Annotated[Action, typer.Argument(help="What to do.")] = "list",
    name: Annotated[str, typer.Argument(help="The person.")] = "",
    to: Annotated[str, typer.Argument(help="With rename: the new name.")] = "",
    *,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="With undo: votes, tags, refusals, albums, removals, others; or all."),
    ] = None,
    since: Annotated[str, typer.Option(help="With undo: only from this time on, in UTC.")] = "",
    preview: Annotated[
        bool, typer.Option("--preview", help="With undo: only count what would be undone.")
    ] = False,
    role: Annotated[
        Literal["read", "vote", "write"], typer.Option(help="With key: what it allows.")
    ] = "vote",
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """List people, trust them, or undo what they said.

    What a person votes and tags teaches that person's own searches; what the owner says, and
    people the owner trusts, teaches everybody's. "key" makes a key for a person, who may have
    several, "rename" gives their keys to another name, and "lock" revokes all their keys.
    """
    from lookalike.collection import UNDOABLE, Collection
    from lookalike.service.web.security import keys

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        everybody, file = store.people, store.path / keys.KEY_FILE
        if action == "list":
            values = everybody.all()
            for one in values:
                cost = "" if one.cost is None else f", costs {one.cost:+.3f}"
                screen.say(
                    f"{shown(one.name) or 'the owner'}: "
                    f"{'trusted' if one.trusted else 'not trusted'}, "
                    f"{counted(one.votes, 'vote')}, {counted(one.proposals, 'proposed label')}"
                    f"{', paused' if one.paused else ''}{cost}"
                )
            screen.result({"collection": collection, "people": [asdict(one) for one in values]})
            return
        if not name:
            raise InvalidInput(f"people: {action} needs the name of a person.")
        result: dict[str, object] = {"collection": collection, "person": name}
        if action == "key":
            result["key"] = keys.make_key(file, name, role)
            screen.say(f"The key of {shown(name)}, shown only now: {result['key']}")
        elif action == "rename":
            if not to:
                raise InvalidInput("people: rename needs the new name as well.")
            keys.rename_keys(file, name, to)
            screen.say(f"The keys of {shown(name)} are now those of {shown(to)}.")
        elif action == "lock":
            gone = keys.revoke_keys(file, name)
            result["keys"] = gone
            screen.say(f"Revoked {counted(gone, 'key')} of {shown(name)}.")
        elif action == "undo" and preview:
            counts = everybody.preview(name, kind or UNDOABLE, since=since)
            texts = {TEXTS.get(what, what.removesuffix("s")): n for what, n in counts.items()}
            screen.say(", ".join(counted(n, what) for what, n in texts.items()))
            result |= counts
        else:
            if action == "undo":
                event = everybody.undo(name, kind or UNDOABLE, since=since)
            else:
                event = getattr(everybody, action)(name)
            result["event"] = event.number
            screen.say(f"{event.sentence}. To take it back: lookalike undo {event.number}.")
        screen.result(result)
