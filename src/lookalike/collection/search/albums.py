"""Albums: what was saved comes in, the pictures that belong to it now go out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.session import Session
from lookalike.collection.search.searching import best_hits
from lookalike.collection.search.words import check_text, rank_word
from lookalike.collection.store import albums as stored
from lookalike.collection.store import pictures
from lookalike.collection.store.albums import AlbumRow, SavedSearch
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.people import OWNER
from lookalike.collection.store.queries import Ask, is_usable
from lookalike.collection.vectors.queries import MAX_EXAMPLES, check_ask, spread
from lookalike.core.checks import check_whole, is_whole
from lookalike.core.errors import InvalidInput, LookalikeError, NotFound
from lookalike.core.text import first_control, label_name, word_key


@dataclass(frozen=True, slots=True)
class Album:
    """A saved search with a name, and what it finds now.

    Attributes
    ----------
    id : int
        Never used again.
    name : str
    made, opened : str
        When it was saved and last opened, in UTC.
    search : SavedSearch
        What it searches for; of an album of pictures, with those or some of them.
    most : int
        How many pictures its search may bring it to; 0 for an album of pictures alone.
    pictures : tuple of int
        Pictures that were saved in it by hand, removed ones among them.
    members : tuple of int
        The pictures in it now: those saved by hand, those picked in its search or tagged with its
        word, then the best matches.
    new : tuple of int
        Members that were not in it when it was last opened.
    gone : int
        Pictures saved by hand that were removed from the collection since.
    trouble : str
        Why its search cannot be made, or not as it was saved; else empty.
    """

    id: int
    name: str
    made: str
    opened: str
    search: SavedSearch
    most: int
    pictures: tuple[int, ...]
    members: tuple[int, ...]
    new: tuple[int, ...]
    gone: int
    trouble: str


MAX_MATCHES = 100
"""Best matches of a search by pictures that belong to its album."""

MAX_NAME = 200

GONE = "The pictures it searches with were removed."

Among = Callable[[Filter | None], NDArray[np.int64] | None]
"""Gives the ids that pass a filter, rising, or None for all."""


def check_name(name: object) -> str:
    """Return the name of an album as it is spelled, or raise InvalidInput."""
    spelled = label_name(name) if isinstance(name, str) else ""
    if not spelled or len(spelled) > MAX_NAME or first_control(spelled) is not None:
        raise InvalidInput(
            f"Collection: the name of an album must be text of 1 to {MAX_NAME} characters "
            f"without control characters; got {name!r:.80}."
        )
    return spelled


def find(session: Session, name: str | int) -> AlbumRow:
    """Return the album of a name or id, or raise NotFound."""
    row = stored.album(session.database, name if is_whole(name) else check_name(name))
    if row is None:
        raise NotFound(
            f"There is no album “{name}”. See what there is: lookalike albums, or "
            f"Collection.albums."
        )
    return row


def checked(
    session: Session,
    name: str,
    search: SavedSearch | None,
    ids: list[int],
    most: int | None,
) -> AlbumRow:
    """Return a new album that makes sense, not stored yet, or raise InvalidInput.

    An album of pictures alone searches with them: with all, or as many of them as a query may have.
    """
    spelled = check_name(name)
    saved = search or SavedSearch()
    if saved.ask is not None:
        check_ask(saved.ask)
        if saved.word is not None:
            raise InvalidInput("Collection.save_album: give an ask or a word, not both.")
    if saved.word is not None and not label_name(saved.word):
        raise InvalidInput(f"Collection.save_album: a word must be text; got {saved.word!r:.80}.")
    if saved.word is not None and first_control(check_text(saved.word)) is not None:
        raise InvalidInput(
            f"Collection.save_album: a word must not contain control characters; got "
            f"{saved.word!r:.80}. Leave them out."
        )
    if saved == SavedSearch() and not ids:
        raise InvalidInput("Collection.save_album: give a search, a filter or pictures to save.")
    if saved.by is not None:
        session.rankers.row(saved.by)
    if saved.where is not None:
        saved.where.check()
        _check_inside(session, spelled, saved.where)
    # Of a word, what is only probable may be wrong: it waits below the album to be voted in.
    default = MAX_MATCHES if saved.word is None else 0
    limit = check_whole("Collection.save_album", "most", default if most is None else most, 0)
    if ids and saved.ask is None and saved.word is None:
        saved = replace(saved, ask=Ask(tuple(spread(ids, MAX_EXAMPLES))))
        limit = 0 if most is None else limit
    return AlbumRow(0, spelled, "", saved, tuple(ids), limit, "", frozenset())


def members(session: Session, row: AlbumRow, among: Among) -> tuple[list[int], str]:
    """Return the pictures that belong to an album now, and what is wrong with it, if anything.

    Pictures saved by hand, and those picked in its search or tagged with its word, always do,
    unless they were rejected; the best matches follow until there are ``most`` pictures. An album
    of a filter alone has all that pass it.
    """
    search = row.search
    try:
        if search.ask is None and search.word is None and not row.pictures:
            result = among(search.where)
            return (pictures.ids(session.database) if result is None else result).tolist(), ""
        named, rejected = _named(session, row, among)
        best, trouble = _best(session, row, among)
    except LookalikeError as error:
        return list(_there(session, row.pictures)), str(error)
    own = dict.fromkeys(number for number in named if number not in rejected)
    best = [number for number in best if number not in own and number not in rejected]
    return [*own, *best[: max(0, row.most - len(own))]], trouble


def load_album(session: Session, row: AlbumRow, among: Among) -> Album:
    """Return an album with what is in it now, and what of that is new since it was last opened."""
    inside, trouble = members(session, row, among)
    new = tuple(number for number in inside if number not in row.seen)
    gone = len(row.pictures) - len(_there(session, row.pictures))
    return Album(
        *(row.id, row.name, row.made, row.opened, row.search, row.most),
        *(row.pictures, tuple(inside), new, gone, trouble),
    )


def search_ids(session: Session, search: SavedSearch, among: Among, who: str) -> NDArray[np.int64]:
    """Return all that a person's search finds, best first, or a filter lets pass, rising."""
    if search.word is not None and search.ask is not None:
        raise InvalidInput(
            "Collection.queries.all_of: a search by pictures and words, both at once, ranks all "
            "pictures. Name those that are meant."
        )
    if search.word is not None:
        return _by_word(session, search, among, who)
    chosen = among(search.where)
    if search.ask is not None:
        matches = best_hits(
            *(session, search.ask, None, search.by, search.learned, chosen),
            min_score=search.min_score,
            who=who,
        )
        return np.array([number for number, _ in matches], np.int64)
    return pictures.ids(session.database) if chosen is None else chosen


