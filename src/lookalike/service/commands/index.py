"""The command ``lookalike index``: add pictures to a collection."""

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.commands.learn import show_learned
from lookalike.service.options import HERE, REFUSED, AsJson, Where
from lookalike.service.screen import Screen, counted, kept


class Kind(StrEnum):
    """The features a collection can be created with."""

    embedding = "embedding"
    visterms = "visterms"


class Layout(StrEnum):
    """Channel order of a model's input."""

    NCHW = "NCHW"
    NHWC = "NHWC"


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
        raise typer.BadParameter(f"{text!r} must be three numbers, such as 0.5,0.5,0.5.")
    return numbers


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
            help="How to describe pictures; only for a new collection.",
            show_default="embedding",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE.onnx", help="Your own image model for the embedding."),
    ] = None,
    side: Annotated[
        int | None,
        typer.Option(
            min=1, help="Side of the model's input, in pixels.", show_default="the model's, or 224"
        ),
    ] = None,
    layout: Annotated[
        Layout | None,
        typer.Option(help="Channel order of the model's input.", show_default="the model's"),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="R,G,B",
            callback=_three_numbers,
            help="Subtracted from the colour channels, which range from 0 to 1.",
            show_default="the model's metadata, else ImageNet's 0.485,0.456,0.406",
        ),
    ] = None,
    std: Annotated[
        str | None,
        typer.Option(
            metavar="R,G,B",
            callback=_three_numbers,
            help="The colour channels are then divided by this.",
            show_default="the model's metadata, else ImageNet's 0.229,0.224,0.225",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(min=1, help="Codebook size of visterms.", show_default="1000"),
    ] = None,
    max_pixels: Annotated[
        int | None,
        typer.Option(min=1, help="Refuse pictures with more pixels.", show_default="128 million"),
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="Refuse larger files.", show_default="256 MiB")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads.", show_default="one per core")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add pictures to a collection, creating it if needed.

    Pictures already in it are skipped, so running again continues where the last run stopped.
    Files that cannot be used are listed with the reason, and the exit code is 3.
    """
    from lookalike.images import Limits
    from lookalike.service.new_collection import Wanted, opened_or_made

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
    stop = "The pictures added so far are kept; run the same command again to continue."
    with kept(stop), opened_or_made(collection, pictures, wanted) as store:
        with screen.bar("Reading pictures") as progress:
            added = store.add(pictures, limits=limits, threads=threads, progress=progress)
        total = len(store)
    screen.say(
        f"{added.added:,} added; {counted(total, 'picture')} in {collection}.",
        *_besides(
            {
                "already in the collection": added.known,
                "copies of other pictures": added.copies,
                "moved": added.moved,
                "skipped (hidden or not images)": added.ignored,
            }
        ),
    )
    if added.learned_again is not None:
        screen.say("The collection has grown, so its models were retrained.")
        show_learned(screen, added.learned_again)
    if added.unlearned:
        screen.say(f"The learned ranking is no longer used: {added.unlearned}")
    if added.unlearned_words:
        screen.say(f"The annotator is no longer used: {added.unlearned_words}")
    if added.refused:
        screen.table(
            ["file", "reason"],
            [[refused.path, refused.reason] for refused in added.refused],
            title=f"{counted(len(added.refused), 'file')} refused",
        )
    screen.result({"collection": collection, "pictures": total, **asdict(added)})
    if added.refused:
        raise typer.Exit(REFUSED)


def _besides(counts: Mapping[str, int]) -> list[str]:
    parts = [f"{count:,} {what}" for what, count in counts.items() if count]
    return [f"{'; '.join(parts)}."] if parts else []
