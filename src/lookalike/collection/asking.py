"""Find the vector that stands for what is asked: examples, and what was said of them before."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lookalike.collection import events
from lookalike.collection.database import Database
from lookalike.collection.records import Ask, Ref
from lookalike.collection.vectors import AnyIndex, Space
from lookalike.core.errors import InvalidInput, NotFound
from lookalike.features import Vectors

PICKED, REJECTED = 0.75, 0.25
"""How much pictures picked for a query count beside it, and those rejected against it.

J. J. Rocchio, *Relevance feedback in information retrieval* (1971); values as commonly taken.
"""

MOST_EXAMPLES = 64


def check_ask(ask: Ask) -> None:
    """Refuse what cannot be asked."""
    sides = (ask.like, ask.unlike)
    if not all(isinstance(side, tuple) for side in sides) or not all(
        isinstance(ref, int | str) and not isinstance(ref, bool) for side in sides for ref in side
    ):
        raise InvalidInput(f"Ask: like and unlike are tuples of ids and tokens; got {ask!r:.200}.")
    if not ask.like or len(ask.like) + len(ask.unlike) > MOST_EXAMPLES:
        raise InvalidInput(
            f"Ask: name at least one picture to be like, and at most {MOST_EXAMPLES} in all; got "
            f"{len(ask.like)} and {len(ask.unlike)}."
        )


def query_token(sha256: str, box: object, fingerprint: str) -> str:
    """Name a kept query by the content of its file, its part that matters and the feature."""
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


class Vault:
    """The vectors of pictures and of kept queries, in the space that is searched."""

    def __init__(self, space: Space, index: AnyIndex, database: Database) -> None:
        self._space = space
        self._index = index
        self._database = database

    def vectors(self, refs: Iterable[Ref]) -> dict[Ref, Vectors]:
        """Return those that there are, a matrix of one row each."""
        found: dict[Ref, Vectors] = {}
        vectors = self._index.vectors
        for ref in dict.fromkeys(refs):
            if isinstance(ref, int):
                row = self._row(ref)
                if row is not None:
                    found[ref] = vectors[row : row + 1]
            elif (kept := self._kept(ref)) is not None:
                found[ref] = kept
        return found

    def held(self, pictures: Iterable[int]) -> set[int]:
        """Return those pictures that there are."""
        return {number for number in pictures if self._row(number) is not None}

    def _row(self, number: int) -> int | None:
        # Ids rise, as they are given out; the scan is for an index that was put together anew.
        ids = self._index.ids
        row = int(np.searchsorted(ids, number))
        if row < len(ids) and ids[row] == number:
            return row
        rows = np.flatnonzero(ids == number)
        return int(rows[0]) if rows.size else None

    def ask(self, ask: Ask, verdicts: Mapping[int, int] | None = None) -> Vectors:
        """Return the one vector that stands for examples, and for what was said of them before.

        Raises
        ------
        NotFound
            If an example is not there.
        """
        said = verdicts or {}
        found = self.vectors([*ask.like, *ask.unlike, *said])
        for ref in (*ask.like, *ask.unlike):
            if ref not in found:
                raise NotFound(f"Ask: there is no picture or query {ref!s:.80} to search with.")
        like = [found[ref] for ref in ask.like]
        picked = [found[ref] for ref, sign in said.items() if sign > 0 and ref in found]
        against = [found[ref] for ref in ask.unlike]
        against += [found[ref] for ref, sign in said.items() if sign < 0 and ref in found]
        if len(like) == 1 and not picked and not against:
            return like[0]
        total: Any = _mean(like)
        for some, weight in ((picked, PICKED), (against, -REJECTED)):
            if some:
                total = total + weight * _mean(some)
        return _unit(total)

    def _kept(self, token: str) -> Vectors | None:
        row = self._database.row("SELECT raw FROM queries WHERE token = ?", token)
        if row is None:
            return None
        with self._database.parsing(f"the query {token}"):
            raw = self._space.feature.vectors([row[0]])
        return self._space.place(raw)


def verdicts(database: Database, subject: str) -> dict[int, int]:
    """Return what was said of the pictures found for a query: +1 picked, -1 rejected.

    Of one person the last word counts, and persons are added up.
    """
    said: dict[str, dict[int, int]] = {}
    reset = last_reset(database)
    for event in events.about(database, subject):
        if event.kind == "vote" and event.number > reset:
            own = said.setdefault(event.who, {})
            own |= dict.fromkeys(event.body["picked"], 1)
            own |= dict.fromkeys(event.body["rejected"], -1)
    total: dict[int, int] = {}
    for own in said.values():
        for picture, sign in own.items():
            total[picture] = total.get(picture, 0) + sign
    return {picture: (sum_ > 0) - (sum_ < 0) for picture, sum_ in total.items() if sum_}


def last_reset(database: Database) -> int:
    """Return the number of the last reset that counts, or 0."""
    rows = database.rows("SELECT number FROM events WHERE about = 'reset' ORDER BY 1 DESC")
    return next((n for (n,) in rows if not events.is_undone(database, n)), 0)


def _mean(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], start=parts[0]) / np.float32(len(parts))


def _unit(vector: Any) -> Vectors:
    sparse = sp.issparse(vector)
    length = float(np.linalg.norm(vector.data if sparse else vector)) or 1.0
    if sparse:
        return sp.csr_matrix(vector / length, dtype=np.float32)
    return np.ascontiguousarray(vector / length, dtype=np.float32)
