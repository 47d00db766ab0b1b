"""The command ``lookalike search``: find pictures by picture or by word."""

from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput, UnreadablePicture
from lookalike.core.text import counted
from lookalike.service.figures import shown_score
from lookalike.service.options import HERE, AsJson, By, CollectionPath, or_another
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from PIL import Image

    from lookalike.collection import Collection, Match, ObjectMatch, WordCounts
    from lookalike.collection import Filter as Among
    from lookalike.service.contact_sheet import Tile

CLOSE = 3
MAX_DRAWN = 20
"""Matches whose regions are drawn on a sheet."""

KINDS = {"given": "tagged", "name": "named", "learned": "learned", "start": "built-in word"}
KINDS |= {"meaning": "meaning", "caption": "in the caption", "written": "written in it"}


def _four_numbers(text: str | None) -> str | None:
    _numbers(text)
    return text


def _numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(map(float, text.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) != 4 or not all(map(isfinite, numbers)) or min(numbers[2:]) <= 0:
        raise typer.BadParameter(
            f"{text!r:.80} must be left, top, width and height in pixels, such as 40,60,200,150."
        )
    return numbers


def search(
    picture: Annotated[
        str | None,
        typer.Argument(
            metavar="PICTURE", help="A picture, in the collection or not.", show_default=False
        ),
    ] = None,
    *,
    word: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Find pictures by words, or by a PICTURE and words: a word, a sentence, "
            "“phrases”, -without, OR, before:2019, folder:, label:, untagged, camera:, lens:, "
            "near:48.2,16.4.",
        ),
    ] = None,
    not_as: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD", help="Do not read --word as this; may be given several times."
        ),
    ] = None,
    weight: Annotated[
        float,
        typer.Option(min=0, max=1, help="How much --word counts beside a PICTURE, from 0 to 1."),
    ] = 0.5,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pictures to show.")] = 10,
    by: By = None,
    album: Annotated[
        str | None, typer.Option(metavar="NAME", help="Search only among an album's pictures.")
    ] = None,
    no_learning: Annotated[
        bool, typer.Option("--no-learning", help="Ignore what was learned.")
    ] = False,
    box: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,W,H",
            help="Search with a part of the picture: left, top, width and height in its pixels.",
            callback=_four_numbers,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say how many regions of each match lie as in the picture; with --sheet, draw "
            "them. The collection must have --feature regions.",
        ),
    ] = False,
    nearby: Annotated[
        bool,
        typer.Option(
            "--nearby",
            help="Find the pictures taken nearest to PICTURE, which is in the collection.",
        ),
    ] = False,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an HTML page with the results.")
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Find the pictures most similar to one, or those that words fit.

    By words, the most probable pictures come first: lookalike search --word dog finds dogs even in
    a new collection. Words that are not known are read by their meaning, in sixteen languages.
    """
    if picture is None and word is None:
        raise typer.BadParameter("give a PICTURE or --word WORDS, or both.")
    if word is not None and (box is not None or explain):
        raise typer.BadParameter("--box and --explain take a PICTURE, not --word.")
    if nearby:
        _search_nearby(collection, picture, k, Screen(as_json))
        return
    from lookalike.collection import Collection
    from lookalike.collection import Filter as Among
    from lookalike.service.word_texts import no_matches_text

    screen, counts, learned, warning = Screen(as_json), None, not no_learning, ""
    whys: list[ObjectMatch] = []
    among = None if album is None else Among(album=album)
    with Collection.open(collection) as store, or_another(store):
        if word is not None:
            matches = (
                store.search(
                    *(picture, k),
                    by=by,
                    learned=learned,
                    where=among,
                    words=word,
                    weight=weight,
                    strike=not_as or (),
                )
                if picture is not None
                else store.search_word(
                    word, k, by=by, learned=learned, where=among, strike=not_as or ()
                )
            )
            counts = store.words.count(
                word, by=by, learned=learned, where=among, strike=not_as or ()
            )
            warning = store.words.damage(by) if learned else ""
            sought = () if matches or counts.among == 0 else counts.unknown or counts.terms
            close = [one for term in sought[:1] for one in store.words.like(term, CLOSE)]
            if sheet is not None:
                _write_word_sheet(sheet, store, word, matches)
        elif picture is not None:
            matches, whys = _search_alike(
                *(store, picture, _numbers(box), k),
                by=by,
                among=among,
                learned=learned,
                explain=explain,
                sheet=sheet,
            )
    if warning:
        screen.say(warning, style="red")
    if counts is None:
        _show_alike(screen, matches, whys)
    elif matches:
        _show_words(screen, matches, counts)
    else:
        near = f" Did you mean {' or '.join(repr(one.word) for one in close)}?" if close else ""
        _show_readings(screen, counts, matches=False)
        screen.say(f"{no_matches_text(str(word), counts)}{near}")
    if sheet is not None:
        screen.say(f"Results written to {sheet}.")
    result = [{"rank": rank, **asdict(match)} for rank, match in enumerate(matches, start=1)]
    for entry, why in zip(result, whys, strict=False):
        entry["why"] = asdict(why)
    screen.result(
        {
            "query": picture,
            "box": _numbers(box),
            "word": word,
            "by": by,
            "album": album,
            "learned": learned,
            "warning": warning,
            "counts": None if counts is None else asdict(counts),
            "matches": result,
            "sheet": sheet,
        }
    )


def _search_nearby(place: Path, picture: str | None, k: int, screen: Screen) -> None:
    """Show the pictures taken nearest to one."""
    if picture is None:
        raise typer.BadParameter("--nearby takes a PICTURE.")
    from lookalike.collection import Collection

    with Collection.open(place) as store, or_another(store):
        number = store.pictures.find(picture)
        if number is None:
            raise InvalidInput(
                f"search: {picture} is not in the collection; --nearby takes a picture that is."
            )
        rows = [(one, store.pictures.get(one.id)) for one in store.pictures.nearby(number, k)]
    screen.table(
        ["rank", "km", "picture"],
        [
            [rank, f"{one.kilometres:,.2f}", row.places[0]]
            for rank, (one, row) in enumerate(rows, start=1)
        ],
        numbers=["rank", "km"],
    )
    matches = [
        {"rank": rank, **asdict(one), "path": row.places[0]}
        for rank, (one, row) in enumerate(rows, start=1)
    ]
    screen.result({"query": picture, "nearby": matches})


def _show_alike(screen: Screen, matches: "list[Match]", whys: "list[ObjectMatch]") -> None:
    columns = ["rank", "score", "picture"]
    rows: list[list[object]] = [
        [rank, f"{shown_score(match.score):.4f}", match.path]
        for rank, match in enumerate(matches, start=1)
    ]
    if whys:
        columns[2:2] = ["regions", "of the score"]
        for row, why in zip(rows, whys, strict=True):
            row[2:2] = [why.regions, f"{100 * why.agreeing:.0f} %"]
    screen.table(columns, rows, numbers=columns[:-1])


def _show_words(screen: Screen, matches: "list[Match]", counts: "WordCounts") -> None:
    _show_readings(screen, counts)
    if counts.terms:
        captioned = f"In the caption: {counts.captioned:,}. " if counts.captioned else ""
        written = f"Written in the picture: {counts.written:,}. " if counts.written else ""
        screen.say(
            f"Tagged: {counts.tagged:,}. {captioned}In the file or folder name: "
            f"{counts.named:,}. {written}Probably: {counts.probable:,}."
        )
    screen.table(
        ["rank", "match", "score", "picture"],
        [
            [
                rank,
                KINDS.get(match.source or "", ""),
                "" if match.source in ("given", None) else f"{match.score:.2f}",
                match.path,
            ]
            for rank, match in enumerate(matches, start=1)
        ],
        numbers=["rank", "score"],
    )


def _show_readings(screen: Screen, counts: "WordCounts", *, matches: bool = True) -> None:
    """Say what the text was taken for, and what was set aside."""
    from lookalike.service.word_texts import aside_text, reading_text

    for reading in counts.readings:
        if not reading.is_literal:
            screen.say(reading_text(reading))
    # What is unknown is said instead of a list that is empty.
    if aside := aside_text(counts if matches else replace(counts, unknown=())):
        screen.say(aside)


def _search_alike(
    store: "Collection",
    picture: str,
    box: tuple[float, ...] | None,
    k: int,
    *,
    by: str | None,
    among: "Among | None",
    learned: bool,
    explain: bool,
    sheet: Path | None,
) -> "tuple[list[Match], list[ObjectMatch]]":
    """Return the matches of a picture or a part of it and, if asked for, why; write the sheet."""
    query = picture if box is None else _part(picture, box)
    matches = _most_like(store, picture, query, k, by=by, among=among, learned=learned)
    explained = matches if explain else []
    whys = [store.queries.object_match(query, match.id, by=by) for match in explained]
    if sheet is not None:
        _write_sheet(sheet, store, Path(picture).name, query, matches, whys)
    return matches, whys


def _most_like(
    store: "Collection",
    picture: str,
    query: "str | Image.Image",
    k: int,
    *,
    by: str | None,
    among: "Among | None",
    learned: bool,
) -> "list[Match]":
    try:
        return store.search(query, k, by=by, learned=learned, where=among)
    except UnreadablePicture as error:
        word = picture.strip() and not Path(picture).suffix and "/" not in picture
        remedy = f". To search by words, use --word {picture!r}" if word else ""
        raise UnreadablePicture(f"{error}{remedy}") from error


def _part(picture: str, box: tuple[float, ...]) -> "Image.Image":
    """Return what a box holds of a picture; it may reach beyond its edges, but not lie outside."""
    from lookalike.images import decode, read_bytes

    try:
        whole = decode(read_bytes(picture)).image
    except UnreadablePicture as error:
        raise UnreadablePicture(f"{picture}: {error}") from error
    left, top, width, height = box
    edges = (
        *(max(0, round(left)), max(0, round(top))),
        *(min(whole.width, round(left + width)), min(whole.height, round(top + height))),
    )
    if edges[2] <= edges[0] or edges[3] <= edges[1]:
        raise InvalidInput(
            f"search: the box {', '.join(f'{number:g}' for number in box)} lies outside "
            f"{picture}, which has {whole.width} × {whole.height} pixels. Give left, top, width "
            f"and height within it."
        )
    return whole.crop(edges)


def _write_sheet(
    sheet: Path,
    store: "Collection",
    name: str,
    query: "str | Image.Image",
    matches: "list[Match]",
    whys: "list[ObjectMatch]",
) -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet

    strips = [Strip("Files", _tiles(store, matches))]
    if whys:
        drawn = [store.queries.object_picture(query, why.picture) for why in whys[:MAX_DRAWN]]
        tiles = [
            Tile(_jpeg(image), match.path.name, f"{why.regions} regions")
            for image, match, why in zip(drawn, matches, whys, strict=False)
        ]
        strips.append(Strip("Regions that match", tiles, wide=True))
    page = contact_sheet(
        f"Most similar to {name}",
        [_lead(store)],
        [Query(Tile(_small(store, query), name), strips)],
    )
    write_whole(sheet, page.encode())


def _jpeg(image: "Image.Image") -> bytes:
    from io import BytesIO

    file = BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()


def _write_word_sheet(sheet: Path, store: "Collection", word: str, matches: "list[Match]") -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, contact_sheet

    tiles = _tiles(store, matches)
    page = contact_sheet(
        f"Best matches for “{word}”",
        [_lead(store)],
        [Query(best, [Strip("Next", tiles[1:])], "Best") for best in tiles[:1]],
    )
    write_whole(sheet, page.encode())


def _lead(store: "Collection") -> str:
    return f"From {counted(len(store), 'picture')}, best first, each with its score."


def _tiles(store: "Collection", matches: "list[Match]") -> "list[Tile]":
    from lookalike.service.contact_sheet import Tile

    return [
        Tile(store.pictures.thumbnail(match.id), match.path.name, f"{shown_score(match.score):.3f}")
        for match in matches
    ]


def _small(store: "Collection", picture: "str | Image.Image") -> bytes:
    """Return a thumbnail of a query; the stored one if the file can no longer be read."""
    from lookalike.images import decode, read_bytes, thumbnail

    if not isinstance(picture, str):
        return thumbnail(picture)
    try:
        return thumbnail(decode(read_bytes(picture)).image)
    except UnreadablePicture as error:
        known = store.pictures.find(picture)
        if known is not None:
            return store.pictures.thumbnail(known)
        raise UnreadablePicture(f"{picture}: {error}") from error
