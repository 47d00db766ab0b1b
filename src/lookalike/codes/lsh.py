"""Random directions: locality-sensitive hashing for the angle."""

from typing import Any

from lookalike.codes.base import LinearEncoder, centred
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors


@with_settings
class LSHCodes(LinearEncoder):
    """Encode by the side of random hyperplanes through the mean.

    Two vectors differ in a bit with a probability of their angle divided by π (Charikar, 2002;
    paper 3, section 2). Nothing is learned but the mean.

    Parameters
    ----------
    bits : int
        The length of a code.
    random_state : int, Generator or None
        Makes the directions repeatable.

    Examples
    --------
    >>> codes = LSHCodes(bits=16, random_state=0).fit([[1.0, 0.0], [0.0, 1.0]])
    >>> codes.encode([[1.0, 0.0]]).shape
    (1, 2)
    """

    name = "lsh"

    bits: int = 64
    random_state: RandomState = None

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        rng = generator(self.random_state)
        _, mean = centred(vectors, rng)
        self._set(rng.standard_normal((self.bits, len(mean))), mean)
        progress(1, 1)
