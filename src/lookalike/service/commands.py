"""What each command does. Heavy imports wait until a command runs, so that help comes at once."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from lookalike.service.exporting import export
from lookalike.service.figures import figures_table
from lookalike.service.indexing import Kind, index
from lookalike.service.learning import learn
from lookalike.service.options import HERE, AsJson, Seed, Where
from lookalike.service.screen import Screen
from lookalike.service.searching import search
from lookalike.service.serving import serve
from lookalike.service.tagging import tag


class Paper(StrEnum):
    """The papers whose tables can be made again."""

    oasis = "oasis"
    wsabie = "wsabie"


Pictures = Annotated[list[str], typer.Argument(metavar="PICTURES", show_default=False)]


def examples(*lines: str, after: str = "") -> str:
    """Write the end of a help text, each line kept as it is."""
    told = "\b\n" + "\n".join(["Examples:", *(f"  $ {line}" for line in lines)])
    return f"{told}\n\n{after}" if after else told


def evaluate(collection: Where = HERE, as_json: AsJson = False) -> None:
    """Judge ranking and words on pictures held back, without and with what was learned."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    told: dict[str, Any] = {"collection": collection, "similarity": None, "words": None}
    with Collection.open(collection) as store:
        learned = {model.kind for model in store.models()}
        judged = {}
        if "similarity" in learned or not learned:
            judged["similarity"] = store.evaluate()
        if "tags" in learned:
            judged["words"] = store.evaluate_words()
    for name, (before, after) in judged.items():
        figures_table(screen, before, after, what={"words": "Words"}.get(name, "Ranking"))
        told[name] = {"before": asdict(before), "after": asdict(after)}
    screen.result(told)


def remove(pictures: Pictures, collection: Where = HERE, as_json: AsJson = False) -> None:
    """Take pictures out of the collection; the files stay where they are."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        removed = store.remove(pictures)
        total = len(store)
    screen.say(f"{removed:,} removed; {total:,} pictures in {collection}.")
    screen.result({"collection": collection, "removed": removed, "pictures": total})


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


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the demo keeps its files.")
    ] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """Show it at work on 4,009 emoji: index, learn from their categories, rank better.

    Prints precision before and after, and writes a contact sheet. A second run reuses what is
    there.
    """
    from lookalike.service.demo import run_demo

    run_demo(folder, Screen(as_json))


def reproduce(
    paper: Annotated[Paper, typer.Argument(metavar="PAPER", help="The paper: oasis or wsabie.")],
    *,
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A folder of pictures, a folder a class; or with labels.csv, for wsabie.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="wsabie: a table of words; labels.csv in the folder."),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="wsabie: the table's column that holds the words."),
    ] = None,
    isa: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="wsabie: which word is a kind of which."),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="wsabie: columns of the tree, or of the table, as fine,coarse,super.",
        ),
    ] = None,
    feature: Annotated[
        Kind | None, typer.Option(help="wsabie: what describes pictures; visterms.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="wsabie: how many visterms there are; 10,000.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where tables and plots go; reproduce-PAPER here."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and sooner.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make the tables and figures of a paper again, its figures beside ours."""
    from lookalike.service.reproduce import run_reproduction

    folder = Path(f"reproduce-{paper.value}") if out is None else out
    said = {
        "labels": labels,
        "words": words,
        "isa": isa,
        "levels": None if levels is None else tuple(levels.split(",")),
        "feature": None if feature is None else feature.value,
        "dimension": dimension,
    }
    run_reproduction(
        data, folder, Screen(as_json), quick=quick, seed=seed, paper=paper.value, words=said
    )


COMMANDS: dict[Callable[..., None], Sequence[str]] = {
    index: (
        "lookalike index ~/Pictures",
        "lookalike index 'scans/**/*.tif' cat.jpg -c family",
        "lookalike index photos --model clip.onnx --mean .5,.5,.5 --std .5,.5,.5",
        "lookalike index photos --feature visterms --dimension 10000 -c words",
    ),
    learn: (
        "lookalike learn --folders",
        "lookalike learn --tags tags.csv --hold-back 0.3",
        "lookalike learn --clicks clicks.csv --threshold 0.1 --json",
    ),
    search: (
        "lookalike search holiday.jpg",
        "lookalike search holiday.jpg -k 30 --sheet found.html",
        "lookalike search holiday.jpg --no-learning",
        "lookalike search --word sunset --sheet sunsets.html",
    ),
    tag: (
        "lookalike tag new/*.jpg",
        "lookalike tag ~/Pictures --min-confidence 0.9 --write xmp",
        "lookalike tag scans --write csv --out tags.csv",
    ),
    evaluate: ("lookalike evaluate", "lookalike evaluate -c family --json"),
    remove: ("lookalike remove old.jpg scans/blank.tif",),
    rollback: ("lookalike rollback", "lookalike rollback --votes -c family"),
    export: ("lookalike export", "lookalike export --out learned.safetensors -c family"),
    serve: (
        "lookalike serve",
        "lookalike serve family --port 8080 --watch",
        "lookalike serve --host 0.0.0.0 --key-file key.txt --name photos.example",
    ),
    demo: ("lookalike demo", "lookalike demo /tmp/emoji --json"),
    reproduce: (
        "lookalike reproduce oasis --data 256_ObjectCategories",
        "lookalike reproduce oasis --data objects --out results --quick",
        "lookalike reproduce wsabie --data photos --words tags --isa tree.csv",
        "lookalike reproduce wsabie --data shop --words fine --levels fine,coarse",
    ),
}
"""Every command, with examples of its use."""
