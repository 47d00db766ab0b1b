"""The weighted Hamming distance of binary codes as a similarity of vectors."""

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.codes.base import Encoder
from lookalike.codes.bit_weights import BitWeights
from lookalike.codes.registry import ENCODERS
from lookalike.core.codes import check_bits
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState
from lookalike.core.stored import Arrays, Learned, parameters, with_settings
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors
from lookalike.similarity.base import Similarity
from lookalike.similarity.linear_map import moderate
from lookalike.similarity.registry import learning_from
from lookalike.supervision import Relevance


@with_settings
class HammingSimilarity(Similarity):
    """Rank by the Hamming distance of codes, its bits weighted for each query.

    The code of a picture has bits x_j, that of the query q_j, and the score is the negative
    distance −Σ_j w_j (q_j xor x_j), an inner product of what is stored and what is asked with:

        stored [x, 1], asked [−w∘(1 − 2q), −Σ_j w_j q_j].

    The weights are w = a∘a with the mixed class weights a of the query (:class:`BitWeights`;
    paper 3, Eq. 13), times what its margins make of them, how far it is from where each bit
    changes. Without labels, which some encoders can do without, all weights are 1.

    Parameters
    ----------
    encoder : str
        What makes the codes, by its name in :data:`lookalike.codes.ENCODERS`.
    bits : int
        The length of a code.
    margins : bool
        Whether a bit counts by the whole of the query's margin, to find what is near by vectors
        whatever its class.
    rule : str
        How a query gets its weights, as in :class:`BitWeights`; by default the rule that is best on
        a third of the labelled pictures (with ``margins``, which are to find what is near by
        vectors, ``agreeing``), ``paper`` for paper 3's (section 5.2).
    balance, smoothing, neighbours, leading, agreement
        As in :class:`BitWeights`.
    random_state : int or None
        Makes the codes and the choice among classes repeatable.

    Attributes
    ----------
    encoder_ : Encoder
    weights_ : BitWeights or None
        None where there were no labels.

    Notes
    -----
    *Departure.* With ``margins``, w_j = |v_j| (1 + b_j), where v_j is the query's value of the bit,
    below 0 for q_j = 0, and b_j the class weight a_j² relative to its mean. To find the 50 nearest
    by cosine with a recall of .98, two to five times fewer candidates are needed
    (``docs/decisions/0017``). Otherwise margins count as ``docs/decisions/0016`` has it; a model of
    a file from before the mean margins were kept goes by class weights alone.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> model = HammingSimilarity(bits=8, random_state=0).fit(X, [*"aabb"])
    >>> model.stored_vectors(X).shape
    (4, 9)
    """

    name = "hamming"
    learns_from: ClassVar[tuple[str, ...]] = ("classes", "labels")
    index_kind: ClassVar[str | None] = "bits"

    encoder: str = "s3plh"
    bits: int = 64
    margins: bool = False
    rule: str = "chosen"
    balance: float = 1.0
    smoothing: float = 10.0
    neighbours: int = 500
    leading: int = 3
    agreement: float = 0.5
    random_state: RandomState = None

    encoder_: Encoder = field(init=False)
    weights_: BitWeights | None = field(init=False)

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn the codes from vectors, and the weights of their bits from labels.

        Without ``y``, for an encoder that needs none, all bits weigh the same; pictures without a
        label only help to learn the codes.
        """
        who = "HammingSimilarity"
        vectors = moderate(who, self._given(X))
        encoder = new_encoder(self.encoder, self.bits, self.random_state)
        relevance = None
        if y is not None or encoder.needs_labels:
            relevance = _labels(who, y, int(vectors.shape[0]))
        encoder.fit(vectors, relevance, progress=progress)
        weights = None
        if relevance is not None:
            weights = BitWeights(**self._weight_settings())
            weights.fit(encoder.encode(vectors), relevance, vectors, encoder.values(vectors))
        self.encoder_, self.weights_ = encoder, weights
        self.n_features_in_ = encoder.n_features_in_
        return self

    def codes(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.uint8]:
        """Return the packed codes of vectors."""
        vectors = self._vectors(P)
        return self.encoder_.encode(vectors)

    def bit_weights(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the weights of the bits for each query, of shape (q, bits)."""
        vectors = self._vectors(Q)
        weights = np.ones((int(vectors.shape[0]), self.bits), np.float32)
        if self.weights_ is not None and len(weights):
            counted = not self.margins and self.weights_.margins_ is not None
            values = self.encoder_.values(vectors) if counted else None
            weights = self.weights_.query_weights(self.encoder_.encode(vectors), vectors, values)
        if not self.margins:
            return weights
        relative = weights / np.maximum(weights.mean(axis=1, keepdims=True), 1e-30)
        margins: NDArray[np.float32] = np.abs(self.encoder_.values(vectors)) * (1 + relative)
        return margins

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the bits of each code, and a 1."""
        codes = self.codes(P)
        bits = np.ones((len(codes), self.bits + 1), np.float32)
        bits[:, :-1] = np.unpackbits(codes, axis=1, count=self.bits)
        return bits

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return −w∘(1 − 2q), and −Σ w_j q_j."""
        weights = self.bit_weights(Q)
        ones = np.unpackbits(self.codes(Q), axis=1, count=self.bits)
        queries = np.empty((len(ones), self.bits + 1), np.float32)
        queries[:, :-1] = np.where(ones, weights, -weights)
        queries[:, -1] = -np.where(ones, weights, 0).sum(axis=1)
        return queries

    def _vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        return moderate("HammingSimilarity", super()._vectors(X))

    def _weight_settings(self) -> dict[str, Any]:
        own = self.get_params()
        if self.margins and self.rule == "chosen":
            own["rule"] = "agreeing"
        return {name: own[name] for name in parameters(BitWeights) if name in own}

    def _check_parameters(self) -> None:
        who = "HammingSimilarity"
        BitWeights(**self._weight_settings()).check_parameters(who)
        ENCODERS.get(self.encoder)
        if not isinstance(self.margins, bool):
            raise InvalidInput(f"{who}: margins must be true or false; got {self.margins!r:.80}.")

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        arrays, encoder = self.encoder_.inside("encoder")
        weights = None
        if self.weights_ is not None:
            more, weights = self.weights_.inside("weights")
            # How the energy fell is of no use any more.
            more.pop("weights_energy")
            arrays |= more
        return arrays, {"encoder": encoder, "weights": weights}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        encoder = ENCODERS.get(self.encoder).from_inside(arrays, learned["encoder"], "encoder")
        weights = None
        if learned["weights"] is not None:
            whole = {**arrays, "weights_energy": np.zeros(0)}
            weights = BitWeights.from_inside(whole, learned["weights"], "weights")
        elif any(name.startswith("weights_") for name in arrays):
            raise ValueError("there are class weights without settings")
        if encoder.bits != self.bits or (weights is not None and weights.bits != self.bits):
            raise ValueError(f"codes of {encoder.bits} bits")
        if weights is not None and weights.n_features_in_ not in (0, encoder.n_features_in_):
            raise ValueError(f"class weights for vectors of {weights.n_features_in_}")
        self.encoder_, self.weights_ = encoder, weights
        self.n_features_in_ = encoder.n_features_in_


def new_encoder(name: str, bits: int, random_state: RandomState) -> Encoder:
    """Return the encoder that is asked for, or raise InvalidInput."""
    check_bits("codes", bits)
    settings: dict[str, Any] = {"bits": bits}
    if "random_state" in parameters(ENCODERS.get(name)):
        settings["random_state"] = random_state
    return ENCODERS.make(name, settings)


def _labels(who: str, y: Any, rows: int) -> Relevance:
    if y is None:
        raise InvalidInput(f"{who}: y must be the labels of each row; got none.")
    relevance = Relevance.of(y, rows)
    if relevance.labels_ is None:
        raise InvalidInput(
            f"{who}: y must be labels; got pairs of pictures. Choose one that learns from "
            f"relevance: {', '.join(learning_from('relevance'))}."
        )
    if why := relevance.trainable():
        raise InvalidInput(f"{who} cannot learn from this: {why}")
    return relevance
