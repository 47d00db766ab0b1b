"""Fine-tune a network so that neighbours share labels: the cost of NCA by conjugate gradients."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.codes.rbm import sigmoid
from lookalike.core.progress import Progress

Floats = NDArray[Any]
Layers: TypeAlias = list[tuple[Floats, Floats]]

STEPS = 3
"""Steps of conjugate gradients for each neighbourhood, as Hinton and Salakhutdinov take."""

_OPTIONS: Any = {"maxiter": STEPS, "gtol": 1e-9}


@dataclass(frozen=True)
class Network:
    """Layers of sigmoid units: their weights and biases."""

    layers: Layers

    def flat(self) -> NDArray[np.float64]:
        """Return all parameters as one vector."""
        return np.concatenate([part.ravel() for layer in self.layers for part in layer]).astype(
            np.float64
        )

    def like(self, flat: NDArray[np.float64]) -> "Network":
        """Return a network of the same shape with other parameters."""
        small = flat
        ends = np.cumsum([0, *(part.size for layer in self.layers for part in layer)])
        parts = iter(pairwise(ends))
        layers: Layers = []
        for W, b in self.layers:
            begin, middle = next(parts)
            _, end = next(parts)
            layers.append(
                (small[begin:middle].reshape(W.shape), small[middle:end].reshape(b.shape))
            )
        return Network(layers)

    def loss(self, rows: Floats, shared: NDArray[np.bool_]) -> tuple[float, NDArray[np.float64]]:
        """Return the cost of a neighbourhood and its gradient in all parameters.

        The cost is −(1/n) Σᵢ Σⱼ p_ij over pairs that share a label, p_ij the chance that i picks j
        as its neighbour: a softmax over j ≠ i of −|h_i − h_j|², h the outputs (Goldberger et al.,
        *Neighbourhood Components Analysis*, 2004).
        """
        outputs = [rows]
        for W, b in self.layers:
            outputs.append(sigmoid(outputs[-1] @ W + b))
        h = outputs[-1]
        cost, slope = neighbour_cost(h, shared)
        gradient = []
        for (W, _), below, above in zip(
            reversed(self.layers), reversed(outputs[:-1]), reversed(outputs[1:]), strict=True
        ):
            slope = slope * above * (1 - above)
            gradient += [slope.sum(axis=0), (below.T @ slope).ravel()]
            slope = slope @ W.T
        return cost, np.concatenate(gradient[::-1]).astype(np.float64)


def neighbour_cost(h: Floats, shared: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the cost of :meth:`Network.loss` for outputs, and its gradient in them."""
    squares = np.square(h).sum(axis=1)
    scores = 2 * (h @ h.T) - squares[:, None] - squares
    np.fill_diagonal(scores, -np.inf)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    right = (chances * shared).sum(axis=1, keepdims=True)
    cost = -float(right.mean())
    # d(−p_i)/d(score_ij) = p_ij (p_i − [j shares a label with i]); the score is −|h_i − h_j|².
    slope = chances * (right - shared) / len(h)
    both = slope + slope.T
    gradient = 2 * (both @ h - both.sum(axis=1, keepdims=True) * h)
    return cost, gradient


def fine_tune(
    network: Network,
    rows: Floats,
    has: sp.csr_matrix,
    *,
    batches: int,
    size: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Network:
    """Return the network after some steps on each of several random neighbourhoods."""
    from scipy.optimize import minimize

    labelled = np.flatnonzero(np.diff(has.indptr))
    order = rng.permutation(labelled)
    place = 0
    for done in range(batches):
        if place + min(size, len(labelled)) > len(order):
            order, place = rng.permutation(labelled), 0
        some = np.sort(order[place : place + size])
        place += size
        shared = np.asarray((has[some] @ has[some].T).todense()) > 0
        np.fill_diagonal(shared, False)
        cost = partial(_cost, network, rows[some], shared)
        solution = minimize(cost, network.flat(), jac=True, method="CG", options=_OPTIONS)
        if np.isfinite(solution.x).all():
            network = network.like(solution.x)
        progress(done + 1, batches)
    return network


def _cost(
    network: Network, rows: Floats, shared: NDArray[np.bool_], flat: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    return network.like(flat).loss(rows, shared)
