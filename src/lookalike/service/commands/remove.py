"""The command ``lookalike remove``: remove pictures from the collection."""

from typing import Annotated

import typer

from lookalike.service.options import HERE, AsJson, Where
from lookalike.service.screen import Screen, counted

Pictures = Annotated[list[str], typer.Argument(metavar="PICTURES", show_default=False)]


def remove(pictures: Pictures, collection: Where = HERE, as_json: AsJson = False) -> None:
    """Remove pictures from the collection; the files themselves are kept."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        removed = store.remove(pictures)
        total = len(store)
    screen.say(f"{removed:,} removed; {counted(total, 'picture')} left in {collection}.")
    screen.result({"collection": collection, "removed": removed, "pictures": total})
