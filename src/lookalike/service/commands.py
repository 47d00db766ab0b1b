"""What each command does. Heavy imports wait until a command runs, so that help comes at once."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput, UnreadablePicture
from lookalike.service.figures import figures_table
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Collection, Learned, Match

REFUSED = 3
SHOWN_UNMATCHED = 10


class Kind(StrEnum):
    """The features a collection can be made with."""

    embedding = "embedding"
    visterms = "visterms"


class Layout(StrEnum):
    """Where the colours stand in what a model takes."""

    NCHW = "NCHW"
    NHWC = "NHWC"


class Paper(StrEnum):
    """The papers whose tables can be made again."""

    oasis = "oasis"


def _from_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise typer.BadParameter(f"{path}: {error}") from error


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not above 0 and below 1.")
    return value


def _three_numbers(text: str | None) -> str | None:
    _numbers(text)
    return text


def _numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(map(float, text.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise typer.BadParameter(f"{text!r} is not three numbers such as 0.5,0.5,0.5.")
    return numbers


Where = Annotated[
    Path,
    typer.Option(
        "--collection",
        "-c",
        callback=_from_home,
        envvar="LOOKALIKE_COLLECTION",
        metavar="DIR",
        help="The folder that keeps the collection.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Makes the run repeatable.")]
Pictures = Annotated[list[str], typer.Argument(metavar="PICTURES", show_default=False)]

HERE = Path("lookalike.collection")


def examples(*lines: str, after: str = "") -> str:
    """Write the end of a help text, each line kept as it is."""
    told = "\b\n" + "\n".join(["Examples:", *(f"  $ {line}" for line in lines)])
    return f"{told}\n\n{after}" if after else told


def index(
    pictures: Annotated[
        list[str],
        typer.Argument(
            metavar="PICTURES", help="Files, folders or quoted globs.", show_default=False
        ),
    ],
    *,
    collection: Where = HERE,
    feature: Annotated[
        Kind | None,
        typer.Option(
            help="How pictures are described; embedding, unless said otherwise. Only for a new "
            "collection.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE.onnx", help="An image model of your own for the embedding."),
    ] = None,
    side: Annotated[
        int | None,
        typer.Option(
            min=1, help="Side of the model's input in pixels.", show_default="the model's, or 224"
        ),
    ] = None,
    layout: Annotated[
        Layout | None,
        typer.Option(help="Where the colours stand in it.", show_default="the model's"),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="R,G,B",
            callback=_three_numbers,
            help="Taken from the colours, which go from 0 to 1, before the model sees them.",
            show_default="the metadata of the model; without them ImageNet's, 0.485,0.456,0.406",
        ),
    ] = None,
    std: Annotated[
        str | None,
        typer.Option(
            metavar="R,G,B",
            callback=_three_numbers,
            help="What they are divided by then.",
            show_default="the metadata of the model; without them ImageNet's, 0.229,0.224,0.225",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(min=1, help="Words of the codebook of visterms.", show_default="1000"),
    ] = None,
    max_pixels: Annotated[
        int | None, typer.Option(min=1, help="Refuse larger pictures.", show_default="128 million")
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="Refuse larger files.", show_default="256 MiB")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to use.", show_default="one a core")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put pictures into a collection, which is made if it is not there.

    Pictures already in it are passed over, so running again goes on where the last run ended.
    Files that cannot be used are listed with the reason, and the exit code is 3.
    """
    from lookalike.images import Limits
    from lookalike.service.opening import Wanted, opened_or_made

    screen = Screen(as_json)
    wanted = Wanted(
        kind=None if feature is None else feature.value,
        model=model,
        side=side,
        layout=None if layout is None else layout.value,
        mean=_numbers(mean),
        std=_numbers(std),
        dimension=dimension,
    )
    given = {"max_pixels": max_pixels, "max_bytes": max_bytes}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    stop = "The pictures added so far are kept; run the same command again to go on."
    with kept(stop), opened_or_made(collection, pictures, wanted) as store:
        with screen.bar("Reading pictures") as progress:
            added = store.add(pictures, limits=limits, threads=threads, progress=progress)
        total = len(store)
    screen.say(
        f"{added.added:,} added; {total:,} pictures in {collection}.",
        *_besides(
            {
                "already there": added.known,
                "copies of another": added.copies,
                "moved": added.moved,
                "passed over, being hidden or no pictures": added.ignored,
            }
        ),
    )
    if added.learned_again is not None:
        screen.say("The collection has grown, so that it learned again.")
        _tell_learned(screen, added.learned_again)
    if added.unlearned:
        screen.say(f"Searches do without what was learned before: {added.unlearned}")
    if added.refused:
        screen.table(
            ["refused", "reason"],
            [[refused.path, refused.reason] for refused in added.refused],
            title=f"{len(added.refused):,} refused",
        )
    screen.result({"collection": collection, "pictures": total, **asdict(added)})
    if added.refused:
        raise typer.Exit(REFUSED)


