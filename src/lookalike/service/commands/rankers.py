"""The command ``lookalike rankers``: list the ways to search, choose the default, or remove one."""

from dataclasses import asdict
from typing import Annotated

import typer

from lookalike.service.options import HERE, AsJson, CollectionPath
from lookalike.service.screen import Screen


def rankers(
    *,
    default: Annotated[
        str | None,
        typer.Option(metavar="RANKER", help="Use it for searches that name none."),
    ] = None,
    remove: Annotated[
        str | None,
        typer.Option(metavar="RANKER", help="Remove it, with what was learned for it."),
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """List the ways to search a collection, choose the default one, or remove one.

    The first is used where --by names none; lookalike undo takes back what --default chose.
    Another one is added with lookalike index --feature. Votes and labels are no part of a ranker,
    and stay.
    """
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        if default is not None:
            entry = store.models.set_default(default)
            screen.say(f"{entry.sentence}. To undo: lookalike undo {entry.number}")
        if remove is not None:
            store.models.remove_ranker(remove)
            screen.say(f"Removed the ranker {remove}.")
        infos = store.models.rankers()
    screen.table(
        ["ranker", "feature", "similarity", "pictures", "state"],
        [
            [
                *(info.name, info.feature, info.method, info.pictures),
                "ready" if info.ready else info.trouble or "not ready",
            ]
            for info in infos
        ],
        numbers=["pictures"],
    )
    screen.result({"collection": collection, "rankers": [asdict(info) for info in infos]})
