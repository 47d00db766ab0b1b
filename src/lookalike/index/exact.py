"""Exact search: the base class of indexes with all vectors in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy as shallow_copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Loaded, load_arrays, save_arrays
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, incomplete
from lookalike.core.fingerprint import check_fingerprint
from lookalike.core.vectors import Vectors, check_vectors
from lookalike.index._fast.best import FREE
from lookalike.index._fast.sparse import offer_rows
from lookalike.index.base import Hits, Index, Matrix
from lookalike.index.growing import GrowingArray

MAX_DIMENSION = 1 << 24

_QUERIES = 16


MAX_FOUND = 1 << 24
"""The most that may be asked for where there are fewer: answers are padded to that length."""


class Items(NamedTuple):
    """The id of each row, and the factor of its scores."""

    names: NDArray[np.int64]
    scales: NDArray[np.float32]


class Best(NamedTuple):
    """The best of each query so far, and the ids that it leaves out."""

    scores: NDArray[np.float32]
    ids: NDArray[np.int64]
    excluded: NDArray[np.int64]


class Rows(ABC):
    """An immutable set of vectors: how they are stored and how they are multiplied.

    A subclass implements :meth:`of`, :meth:`extended`, :meth:`select`, :attr:`vectors`,
    :meth:`products`, :meth:`arrays` and :meth:`stored`; by default it accepts dense vectors and
    searches by multiplying with all of them.
    """

    @classmethod
    def checked(cls, who: str, vectors: Matrix, dimension: int) -> Vectors:
        """Return vectors as they are stored, or raise InvalidInput."""
        checked = check_vectors(who, vectors, width=dimension, alone=True)
        if not isinstance(checked, np.ndarray):
            raise InvalidInput(
                f"{who}: vectors must be dense; got a sparse matrix. Use a SparseIndex."
            )
        return checked

    @classmethod
    def checked_queries(cls, who: str, queries: Matrix, dimension: int) -> Vectors:
        """Return queries in the form for products with these rows, or raise InvalidInput."""
        return cls.checked(who, queries, dimension)

    @classmethod
    @abstractmethod
    def of(cls, vectors: Any) -> Self:
        """Return rows of checked vectors."""

    @property
    @abstractmethod
    def vectors(self) -> Vectors:
        """All vectors, read-only."""

    def take(self, places: NDArray[np.intp]) -> Vectors:
        """Return some of the vectors."""
        taken: Vectors = self.vectors[places]
        return taken

    @abstractmethod
    def extended(self, new: Any) -> Self:
        """Return rows with checked vectors at the end."""

    @abstractmethod
    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""

    @abstractmethod
    def products(self, queries: Any, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the inner products of queries with some rows, independent of the batch."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""

    @classmethod
    @abstractmethod
    def stored(cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int) -> Any:
        """Return the vectors that :meth:`arrays` returned, or raise InvalidInput."""

    def offer(
        self, queries: Any, chosen: NDArray[np.intp] | None, items: Items, best: Best
    ) -> None:
        """Merge the pictures in the rows ``chosen``, or all, into each query's best."""
        names, scales = items
        scores, ids, excluded = best
        places = np.arange(len(names)) if chosen is None else chosen
        rows = places.astype(np.uint64)
        totals = np.empty(len(names))
        for first in range(0, int(queries.shape[0]), _QUERIES):
            some = slice(first, first + _QUERIES)
            for row, products in enumerate(self.products(queries[some], places), start=first):
                totals[places] = products
                offer_rows(totals, rows, names, scales, excluded[row], scores[row], ids[row])


