"""Restricted Boltzmann machines by contrastive divergence, one layer at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_BATCH = 100
_DECAY = np.float32(2e-4)


def train_layer(
    below: Floats, units: int, epochs: int, rng: np.random.Generator, *, real: bool
) -> tuple[Floats, Floats]:
    """Return the weights and the biases of a layer over the one below.

    One step of Gibbs sampling, CD-1 (Hinton, *Training Products of Experts by Minimizing
    Contrastive Divergence*, 2002), with momentum 0.5, from the sixth pass on 0.9, and weight decay
    (Hinton's *Practical Guide*, 2010). ``below`` are probabilities of binary units or, with
    ``real``, numbers with a mean square of about 1 and Gaussian noise of 1.
    """
    rate = np.float32(0.005 if real else 0.1)
    # Units that start all alike would take many more passes to become different.
    spread = (1.0 if real else 3.0) / np.sqrt(below.shape[1])
    W = rng.normal(0, spread, (below.shape[1], units)).astype(np.float32)
    up = np.zeros(units, np.float32)
    down = np.zeros(below.shape[1], np.float32)
    moves = [np.zeros_like(array) for array in (W, up, down)]
    for epoch in range(epochs):
        momentum = np.float32(0.5 if epoch < 5 else 0.9)
        order = rng.permutation(len(below))
        for first in range(0, len(below), _BATCH):
            data = below[order[first : first + _BATCH]]
            likely = sigmoid(data @ W + up)
            states = (rng.random(likely.shape, np.float32) < likely).astype(np.float32)
            again: Floats = states @ W.T + down
            if not real:
                again = sigmoid(again)
            unlikely = sigmoid(again @ W + up)
            pace = rate / np.float32(len(data))
            gradients = (
                data.T @ likely - again.T @ unlikely,
                (likely - unlikely).sum(axis=0),
                (data - again).sum(axis=0),
            )
            for number, gradient in enumerate(gradients):
                moves[number] = momentum * moves[number] + pace * gradient
            moves[0] -= rate * _DECAY * W
            W += moves[0]
            up += moves[1]
            down += moves[2]
    return W, up


def sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    """Return 1 / (1 + e⁻ˣ), without overflow, in the precision of x."""
    half: NDArray[Any] = np.float32(0.5) * (np.float32(1.0) + np.tanh(np.float32(0.5) * x))
    return half
