"""Recent scans of an index, by which a query that has turned a little is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_SCANS = 32
"""Scans that are kept."""

MAX_BYTES = 1 << 25
"""What they may take in memory."""

FARTHEST = 0.5
"""How far from a scanned query another may be, over its own length: the sine of their angle."""


class Near(NamedTuple):
    """What a scan says of a query: about ``factor`` times each of its ``products``.

    That is off by at most |v| times ``apart``, the distance of the query from ``factor`` times the
    one that was scanned, and by the rounding of products with that, which has this ``length``.
    """

    products: NDArray[np.float32]
    factor: float
    apart: float
    length: float


@dataclass(frozen=True)
class _Scan:
    unit: NDArray[np.float64]
    length: float
    products: NDArray[np.float32]


class Scans:
    """The products of recent queries with all rows of an index; shared by threads.

    Whoever votes asks again with a query that has turned a little. By the inequality of Cauchy and
    Schwarz its product with a row v differs from that of the query before by at most |v| times the
    length of what the two differ in, so only rows that this could lift among the best need to be
    looked at: of 100,000 some hundreds, and the result is exact.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._scans: tuple[_Scan, ...] = ()

    def keep(self, query: NDArray[np.float32], products: NDArray[np.float32]) -> None:
        """Keep the products of a query with all rows; the oldest make room."""
        most = min(MAX_SCANS, self._max_bytes // max(products.nbytes, 1))
        vector = query.astype(np.float64)
        length = float(np.linalg.norm(vector))
        if length and most:
            # Where two threads keep one at once, one of them is lost.
            self._scans = (_Scan(vector / length, length, products), *self._scans[: most - 1])

    def near(self, query: NDArray[np.float32]) -> Near | None:
        """Return what the scan of the nearest query says of this one; None if all are far."""
        scans, vector = self._scans, query.astype(np.float64)
        if not scans:
            return None
        along = np.array([scan.unit for scan in scans]) @ vector
        nearest = int(np.abs(along).argmax())
        scan, share = scans[nearest], float(along[nearest])
        apart = float(np.linalg.norm(vector - share * scan.unit))
        if apart > FARTHEST * float(np.linalg.norm(vector)):
            return None
        return Near(scan.products, share / scan.length, apart, scan.length)
