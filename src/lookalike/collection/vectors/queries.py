"""What is asked, as a vector: examples, pictures from elsewhere, and what was said of them."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.collection.store import pictures, queries, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.places import place_at
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.vectors.space import Space
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput, NotFound
from lookalike.core.vectors import Vectors, unit_rows
from lookalike.index.base import Index

PICKED, REJECTED = 0.75, 0.25
"""How much pictures picked for a query count beside it, and those rejected against it.

J. J. Rocchio, *Relevance feedback in information retrieval* (1971); values as commonly taken.
"""

MAX_EXAMPLES = 64

Box: TypeAlias = tuple[float, float, float, float]
"""A part of a picture: left, top, right and bottom as shares of its sides, from 0 to 1."""

Query: TypeAlias = int | str | Path | bytes | Image.Image
"""A picture of the collection by its id or path; or any picture."""


def check_ask(ask: Ask) -> None:
    """Raise InvalidInput for what cannot be asked."""
    if not isinstance(ask, Ask):
        raise InvalidInput(f"Collection: name the search by an Ask, as Ask((5,)); got {ask!r:.80}.")
    sides = (ask.like, ask.unlike)
    if not all(isinstance(side, tuple) for side in sides) or not all(
        isinstance(ref, str) or (is_whole(ref) and abs(ref) < 2**63)
        for side in sides
        for ref in side
    ):
        raise InvalidInput(f"Ask: like and unlike are tuples of ids and tokens; got {ask!r:.200}.")
    if not ask.like or len(ask.like) + len(ask.unlike) > MAX_EXAMPLES:
        raise InvalidInput(
            f"Ask: name at least one picture to be like, and at most {MAX_EXAMPLES} in all; got "
            f"{len(ask.like)} and {len(ask.unlike)}."
        )


def query_token(sha256: str, box: object, fingerprint: str) -> str:
    """Return the name of a kept query, by its file's content, its part that matters and feature."""
    name = f"{sha256} {box} {fingerprint}"
    return "u" + hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


def read_ask(subject: str) -> Ask:
    """Read what ``str(Ask)`` wrote.

    Examples
    --------
    >>> read_ask(str(Ask((3, "u12"), (4,))))
    Ask(like=(3, 'u12'), unlike=(4,))
    """
    like, _, unlike = subject.partition(" not ")
    return Ask(_refs(like), _refs(unlike))


def _refs(text: str) -> tuple[Ref, ...]:
    names = text.split(",") if text else []
    return tuple(int(name) if not name.startswith("u") else name for name in names)


class VectorSource:
    """The vectors of pictures and of kept queries, in the space that a ranker searches."""

    def __init__(self, space: Space, index: Index, database: Database) -> None:
        self._space = space
        self._index = index
        self._database = database

    def vectors(self, refs: Iterable[Ref]) -> dict[Ref, Vectors]:
        """Return those that there are, a matrix of one row each."""
        named = list(dict.fromkeys(refs))
        held = self.held(ref for ref in named if not isinstance(ref, str))
        numbers = [ref for ref in named if ref in held]
        rows = self._index.take(numbers) if numbers else None
        result: dict[Ref, Vectors] = {
            ref: rows[place : place + 1] for place, ref in enumerate(numbers) if rows is not None
        }
        for ref in named:
            if isinstance(ref, str):
                record = self.record(ref)
                if record is not None:
                    with self._database.parsing(f"the query {ref}"):
                        result[ref] = self._space.vectors([record])
        return result

    def record(self, ref: Ref) -> bytes | None:
        """Return the record of a picture or a kept query; None if there is none."""
        if isinstance(ref, str):
            return queries.query_record(self._database, self._space.ranker, ref)
        result = rankers.sound_records(self._database, self._space.ranker, [ref])[1]
        return result[0] if result else None

    @property
    def ids(self) -> NDArray[np.int64]:
        """The pictures there are."""
        return self._index.ids

    def take(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of pictures that there are, a row each."""
        return self._index.take(ids)

    def held(self, ids: Iterable[int]) -> set[int]:
        """Return those pictures that there are."""
        wanted = np.array([*ids], np.int64)
        known = self._index.ids
        # Ids rise, as they are given out; the scan is for an index that was put together anew.
        places = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        there = known[places] == wanted if len(known) else np.zeros(len(wanted), np.bool_)
        if not there.all():
            there[~there] = np.isin(wanted[~there], known)
        return set(wanted[there].tolist())

    def ask(self, ask: Ask, verdicts: Mapping[int, int] | None = None) -> Vectors:
        """Return the one vector that stands for examples, and for what was said of them before.

        Raises
        ------
        NotFound
            If an example is not there.
        """
        thumbs = verdicts or {}
        return self.ask_among(ask, thumbs, thumbs)[0]

    def ask_among(
        self, ask: Ask, pictures: Iterable[int], verdicts: Mapping[int, int] = MappingProxyType({})
    ) -> tuple[Vectors, dict[Ref, Vectors]]:
        """Return what :meth:`ask` does, and the vectors of its examples and of pictures."""
        result = self.vectors([*ask.like, *ask.unlike, *pictures])
        for ref in (*ask.like, *ask.unlike):
            if ref not in result:
                raise NotFound(f"Ask: there is no picture or query {ref!s:.80} to search with.")
        return combined(ask, verdicts, result), result


def combined(ask: Ask, verdicts: Mapping[int, int], result: Mapping[Ref, Vectors]) -> Vectors:
    """Return the one vector that stands for examples, all of which are found, and what was said."""
    like = [result[ref] for ref in ask.like]
    picked = [result[ref] for ref, sign in verdicts.items() if sign > 0 and ref in result]
    against = [result[ref] for ref in ask.unlike]
    against += [result[ref] for ref, sign in verdicts.items() if sign < 0 and ref in result]
    if len(like) == 1 and not picked and not against:
        return like[0]
    total: Any = _mean(like)
    for some, weight in ((picked, PICKED), (against, -REJECTED)):
        if some:
            total = total + weight * _mean(some)
    vector: Vectors = unit_rows(total)
    return vector


def as_it_was(query: int | str | Path, database: Database) -> int | None:
    """Return the picture named by an id or a path, unless the file there has changed since."""
    number = pictures.find_id(database, query)
    if number is None or not isinstance(query, str | os.PathLike):
        return number
    try:
        facts = Path(query).stat()
    except OSError:
        return number
    place = place_at(database, query)
    unchanged = place is not None and place.facts == (facts.st_size, facts.st_mtime_ns)
    return number if unchanged else None


def spread(ids: Sequence[int], most: int) -> list[int]:
    """Return at most so many of some pictures, evenly spread.

    Examples
    --------
    >>> spread([1, 2, 3, 4, 5, 6, 7], 3)
    [1, 4, 7]
    """
    places = np.linspace(0, len(ids) - 1, min(len(ids), most)).round().astype(int)
    return [ids[place] for place in places]


def _mean(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], start=parts[0]) / np.float32(len(parts))
