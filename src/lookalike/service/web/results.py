"""The results of a search on the page: tiles with votes, or a message if there are none."""

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lookalike.collection.answers import Source
from lookalike.collection.filter import Where
from lookalike.core.errors import CollectionError, InvalidInput, MissingPart, NotFound
from lookalike.core.text import label_name, shown, word_key
from lookalike.service.web.parameters import MAX_K, Search
from lookalike.service.web.views import Pairs, Tile, alt_text, filter_pairs

if TYPE_CHECKING:
    from lookalike.collection import Collection, Match

PAGE, INSTEAD = 60, 8


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
    note : str
        A note about these results.
    said, rejected : int
        Numbers of pictures picked and rejected in this search, wherever they rank.
    instead : list of str
        Known words to search for instead of an unknown one.
    reach : float or None
        The share of what was learned that this search uses; None if nothing was learned.
    """

    tiles: list[Tile]
    more: bool = False
    trouble: str = ""
    note: str = ""
    said: int = 0
    rejected: int = 0
    instead: list[str] = field(default_factory=list)
    reach: float | None = None


def asked_pairs(search: Search) -> Pairs:
    """Return a search as query parameters, with filters, without paging."""
    pairs: Pairs = [("like", ref) for ref in search.like]
    pairs += [("unlike", ref) for ref in search.unlike]
    if search.word:
        pairs.append(("word", search.word))
    return pairs + filter_pairs(search) + option_pairs(search)


def option_pairs(search: Search) -> Pairs:
    """Return the parameters for the ranker, the cut-off and for ignoring what was learned."""
    pairs = by_pairs(search.by)
    if search.min_score is not None:
        pairs.append(("min_score", f"{search.min_score:g}"))
    if not search.learned:
        pairs.append(("learned", "false"))
    return pairs


def by_pairs(by: str | None) -> Pairs:
    """Return the parameter for the ranker, where it is not the first."""
    return [("by", by)] if by else []


def find(collection: "Collection", search: Search, k: int, offset: int = 0) -> Results:
    """Return the results of a search, or a message if it fails."""
    try:
        search.check()
        ask = search.ask()
        if ask is None:
            return _find_word(collection, search, k, offset)
        verdicts = collection.verdicts(ask)
        matches = collection.search(
            ask,
            k + 1,
            by=search.by,
            learned=search.learned,
            offset=offset,
            where=search.where(),
            min_score=search.min_score,
        )
        reach = collection.reach(ask, by=search.by) if search.learned else None
    except NotFound:
        return Results([], trouble="A picture of this search is no longer in the collection.")
    except (CollectionError, InvalidInput, MissingPart) as error:
        return Results([], trouble=shown(str(error)))
    tiles = _tiles(collection, matches[:k], offset, verdicts)
    picked = sum(verdict > 0 for verdict in verdicts.values())
    # Without what was learned, nothing is left out.
    rejected = len(verdicts) - picked if search.learned else 0
    return Results(tiles, len(matches) > k, said=picked, rejected=rejected, reach=reach)


def rejected_tiles(collection: "Collection", search: Search) -> list[Tile]:
    """Return the pictures that were rejected in a search."""
    ask = search.ask()
    verdicts = {} if ask is None else collection.verdicts(ask)
    rejected = [number for number, verdict in verdicts.items() if verdict < 0]
    rows = (
        collection.browse(len(rejected), where=Where(pictures=tuple(rejected))) if rejected else []
    )
    labels = collection.labels_of([row.id for row in rows])
    return [
        Tile(row.id, alt_text(labels.get(row.id, ()), row.places[0]), at, None, -1)
        for at, row in enumerate(rows)
    ]


def ranks(collection: "Collection", search: Search) -> dict[int, int]:
    """Return the ranks of the best matches of a search as it is now."""
    ask = search.ask()
    if ask is None:
        return {}
    found = collection.search(
        ask,
        MAX_K,
        by=search.by,
        learned=search.learned,
        where=search.where(),
        min_score=search.min_score,
    )
    return {match.id: rank for rank, match in enumerate(found, start=1)}


@dataclass(frozen=True, slots=True)
class Word:
    """A word to search by, how many pictures have it, and whether it was given or a start word."""

    word: str
    pictures: int
    source: Source


def words_like(collection: "Collection", typed: str, most: int) -> list[Word]:
    """Return words that contain what was typed: at their start, at a word's start, then elsewhere.

    Among equals tags come first, then start words that suit some pictures, the most used first.
    """
    begin = word_key(label_name(typed))
    known = [Word(word, count, "given") for word, count in collection.labels_used()]
    given = {word_key(one.word) for one in known}
    known += [
        Word(word, count, "start")
        for word, count in collection.start_words().items()
        if word_key(word) not in given
    ]
    held = [one for one in known if begin in word_key(one.word)]

    def place(one: Word) -> int:
        key = word_key(one.word)
        inside = any(part.startswith(begin) for part in re.split(r"[\W_]+", key))
        return 0 if key.startswith(begin) else 1 if inside else 2

    return sorted(held, key=place)[:most]


def _find_word(collection: "Collection", search: Search, k: int, offset: int) -> Results:
    word, where = search.word or "", search.where()
    try:
        matches = _suited(collection, search, k + 1, offset)
    except (CollectionError, InvalidInput, MissingPart):
        return _tagged(collection, word, where, k, offset)
    refused = collection.refused_for(word, [match.id for match in matches])
    labels = collection.labels_of([match.id for match in matches])
    verdicts = {
        match.id: _says(labels.get(match.id, ()), word) - (match.id in refused) for match in matches
    }
    tiles = _tiles(collection, matches[:k], offset, verdicts, scores=False)
    if not matches and where is None and not offset:
        return Results([], trouble=f"No picture seems to show “{shown(word)}”.")
    note = ""
    if any(match.source == "start" for match in matches):
        note = f"“{shown(word)}” is a start word, known before learning. Tag pictures to teach it."
    return Results(tiles, len(matches) > k, note=note, said=len(refused))


def _suited(collection: "Collection", search: Search, k: int, offset: int) -> "list[Match]":
    """Return what a word suits most, by another ranker where the one in view has no words."""
    word, where = search.word or "", search.where()
    if search.by is not None:
        with suppress(CollectionError, MissingPart):
            return collection.search_word(word, k, by=search.by, offset=offset, where=where)
    return collection.search_word(word, k, offset=offset, where=where)


def _tagged(
    collection: "Collection", word: str, where: Where | None, k: int, offset: int
) -> Results:
    """Return the pictures tagged with a word that the annotator has not learned."""
    tagged = replace(where or Where(), tags=(*(where or Where()).tags, word))
    rows = collection.browse(k + 1, offset=offset, where=tagged)
    if not rows:
        why = f"No picture is tagged “{shown(word)}”, and the word has not been learned."
        instead = [one.word for one in words_like(collection, word, INSTEAD)]
        if not instead:
            names = [name for name, _ in collection.labels_used()] + [*collection.start_words()]
            known = {word_key(name): name for name in names}
            instead = [known[key] for key in get_close_matches(word_key(word), known, INSTEAD)]
        return Results([], trouble=why, instead=instead)
    labels = collection.labels_of([row.id for row in rows])
    tiles = [
        Tile(row.id, alt_text(labels.get(row.id, ()), row.places[0]), at, None, 1)
        for at, row in enumerate(rows[:k], offset)
    ]
    note = f"Pictures tagged “{shown(word)}”. Once the word is learned, more pictures are found."
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
