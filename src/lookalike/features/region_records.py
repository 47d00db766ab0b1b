"""Records of regions: the words of a picture with their places and shapes, as bytes and back.

The databases of collections contain these bytes: their layout never changes.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput

PLAIN, SIGNED = b"RGN1", b"RGN2"
"""Records without signatures, as they were at first, and with them."""
HEADER = struct.Struct("<4sHHIH")
FINE = 65_535


@dataclass(frozen=True)
class RegionRecord:
    """The regions of a picture.

    Attributes
    ----------
    size : tuple of int
        Width and height of the picture in which they were found.
    words : ndarray of int32, shape (n, r)
        The words of each region, nearest first; r is 1 unless they are assigned softly.
    weights : ndarray of float32, shape (n, r)
        The share of each, 1 in all for a region.
    places : ndarray of float32, shape (n, 2)
        x and y of each centre, in pixels of ``size``.
    shapes : ndarray of float32, shape (n, 2, 2)
        The matrix from the circle of radius 1 to the region, in pixels.
    signatures : ndarray of uint64, shape (n,), optional
        64 bits of each region's descriptor, by which it is compared with others more finely than
        by words; None in records made before there were any.
    """

    size: tuple[int, int]
    words: NDArray[np.int32]
    weights: NDArray[np.float32]
    places: NDArray[np.float32]
    shapes: NDArray[np.float32]
    signatures: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def inside(self, box: tuple[float, float, float, float]) -> "RegionRecord":
        """Return the regions whose centres lie in a box: left, top, width and height in pixels.

        Raises
        ------
        InvalidInput
            If the box is empty or lies outside the picture.
        """
        left, top, width, height = box
        right, bottom = left + width, top + height
        is_box = np.isfinite(box).all() and width > 0 and height > 0
        if not is_box or left >= self.size[0] or top >= self.size[1] or right <= 0 or bottom <= 0:
            raise InvalidInput(
                f"regions: a box must be left, top, width and height, and overlap the picture of "
                f"{self.size[0]} × {self.size[1]} pixels; got {', '.join(f'{n:g}' for n in box)}."
            )
        x, y = self.places.T
        chosen = (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
        return RegionRecord(
            self.size,
            self.words[chosen],
            self.weights[chosen],
            self.places[chosen],
            self.shapes[chosen],
            None if self.signatures is None else self.signatures[chosen],
        )


def pack_regions(record: RegionRecord) -> bytes:
    """Return a record as bytes: places rounded to 1/65,535 of a side, shapes to float16.

    Examples
    --------
    >>> empty = np.zeros((0, 1))
    >>> none = RegionRecord((640, 480), empty, empty, np.zeros((0, 2)), np.zeros((0, 2, 2)))
    >>> len(pack_regions(none)), unpack_regions(pack_regions(none)).size
    (14, (640, 480))
    """
    sides = np.array(record.size, np.float64)
    own = record.signatures
    head = HEADER.pack(PLAIN if own is None else SIGNED, *record.size, *record.words.shape)
    places = np.rint(np.clip(record.places / sides, 0, 1) * FINE).astype("<u2")
    shapes = (record.shapes / sides.max()).astype("<f2")
    soft = record.weights.astype("<f2").tobytes() if record.words.shape[1] > 1 else b""
    signed = b"" if own is None else own.astype("<u8").tobytes()
    words = record.words.astype("<u4").tobytes()
    return b"".join([head, words, soft, places.tobytes(), shapes.tobytes(), signed])


def unpack_regions(record: bytes, dimension: int | None = None) -> RegionRecord:
    """Return the record that :func:`pack_regions` packed, or raise ValueError if it is damaged.

    With ``dimension``, a word beyond it is damage, too.
    """
    if len(record) < HEADER.size or record[:4] not in (PLAIN, SIGNED):
        raise ValueError("not a record of regions")
    _, width, height, count, each = HEADER.unpack_from(record)
    soft = 2 * each if each > 1 else 0
    if each < 1 or not width or not height:
        raise ValueError("a record of regions has a damaged head")
    signed = 8 if record[:4] == SIGNED else 0
    if len(record) != HEADER.size + count * (4 * each + soft + 12 + signed):
        raise ValueError("a record of regions is truncated or too long")
    at = HEADER.size
    words = np.frombuffer(record, "<u4", count * each, at).reshape(count, each)
    at += words.nbytes
    weights = np.ones((count, each), np.float32)
    if soft:
        weights = np.frombuffer(record, "<f2", count * each, at).reshape(count, each)
        at += weights.nbytes
    places = np.frombuffer(record, "<u2", 2 * count, at).reshape(count, 2)
    shapes = np.frombuffer(record, "<f2", 4 * count, at + places.nbytes).reshape(count, 2, 2)
    at += places.nbytes + shapes.nbytes
    signatures = np.frombuffer(record, "<u8", count, at).astype(np.uint64) if signed else None
    if not (np.isfinite(shapes).all() and np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a record of regions has a number that is not finite")
    if words.size and words.max() >= (2**31 if dimension is None else dimension):
        raise ValueError(f"a record of regions has a word beyond {dimension}")
    sides = np.array((width, height), np.float32)
    return RegionRecord(
        (width, height),
        words.astype(np.int32),
        weights.astype(np.float32),
        places.astype(np.float32) * (sides / np.float32(FINE)),
        shapes.astype(np.float32) * sides.max(),
        signatures,
    )
