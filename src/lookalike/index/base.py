"""What every index offers: stable ids, scales, snapshots for readers, save and open."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.fingerprint import check_fingerprint
from lookalike.index._fast.best import FREE
from lookalike.index.growing import GrowingArray

MAX_DIMENSION = 1 << 24

Matrix: TypeAlias = ArrayLike | sp.spmatrix | sp.sparray
"""Vectors as a caller may give them, a row a picture."""


@dataclass(frozen=True)
class Hits:
    """What a search found, best first.

    Attributes
    ----------
    ids : int64 array of shape (q, k)
        A row a query; -1 where fewer than k pictures could be found.
    scores : float32 array of shape (q, k)
        Falling along each row, the lower id first among equals; -inf beside an id of -1.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]


class Rows(Protocol):
    """The vectors of one moment; unchanging."""

    def __len__(self) -> int:
        """Count the vectors."""
        ...

    def extended(self, new: Any) -> Self:
        """Append checked vectors."""
        ...

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Keep those where ``mask`` holds."""
        ...


RowsT = TypeVar("RowsT", bound=Rows)


@dataclass(frozen=True)
class State(Generic[RowsT]):
    """All an index holds at one moment. A search reads one state from start to end."""

    rows: RowsT
    ids: GrowingArray[np.int64]
    scales: GrowingArray[np.float32]
    next_id: int


class Index(Generic[RowsT]):
    """Exact top-k by inner product over vectors with stable ids.

    Searches may run in any number of threads while one adds or removes: each sees the index as
    it was before a change or after it, whole.

    Parameters
    ----------
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from; ``add`` and ``search`` refuse
        vectors said to have another.
    """

    kind: ClassVar[str]

    def __init__(self, dimension: int, *, fingerprint: str = "") -> None:
        if not _is_whole(dimension) or not 1 <= dimension <= MAX_DIMENSION:
            raise InvalidInput(
                f"{self._who}: dimension must be a whole number from 1 to {MAX_DIMENSION}; "
                f"got {dimension!r}."
            )
        self.dimension = int(dimension)
        self.fingerprint = fingerprint
        self._writing = Lock()
        self._state = State(
            self._rows(self._checked(np.zeros((0, self.dimension), np.float32))),
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
        """The ids in the order they were added; read-only."""
        return self._state.ids.rows

    @property
    def scales(self) -> NDArray[np.float32]:
        """The number each picture's scores are multiplied by, in the order of ``ids``."""
        return self._state.scales.rows

    def add(
        self,
        vectors: Matrix,
        ids: ArrayLike | None = None,
        *,
        scales: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> NDArray[np.int64]:
        """Add vectors, all or none of them, and give their ids.

        Parameters
        ----------
        vectors : matrix of shape (n, dimension)
            A row a picture; one vector alone is also taken.
        ids : int array of shape (n,), optional
            Names for them, from 0 and not in use. By default fresh ones, above every id this
            index ever held.
        scales : array of shape (n,), optional
            The number each one's scores are multiplied by; by default 1.
        fingerprint : str, optional
            Where given, it must be the index's own.

        Returns
        -------
        int64 array of shape (n,)
        """
        self._check_fingerprint(fingerprint)
        new = self._checked(vectors)
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

        Costs one copy of what stays, so many are best removed in one call.
        """
        gone = np.unique(self._checked_ids(ids))
        with self._writing:
            state = self._state
            unknown = gone[~np.isin(gone, state.ids.rows)]
            if unknown.size:
                raise InvalidInput(
                    f"{self._who}: remove knows no picture with the id {_listed(unknown)}; "
                    f"nothing was removed."
                )
            if gone.size:
                mask = ~np.isin(state.ids.rows, gone)
                self._state = State(
                    state.rows.kept(mask),
                    state.ids.kept(mask),
                    state.scales.kept(mask),
                    state.next_id,
                )

    def set_scales(self, scales: ArrayLike | None) -> None:
        """Set the number each picture's scores are multiplied by, in the order of ``ids``.

        A normalised similarity divides by the item's self-score, which moves as it learns: these
        numbers change, the vectors do not. None sets all to 1.
        """
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
        """Find the ``k`` pictures of the highest score for each query.

        The score is the inner product, summed in float64, times the picture's scale, rounded to
        float32; it does not depend on what else is in the batch, the index or ``among``.

        Parameters
        ----------
        queries : matrix of shape (q, dimension)
            A row a query; one vector alone is a batch of one.
        k : int
            How many to find, from 1. Rows are filled up with id -1 and score -inf where there
            are fewer.
        exclude : int array of shape (q,) or (q, m), optional
            Ids to leave out of each query's hits, as the query's own; -1 leaves out nothing.
        among : int array of shape (m,), optional
            The ids to search among, in any order; those the index does not hold are ignored. By
            default all. The work is in proportion to how many they are, besides one pass over
            the ids of the index to find them.
        fingerprint : str, optional
            Where given, it must be the index's own.
        """
        self._check_fingerprint(fingerprint)
        asked = self._checked_queries(queries)
        if not _is_whole(k) or k < 1:
            raise InvalidInput(f"{self._who}: k must be a whole number from 1; got {k!r}.")
        q = int(asked.shape[0])
        excluded = self._checked_exclude(exclude, q)
        named = None if among is None else self._checked_among(among)
        state = self._state
        # The index may have changed since the caller chose, so the ids of this moment decide.
        chosen = None if named is None else np.flatnonzero(np.isin(state.ids.rows, named))
        columns = min(int(k), len(state.ids) if chosen is None else len(chosen))
        scores = np.full((q, columns), -np.inf, np.float32)
        ids = np.full((q, columns), FREE, np.int64)
        if columns:
            self._offer(state, chosen, asked, excluded, scores, ids)
        order = np.lexsort((ids, -scores), axis=-1)
        hits = Hits(np.full((q, k), -1, np.int64), np.full((q, k), -np.inf, np.float32))
        hits.scores[:, :columns] = np.take_along_axis(scores, order, axis=-1)
        hits.ids[:, :columns] = np.take_along_axis(ids, order, axis=-1)
        hits.ids[hits.ids == FREE] = -1
        return hits

    def save(self, path: Path | str) -> None:
        """Write the index to one file, all or nothing."""
        state = self._state
        save_arrays(
            Path(path),
            {"ids": state.ids.rows, "scales": state.scales.rows, **self._arrays(state.rows)},
            kind=self.kind,
            manifest={
                "dimension": self.dimension,
                "fingerprint": self.fingerprint,
                "next_id": state.next_id,
            },
        )

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Read what ``save`` wrote; a foreign or damaged file is refused."""
        arrays, manifest = load_arrays(Path(path), kind=cls.kind)
        try:
            index = cls(manifest["dimension"], fingerprint=str(manifest["fingerprint"]))
            ids, scales = arrays.pop("ids"), arrays.pop("scales")
            if not (ids.dtype == np.int64 and scales.dtype == np.float32):
                raise InvalidInput(f"ids and scales are {ids.dtype} and {scales.dtype}")
            index.add(cls._from_arrays(arrays, len(ids), index.dimension), ids, scales=scales)
            next_id = manifest["next_id"]
            if not _is_whole(next_id) or not index._state.next_id <= next_id <= FREE:
                raise InvalidInput(f"next_id is {next_id!r}")
        except (InvalidInput, KeyError, TypeError) as error:
            raise DamagedFile(f"{path} is damaged: {error}") from error
        index._state = replace(index._state, next_id=next_id)
        return index

    @abstractmethod
    def _checked(self, vectors: Matrix) -> Any:
        """Return vectors as this index stores them, or say what is wrong with them."""

    @abstractmethod
    def _checked_queries(self, queries: Matrix) -> Any:
        """Return queries as this index is asked with them, or say what is wrong with them."""

    @abstractmethod
    def _rows(self, checked: Any) -> RowsT:
        """Start the storage with checked vectors."""

    @abstractmethod
    def _offer(
        self,
        state: State[RowsT],
        chosen: NDArray[np.intp] | None,
        queries: Any,
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> None:
        """Offer the pictures in the rows ``chosen``, or every one, to each query's best."""

    @abstractmethod
    def _arrays(self, rows: RowsT) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""

    @classmethod
    @abstractmethod
    def _from_arrays(cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int) -> Any:
        """Return the vectors that were saved, to be checked like any other."""

    def _row_of(self, state: State[RowsT], number: int) -> int:
        places = np.flatnonzero(state.ids.rows == number)
        if not places.size:
            raise InvalidInput(f"{self._who}: there is no picture with the id {number}.")
        return int(places[0])

    def _check_fingerprint(self, fingerprint: str | None) -> None:
        if fingerprint is not None:
            check_fingerprint(self._who, self.fingerprint, fingerprint)

    def _fresh(self, count: int) -> NDArray[np.int64]:
        first = self._state.next_id
        if first + count > FREE:
            raise InvalidInput(
                f"{self._who}: there are no fresh ids above {first - 1}; give the ids yourself."
            )
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
                f"{self._who}: each id may come once; {_listed(once[times > 1])} came again."
            )
        if count and once[0] < self._state.next_id:
            taken = once[np.isin(once, self._state.ids.rows)]
            if taken.size:
                raise InvalidInput(
                    f"{self._who}: the id {_listed(taken)} is in use; remove it first."
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
                f"{self._who}: scales must be {count} finite numbers, one a picture; "
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
                f"{self._who}: exclude must hold whole numbers, a row for each of {q} queries; "
                f"got {given.dtype} of shape {np.shape(exclude)}."
            )
        return np.ascontiguousarray(given, dtype=np.int64)

    def _checked_among(self, among: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(among)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInput(
                f"{self._who}: among must be a list of ids, whole numbers; "
                f"got {given.dtype} of shape {given.shape}."
            )
        return given.astype(np.int64)


def checked_dense(who: str, vectors: ArrayLike, dimension: int) -> NDArray[np.float32]:
    """Return finite float32 rows of ``dimension`` numbers, or say what is wrong."""
    try:
        with np.errstate(over="ignore"):
            rows = np.atleast_2d(np.ascontiguousarray(vectors, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{who}: vectors must be numbers in rows; {error}.") from error
    check_width(who, rows.shape, dimension)
    check_finite(who, rows)
    return rows


def check_width(who: str, shape: tuple[int, ...], dimension: int) -> None:
    """Refuse anything but rows of ``dimension`` numbers."""
    if len(shape) != 2 or shape[1] != dimension:
        raise InvalidInput(
            f"{who}: vectors must be rows of {dimension} numbers; got the shape {shape}."
        )


def check_finite(who: str, values: NDArray[np.float32]) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{who}: vectors must be finite as float32; got NaN, infinity or a number beyond "
            f"3.4e38. Remove those rows first."
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _listed(ids: NDArray[np.int64]) -> str:
    shown = ", ".join(str(number) for number in ids[:5])
    return shown if ids.size <= 5 else f"{shown} and {ids.size - 5} more"
