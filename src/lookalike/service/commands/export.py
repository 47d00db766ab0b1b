"""The command ``lookalike export``: the learned query transform, for vectors kept elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.options import HERE, AsJson, By, CollectionPath, from_home, or_another
from lookalike.service.screen import Screen


def export(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE.safetensors",
            callback=from_home,
            help="Where to write it; an existing file is replaced.",
        ),
    ] = Path("learned.safetensors"),
    by: By = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Write what was learned to a file, to search vectors kept elsewhere.

    A page with about ten lines of NumPy, written next to the file, shows how.
    """
    from lookalike.collection import Collection, recipe_beside

    screen = Screen(as_json)
    with Collection.open(collection) as store, or_another(store):
        store.export(out, by=by)
    page = recipe_beside(out)
    screen.say(f"What was learned is in {out}; {page} explains how to use it.")
    screen.result(
        {
            "collection": collection,
            "by": by,
            "file": out,
            "recipe": page,
            "bytes": out.stat().st_size,
        }
    )
