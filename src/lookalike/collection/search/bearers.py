"""Find where a term stands: in captions, names of files and folders, and writing in pictures."""

from collections.abc import Callable

from lookalike.collection.pictures.names import Names
from lookalike.collection.pictures.passages import Passages
from lookalike.collection.ranking.session import Session
from lookalike.collection.search.conditions import Ids
from lookalike.collection.search.fit import CAPTIONED, IN_FOLDER, NAMED, WRITTEN
from lookalike.collection.store.database import Database

_PASSAGES: dict[int, Callable[[Database], Passages]] = {
    CAPTIONED: Passages.captions,
    WRITTEN: Passages.written,
}


def bearers(session: Session, term: str) -> dict[int, Ids]:
    """Return the pictures that bear a term, by where, in the order in which it is told."""
    read = session.answers.read
    names = read(Names.read)
    result = {where: read(passages).find(term) for where, passages in _PASSAGES.items()}
    result[NAMED] = names.find(term, of="files")
    result[IN_FOLDER] = names.find(term, of="folders")
    return dict(sorted(result.items()))
