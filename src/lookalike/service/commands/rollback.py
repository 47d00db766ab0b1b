"""The command ``lookalike rollback``: go back to earlier models, or discard votes."""

from typing import Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, CollectionPath
from lookalike.service.screen import Screen


def rollback(
    *,
    votes: Annotated[bool, typer.Option("--votes", help="Discard all votes instead.")] = False,
    of: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --votes: only those of this person."),
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Undo the last learning: use the models from before it again."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    if of is not None and not votes:
        raise InvalidInput("rollback: --of names whose votes to discard; give --votes, too.")
    with Collection.open(collection) as store:
        if votes:
            count = store.votes.standing().votes
            event = store.votes.reset(of=of).number if count else None
            count -= store.votes.standing().votes
            screen.say(
                f"Discarded {counted(count, 'vote')}. To restore them: lookalike undo {event}."
                if count
                else "There are no votes to discard."
            )
            screen.result({"collection": collection, "event": event, "votes": count})
            return
        left = store.rollback()
    screen.say(
        "Searches no longer use a learned similarity."
        if left.similarity is None
        else f"Searches use similarity model {left.similarity}.",
        "There is no annotator in use."
        if left.annotator is None
        else f"Words come from annotator {left.annotator}.",
    )
    if left.codes is not None:
        screen.say(f"Codes of model {left.codes} find candidates.")
    if left.labels is not None:
        screen.say(
            f"Labels are as they were: those that were imported to learn from stay. To take them "
            f"back: lookalike undo {left.labels}."
        )
    screen.result(
        {
            "collection": collection,
            "model": left.similarity,
            "annotator": left.annotator,
            "labels": left.labels,
            "codes": left.codes,
        }
    )
