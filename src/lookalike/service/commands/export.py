"""The command ``lookalike export``: what was learned, for vectors kept elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.options import HERE, AsJson, Where, from_home
from lookalike.service.screen import Screen


def export(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE.safetensors",
            callback=from_home,
            help="Where to write it; a file there is replaced.",
        ),
    ] = Path("learned.safetensors"),
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Write what was learned, so that vectors kept elsewhere can be searched with it.

    Beside the file goes a page with some ten lines of NumPy that do so.
    """
    from lookalike.collection import Collection
    from lookalike.collection.exporting import recipe_beside

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        store.export(out)
    page = recipe_beside(out)
    screen.say(f"What was learned is in {out}, and how to use it in {page}.")
    screen.result(
        {"collection": collection, "file": out, "recipe": page, "bytes": out.stat().st_size}
    )