def _named(session: Session, row: AlbumRow, among: Among) -> tuple[list[int], set[int]]:
    """Return what belongs to an album since someone said so, and what was rejected."""
    search, verdicts = row.search, {}
    if search.ask is not None and search.learned:
        verdicts = session.rankers.layer().verdicts(str(search.ask))
    picked = [number for number, sign in verdicts.items() if sign > 0]
    if search.word is not None:
        text = check_text(search.word)
        ids = among(search.where)
        picked += rank_word(session, text, search.by, ids, among, learned=False).given
    elif search.where is not None and picked:
        passing = among(search.where)
        picked = [] if passing is None else [n for n in picked if n in set(passing.tolist())]
    rejected = {number for number, sign in verdicts.items() if sign < 0}
    return _there(session, [*row.pictures, *picked]), rejected


def _best(session: Session, row: AlbumRow, among: Among) -> tuple[list[int], str]:
    """Return the best matches of an album's search, as many as may belong to it."""
    search = row.search
    if not row.most:
        return [], ""
    if search.ask is None:
        damage = session.rankers.words_damage(search.by) if search.learned else ""
        return _by_word(session, search, among)[: row.most].tolist(), damage
    ask, whole = _left(session, search.ask)
    if ask is None:
        return [], GONE
    chosen = among(search.where)
    hits = best_hits(
        *(session, ask, row.most, search.by, search.learned, chosen), min_score=search.min_score
    )
    return [number for number, _ in hits], "" if whole else GONE.replace("The", "Some")


def _by_word(
    session: Session, search: SavedSearch, among: Among, who: str = OWNER
) -> NDArray[np.int64]:
    """Return all that words find, best first."""
    text, ids = check_text(search.word), among(search.where)
    matches = rank_word(session, text, search.by, ids, among, learned=search.learned, who=who)
    least = -np.inf if search.min_score is None else search.min_score
    return matches.ids[matches.scores >= least]


def _left(session: Session, ask: Ask) -> tuple[Ask | None, bool]:
    """Return a query with the examples there still are, or None; and whether none is gone."""
    like, unlike = (
        tuple(ref for ref in side if _is_there(session, ref)) for side in (ask.like, ask.unlike)
    )
    return (Ask(like, unlike) if like else None), (like, unlike) == (ask.like, ask.unlike)


def _is_there(session: Session, ref: int | str) -> bool:
    if isinstance(ref, str):
        return is_usable(session.database, ref)
    return bool(_there(session, [ref]))


def _there(session: Session, ids: Sequence[int]) -> list[int]:
    """Return those pictures that there are, in order."""
    there = pictures.existing_ids(session.database, ids)
    return [number for number in ids if number in there]


def _check_inside(session: Session, name: str, where: Filter) -> None:
    """Raise InvalidInput if an album's filter would name the album itself, through others."""
    names = [it for it in where.albums if it is not None]
    while names:
        inner = names.pop()
        if word_key(label_name(inner)) == word_key(name):
            raise InvalidInput(
                f"Collection.save_album: the album “{name}” would be filtered by itself. Choose "
                f"another name."
            )
        within = find(session, inner).search.where
        names += [] if within is None else [it for it in within.albums if it is not None]
