"""The command ``lookalike tag``: show tags of pictures, or write them to a table or sidecars."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.service.options import HERE, REFUSED, AsJson, Where
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.annotation import Tag
    from lookalike.collection import TaggedPicture
    from lookalike.images import Refused
    from lookalike.supervision import TagTree

SHOWN = 100
"""Pictures in the table on the screen."""


class Form(StrEnum):
    """What tags can be written as."""

    csv = "csv"
    json = "json"
    xmp = "xmp"


@dataclass
class _Written:
    """Files written, how many sidecars had every tag, what was refused, and a line to say so."""

    files: list[Path] = field(default_factory=list)
    unchanged: int = 0
    refused: "list[Refused]" = field(default_factory=list)
    told: str = ""


def tag(
    pictures: Annotated[
        list[str],
        typer.Argument(
            metavar="PICTURES", help="Files, folders or quoted globs.", show_default=False
        ),
    ],
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="The most tags of a picture.")] = 10,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Leave out tags less sure than this: 0.8 is right 8 times in 10.",
            show_default="0.5; 0 where too few pictures taught how sure a tag is",
        ),
    ] = None,
    write: Annotated[
        Form | None,
        typer.Option(help="Write a table of tags, or XMP sidecars beside the pictures."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where the table goes.", show_default="tags.csv or tags.json"
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Which tag is above which, as CSV or JSON, for hierarchies in XMP."
        ),
    ] = None,
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Name what pictures show, with the words learned before.

    Without --write the tags are only shown. Sidecars (photo.jpg.xmp, as darktable, digiKam and
    immich read them) are added to: what they hold stays, and no tag comes twice. Tags with
    slashes, as animal/cat, and those in the tree of --tree are written with their levels. Files
    that cannot be used are listed with the reason, and the exit code is 3.
    """
    from lookalike.collection import Collection

    place = _table_place(write, out)
    above = _tree(write, tree)
    screen = Screen(as_json)
    stop = "Nothing was written; run the same command again."
    bar = screen.bar("Looking at pictures")
    with kept(stop), Collection.open(collection) as store, bar as progress:
        found = store.tag(pictures, k, min_confidence=min_confidence, progress=progress)
    if not found.pictures and not found.refused:
        raise InvalidInput(
            f"tag: there is no picture in {', '.join(pictures)}. Name a picture, a folder that "
            f"holds some, or a quoted pattern such as 'photos/*.jpg'."
        )
    if write is Form.xmp:
        written = _write_sidecars(found.pictures, above, screen)
    elif place is not None:
        written = _write_table(found.pictures, place, as_csv=write is Form.csv)
    else:
        written = _Written()
        _show(screen, found.pictures)
    tagged = sum(bool(picture.tags) for picture in found.pictures)
    least = f" of confidence {min_confidence:g} or more" if min_confidence else ""
    screen.say(
        f"{tagged:,} of {len(found.pictures):,} pictures have a tag{least}.",
        *filter(None, [written.told]),
    )
    refused = [*found.refused, *written.refused]
    if refused:
        screen.table(
            ["refused", "reason"],
            [[entry.path, entry.reason] for entry in refused],
            title=f"{len(refused):,} refused",
        )
    screen.result(
        {
            "collection": collection,
            "min_confidence": min_confidence,
            "pictures": [asdict(picture) for picture in found.pictures],
            "written": written.files,
            "unchanged": written.unchanged,
            "refused": [asdict(entry) for entry in refused],
            "ignored": found.ignored,
        }
    )
    if refused:
        raise typer.Exit(REFUSED)


def _table_place(write: Form | None, out: Path | None) -> Path | None:
    """Say where the table goes; one that is there is replaced only if it was named."""
    if write not in (Form.csv, Form.json):
        if out is not None:
            raise typer.BadParameter("--out is for --write csv or --write json.")
        return None
    place = Path(f"tags.{write.value}") if out is None else out
    if out is None and place.exists():
        raise InvalidInput(
            f"tag: {place} is here already. To replace it give --out {place}, or name another file."
        )
    return place


def _tree(write: Form | None, path: Path | None) -> "TagTree | None":
    if path is None:
        return None
    if write is not Form.xmp:
        raise typer.BadParameter("--tree is for --write xmp.")
    from lookalike.supervision import read_tag_tree

    return read_tag_tree(path)


def _show(screen: Screen, pictures: "Sequence[TaggedPicture]") -> None:
    rows = [[picture.path, ", ".join(map(_shown, picture.tags))] for picture in pictures[:SHOWN]]
    screen.table(["picture", "tags with confidence"], rows)
    if len(pictures) > SHOWN:
        screen.say(f"… and {len(pictures) - SHOWN:,} more; --write csv and --json give all.")


def _shown(tag: "Tag") -> str:
    known = not math.isnan(tag.confidence)
    return f"{tag.word} {tag.confidence:.2f}" if known else tag.word


def _write_table(pictures: "Sequence[TaggedPicture]", place: Path, *, as_csv: bool) -> _Written:
    from lookalike.core.arrays import write_whole
    from lookalike.images import Refused
    from lookalike.service.tag_tables import tags_csv, tags_json

    refused = []
    if as_csv:
        reason = "its name is no Unicode text, which CSV cannot hold; use --write json"
        refused = [
            Refused(picture.path, reason)
            for picture in pictures
            if picture.tags and not _is_text(picture.path)
        ]
        named = [picture for picture in pictures if _is_text(picture.path)]
        write_whole(place, tags_csv(named))
    else:
        write_whole(place, tags_json(pictures))
    return _Written([place], refused=refused, told=f"The tags are in {place}.")


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _write_sidecars(
    pictures: "Sequence[TaggedPicture]", tree: "TagTree | None", screen: Screen
) -> _Written:
    from lookalike.service.sidecars import write_sidecars

    tags = {picture.path: [tag.word for tag in picture.tags] for picture in pictures}
    stop = "The sidecars written so far are kept; run the same command again to go on."
    with kept(stop), screen.bar("Writing sidecars") as progress:
        done = write_sidecars(tags, tree, progress=progress)
    told = f"{len(done.written):,} sidecars written; {done.unchanged:,} had every tag already."
    return _Written(done.written, done.unchanged, done.refused, told)
