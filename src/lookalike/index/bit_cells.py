"""Codes sorted into cells around centres, so that a search visits few of them."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core.codes import Codes, code_bytes
from lookalike.core.errors import InvalidInput
from lookalike.index._fast.bit_cells import Cells, assign, count_ones
from lookalike.index._fast.bits import fill_blocks
from lookalike.index._fast.row_order import GROUP, pack_rows, unpack_rows, words
from lookalike.index._fast.shuffle import LANES

# Codes of a cell that its centre is learned from, so many times.
_SAMPLE, _ROUNDS = 64, 2

# Parts of a code at most by which near centres are found.
_PARTS = 8

# The share of codes that are in no cell: one that is far away would make its cell wide.
_LOOSE = 0.01


class SortedCodes:
    """Which codes are sorted into cells, in which row each of them is, and the cells.

    Attributes
    ----------
    covered : int
        How many codes are sorted: those of the first rows, at the first places.
    rows : uint64 array of shape (groups, words)
        The row of each place, packed; see ``_fast/row_order.py``.
    cells : Cells
        See ``_fast/bit_cells.py``.
    """

    def __init__(self, covered: int, rows: NDArray[np.uint64], cells: Cells) -> None:
        self.covered = covered
        self.rows = rows
        # Loops are compiled for arrays that cannot be written to, as those of files are.
        centres, rings = cells.centres.view(), cells.rings.view()
        centres.flags.writeable = rings.flags.writeable = False
        self.cells = Cells(centres, rings, cells.loose)

    @classmethod
    def none(cls, columns: int) -> Self:
        """Return what stands for codes that are only scanned."""
        centres, rings = np.zeros((0, columns, LANES), np.uint8), np.zeros((0, 2), np.uint32)
        return cls(0, _packed(np.zeros(0, np.int64)), Cells(centres, rings, 0))

    @classmethod
    def of(cls, codes: Codes, cell_size: int) -> Self:
        """Return how to sort codes, about so many into a cell."""
        wide = _as_words(codes.packed)
        centres = _centres(wide, codes.bits, cell_size)
        cell, distance = _assigned(wide, centres, codes.bits)
        farthest = int(np.quantile(distance, 1 - _LOOSE, method="lower"))
        # Codes that are near no centre come last.
        cell[distance > farthest] = len(centres)
        ring = cell * (farthest + 1) + np.minimum(distance, farthest)
        order = np.argsort(ring, kind="stable")
        starts = np.searchsorted(ring[order], np.arange(len(centres) * (farthest + 1) + 1))
        ends = starts[farthest + 1 :: farthest + 1]
        rings = np.column_stack([starts[:-1].reshape(len(centres), -1), ends]).astype(np.uint32)
        blocks = np.zeros((-(-len(centres) // LANES), codes.packed.shape[1], LANES), np.uint8)
        fill_blocks(_as_bytes(centres, codes.packed.shape[1]), 0, blocks)
        return cls(len(order), _packed(order), Cells(blocks, rings, int(ends[-1])))

    @classmethod
    def loaded(cls, arrays: Mapping[str, NDArray[Any]], count: int, bits: int) -> Self:
        """Return what :meth:`arrays` gave, or raise InvalidInput."""
        packed, centres, rings = (arrays[name] for name in ("rows", "centres", "rings"))
        covered, loose = (int(number) for number in arrays["covered"].ravel())
        if not (
            packed.dtype == np.uint64
            and centres.dtype == np.uint8
            and rings.dtype == np.uint32
            and 0 < covered <= count
            and packed.shape == (-(-covered // GROUP), words(covered))
            and rings.ndim == 2
            and len(rings) > 0
            and 2 <= rings.shape[1] <= bits + 2
            and centres.shape == (-(-len(rings) // LANES), code_bytes(bits), LANES)
            and (rings[:, 1:] >= rings[:, :-1]).all()
            and (rings[1:, 0] >= rings[:-1, 0]).all()
            and 0 <= loose <= covered
            and rings.max() <= covered
        ):
            raise InvalidInput("its cells are inconsistent")
        loaded = cls(covered, packed, Cells(centres, rings, loose))
        order = loaded.order()
        if order.min() < 0 or order.max() >= covered or np.bincount(order).max() > 1:
            raise InvalidInput("its rows are not each there once")
        return loaded

    @property
    def memory(self) -> int:
        """The bytes it takes."""
        return int(self.rows.nbytes + self.cells.centres.nbytes + self.cells.rings.nbytes)

    def order(self) -> NDArray[np.int64]:
        """Return the row of each place."""
        order = np.empty(self.covered, np.int64)
        unpack_rows(self.rows, order)
        return order

    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same where only some rows are left, in the same order."""
        order = self.order()
        stays = mask[order]
        before = np.concatenate([[0], np.cumsum(stays)])
        # Where a ring starts is known only to its group.
        rings = self.cells.rings.astype(np.int64)
        starts = rings[:, :-1] // GROUP * GROUP
        ends = np.minimum(-(-rings[:, -1:] // GROUP) * GROUP, self.covered)
        fewer = before[np.hstack([starts, np.maximum(ends, starts[:, -1:])])].astype(np.uint32)
        loose = int(before[self.cells.loose // GROUP * GROUP])
        rows = (np.cumsum(mask) - 1)[order[stays]]
        return type(self)(len(rows), _packed(rows), Cells(self.cells.centres, fewer, loose))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return {
            "rows": self.rows,
            "centres": self.cells.centres,
            "rings": self.cells.rings,
            "covered": np.array([self.covered, self.cells.loose]),
        }


def _packed(order: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the row of each place, packed; within a group places change, so that rows ascend."""
    grouped = order.copy()
    whole = len(order) // GROUP * GROUP
    grouped[:whole].reshape(-1, GROUP).sort(axis=1)
    grouped[whole:].sort()
    packed = np.empty((-(-len(order) // GROUP), words(max(len(order), 1))), np.uint64)
    pack_rows(grouped, packed)
    packed.flags.writeable = False
    return packed


def _as_words(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    wide = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    wide[:, : packed.shape[1]] = packed
    return wide.view(np.uint64)


def _as_bytes(wide: NDArray[np.uint64], columns: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(wide.view(np.uint8)[:, :columns])


def _assigned(
    wide: NDArray[np.uint64], centres: NDArray[np.uint64], bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a near centre of each code, and the distance from it."""
    used = 8 * code_bytes(bits)
    width = min(max(int(np.log2(len(centres))) - 2, 1), used)
    parts = [
        (first // 64, first % 64)
        for first in range(0, used - width + 1, width)
        if first % 64 + width <= 64
    ]
    cell, distance = np.empty((2, len(wide)), np.int64)
    assign(wide, centres, np.array(parts[:_PARTS]), width, bits // 8, cell, distance)
    return cell, distance


def _centres(wide: NDArray[np.uint64], bits: int, cell_size: int) -> NDArray[np.uint64]:
    """Return centres: codes at random, then such as are far from those, then means of cells."""
    rng = np.random.default_rng(0)
    wanted = max(len(wide) // cell_size, 1)
    sample = wide[rng.choice(len(wide), min(len(wide), _SAMPLE * wanted), replace=False)]
    centres = sample[: -(-wanted // 2)]
    _, distance = _assigned(sample, centres, bits)
    chances = np.cumsum(distance.astype(np.float64) ** 2)
    drawn = np.searchsorted(chances, rng.random(wanted // 2) * chances[-1])
    centres = np.vstack([centres, sample[np.unique(drawn)]])
    for _ in range(_ROUNDS):
        cell, _ = _assigned(sample, centres, bits)
        counts = np.zeros((len(centres), 64 * wide.shape[1]), np.int32)
        count_ones(sample, cell, counts)
        sizes = np.bincount(cell, minlength=len(centres))
        mostly = 2 * counts > sizes[:, None]
        means = np.packbits(mostly, axis=1, bitorder="little").view(np.uint64)
        centres[sizes > 2] = means[sizes > 2]
    return centres
