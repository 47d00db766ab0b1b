"""Online multiple kernel learning for two classes (OMKL): perceptrons and Hedge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_number
from lookalike.core.errors import InvalidInput
from lookalike.similarity.kernels import Floats


@dataclass(frozen=True)
class OnlineKernels:
    """A classifier for each kernel, and their weights (paper 5, section 3.1).

    Attributes
    ----------
    coefficients : ndarray of shape (m, n)
        f_i(x) = Σ_t coefficients[i, t] κ_i(x_t, x), by the examples learned from (Eq. 4).
    weights : ndarray of shape (m,)
        θ, as shares (Eq. 2 and 5).
    mistakes : ndarray of shape (m,)
        Σ_t z_i(t): the examples that each classifier got wrong when they came.
    """

    coefficients: NDArray[np.float64]
    weights: NDArray[np.float64]
    mistakes: NDArray[np.int64]

    def decide(self, values: Sequence[Floats]) -> NDArray[np.float64]:
        """Return f(x) of Eq. 3 by the kernel values of each kernel, (pictures, examples)."""
        each = [np.sign(K @ own) for K, own in zip(values, self.coefficients, strict=True)]
        return np.asarray(self.weights @ np.array(each), dtype=np.float64)


def learn_online(
    values: Sequence[Floats], signs: ArrayLike, *, discount: float = 0.8
) -> OnlineKernels:
    """Learn to tell two classes apart by several kernels, from one example after the other.

    With z_i(t) = 1 where classifier i is wrong on example t, and 0 otherwise,

        f_i ← f_i + z_i(t) y_t κ_i(x_t, ·)   (Eq. 4),   θ_i ← θ_i β^{z_i(t)}   (Eq. 5).

    Parameters
    ----------
    values : sequence of ndarray of shape (n, n)
        The values of each kernel for the examples.
    signs : ndarray of shape (n,)
        y: +1 or −1.
    discount : float
        β, between 0 and 1.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.2, 2.0]])
    >>> learned = learn_online([X @ X.T, np.ones((4, 4))], [1, -1, 1, -1])
    >>> bool(learned.weights[0] > learned.weights[1])
    True
    """
    check_number("learn_online", "discount", discount, below=1)
    y = np.asarray(signs, dtype=np.float64)
    if y.ndim != 1 or not set(np.unique(y)) <= {-1.0, 1.0}:
        raise InvalidInput("learn_online: signs must be +1 or -1, one for each example.")
    if not len(values) or any(K.shape != (len(y), len(y)) for K in values):
        raise InvalidInput(
            f"learn_online: values must be of shape {(len(y), len(y))} for each kernel, at least "
            f"one; got {[K.shape for K in values]!r:.80}."
        )
    coefficients = np.zeros((len(values), len(y)))
    mistakes = np.zeros(len(values), dtype=np.int64)
    for t, sign in enumerate(y):
        wrong = np.array(
            [sign * (own @ K[:, t]) <= 0 for K, own in zip(values, coefficients, strict=True)]
        )
        coefficients[wrong, t] = sign
        mistakes += wrong
    # β to the number of mistakes, less that of the best: the same shares, and none is rounded to 0.
    powers = np.power(float(discount), mistakes - mistakes.min())
    return OnlineKernels(coefficients, powers / powers.sum(), mistakes)
