"""The command ``lookalike read``: read the text that is written in pictures, or forget it."""

from dataclasses import asdict
from typing import Annotated

import typer

from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, CollectionPath
from lookalike.service.screen import Screen


def read(
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Forget all that was read instead.")
    ] = False,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    r"""Read the text that is written in pictures, so that searches find it.

    Takes about a second a picture, and goes on where it was interrupted; run it again for
    pictures that came since. Nothing else reads text. It needs the extra read:
    pip install lookalike\[read].
    """
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        if remove:
            screen.say(f"Forgot the text of {counted(store.texts.remove(), 'picture')}.")
            result = store.texts.counts()
        else:
            with screen.bar("Reading") as progress:
                result = store.texts.read(progress=progress)
            summary = f"{counted(result.written, 'picture')} of {result.read:,} with text."
            screen.say(f"Read: {summary}")
            for one in result.refused:
                screen.say(f"Skipped {one.path}: {one.reason}", style="yellow")
    screen.result({"collection": collection, **asdict(result)})
