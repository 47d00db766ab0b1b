"""The command ``lookalike search``: find pictures by a picture or by a word."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import UnreadablePicture
from lookalike.service.options import HERE, AsJson, Where
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Collection, Match
    from lookalike.service.contact_sheet import Tile


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
        typer.Option(metavar="WORD", help="Find the pictures that a word suits, instead."),
    ] = None,
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
    """Find the pictures most like one, or those that a word suits most."""
    if (picture is None) == (word is None):
        raise typer.BadParameter("give a PICTURE or --word WORD, one of them.")
    if word is not None and no_learning:
        raise typer.BadParameter("--no-learning is for a PICTURE; words are always learned.")
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        if picture is None:
            matches = store.search_word(str(word), k)
            if sheet is not None:
                _write_word_sheet(sheet, store, str(word), matches)
        else:
            matches = _most_like(store, picture, k, learned=not no_learning, sheet=sheet)
    screen.table(
        ["rank", "score", "picture"],
        [[rank, f"{match.score:.4f}", match.path] for rank, match in enumerate(matches, start=1)],
        numbers=["rank", "score"],
    )
    if sheet is not None:
        screen.say(f"The pictures are in {sheet}.")
    found = [{"rank": rank, **asdict(match)} for rank, match in enumerate(matches, start=1)]
    screen.result(
        {
            "query": picture,
            "word": word,
            "learned": not no_learning,
            "matches": found,
            "sheet": sheet,
        }
    )


def _most_like(
    store: "Collection", picture: str, k: int, *, learned: bool, sheet: Path | None
) -> "list[Match]":
    try:
        matches = store.search(picture, k, learned=learned)
        if sheet is not None:
            _write_sheet(sheet, store, picture, matches)
    except UnreadablePicture as error:
        raise UnreadablePicture(f"{picture or 'the empty path'}: {error}") from error
    return matches


def _write_sheet(sheet: Path, store: "Collection", picture: str, matches: "list[Match]") -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet

    query = Tile(_small(store, picture), Path(picture).name)
    page = contact_sheet(
        f"Most like {Path(picture).name}",
        [f"Among {len(store):,} pictures, best first, with the score of each."],
        [Query(query, [Strip("Found", _tiles(store, matches))])],
    )
    write_whole(sheet, page.encode())


def _write_word_sheet(sheet: Path, store: "Collection", word: str, matches: "list[Match]") -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, contact_sheet

    tiles = _tiles(store, matches)
    page = contact_sheet(
        f"Most suited by {word}",
        [f"Among {len(store):,} pictures, best first, with the score of each."],
        [Query(best, [Strip("Then", tiles[1:])], "Best") for best in tiles[:1]],
    )
    write_whole(sheet, page.encode())


def _tiles(store: "Collection", matches: "list[Match]") -> "list[Tile]":
    from lookalike.service.contact_sheet import Tile

    return [
        Tile(store.thumbnail(match.id), match.path.name, f"{match.score:.3f}") for match in matches
    ]


def _small(store: "Collection", picture: str) -> bytes:
    """Return a thumbnail of a query; the collection's where the file can no longer be read."""
    from lookalike.images import decode, read_bytes, thumbnail

    try:
        return thumbnail(decode(read_bytes(picture)).image)
    except UnreadablePicture:
        place = Path(os.path.abspath(picture))  # noqa: PTH100
        for known in store.pictures():
            if place in known.places:
                return store.thumbnail(known.id)
        raise
