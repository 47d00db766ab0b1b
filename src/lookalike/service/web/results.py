"""What a search comes to on the page: tiles with verdicts, and what to say where there is none."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lookalike.collection.where import Where
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.service.web.answers import shown
from lookalike.service.web.parameters import Search
from lookalike.service.web.telling import refused_for
from lookalike.service.web.views import Pairs, Tile, alt_text, filter_pairs
from lookalike.supervision.names import word_key

if TYPE_CHECKING:
    from lookalike.collection import Collection, Match

PAGE = 60


@dataclass(frozen=True, slots=True)
class Results:
    """A part of what a search found.

    Attributes
    ----------
    tiles : list of Tile
    more : bool
        Whether there are others after these.
    trouble : str
        Why nothing could be searched for, in a sentence.
    note : str
        What is to be known about these results.
    said : int
        Pictures that were voted on for this search, wherever they rank.
    """

    tiles: list[Tile]
    more: bool = False
    trouble: str = ""
    note: str = ""
    said: int = 0


def asked_pairs(search: Search) -> Pairs:
    """Give a search as its address says it, with filters, without the page."""
    pairs: Pairs = [("like", ref) for ref in search.like]
    pairs += [("unlike", ref) for ref in search.unlike]
    if search.word:
        pairs.append(("word", search.word))
    return pairs + filter_pairs(search) + option_pairs(search)


def option_pairs(search: Search) -> Pairs:
    """Give the cut-off and whether what was learned is left out."""
    pairs: Pairs = []
    if search.min_score is not None:
        pairs.append(("min_score", f"{search.min_score:g}"))
    if not search.learned:
        pairs.append(("learned", "false"))
    return pairs


def find(collection: "Collection", search: Search, k: int, offset: int = 0) -> Results:
    """Search, and tell in words where that cannot be done."""
    try:
        search.check()
        ask = search.ask()
        if ask is None:
            return _find_word(collection, search, k, offset)
        verdicts = collection.verdicts(ask)
        matches = collection.search(
            ask,
            k + 1,
            learned=search.learned,
            offset=offset,
            where=search.where(),
            min_score=search.min_score,
        )
    except (CollectionError, InvalidInput) as error:
        return Results([], trouble=shown(str(error)))
    tiles = _tiles(collection, matches[:k], offset, verdicts)
    return Results(tiles, len(matches) > k, said=len(verdicts))


def _find_word(collection: "Collection", search: Search, k: int, offset: int) -> Results:
    word, where = search.word or "", search.where()
    try:
        matches = collection.search_word(word, k + 1, offset=offset, where=where)
    except (CollectionError, InvalidInput) as error:
        return _tagged(collection, word, where, k, offset, shown(str(error)))
    refused = refused_for(collection, word, [match.id for match in matches])
    labels = collection.labels_of([match.id for match in matches])
    verdicts = {
        match.id: _says(labels.get(match.id, ()), word) - (match.id in refused) for match in matches
    }
    tiles = _tiles(collection, matches[:k], offset, verdicts, scores=False)
    return Results(tiles, len(matches) > k, said=len(refused))


def _tagged(
    collection: "Collection", word: str, where: Where | None, k: int, offset: int, why: str
) -> Results:
    """Show the pictures tagged with a word that searches have not learned."""
    tagged = replace(where or Where(), tags=(*(where or Where()).tags, word))
    rows = collection.browse(k + 1, offset=offset, where=tagged)
    if not rows:
        return Results([], trouble=why)
    labels = collection.labels_of([row.id for row in rows])
    tiles = [
        Tile(row.id, alt_text(labels.get(row.id, ()), row.places[0]), at, None, 1)
        for at, row in enumerate(rows[:k], offset)
    ]
    note = f"Pictures tagged “{shown(word)}”. To find others that show it, learn from the tags."
    return Results(tiles, len(rows) > k, note=note)


def _says(labels: "list[str] | tuple[str, ...]", word: str) -> int:
    return int(word_key(word) in {word_key(label) for label in labels})


def _tiles(
    collection: "Collection",
    matches: "list[Match]",
    offset: int,
    verdicts: dict[int, int],
    *,
    scores: bool = True,
) -> list[Tile]:
    labels = collection.labels_of([match.id for match in matches])
    return [
        Tile(
            match.id,
            alt_text(labels.get(match.id, ()), match.path),
            at,
            match.score if scores else None,
            verdicts.get(match.id, 0),
        )
        for at, match in enumerate(matches, offset)
    ]
