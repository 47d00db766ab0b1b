"""The command ``lookalike search``: find pictures by picture or by word."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import UnreadablePicture
from lookalike.core.text import counted
from lookalike.service.figures import shown_score
from lookalike.service.options import HERE, AsJson, By, CollectionPath, or_another
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Collection, Match, WordCounts
    from lookalike.collection import Filter as Among
    from lookalike.service.contact_sheet import Tile

CLOSE = 3
KINDS = {"given": "tagged", "name": "named", "learned": "learned", "start": "start word"}
CERTAIN = ("given", "name")


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
            help="Find pictures by words instead: tags, names of files and folders, or words such "
            "as dog that are known without tags. Of several words, all must fit.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pictures to show.")] = 10,
    by: By = None,
    album: Annotated[
        str | None, typer.Option(metavar="NAME", help="Search only among an album's pictures.")
    ] = None,
    no_learning: Annotated[
        bool, typer.Option("--no-learning", help="Ignore what was learned.")
    ] = False,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an HTML page with the results.")
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Find the pictures most similar to one, or those that words fit.

    By words, tagged pictures come first, then those whose file or folder is named so, then those
    they probably fit: lookalike search --word dog finds dogs even in a new collection.
    """
    if (picture is None) == (word is None):
        raise typer.BadParameter("give either a PICTURE or --word WORD.")
    from lookalike.collection import Collection
    from lookalike.collection import Filter as Among
    from lookalike.service.word_texts import no_matches_text

    screen, counts, learned, warning = Screen(as_json), None, not no_learning, ""
    among = None if album is None else Among(album=album)
    with Collection.open(collection) as store, or_another(store):
        if picture is None:
            matches = store.search_word(str(word), k, by=by, learned=learned, where=among)
            counts = store.words.count(str(word), by=by, learned=learned, where=among)
            warning = store.words.damage(by) if learned else ""
            close = [] if matches else store.words.like((counts.unknown or (str(word),))[0], CLOSE)
            if sheet is not None:
                _write_word_sheet(sheet, store, str(word), matches)
        else:
            matches = _most_like(
                store, picture, k, by=by, among=among, learned=learned, sheet=sheet
            )
    if warning:
        screen.say(warning, style="red")
    if counts is None:
        _show_alike(screen, matches)
    elif matches:
        _show_words(screen, matches, counts)
    else:
        near = f" Did you mean {' or '.join(repr(one.word) for one in close)}?" if close else ""
        screen.say(f"{no_matches_text(str(word), counts)}{near}")
    if sheet is not None:
        screen.say(f"Results written to {sheet}.")
    result = [{"rank": rank, **asdict(match)} for rank, match in enumerate(matches, start=1)]
    screen.result(
        {
            "query": picture,
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


def _show_alike(screen: Screen, matches: "list[Match]") -> None:
    screen.table(
        ["rank", "score", "picture"],
        [
            [rank, f"{shown_score(match.score):.4f}", match.path]
            for rank, match in enumerate(matches, start=1)
        ],
        numbers=["rank", "score"],
    )


def _show_words(screen: Screen, matches: "list[Match]", counts: "WordCounts") -> None:
    screen.say(
        f"Tagged: {counts.tagged:,}. Named so: {counts.named:,}. Probably: {counts.probable:,}."
    )
    screen.table(
        ["rank", "match", "score", "picture"],
        [
            [
                rank,
                KINDS[str(match.source)],
                "" if match.source in CERTAIN else f"{match.score:.2f}",
                match.path,
            ]
            for rank, match in enumerate(matches, start=1)
        ],
        numbers=["rank", "score"],
    )


def _most_like(
    store: "Collection",
    picture: str,
    k: int,
    *,
    by: str | None,
    among: "Among | None",
    learned: bool,
    sheet: Path | None,
) -> "list[Match]":
    try:
        matches = store.search(picture, k, by=by, learned=learned, where=among)
        if sheet is not None:
            _write_sheet(sheet, store, picture, matches)
    except UnreadablePicture as error:
        word = picture.strip() and not Path(picture).suffix and "/" not in picture
        remedy = f". To search by words, use --word {picture!r}" if word else ""
        raise UnreadablePicture(f"{error}{remedy}") from error
    return matches


def _write_sheet(sheet: Path, store: "Collection", picture: str, matches: "list[Match]") -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet

    query = Tile(_small(store, picture), Path(picture).name)
    page = contact_sheet(
        f"Most similar to {Path(picture).name}",
        [_lead(store)],
        [Query(query, [Strip("Files", _tiles(store, matches))])],
    )
    write_whole(sheet, page.encode())


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


def _small(store: "Collection", picture: str) -> bytes:
    """Return a thumbnail of a query; the stored one if the file can no longer be read."""
    from lookalike.images import decode, read_bytes, thumbnail

    try:
        return thumbnail(decode(read_bytes(picture)).image)
    except UnreadablePicture as error:
        known = store.pictures.find(picture)
        if known is not None:
            return store.pictures.thumbnail(known)
        raise UnreadablePicture(f"{picture}: {error}") from error
