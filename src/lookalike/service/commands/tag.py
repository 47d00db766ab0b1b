"""The command ``lookalike tag``: show words for pictures, or write them to files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted, is_utf8
from lookalike.service.options import HERE, REFUSED, AsJson, By, CollectionPath, or_another
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Collection, PictureTag, TaggedPicture
    from lookalike.images import Refused
    from lookalike.supervision import TagTree

SHOWN = 100
"""Most pictures shown on the screen."""


class Form(StrEnum):
    """The formats words can be written in."""

    csv = "csv"
    json = "json"
    xmp = "xmp"


@dataclass
class _Written:
    """Files written, sidecars that needed no change, files refused, and a line of summary."""

    files: list[Path] = field(default_factory=list)
    unchanged: int = 0
    refused: "list[Refused]" = field(default_factory=list)
    summary: str = ""


def tag(
    pictures: Annotated[
        list[str],
        typer.Argument(
            metavar="PICTURES", help="Files, folders or quoted globs.", show_default=False
        ),
    ],
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="Most words per picture.")] = 10,
    by: By = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Leave out words less certain than this; 0.8 is right about 8 times in 10.",
            show_default="0.5",
        ),
    ] = None,
    write: Annotated[
        Form | None,
        typer.Option(help="Write a table of words, or XMP sidecars next to the pictures."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write the table.", show_default="tags.csv or tags.json"
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Hierarchy of the words, as CSV or JSON, for XMP."),
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Find words for pictures: those learned before, and built-in ones.

    The default model knows built-in words without teaching, such as dalmatian, dog and animal. A
    word that is learned, too, is given by the one that ranks better on pictures held out.
    Without --write the words are only shown. Sidecars (photo.jpg.xmp, as read by darktable,
    digiKam and immich) keep their content, and no word is added twice. They get what people said
    of pictures in the collection, too; words that were only learned are also listed in
    lookalike:learned. Words with slashes, such
    as animal/cat, and words in the hierarchy of --tree are written with their levels. Files that
    cannot be used are listed with the reason, and the exit code is 3.
    """
    from lookalike.collection import Collection

    place = _table_place(write, out)
    above = _tree(write, tree)
    screen = Screen(as_json)
    stop = "Nothing was written; run the same command again."
    bar = screen.bar("Reading pictures")
    with kept(stop), Collection.open(collection) as store, or_another(store), bar as progress:
        result = store.words.tag(
            pictures, k, by=by, min_confidence=min_confidence, progress=progress
        )
        answer = _words_and_labels(store, result.pictures) if write is Form.xmp else {}
        likeliest = math.nan
        if result.pictures and not any(picture.tags for picture in result.pictures):
            every = store.words.tag(
                pictures, 1, by=by, min_confidence=0.0, progress=progress
            ).pictures
            sure = [picture.tags[0].confidence for picture in every if picture.tags]
            likeliest = max(sure, default=math.nan)
    if not result.pictures and not result.refused:
        raise InvalidInput(
            f"tag: no pictures found in {', '.join(pictures)}. Name a picture, a folder of "
            f"pictures, or a quoted pattern such as 'photos/*.jpg'."
        )
    if write is Form.xmp:
        written = _write_sidecars(result.pictures, answer, above, screen)
    elif place is not None:
        written = _write_table(result.pictures, place, as_csv=write is Form.csv)
    else:
        written = _Written()
        _show(screen, result.pictures)
    if any(tag.source == "start" for picture in result.pictures for tag in picture.tags):
        screen.say("Words with * are built in; the others were learned.")
    tagged = sum(bool(picture.tags) for picture in result.pictures)
    least = f" with a confidence of {min_confidence:g} or more" if min_confidence else ""
    screen.say(
        f"Found words{least} for {tagged:,} of {counted(len(result.pictures), 'picture')}.",
        *filter(None, [written.summary]),
    )
    if not math.isnan(likeliest):
        screen.say(
            f"The likeliest word has a confidence of {likeliest:.2f}. To see it: "
            f"--min-confidence {math.floor(100 * likeliest) / 100:g}"
        )
    refused = [*result.refused, *written.refused]
    if refused:
        screen.table(
            ["file", "reason"],
            [[entry.path, entry.reason] for entry in refused],
            title=f"{counted(len(refused), 'file')} refused",
        )
    screen.result(
        {
            "collection": collection,
            "by": by,
            "min_confidence": min_confidence,
            "likeliest": likeliest,
            "pictures": [asdict(picture) for picture in result.pictures],
            "written": written.files,
            "unchanged": written.unchanged,
            "refused": [asdict(entry) for entry in refused],
            "ignored": result.ignored,
        }
    )
    if refused:
        raise typer.Exit(REFUSED)