def learn(
    *,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .csv, .tsv or .json file of labels or tags."),
    ] = None,
    folders: Annotated[
        bool,
        typer.Option(
            "--folders",
            help="Take the folder of a picture for its label, in place of labels given before.",
        ),
    ] = False,
    clicks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .csv file of queries and files chosen.")
    ] = None,
    hold_back: Annotated[
        float,
        typer.Option(
            callback=_share,
            help="The share of the labelled pictures kept for judging; above 0, below 1.",
        ),
    ] = 0.2,
    threshold: Annotated[
        float,
        typer.Option(
            min=0, help="How alike clicks must make two pictures, more than this, to count."
        ),
    ] = 0.0,
    seed: Seed = 0,
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Learn what similar means from labels, folders or clicks.

    The result is judged on pictures held back, before and after. It is published only if it
    ranks at least as well as what it would replace. Without a source, the labels given before
    are used again.
    """
    from lookalike.collection import Collection

    if labels is None and clicks is None and not folders:
        _check_known(collection)
    screen = Screen(as_json)
    stop = "The collection is as it was before; run the same command again to learn."
    with kept(stop), Collection.open(collection) as store, screen.bar("Learning") as progress:
        learned = store.learn(
            None if labels is None else _labels(labels),
            folders=folders,
            clicks=None if clicks is None else _clicks(clicks),
            threshold=threshold,
            hold_back=hold_back,
            random_state=seed,
            progress=progress,
        )
    _tell_learned(screen, learned)
    if learned.unmatched:
        shown = learned.unmatched[:SHOWN_UNMATCHED]
        rest = len(learned.unmatched) - len(shown)
        screen.table(
            ["not in the collection"],
            [[name] for name in shown] + ([[f"… and {rest:,} more"]] if rest else []),
            title=f"{len(learned.unmatched):,} rows name no picture of the collection",
        )
    screen.result({"collection": collection, **asdict(learned)})


def search(
    picture: Annotated[
        str, typer.Argument(metavar="PICTURE", help="A picture, in the collection or not.")
    ],
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = 10,
    no_learning: Annotated[
        bool, typer.Option("--no-learning", help="Leave aside what was learned.")
    ] = False,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page with the pictures.")
    ] = None,
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Find the pictures most like one."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        try:
            matches = store.search(picture, k, learned=not no_learning)
            if sheet is not None:
                _write_sheet(sheet, store, picture, matches)
        except UnreadablePicture as error:
            raise UnreadablePicture(f"{picture or 'the empty path'}: {error}") from error
    screen.table(
        ["rank", "score", "picture"],
        [[rank, f"{match.score:.4f}", match.path] for rank, match in enumerate(matches, start=1)],
        numbers=["rank", "score"],
    )
    if sheet is not None:
        screen.say(f"The pictures are in {sheet}.")
    found = [{"rank": rank, **asdict(match)} for rank, match in enumerate(matches, start=1)]
    screen.result({"query": picture, "learned": not no_learning, "matches": found, "sheet": sheet})


def evaluate(collection: Where = HERE, as_json: AsJson = False) -> None:
    """Judge the ranking on pictures held back, without and with what was learned."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        before, after = store.evaluate()
    figures_table(screen, before, after)
    screen.result({"collection": collection, "before": asdict(before), "after": asdict(after)})


