"""Exact search among binary codes: by inner product, Hamming distance or weighted bits."""

from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import map_arrays, save_arrays
from lookalike.core.checks import check_whole, is_number
from lookalike.core.codes import MAX_BITS, check_codes, check_weights, code_bytes
from lookalike.core.errors import InvalidInput, incomplete
from lookalike.index._fast.best import FREE
from lookalike.index.base import Hits
from lookalike.index.bit_rows import BitRows
from lookalike.index.exact import Best, ExactIndex, State
from lookalike.index.growing import ConsecutiveIds, GrowingArray, UnitScales


class BitIndex(ExactIndex):
    """Exact top-k over binary codes of any length, by weights that may differ for each query.

    Stored vectors are bits. :meth:`search` ranks them by inner product with any vectors, as every
    index does; :meth:`nearest` and :meth:`within` by Hamming distance to packed codes, plain or
    weighted: d(q, x) = Σⱼ wⱼ (qⱼ xor xⱼ) (paper 3, Eq. 13 with w = a∘a).

    Tables of half bytes, rounded down, give a lower bound of each distance; only codes whose bound
    does not rule them out are summed, in float64. From half a million codes on they lie in cells
    around centres, in the order of their distance from the centre. A code that differs from its
    centre in d bits is at least as far as the centre less the d heaviest bits, so that mostly the
    last codes of few cells are visited; where that would be many, all are scanned. So the result
    is always that of brute force.

    Memory: 8 bytes for a code of 64 bits, and about 2.6 for the cells, most of them to know which
    row each code is in; ids that are not consecutive take 8 bytes more, scales other than 1 take 4.
    With cells, :meth:`codes` and ``among`` take a pass over all rows.

    Parameters
    ----------
    dimension : int
        The number of bits of every code.
    fingerprint : str
        The fingerprint of the model the codes come from.

    Examples
    --------
    >>> index = BitIndex(8)
    >>> index.add_codes([[0b00001111], [0b11110000], [0b00001110]])
    array([0, 1, 2])
    >>> hits = index.nearest([[0b00001111]], k=2)
    >>> hits.ids.tolist(), (-hits.scores).tolist()
    ([[0, 2]], [[-0.0, 1.0]])
    """

    name = "bits"
    rows = BitRows

    def __init__(self, dimension: int, *, fingerprint: str = "") -> None:
        check_whole(self._who, "dimension", dimension, 1, MAX_BITS)
        super().__init__(dimension, fingerprint=fingerprint)
        self._state = replace(self._state, ids=ConsecutiveIds(0, 0), scales=UnitScales(0))

    def add_codes(
        self,
        codes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        fingerprint: str | None = None,
    ) -> NDArray[np.int64]:
        """Add packed codes, all or none of them, and return their ids.

        Parameters
        ----------
        codes : uint8 array of shape (n, bytes)
            Packed as by ``numpy.packbits``; a single code is also accepted.
        ids, fingerprint
            As for :meth:`Index.add`.
        """
        checked = check_codes(self._who, codes, self.dimension)
        return self.add(checked, ids, fingerprint=fingerprint)

    def codes(self, ids: ArrayLike | None = None) -> NDArray[np.uint8]:
        """Return the packed codes with these ids, in that order; by default all."""
        state = self._state
        if ids is None:
            places = np.arange(len(state.ids))
        else:
            places = state.places(self._who, self._checked_ids(ids))
        return _rows(state).codes(places).packed

    def set_scales(self, scales: ArrayLike | None) -> None:
        """Set the factor of each picture's scores; see :meth:`Index.set_scales`."""
        super().set_scales(scales)
        with self._writing:
            if (self.scales == 1).all():
                self._state = replace(self._state, scales=UnitScales(len(self)))

    def nearest(
        self,
        codes: ArrayLike,
        k: int = 10,
        *,
        weights: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        among: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> Hits:
        """Return the ``k`` nearest codes; scores are negative distances, rounded to float32.

        Scales, if set, multiply the scores.

        Parameters
        ----------
        codes : uint8 array of shape (q, bytes)
            Packed codes of the queries.
        k, exclude, among, fingerprint
            As for :meth:`Index.search`.
        weights : array of shape (bits,) or (q, bits), optional
            What it costs to differ in each bit, from 0: one set for all queries or one for each.
            By default 1, the Hamming distance.
        """
        self._check_fingerprint(fingerprint)
        return self._best(self._distances(codes, weights), k, exclude, among)

    def within(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Return for each query the ids and the distances of all codes up to ``radius`` away.

        Nearest first, ties by id. Distances and ``radius`` are rounded to
        float32 and compared; scales have no effect.

        Parameters
        ----------
        codes, weights, fingerprint
            As for :meth:`nearest`.
        radius : float
            From 0.
        """
        self._check_fingerprint(fingerprint)
        if not is_number(radius) or not 0 <= radius < np.inf:
            raise InvalidInput(
                f"{self._who}: radius must be from 0 and finite; got {radius!r:.80}."
            )
        queries = self._distances(codes, weights)
        state = self._state
        result = []
        for query in queries:
            ids, scores = _rows(state).within(query, _names(state), -np.float32(radius))
            order = np.lexsort((ids, -scores))
            result.append((ids[order], np.abs(scores[order])))
        return result

    def save(self, path: Path | str) -> None:
        """Save the index to one file, all or nothing."""
        state = self._state
        arrays = _rows(state).arrays()
        manifest = {
            "dimension": self.dimension,
            "fingerprint": self.fingerprint,
            "next_id": state.next_id,
            "count": len(state.ids),
        }
        if isinstance(state.ids, ConsecutiveIds):
            manifest["first_id"] = state.ids.first
        else:
            arrays["ids"] = state.ids.rows
        if not isinstance(state.scales, UnitScales):
            arrays["scales"] = state.scales.rows
        save_arrays(Path(path), arrays, kind=self.file_kind, manifest=manifest)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open an index that :meth:`save` wrote, or raise DamagedFile.

        Codes are mapped from the file, so that processes share them and only what is visited is
        read.
        """
        arrays, manifest = map_arrays(Path(path), kind=cls.file_kind)
        try:
            who = cls.__name__
            index = cls(manifest["dimension"], fingerprint=str(manifest["fingerprint"]))
            count = check_whole(who, "count", manifest["count"], 0)
            rows = cls.rows.mapped(arrays, count, index.dimension)
            ids, least = _stored_ids(arrays.get("ids"), manifest.get("first_id"), count)
            scales: GrowingArray[np.float32] = UnitScales(count)
            if "scales" in arrays:
                scales = GrowingArray(index._checked_scales(arrays["scales"], count))
            next_id = check_whole(who, "next_id", manifest["next_id"], least, FREE)
            arrays.check_all_used()
        except (InvalidInput, KeyError, TypeError, ValueError) as error:
            remedy = "Make the index again, or restore a backup."
            raise incomplete(path, cls.__name__, error, remedy) from error
        index._state = State(rows, ids, scales, next_id)
        return index

    @classmethod
    def saved_ids(cls, path: Path | str, *, fingerprint: str) -> NDArray[np.int64]:
        """Return the ids in a file, without reading its codes."""
        index = cls.open(path)
        return index.ids if index.fingerprint == fingerprint else np.zeros(0, np.int64)

    def _distances(self, codes: ArrayLike, weights: ArrayLike | None) -> NDArray[np.float64]:
        """Return what each bit adds to a negative distance, of shape (q, 2, bits)."""
        checked = check_codes(self._who, codes, self.dimension)
        ones = checked.unpacked().astype(np.float64)
        adds = np.zeros((len(ones), 2, 8 * code_bytes(self.dimension)))
        each = 1.0 if weights is None else check_weights(self._who, weights, *checked.shape)
        adds[:, 0, : self.dimension] = -ones * each
        adds[:, 1, : self.dimension] = (ones - 1) * each
        return adds

    def _offer(
        self,
        state: State,
        queries: NDArray[np.float64],
        chosen: NDArray[np.intp] | None,
        best: Best,
    ) -> None:
        """Merge the codes in the rows ``chosen``, or all, into each query's best."""
        if chosen is None and isinstance(state.scales, UnitScales):
            _rows(state).offer_codes(queries, _names(state), best)
        else:
            super()._offer(state, queries, chosen, best)


def _rows(state: State) -> BitRows:
    rows: BitRows = state.rows  # type: ignore[assignment]
    return rows


def _names(state: State) -> NDArray[np.int64]:
    """Return the ids, or the first of consecutive ones."""
    ids = state.ids
    if isinstance(ids, ConsecutiveIds):
        names = np.array([ids.first])
        names.flags.writeable = False
        return names
    return ids.rows


def _stored_ids(
    ids: NDArray[np.int64] | None, first: int | None, count: int
) -> tuple[GrowingArray[np.int64], int]:
    """Return the ids of a file, and the least id that is still free above them."""
    if ids is None:
        start = check_whole("BitIndex", "first_id", first, 0, FREE - count)
        return ConsecutiveIds(start, count), start + count if count else 0
    if ids.dtype != np.int64 or ids.shape != (count,):
        raise InvalidInput(f"ids are {ids.dtype} of shape {ids.shape}")
    least = int(ids.max(initial=-1)) + 1
    if len(np.unique(ids)) != count or ids.min(initial=0) < 0 or least > FREE:
        raise InvalidInput("ids are not unique, below 0 or too large")
    return GrowingArray(ids), least
