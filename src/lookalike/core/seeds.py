"""Turn a ``random_state`` into reproducible streams of random numbers.

Compiled loops draw from a xoshiro256++ state, an array of four uint64 that is passed in and
advanced in place (see ``core/_fast/random.py``); everything else from a NumPy generator.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput

RandomState: TypeAlias = int | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator for a seed, a generator (passed through) or None (fresh entropy)."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is not None and (
        isinstance(random_state, bool)
        or not isinstance(random_state, int | np.integer)
        or random_state < 0
    ):
        raise InvalidInput(
            f"random_state must be a whole number from 0, a numpy Generator or None; "
            f"got {random_state!r}."
        )
    return np.random.default_rng(random_state)


def loop_state(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Draw the four-word state that compiled loops advance."""
    state: NDArray[np.uint64] = rng.integers(1, 2**63, size=4, dtype=np.uint64)
    return state