def remove(pictures: Pictures, collection: Where = HERE, as_json: AsJson = False) -> None:
    """Take pictures out of the collection; the files stay where they are."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        removed = store.remove(pictures)
        total = len(store)
    screen.say(f"{removed:,} removed; {total:,} pictures in {collection}.")
    screen.result({"collection": collection, "removed": removed, "pictures": total})


def rollback(collection: Where = HERE, as_json: AsJson = False) -> None:
    """Go back to what was learned before the last time."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        model = store.rollback()
    screen.say(
        "Nothing learned is in use any more."
        if model is None
        else f"Model {model} is in use again."
    )
    screen.result({"collection": collection, "model": model})


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
    paper: Annotated[Paper, typer.Argument(metavar="PAPER", help="The paper: oasis.")],
    *,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="A folder of pictures, a folder a class.")
    ],
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
    run_reproduction(data, folder, Screen(as_json), quick=quick, seed=seed)


COMMANDS: dict[Callable[..., None], Sequence[str]] = {
    index: (
        "lookalike index ~/Pictures",
        "lookalike index 'scans/**/*.tif' cat.jpg -c family",
        "lookalike index photos --model clip.onnx --mean .5,.5,.5 --std .5,.5,.5",
        "lookalike index photos --feature visterms --dimension 10000 -c words",
    ),
    learn: (
        "lookalike learn --folders",
        "lookalike learn --labels tags.csv --hold-back 0.3",
        "lookalike learn --clicks clicks.csv --threshold 0.1 --json",
    ),
    search: (
        "lookalike search holiday.jpg",
        "lookalike search holiday.jpg -k 30 --sheet found.html",
        "lookalike search holiday.jpg --no-learning",
    ),
    evaluate: ("lookalike evaluate", "lookalike evaluate -c family --json"),
    remove: ("lookalike remove old.jpg scans/blank.tif",),
    rollback: ("lookalike rollback", "lookalike rollback -c family"),
    demo: ("lookalike demo", "lookalike demo /tmp/emoji --json"),
    reproduce: (
        "lookalike reproduce oasis --data 256_ObjectCategories",
        "lookalike reproduce oasis --data objects --out results --quick",
    ),
}
"""Every command, with examples of its use."""


def _tell_learned(screen: Screen, learned: "Learned") -> None:
    figures_table(screen, learned.before, learned.after)
    screen.say(
        f"Learned from {learned.pictures:,} pictures with {learned.labels:,} labels."
        if learned.labels
        else f"Learned from {learned.pictures:,} pictures.",
        learned.reason,
    )


def _besides(counts: Mapping[str, int]) -> list[str]:
    told = [f"{count:,} {what}" for what, count in counts.items() if count]
    return [f"{'; '.join(told)}."] if told else []


def _labels(path: Path) -> dict[str | Path, Sequence[str]]:
    from lookalike.supervision import read_labels

    return dict(read_labels(path).items())


def _clicks(path: Path) -> dict[str, dict[str | Path, float]]:
    from lookalike.supervision import read_clicks

    queries, files, weights = read_clicks(path)
    chosen: dict[str, dict[str | Path, float]] = {query: {} for query in queries}
    table = weights.tocoo()
    for row, column, weight in zip(table.row, table.col, table.data, strict=True):
        chosen[queries[row]][files[column]] = float(weight)
    return chosen


def _check_known(place: Path) -> None:
    """Refuse to learn from nothing."""
    from lookalike.collection import Collection

    with Collection.open(place) as store:
        if not store.labels() and not store.models():
            raise InvalidInput(
                f"learn: {place} knows nothing to learn from yet. Give --labels FILE, --folders "
                f"or --clicks FILE."
            )


def _write_sheet(sheet: Path, store: "Collection", picture: str, matches: "list[Match]") -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet

    tiles = [
        Tile(store.thumbnail(match.id), match.path.name, f"{match.score:.3f}") for match in matches
    ]
    query = Tile(_small(store, picture), Path(picture).name)
    page = contact_sheet(
        f"Most like {Path(picture).name}",
        [f"Among {len(store):,} pictures, best first, with the score of each."],
        [Query(query, [Strip("Found", tiles)])],
    )
    write_whole(sheet, page.encode())


def _small(store: "Collection", picture: str) -> bytes:
    """Give a thumbnail of a query; the collection's where the file can no longer be read."""
    from lookalike.images import decode, read_bytes, thumbnail

    try:
        return thumbnail(decode(read_bytes(picture)).image)
    except UnreadablePicture:
        place = Path(os.path.abspath(picture))  # noqa: PTH100
        for known in store.pictures():
            if place in known.places:
                return store.thumbnail(known.id)
        raise
