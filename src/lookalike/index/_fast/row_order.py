"""In which row each code is, where they lie in another order: about 2.5 bytes a code.

The rows of a group of 64 codes ascend. The lower bits of each are kept as they are; the upper ones
as ones in a line of 192 bits, a row's number plus its upper bits from the start (Elias and Fano).
"""

import numpy as np
from numba import njit

from lookalike.core._fast import I64, LOOP, U64

GROUP = 64
"""The codes of a group."""

UPPER = 3
"""The words for the upper bits of a group's rows, of which there are fewer than 128 values."""

_ONE = np.uint64(1)
_WORD = np.uint64(64)


def words(count: int) -> int:
    """Return the words of each group for rows below ``count``."""
    return max((count - 1).bit_length() - 7, 0) + UPPER


@njit(**LOOP)
def ones(word: np.uint64) -> np.uint64:
    """Return the number of bits that are set."""
    pairs = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(**LOOP)
def pack_rows(order: I64, packed: U64) -> None:
    """Write the row of each place; the rows of a group ascend."""
    width = np.uint64(packed.shape[1] - UPPER)
    packed[:] = 0
    for place in range(order.size):
        group = place // GROUP
        number = np.uint64(place % GROUP)
        row = np.uint64(order[place])
        upper = (row >> width) + number
        packed[group, width + upper // _WORD] |= _ONE << (upper % _WORD)
        if width:
            lower = row & ((_ONE << width) - _ONE)
            first = number * width
            packed[group, first // _WORD] |= lower << (first % _WORD)
            if first % _WORD + width > _WORD:
                packed[group, first // _WORD + _ONE] |= lower >> (_WORD - first % _WORD)


@njit(**LOOP)
def row_of(place: int, packed: U64) -> np.int64:
    """Return the row of the code at a place."""
    group = place // GROUP
    number = np.uint64(place % GROUP)
    width = np.uint64(packed.shape[1] - UPPER)
    before = number
    upper = np.uint64(0)
    for word in range(UPPER):
        bits = packed[group, width + np.uint64(word)]
        count = ones(bits)
        if before < count:
            for _ in range(before):
                bits &= bits - _ONE
            upper += ones((bits & (~bits + _ONE)) - _ONE) - number
            break
        before -= count
        upper += _WORD
    return np.int64((upper << width) | lower_bits(packed[group], number, width))


@njit(**LOOP)
def lower_bits(words: U64, number: np.uint64, width: np.uint64) -> np.uint64:
    """Return the lower bits of one row of a group."""
    if not width:
        return np.uint64(0)
    first = number * width
    lower = words[first // _WORD] >> (first % _WORD)
    if first % _WORD + width > _WORD:
        lower |= words[first // _WORD + _ONE] << (_WORD - first % _WORD)
    return lower & ((_ONE << width) - _ONE)


@njit(**LOOP)
def unpack_rows(packed: U64, order: I64) -> None:
    """Write the row of each place."""
    width = np.uint64(packed.shape[1] - UPPER)
    order[:] = -1
    for group in range(packed.shape[0]):
        number = np.uint64(0)
        for word in range(UPPER):
            bits = packed[group, width + np.uint64(word)]
            while (
                bits
                and number < _WORD
                and np.uint64(group * GROUP) + number < np.uint64(order.size)
            ):
                lowest = bits & (~bits + _ONE)
                upper = np.uint64(word) * _WORD + ones(lowest - _ONE) - number
                row = (upper << width) | lower_bits(packed[group], number, width)
                order[np.uint64(group * GROUP) + number] = np.int64(row)
                number += _ONE
                bits ^= lowest