@dataclass(frozen=True)
class State:
    """The immutable state of an index. A search uses one state from start to end."""

    rows: Rows
    ids: GrowingArray[np.int64]
    scales: GrowingArray[np.float32]
    next_id: int

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """The order that sorts the ids; None if they are sorted, as they mostly are."""
        names = self.ids.rows
        return None if (names[1:] > names[:-1]).all() else np.argsort(names)

    def places(self, who: str, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the rows of ids, or raise InvalidInput if some are unknown."""
        names = self.ids.rows
        places = np.searchsorted(names, ids, sorter=self.order)
        places = np.minimum(places, max(len(names) - 1, 0))
        if self.order is not None:
            places = self.order[places]
        known = names[places] == ids if len(names) else np.zeros(len(ids), np.bool_)
        if not known.all():
            raise InvalidInput(f"{who}: there is no picture with the id {_listed(ids[~known])}.")
        return places


class ExactIndex(Index):
    """Exact top-k by inner product over vectors in memory.

    A subclass sets ``name`` and ``rows``, its subclass of :class:`Rows`.

    Parameters
    ----------
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from.
    """

    rows: ClassVar[type[Rows]]
    file_kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__ and "file_kind" not in cls.__dict__:
            cls.file_kind = f"{cls.name}_index/1"

    def __init__(self, dimension: int, *, fingerprint: str = "") -> None:
        self.dimension = check_whole(self._who, "dimension", dimension, 1, MAX_DIMENSION)
        self.fingerprint = fingerprint
        self._writing = Lock()
        nothing = np.zeros((0, self.dimension), np.float32)
        self._state = State(
            self.rows.of(self.rows.checked(self._who, nothing, self.dimension)),
            GrowingArray(np.zeros(0, np.int64)),
            GrowingArray(np.zeros(0, np.float32)),
            0,
        )

    @property
    def _who(self) -> str:
        return type(self).__name__

    def __len__(self) -> int:
        return len(self._state.ids)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids in the order in which they were added; read-only."""
        return self._state.ids.rows

    @property
    def scales(self) -> NDArray[np.float32]:
        """The factor of each picture's scores, in the order of ``ids``."""
        return self._state.scales.rows

    @property
    def vectors(self) -> Vectors:
        """The vectors in the order of ``ids``; read-only."""
        return self._state.rows.vectors

    def add(
        self,
        vectors: Matrix,
        ids: ArrayLike | None = None,
        *,
        scales: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> NDArray[np.int64]:
        """Add vectors, all or none of them, and return their ids; see :meth:`Index.add`."""
        self._check_fingerprint(fingerprint)
        new = self.rows.checked(self._who, vectors, self.dimension)
        count = int(new.shape[0])
        factors = self._checked_scales(1.0 if scales is None else scales, count)
        with self._writing:
            state = self._state
            names = self._fresh(count) if ids is None else self._checked_new_ids(ids, count)
            following = max(state.next_id, int(names.max()) + 1) if count else state.next_id
            self._state = State(
                state.rows.extended(new),
                state.ids.extended(names),
                state.scales.extended(factors),
                following,
            )
        return names

    def remove(self, ids: ArrayLike) -> None:
        """Remove pictures, all or none of them.

        Costs one copy of the rest, so remove many pictures in one call.
        """
        gone = np.unique(self._checked_ids(ids))
        with self._writing:
            state = self._state
            unknown = gone[~np.isin(gone, state.ids.rows)]
            if unknown.size:
                raise InvalidInput(
                    f"{self._who}: there is no picture with the id {_listed(unknown)}; "
                    f"nothing was removed."
                )
            if gone.size:
                mask = ~np.isin(state.ids.rows, gone)
                self._state = State(
                    state.rows.select(mask),
                    state.ids.select(mask),
                    state.scales.select(mask),
                    state.next_id,
                )

    def set_scales(self, scales: ArrayLike | None) -> None:
        """Set the factor of each picture's scores; see :meth:`Index.set_scales`."""
        with self._writing:
            factors = self._checked_scales(1.0 if scales is None else scales, len(self))
            self._state = replace(self._state, scales=GrowingArray(factors))

    def search(
        self,
        queries: Matrix,
        k: int = 10,
        *,
        exclude: ArrayLike | None = None,
        among: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> Hits:
        """Return the ``k`` pictures with the highest scores; see :meth:`Index.search`.

        With ``among``, the work is proportional to their number, plus one pass over the ids of
        the index to find them.
        """
        self._check_fingerprint(fingerprint)
        query_vectors = self.rows.checked_queries(self._who, queries, self.dimension)
        return self._best(query_vectors, k, exclude, among)

    def scores(self, queries: Matrix, ids: ArrayLike) -> NDArray[np.float32]:
        """Return the scores of :meth:`search` for these pictures, of shape (queries, ids)."""
        query_vectors = self.rows.checked_queries(self._who, queries, self.dimension)
        state = self._state
        places = state.places(self._who, self._checked_ids(ids))
        products = state.rows.products(query_vectors, places)
        with np.errstate(over="ignore", under="ignore"):
            scaled = products * state.scales.rows[places].astype(np.float64)
            return scaled.astype(np.float32)

    def take(self, ids: ArrayLike) -> Vectors:
        """Return the vectors with these ids, in that order, or raise InvalidInput."""
        state = self._state
        return state.rows.take(state.places(self._who, self._checked_ids(ids)))

    def copy(self) -> Self:
        """Return a copy that shares memory with this index until one of them changes."""
        # The lock is shared, too: both may append to the same buffer.
        return shallow_copy(self)

    def save(self, path: Path | str) -> None:
        """Save the index to one file, all or nothing."""
        state = self._state
        arrays: dict[str, NDArray[Any]] = {
            "ids": state.ids.rows,
            "scales": state.scales.rows,
            **state.rows.arrays(),
        }
        manifest = {
            "dimension": self.dimension,
            "fingerprint": self.fingerprint,
            "next_id": state.next_id,
        }
        select = self._manifest(arrays, manifest)
        save_arrays(Path(path), arrays, kind=self.file_kind, manifest=select)

    @classmethod
    def _manifest(
        cls, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the manifest of a file with these arrays."""
        return manifest

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open an index that :meth:`save` wrote, or raise DamagedFile."""
        arrays, manifest = load_arrays(Path(path), kind=cls.file_kind)

        def rows(count: int, dimension: int) -> Rows:
            # Taken as they are: adding them would need twice the memory for a while.
            stored = cls.rows.stored(arrays, count, dimension)
            return cls.rows.of(cls.rows.checked(cls.__name__, stored, dimension))

        return cls._opened(path, arrays, manifest, rows)

    @classmethod
    def _check_file(
        cls, path: Path | str, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
    ) -> None:
        """Raise DamagedFile if the file is not as it was written, by what it says of itself."""

    @classmethod
    def _opened(
        cls,
        path: Path | str,
        arrays: Loaded,
        manifest: Mapping[str, Any],
        stored: Callable[[int, int], Rows],
    ) -> Self:
        """Return the index of a file, its rows made by ``stored(count, dimension)``."""
        cls._check_file(path, arrays, manifest)
        try:
            index = cls(manifest["dimension"], fingerprint=str(manifest["fingerprint"]))
            ids, scales = arrays.pop("ids"), arrays.pop("scales")
            if not (ids.dtype == np.int64 and scales.dtype == np.float32):
                raise InvalidInput(f"ids and scales are {ids.dtype} and {scales.dtype}")
            names = index._checked_new_ids(ids, len(ids))
            factors = index._checked_scales(scales, len(ids))
            rows = stored(len(ids), index.dimension)
            arrays.check_all_used()
            least = int(names.max()) + 1 if len(names) else 0
            next_id = check_whole(cls.__name__, "next_id", manifest["next_id"], least, FREE)
        except (ValueError, KeyError, TypeError) as error:
            remedy = "Make the index again, or restore a backup."
            raise incomplete(path, cls.__name__, error, remedy) from error
        index._state = State(rows, GrowingArray(names), GrowingArray(factors), next_id)
        return index

    @classmethod
    def saved_ids(cls, path: Path | str, *, fingerprint: str) -> NDArray[np.int64]:
        """Return the ids in a file, without reading its vectors."""
        arrays, manifest = load_arrays(Path(path), kind=cls.file_kind, names=["ids"])
        fits = manifest.get("fingerprint") == fingerprint and arrays["ids"].dtype == np.int64
        return arrays["ids"] if fits else np.zeros(0, np.int64)

    def _best(
        self, queries: Any, k: int, exclude: ArrayLike | None, among: ArrayLike | None
    ) -> Hits:
        """Return the hits of :meth:`search` for checked queries."""
        most = check_whole(self._who, "k", k, 1, max(MAX_FOUND, len(self._state.ids)))
        q = int(queries.shape[0])
        excluded = self._checked_exclude(exclude, q)
        named = None if among is None else self._checked_among(among)
        state = self._state
        # The index may have changed since the caller chose; only the current ids count.
        chosen = None if named is None else np.flatnonzero(np.isin(state.ids.rows, named))
        columns = min(most, len(state.ids) if chosen is None else len(chosen))
        scores = np.full((q, columns), -np.inf, np.float32)
        ids = np.full((q, columns), FREE, np.int64)
        if columns:
            self._offer(state, queries, chosen, Best(scores, ids, excluded))
        order = np.lexsort((ids, -scores), axis=-1)
        hits = Hits(np.full((q, most), -1, np.int64), np.full((q, most), -np.inf, np.float32))
        hits.scores[:, :columns] = np.take_along_axis(scores, order, axis=-1)
        hits.ids[:, :columns] = np.take_along_axis(ids, order, axis=-1)
        hits.ids[hits.ids == FREE] = -1
        return hits

    def _offer(
        self, state: State, queries: Any, chosen: NDArray[np.intp] | None, best: Best
    ) -> None:
        """Merge the pictures in the rows ``chosen``, or all, into each query's best."""
        state.rows.offer(queries, chosen, Items(state.ids.rows, state.scales.rows), best)

    def _check_fingerprint(self, fingerprint: str | None) -> None:
        if fingerprint is not None:
            check_fingerprint(self._who, self.fingerprint, fingerprint)

    def _fresh(self, count: int) -> NDArray[np.int64]:
        first = self._state.next_id
        if first + count > FREE:
            raise InvalidInput(f"{self._who}: there are no new ids above {first - 1}. Give ids.")
        return np.arange(first, first + count, dtype=np.int64)

    def _checked_ids(self, ids: ArrayLike) -> NDArray[np.int64]:
        given = np.atleast_1d(np.asarray(ids))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInput(
                f"{self._who}: ids must be a list of whole numbers; "
                f"got {given.dtype} of shape {given.shape}."
            )
        if given.size and (int(given.min()) < 0 or int(given.max()) >= FREE):
            raise InvalidInput(
                f"{self._who}: ids must be from 0 to {FREE - 1}; "
                f"got {given.min()} to {given.max()}."
            )
        return given.astype(np.int64)

    def _checked_new_ids(self, ids: ArrayLike, count: int) -> NDArray[np.int64]:
        given = self._checked_ids(ids)
        if given.size != count:
            raise InvalidInput(f"{self._who}: got {given.size} ids for {count} vectors.")
        once, times = np.unique(given, return_counts=True)
        if (times > 1).any():
            raise InvalidInput(
                f"{self._who}: ids must be unique; {_listed(once[times > 1])} is repeated."
            )
        if count and once[0] < self._state.next_id:
            taken = once[np.isin(once, self._state.ids.rows)]
            if taken.size:
                raise InvalidInput(
                    f"{self._who}: the id {_listed(taken)} is in use. Remove it first."
                )
        return given

    def _checked_scales(self, scales: ArrayLike, count: int) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                given = np.asarray(scales, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{self._who}: scales must be numbers; {error}.") from error
        if given.shape not in ((), (count,)) or not np.isfinite(given).all():
            raise InvalidInput(
                f"{self._who}: scales must be {count} finite numbers, one per picture; "
                f"got the shape {given.shape}."
            )
        return np.array(np.broadcast_to(given, (count,)))

    def _checked_exclude(self, exclude: ArrayLike | None, q: int) -> NDArray[np.int64]:
        if exclude is None:
            return np.zeros((q, 0), np.int64)
        given = np.asarray(exclude)
        if given.ndim < 2:
            given = given.reshape(-1, 1) if given.size == q else given.reshape(1, -1)
        if given.ndim != 2 or len(given) != q or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInput(
                f"{self._who}: exclude must be whole numbers, one row for each of {q} queries; "
                f"got {given.dtype} of shape {np.shape(exclude)}."
            )
        return np.ascontiguousarray(given, dtype=np.int64)

    def _checked_among(self, among: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(among)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInput(
                f"{self._who}: among must be a list of whole numbers; "
                f"got {given.dtype} of shape {given.shape}."
            )
        return given.astype(np.int64)


def _listed(ids: NDArray[np.int64]) -> str:
    shown = ", ".join(str(number) for number in ids[:5])
    return shown if ids.size <= 5 else f"{shown} and {ids.size - 5} more"
