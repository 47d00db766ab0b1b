"""Random numbers for compiled loops: xoshiro256++ (Blackman and Vigna, 2019), public domain."""

import numpy as np

from lookalike.core._fast import LOOP, U64, njit, uint64


@njit(**LOOP, inline="always")
def _rotate(x: np.uint64, k: np.uint64) -> np.uint64:
    return (x << k) | (x >> (uint64(64) - k))


@njit(**LOOP)
def next_word(state: U64) -> np.uint64:
    """Advance ``state`` and return 64 random bits."""
    result = _rotate(state[0] + state[3], uint64(23)) + state[0]
    t = state[1] << uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = _rotate(state[3], uint64(45))
    return result


@njit(**LOOP)
def next_below(state: U64, bound: np.uint64) -> np.uint64:
    """Draw uniformly from 0 .. bound-1, for a bound below 2³² (Lemire's multiply and shift)."""
    return ((next_word(state) >> uint64(32)) * bound) >> uint64(32)


@njit(**LOOP)
def next_unit(state: U64) -> float:
    """Draw uniformly from [0, 1) with 53 random bits."""
    return float(next_word(state) >> uint64(11)) * (1.0 / 9007199254740992.0)
