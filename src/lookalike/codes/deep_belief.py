"""A deep belief net: layers trained one by one without labels, then together by neighbours."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.codes.base import Encoder, lengths_product, stored_array
from lookalike.codes.neighbourhood import Layers, Network, fine_tune
from lookalike.codes.rbm import sigmoid, train_layer
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, with_settings
from lookalike.core.vectors import Vectors


@with_settings
class DeepBeliefCodes(Encoder):
    """Encode by a deep belief net, pre-trained by contrastive divergence, tuned by labels.

    Each layer is a restricted Boltzmann machine over the one below, the first with real-valued
    inputs (Hinton and Salakhutdinov, *Reducing the Dimensionality of Data with Neural Networks*,
    2006); then all weights are changed by conjugate gradients so that pictures have neighbours
    with a label in common, the cost of neighbourhood components analysis (paper 3, section 4.2).

    Parameters
    ----------
    bits : int
        The length of a code: the units of the last layer.
    hidden : sequence of int
        The units of the layers between. The default, after vectors of 500 numbers, is the
        500-500-500-256-d of paper 3.
    epochs : int
        Passes over the pictures for each layer.
    batches : int
        Neighbourhoods that the fine-tuning visits, each with three steps (paper 3: 50).
    batch_size : int
        Pictures of a neighbourhood (paper 3: 1,000).
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    weights_ : tuple of float32 arrays
        From each layer to the next.
    biases_ : tuple of float32 arrays
        Those of the last layer put each bit's threshold at its median over the pictures.
    mean_ : float32 array of shape (d,)
    scale_ : float
        Inputs are (x − mean) / scale, with a mean square of 1.

    Notes
    -----
    Departure: bits are divided at the median of a unit's input, not at 0, so that each divides the
    pictures evenly.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((40, 5)), np.arange(40) % 2
    >>> net = DeepBeliefCodes(bits=4, hidden=(6,), batches=1, random_state=0).fit(X, y)
    >>> net.encode(X).shape
    (40, 1)
    """

    name = "deep_belief"
    needs_labels = True

    bits: int = 64
    hidden: Sequence[int] = (500, 500, 256)
    epochs: int = 20
    batches: int = 50
    batch_size: int = 1000
    random_state: RandomState = None

    weights_: tuple[NDArray[np.float32], ...] = field(init=False)
    biases_: tuple[NDArray[np.float32], ...] = field(init=False)
    mean_: NDArray[np.float32] = field(init=False)
    scale_: float = field(init=False)

    def _check_parameters(self) -> None:
        who = "DeepBeliefCodes"
        if not isinstance(self.hidden, list | tuple):
            raise InvalidInput(f"{who}: hidden must be a list of numbers; got {self.hidden!r:.80}.")
        for units in self.hidden:
            check_whole(who, "hidden", units, 1)
        check_whole(who, "epochs", self.epochs, 1)
        check_whole(who, "batches", self.batches, 0)
        check_whole(who, "batch_size", self.batch_size, 2)

    def settings(self) -> dict[str, Any]:
        """Return the constructor's parameters as JSON values."""
        return super().settings() | {"hidden": [int(units) for units in self.hidden]}

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        rng = generator(self.random_state)
        rows = np.array(vectors if isinstance(vectors, np.ndarray) else vectors.toarray())
        mean = rows.mean(axis=0)
        rows -= mean
        scale = float(np.sqrt(np.square(rows, dtype=np.float64).mean())) or 1.0
        rows /= np.float32(scale)
        layers: Layers = []
        below = rows
        sizes = [*self.hidden, self.bits]
        total = len(sizes) + self.batches
        for number, units in enumerate(sizes):
            W, b = train_layer(below, int(units), self.epochs, rng, real=number == 0)
            layers.append((W, b))
            below = sigmoid(below @ W + b)
            progress(number + 1, total)
        tuned = fine_tune(
            Network(layers),
            rows,
            sp.csr_matrix(has),
            batches=self.batches,
            size=self.batch_size,
            rng=rng,
            progress=lambda done, _: progress(len(sizes) + done, total),
        )
        self.mean_, self.scale_ = mean.astype(np.float32), scale
        self.weights_ = tuple(W.astype(np.float32) for W, _ in tuned.layers)
        self.biases_ = tuple(b.astype(np.float32) for _, b in tuned.layers)
        last = np.concatenate([self._hidden(some) @ self.weights_[-1] for some in _blocks(rows)])
        self.biases_ = (*self.biases_[:-1], -_middle(last))

    def _values(self, block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        states = self._hidden((block - self.mean_) / np.float32(self.scale_))
        W, b = self.weights_[-1], self.biases_[-1]
        return states @ W + b, lengths_product(states, W.T) + np.abs(b)

    def _hidden(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the states of the units below the last layer for scaled vectors."""
        for weights, biases in zip(self.weights_[:-1], self.biases_[:-1], strict=True):
            rows = sigmoid(rows @ weights + biases)
        return rows

    def _state(self) -> tuple[Arrays, Learned]:
        if not hasattr(self, "weights_"):
            raise NotFitted("DeepBeliefCodes is not fitted; call fit first.")
        arrays: Arrays = {"mean": self.mean_}
        for number, (W, b) in enumerate(zip(self.weights_, self.biases_, strict=True)):
            arrays |= {f"weights_{number}": W, f"biases_{number}": b}
        return arrays, {"scale": self.scale_}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        self.mean_ = stored_array(arrays, "mean", (None,))
        self.scale_ = float(learned["scale"])
        if not 0 < self.scale_ < np.inf:
            raise ValueError(f"scale is {self.scale_}")
        width = len(self.mean_)
        weights, biases = [], []
        for number, units in enumerate([*self.hidden, self.bits]):
            weights.append(stored_array(arrays, f"weights_{number}", (width, units)))
            biases.append(stored_array(arrays, f"biases_{number}", (units,)))
            width = units
        self.weights_, self.biases_ = tuple(weights), tuple(biases)
        self.n_features_in_ = len(self.mean_)


def _middle(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what divides each column evenly, halfway between two of its values.

    The median of an odd number is one of them, and rounding would say on which side it lies.
    """
    half = len(rows) // 2
    lower, upper = np.partition(rows, (half - 1, half), axis=0)[half - 1 : half + 1]
    return np.asarray((lower + upper) / 2, np.float32)


def _blocks(rows: NDArray[np.float32], step: int = 4096) -> list[NDArray[np.float32]]:
    return [rows[first : first + step] for first in range(0, len(rows), step)]
