"""The command ``lookalike rollback``: return to the models before, or discard votes."""

from dataclasses import asdict
from typing import Annotated

import typer

from lookalike.service.options import HERE, AsJson, Where
from lookalike.service.screen import Screen


def rollback(
    *,
    votes: Annotated[
        bool, typer.Option("--votes", help="Let no vote given so far count any more, instead.")
    ] = False,
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Undo the last learning: searches and tags are as they were before it."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        if votes:
            counted = store.standing().votes
            event = store.reset_votes().number if counted else None
            screen.say(
                f"{counted:,} votes count no more. The page's history can undo event {event}, "
                f"and then they count again."
                if counted
                else "There are no votes that count."
            )
            screen.result({"collection": collection, "event": event, "votes": counted})
            return
        left = store.rollback()
    screen.say(
        "Searches use nothing learned."
        if left.model is None
        else f"Searches use what was learned as model {left.model}.",
        "There are no words to tag with."
        if left.tagger is None
        else f"Tags come from what was learned as model {left.tagger}.",
    )
    screen.result({"collection": collection, **asdict(left)})