def _table_place(write: Form | None, out: Path | None) -> Path | None:
    """Return where to write the table; an existing file is replaced only if it was named."""
    if write not in (Form.csv, Form.json):
        if out is not None:
            raise typer.BadParameter("--out needs --write csv or --write json.")
        return None
    place = Path(f"tags.{write.value}") if out is None else out
    if out is None and place.exists():
        raise InvalidInput(
            f"tag: {place} already exists. To replace it, give --out {place}; or name another file."
        )
    return place


def _tree(write: Form | None, path: Path | None) -> "TagTree | None":
    if path is None:
        return None
    if write is not Form.xmp:
        raise typer.BadParameter("--tree needs --write xmp.")
    from lookalike.supervision import read_tag_tree

    return read_tag_tree(path)


def _show(screen: Screen, pictures: "Sequence[TaggedPicture]") -> None:
    rows = [[picture.path, ", ".join(map(_shown, picture.tags))] for picture in pictures[:SHOWN]]
    screen.table(["picture", "words with confidence"], rows)
    if len(pictures) > SHOWN:
        screen.say(f"… and {len(pictures) - SHOWN:,} more; use --write csv or --json for all.")


def _shown(tag: "PictureTag") -> str:
    name = f"{tag.word}*" if tag.source == "start" else tag.word
    return name if math.isnan(tag.confidence) else f"{name} {tag.confidence:.2f}"


def _write_table(pictures: "Sequence[TaggedPicture]", place: Path, *, as_csv: bool) -> _Written:
    from lookalike.core.arrays import write_whole
    from lookalike.images import Refused
    from lookalike.service.tag_tables import tags_csv, tags_json

    refused = []
    if as_csv:
        reason = "its name is not valid Unicode, which CSV cannot hold; use --write json"
        refused = [
            Refused(picture.path, reason)
            for picture in pictures
            if picture.tags and not is_utf8(str(picture.path))
        ]
        named = [picture for picture in pictures if is_utf8(str(picture.path))]
        write_whole(place, tags_csv(named))
    else:
        write_whole(place, tags_json(pictures))
    return _Written([place], refused=refused, summary=f"Words written to {place}.")


def _words_and_labels(
    store: "Collection", pictures: "Sequence[TaggedPicture]"
) -> "dict[Path, tuple[list[str], set[str]]]":
    """Return what people said of pictures: labels, and the found words that they refused."""
    ids = {picture.path: store.pictures.find(picture.path) for picture in pictures}
    given = store.labels.sources(number for number in ids.values() if number is not None)
    refused = {
        word: store.labels.refused(word, [number for number in ids.values() if number is not None])
        for word in {tag.word for picture in pictures for tag in picture.tags}
    }
    return {
        path: (
            [label for label, source in given.get(number, ()) if source != "folders"],
            {word for word, some in refused.items() if number in some},
        )
        for path, number in ids.items()
        if number is not None
    }


def _write_sidecars(
    pictures: "Sequence[TaggedPicture]",
    answer: "Mapping[Path, tuple[list[str], set[str]]]",
    tree: "TagTree | None",
    screen: Screen,
) -> _Written:
    from lookalike.core.text import word_key
    from lookalike.service.sidecars import write_sidecars

    tags, learned = {}, {}
    for picture in pictures:
        labels, refused = answer.get(picture.path, ([], set()))
        known = {word_key(label) for label in labels}
        result = [tag.word for tag in picture.tags if word_key(tag.word) not in known]
        learned[picture.path] = [word for word in result if word not in refused]
        tags[picture.path] = [*dict.fromkeys(labels), *learned[picture.path]]
    stop = "The sidecars written so far are kept; run the same command again to continue."
    with kept(stop), screen.bar("Writing sidecars") as progress:
        done = write_sidecars(tags, tree, learned=learned, progress=progress)
    summary = (
        f"{counted(len(done.written), 'sidecar')} written; "
        f"{done.unchanged:,} already had every word."
    )
    return _Written(done.written, done.unchanged, done.refused, summary)
