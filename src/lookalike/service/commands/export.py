"""The command ``lookalike export``: the learned query transform, for vectors kept elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.core.text import shown
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
    who: Annotated[
        str, typer.Option(help="A person whose votes to use beside the shared ones.")
    ] = "",
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Write what was learned to a file, to search vectors kept elsewhere.

    A page with about ten lines of NumPy, written next to the file, shows how.
    """
    from lookalike.collection import Collection, recipe_beside

    screen = Screen(as_json)
    with Collection.open(collection) as store, or_another(store):
        store.export(out, by=by, who=who)
    page = recipe_beside(out)
    whose = "the owner and trusted people" + (f" and {shown(who)}" if who else "")
    screen.say(f"What {whose} taught is in {out}; {page} explains how to use it.")
    screen.result(
        {
            "collection": collection,
            "by": by,
            "who": who,
            "file": out,
            "recipe": page,
            "bytes": out.stat().st_size,
        }
    )
