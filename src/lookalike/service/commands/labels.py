"""The command ``lookalike labels``: write the labels of all pictures, with their sources."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, CollectionPath, from_home
from lookalike.service.screen import Screen


def labels(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            callback=from_home,
            help="A .csv or .json file; an existing one is replaced.",
        ),
    ] = Path("labels.csv"),
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Write the labels of pictures to a table, each with its source.

    Sources are hand (what people said), keywords (from files and XMP sidecars), files (imported
    with lookalike learn --tags) and folders. lookalike learn --tags reads the table again.
    """
    from lookalike.collection import Collection
    from lookalike.core.arrays import write_whole
    from lookalike.service.label_tables import label_rows, labels_csv, labels_json

    if out.suffix.lower() not in (".csv", ".json"):
        raise InvalidInput(f"labels: --out must end in .csv or .json; got {out}.")
    screen = Screen(as_json)
    with Collection.open(collection) as store:
        rows = label_rows(store)
    write_whole(out, labels_csv(rows) if out.suffix.lower() == ".csv" else labels_json(rows))
    count = sum(len({label for label, _ in labels}) for _, labels in rows)
    screen.say(f"{counted(count, 'label')} of {counted(len(rows), 'picture')} written to {out}.")
    screen.result({"collection": collection, "file": out, "pictures": len(rows), "labels": count})
