"""The results of a search on the page: tiles with votes, or a message if there are none."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lookalike.collection import Filter, WordCounts
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    InvalidInput,
    MissingPart,
    NotFound,
)
from lookalike.core.text import shown
from lookalike.service.figures import shown_score
from lookalike.service.web.api.answers import thumbnail_address
from lookalike.service.web.api.parameters import MAX_K, Search
from lookalike.service.web.pages.views import Pairs, Tile, alt_text, filter_pairs
from lookalike.service.word_texts import no_matches_text

if TYPE_CHECKING:
    from lookalike.collection import Collection, Match

PAGE, INSTEAD = 60, 8

EVEN = 0.5
"""The weight of words that count as much as pictures."""

_MARKS = {"given": "tagged", "caption": "in the caption", "name": "in the name"}
_MARKS |= {"written": "written in it"}


@dataclass(frozen=True, slots=True)
class Results:
    """A page of matches.

    Attributes
    ----------
    tiles : list of Tile
    more : bool
        Whether there are more matches.
    trouble : str
        Why the search failed, in a sentence.
    said, rejected : int
        Numbers of pictures picked and rejected in this search, wherever they rank.
    instead : list of str
        Known words to search for instead of an unknown one.
    counts : WordCounts or None
        How many pictures a search by words finds.
    damage : str
        Why the search does without something learned, where that is damaged, and what to do.
    """

    tiles: list[Tile]
    more: bool = False
    trouble: str = ""
    votes: int = 0
    rejected: int = 0
    instead: list[str] = field(default_factory=list)
    counts: WordCounts | None = None
    damage: str = ""


def search_pairs(search: Search) -> Pairs:
    """Return a search as query parameters, with filters, without paging."""
    pairs: Pairs = [("like", ref) for ref in search.like]
    pairs += [("unlike", ref) for ref in search.unlike]
    return pairs + word_pairs(search) + filter_pairs(search) + option_pairs(search)


def word_pairs(search: Search) -> Pairs:
    """Return the parameters for words, and for how they are read and count."""
    pairs: Pairs = [("word", search.word)] if search.word else []
    pairs += [("strike", word) for word in search.strike]
    if search.like and search.word and search.weight != EVEN:
        pairs.append(("weight", f"{search.weight:g}"))
    return pairs


def option_pairs(search: Search) -> Pairs:
    """Return the parameters for the ranker, the cut-off and for ignoring what was learned."""
    pairs = by_pairs(search.by)
    if search.min_score is not None:
        pairs.append(("min_score", f"{search.min_score:g}"))
    if search.most is not None:
        pairs.append(("most", str(search.most)))
    if not search.learned:
        pairs.append(("learned", "false"))
    if search.layers != "mine":
        pairs.append(("layers", search.layers))
    return pairs


def by_pairs(by: str | None) -> Pairs:
    """Return the parameter for the ranker, where it is not the first."""
    return [("by", by)] if by else []


def find(
    collection: "Collection", search: Search, k: int, offset: int = 0, *, who: str = ""
) -> Results:
    """Return the results of a search, or a message if it fails."""
    try:
        search.check()
        ask = search.ask()
        if ask is None or search.word:
            return _find_words(collection, search, k, offset, who)
        verdicts = collection.votes.verdicts(ask, who)
        if not (size := search.size(k, offset)):
            return Results([])
        matches = collection.search(
            ask,
            size,
            by=search.by,
            learned=search.learned,
            offset=offset,
            where=search.where(),
            min_score=search.min_score,
            who=who,
        )
    except NotFound:
        return Results([], trouble="A picture of this search is no longer in the collection.")
    except DamagedFile as error:
        return _without_learning(collection, search, k, offset, error, who)
    except (CollectionError, InvalidInput, MissingPart) as error:
        return Results([], trouble=shown(str(error)))
    tiles = _tiles(collection, matches[:k], offset, verdicts)
    picked = sum(verdict > 0 for verdict in verdicts.values())
    # Without what was learned, nothing is left out.
    rejected = len(verdicts) - picked if search.learned else 0
    return Results(tiles, len(matches) > k, votes=picked, rejected=rejected)


def _without_learning(
    collection: "Collection", search: Search, k: int, offset: int, error: DamagedFile, who: str
) -> Results:
    """Return the plain ranking where what was learned is damaged, and say so."""
    if not search.learned or search.word:
        return Results([], trouble=shown(str(error)))
    plain = find(collection, search.model_copy(update={"learned": False}), k, offset, who=who)
    return replace(plain, damage=shown(str(error)))


def rejected_tiles(collection: "Collection", search: Search, who: str) -> list[Tile]:
    """Return the pictures that were rejected in a search."""
    ask = search.ask()
    verdicts = {} if ask is None else collection.votes.verdicts(ask, who)
    rejected = [number for number, verdict in verdicts.items() if verdict < 0]
    rows = (
        collection.pictures.browse(len(rejected), where=Filter(pictures=tuple(rejected)))
        if rejected
        else []
    )
    labels = collection.labels.of([row.id for row in rows])
    return [
        Tile(
            row.id,
            alt_text(labels.get(row.id, ()), row.places[0]),
            at,
            thumbnail_address(row.id, row.sha256),
            verdict=-1,
        )
        for at, row in enumerate(rows)
    ]


def ranks(collection: "Collection", search: Search, who: str) -> dict[int, int]:
    """Return the ranks of the best matches of a search as it is now."""
    ask = search.ask()
    if ask is None:
        return {}
    if search.word:
        matches = _matches(collection, search, MAX_K, 0, who)
    else:
        matches = collection.search(
            ask,
            MAX_K,
            by=search.by,
            learned=search.learned,
            where=search.where(),
            min_score=search.min_score,
            who=who,
        )
    return {match.id: rank for rank, match in enumerate(matches, start=1)}


def _find_words(collection: "Collection", search: Search, k: int, offset: int, who: str) -> Results:
    """Return the results of a search by words, the most probable first."""
    text, where = search.word or "", search.where()
    by, learned, strike = search.by, search.learned, search.strike
    counts = collection.words.count(
        text, by=by, learned=learned, where=where, who=who, strike=strike
    )
    matches, ask = [], search.ask()
    if size := search.size(k, offset):
        matches = _matches(collection, search, size, offset, who)
    damage = shown(collection.words.damage(by)) if learned else ""
    if not matches and where is None and not offset and ask is None:
        close = (counts.unknown or counts.terms)[:1] if counts.among != 0 else ()
        words = [one.word for term in close for one in collection.words.like(term, INSTEAD)]
        trouble = no_matches_text(text, counts)
        return Results([], trouble=trouble, instead=words, counts=counts, damage=damage)
    if ask is not None:
        verdicts = collection.votes.verdicts(ask, who)
    else:
        verdicts = {match.id: 1 for match in matches if match.source == "given"}
    tiles = _tiles(collection, matches[:k], offset, verdicts, scores=False)
    by_id = {match.id: match for match in matches}
    marked = [_marked(tile, by_id[tile.id]) for tile in tiles]
    return Results(marked, len(matches) > k, counts=counts, damage=damage)


def _matches(
    collection: "Collection", search: Search, k: int, offset: int, who: str
) -> "list[Match]":
    """Return the matches of a search by words, or by pictures and words."""
    text, where = search.word or "", search.where()
    by, learned, strike = search.by, search.learned, search.strike
    if (ask := search.ask()) is None:
        return collection.search_word(
            *(text, k), by=by, learned=learned, offset=offset, where=where, who=who, strike=strike
        )
    return collection.search(
        *(ask, k),
        by=by,
        learned=learned,
        offset=offset,
        where=where,
        who=who,
        words=text,
        weight=search.weight,
        strike=strike,
    )


def _marked(tile: Tile, match: "Match") -> Tile:
    """Return the tile of a match by words, with where it comes from and how sure it is."""
    sure = (
        match.score if match.source in ("start", "meaning", "name", "caption", "written") else None
    )
    return replace(tile, mark=_MARKS.get(match.source or "", ""), sure=sure)


def _tiles(
    collection: "Collection",
    matches: "list[Match]",
    offset: int,
    verdicts: dict[int, int],
    *,
    scores: bool = True,
) -> list[Tile]:
    return [
        Tile(
            match.id,
            alt_text(labels, match.path),
            at,
            thumbnail_address(row.id, row.sha256),
            shown_score(match.score) if scores else None,
            verdicts.get(match.id, 0),
        )
        for at, (match, row, labels) in enumerate(collection.pictures.facts_of(matches), offset)
    ]
