"""Binary codes, one row per picture: eight bits a byte, packed as by ``numpy.packbits``."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput

MAX_BITS = 1 << 16


@dataclass(frozen=True)
class Codes:
    """Checked codes: packed rows, and the number of bits of each.

    Unused bits of the last byte are 0.
    """

    packed: NDArray[np.uint8]
    bits: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of codes, and of bits."""
        return len(self.packed), self.bits

    def unpacked(self) -> NDArray[np.uint8]:
        """Return one column for each bit, of 0 and 1.

        Examples
        --------
        >>> check_codes("search", [[0b10100000]], 3).unpacked().tolist()
        [[1, 0, 1]]
        """
        return np.unpackbits(self.packed, axis=1, count=self.bits)


def code_bytes(bits: int) -> int:
    """Return the number of bytes of a code."""
    return (bits + 7) // 8


def check_codes(who: str, codes: ArrayLike, bits: int) -> Codes:
    """Return packed codes of this many bits, or raise InvalidInput; one code is one row.

    Examples
    --------
    >>> check_codes("search", [[1, 2]], 9)
    Traceback (most recent call last):
    ...
    lookalike.core.errors.InvalidInput: search: codes of 9 bits must have 0 in the last 7 bits.
    """
    given = np.asarray(codes)
    whole = given.dtype == np.uint8 or (
        given.dtype.kind in "iu"
        and (not given.size or (int(given.min()) >= 0 and int(given.max()) <= 255))
    )
    rows = np.atleast_2d(given)
    if not whole or rows.ndim != 2 or rows.shape[1] != code_bytes(bits):
        raise InvalidInput(
            f"{who}: codes must be rows of {code_bytes(bits)} bytes ({bits} bits, packed); "
            f"got {given.dtype} of shape {given.shape}."
        )
    packed = np.ascontiguousarray(rows, np.uint8)
    unused = 8 * packed.shape[1] - bits
    if unused and (packed[:, -1] & ((1 << unused) - 1)).any():
        raise InvalidInput(f"{who}: codes of {bits} bits must have 0 in the last {unused} bits.")
    return Codes(packed, bits)


def pack(who: str, values: ArrayLike) -> Codes:
    """Return rows of 0 and 1 (or False and True), one column per bit, as codes.

    Examples
    --------
    >>> pack("add", [[1, 0, 1]]).packed.tolist()
    [[160]]
    """
    given = np.asarray(values)
    if given.ndim != 2 or not 1 <= given.shape[1] <= MAX_BITS:
        raise InvalidInput(
            f"{who}: bits must be a matrix with one row per picture and 1 to {MAX_BITS} columns; "
            f"got the shape {given.shape}."
        )
    ones = given == 1
    if not (ones | (given == 0)).all():
        raise InvalidInput(f"{who}: bits must be 0 or 1. Turn vectors into codes first.")
    return Codes(np.packbits(ones, axis=1), int(given.shape[1]))


def check_bits(who: str, bits: int) -> int:
    """Return a number of bits, from 1, or raise InvalidInput."""
    return check_whole(who, "bits", bits, 1, MAX_BITS)


def check_weights(who: str, weights: ArrayLike, count: int, bits: int) -> NDArray[np.float32]:
    """Return weights of bits, a row for each of ``count`` queries, or raise InvalidInput.

    One set of weights serves all queries.
    """
    try:
        with np.errstate(over="ignore"):
            given = np.asarray(weights, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{who}: weights must be numbers; {error}.") from error
    if given.shape not in ((bits,), (count, bits)):
        raise InvalidInput(
            f"{who}: weights must be {bits} numbers, one per bit, or {count} rows of them, one "
            f"per query; got the shape {given.shape}."
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise InvalidInput(f"{who}: weights must be finite and from 0.")
    return np.broadcast_to(given, (count, bits))
