"""Weights of bits for each class, and from them for each query: query-adaptive Hamming distance."""

from dataclasses import field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.codes.base import Matrix, label_matrix, stored_array
from lookalike.codes.class_weights import (
    class_regression,
    class_similarity,
    learn_weights,
    smoothed_centres,
    weighted_distances,
)
from lookalike.core.checks import check_choice, check_number, check_share, check_whole
from lookalike.core.codes import Codes, check_bits, check_codes
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.estimator import Estimator
from lookalike.core.fingerprint import check_fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import judge
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, Stored, with_settings
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, check_vectors, dense, unit_rows
from lookalike.supervision import Relevance

_DISTANCES = 1 << 22

_PARTS = 48
"""Votes fall by a factor of e with each such part of the bits."""

_MARGIN, _MARGIN_IN_CLASS = 0.7, 0.35
"""The power of a margin where the query takes no class's weights, and where it takes some."""

RULES = ("chosen", "paper", "agreeing", "margins")

_CHOICES = (
    ("paper", 0.0, 0.0),
    ("margins", 10.0, 0.5),
    *(("agreeing", smoothing, agreement) for smoothing in (0.0, 10.0) for agreement in (0.0, 0.5)),
)
"""Rules with smoothing and agreement, of which one is chosen on pictures held out."""

_JUDGED = 1000
"""Queries that judge a rule at most."""

_SCALE = 0.75
"""The power of a bit's mean margin that its margins are divided by."""


@with_settings
class BitWeights(Stored, Estimator):
    """Learn what each bit of a code is worth for each class, and mix classes for a query.

    Class i has weights a_i ≥ 0 that add up to 1 and minimise together (paper 3, Eq. 1–5)

        Σ_i Σ_{x in i} |a_i∘x − a_i∘c_i|² + λ Σ_ij s_ij |a_i∘c_i − a_j∘c_j|²,

    c_i the mean code of a class and s_ij the mean similarity of the vectors of two classes. One
    class at a time is a quadratic program with a diagonal matrix (Eq. 9–12, Algorithm 1), solved
    exactly (:mod:`lookalike.codes.class_weights`), so the energy falls. By ``rule="paper"`` a
    query takes, from its code alone, the mean of the weights of the classes that lead among its
    nearest labelled codes (section 5.2): a_q = Σ m_i a_i / Σ m_i, m_i the codes of class i among
    them. By ``rule="agreeing"`` each bit counts as far as the query and the class agree in it, if
    the query's vector confirms the first class, and where the encoder's values are given, a bit
    also counts by how far the query is from where it changes. The codes may come from anywhere.

    Parameters
    ----------
    bits : int
        The length of a code.
    rule : str
        ``paper``, ``agreeing``, ``margins`` (no class's weights), or ``chosen``: the best on a
        third of the labelled pictures, of the paper's, ``margins``, and ``agreeing`` with and
        without smoothing and agreement.
    balance : float
        λ.
    smoothing : float
        Codes that each class gets beside its own, as the mean of all codes; see Notes.
    tolerance : float
        Rounds end when the energy changes by less than this part of it.
    max_rounds : int
        Rounds at most.
    neighbours : int
        How many of the nearest labelled codes a query asks (paper 3: 500).
    leading : int
        How many classes it takes (paper 3: 3).
    agreement : float
        What the first class needs of the votes, and of the regression of the classes on vectors,
        from 0 to below 1; with less, the query takes no weights of classes.
    random_state : int, Generator or None
        Decides between codes of equal distance, and between classes of equal number.

    Attributes
    ----------
    rule_ : str
        The rule in use; with ``smoothing_`` and ``agreement_`` the settings it has.
    weights_ : float64 array of shape (classes, bits)
        a_i.
    classes_ : tuple of str
    energy_ : tuple of float
        The energy at the start and after each round.
    margins_ : float32 array of shape (bits,) or None
        m, the mean margin of each bit; None if ``fit`` was given no values, or the model is of a
        file from before it was kept.
    n_features_in_ : int
        The width of the vectors; 0 if the model is of a file from before it was kept.

    Notes
    -----
    Departures, measured in ``docs/decisions/0016``.

    A bit that is 0 in all codes of a class costs nothing in Eq. 3, whatever its weight, so a class
    of a few dozen codes puts all its weight on such bits; ``smoothing`` adds the mean of all
    labelled codes to each class as if it had that many codes more. Negative similarities count
    as 0. ``rule="paper"`` has none of these departures.

    A bit that is alike in a class is heavy, so where the query differs from its class in it, all of
    the class would be far. A query therefore takes a_i∘max(0, 2p_i − 1), p_i the part of the class
    that has the query's bit, and shares what is missing to 1 among all bits.

    The votes of neighbours fall by a factor of e with each 48th part of the bits that they are
    farther than the nearest. The classes that are taken count as much as the first of them has
    votes. A query that is taken for a wrong class loses, and its code cannot tell; its vector can.
    So ridge regression of the classes on vectors has to say the same as the votes, and where one
    of them gives the first class less than ``agreement``, the query takes no class's weights.

    A bit may have turned out as it did by a hair, so the weight of a bit is multiplied by a power
    of the query's margin |v|, v the value whose sign is the bit: (|v| / m^¾)^p, m the mean of |v|
    where the model was learned, since a bit of large values would count more for all queries
    alike. p is .7, and half of it where the query takes weights of classes. Queries gain by it
    whatever class they are taken for. Without ``values`` the weights are those of classes alone.

    Examples
    --------
    >>> codes = [[0b11110000], [0b11110001], [0b00001110], [0b00101111]]
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = BitWeights(bits=8, random_state=0).fit(codes, [*"aabb"], X)
    >>> model.query_weights(codes[:1], X[:1]).shape
    (1, 8)
    """

    name = "bit_weights"

    bits: int = 64
    rule: str = "agreeing"
    balance: float = 1.0
    smoothing: float = 10.0
    tolerance: float = 1e-6
    max_rounds: int = 100
    neighbours: int = 500
    leading: int = 3
    agreement: float = 0.5
    random_state: RandomState = None

    rule_: str = field(init=False)
    smoothing_: float = field(init=False)
    agreement_: float = field(init=False)
    weights_: Matrix = field(init=False)
    classes_: tuple[str, ...] = field(init=False)
    energy_: tuple[float, ...] = field(init=False)
    margins_: NDArray[np.float32] | None = field(init=False)
    n_features_in_: int = field(init=False)

    def check_parameters(self, who: str = "BitWeights") -> None:
        """Raise InvalidInput, in the name of who has these settings, if one of them is wrong."""
        check_bits(who, self.bits)
        check_choice(who, "rule", self.rule, RULES)
        check_share(who, "agreement", self.agreement)
        for name in ("balance", "smoothing"):
            if getattr(self, name) != 0:
                check_number(who, name, getattr(self, name))
        check_number(who, "tolerance", self.tolerance)
        for name in ("max_rounds", "neighbours", "leading"):
            check_whole(who, name, getattr(self, name), 1)

    @one_blas_thread()
    def fit(
        self,
        codes: ArrayLike,
        y: Any,
        X: ArrayLike | sp.spmatrix,
        values: ArrayLike | None = None,
        *,
        fingerprint: str = "",
        progress: Progress = silent,
    ) -> Self:
        """Learn the weights of every class.

        Parameters
        ----------
        codes : uint8 array of shape (n, bytes)
            Packed codes.
        y : labels or sets of labels
            Those of each picture; a picture belongs to the class of each of its labels.
        X : array or sparse matrix of shape (n, d)
            The vectors from which the codes were made: they say which classes are similar, and
            which class a query has.
        values : array of shape (n, bits), optional
            The values of their bits (:meth:`Encoder.values`): how large they are on average is what
            those of a query are compared with.
        fingerprint : str
            That of the encoder of the codes; :meth:`query_weights` raises FingerprintMismatch if
            it is given another.
        progress : callable
            Called with the rounds done and their maximum.
        """
        self.check_parameters()
        checked = check_codes("BitWeights", codes, self.bits)
        count = checked.shape[0]
        has = label_matrix("BitWeights", y, count)
        names = Relevance.of(y, count).labels_ or ()
        vectors = check_vectors("BitWeights", X)
        _check_rows(vectors, count)
        margins = None
        if values is not None:
            mean = self._sizes(values, count).mean(axis=0).astype(np.float32)
            margins = np.where(mean > 0, mean, np.float32(1))
        rule, smoothing, agreement = self.rule, float(self.smoothing), float(self.agreement)
        if rule == "paper":
            smoothing, agreement = 0.0, 0.0
        elif rule == "chosen":
            rule, smoothing, agreement = self._choose(checked, y, has, vectors, values)
        sizes = np.asarray(has.sum(axis=0), np.float64).ravel()
        units = unit_rows(vectors)
        similarity = class_similarity(has, units, sizes)
        rows = np.flatnonzero(np.diff(has.indptr))
        labelled = Codes(checked.packed[rows], self.bits)
        centres = smoothed_centres(labelled, has[rows], smoothing)
        # Σ (x − c)² = n c (1 − c) for bits (Eq. 7).
        spread = (sizes + smoothing)[:, None] * centres * (1 - centres)
        weights, energy = learn_weights(
            centres,
            spread,
            similarity,
            balance=float(self.balance),
            tolerance=float(self.tolerance),
            max_rounds=int(self.max_rounds),
            progress=progress,
        )
        rng = generator(self.random_state)
        self.rule_, self.smoothing_, self.agreement_ = rule, smoothing, agreement
        self.weights_, self.energy_ = weights, tuple(energy)
        self.classes_ = tuple(names)
        self.fingerprint_, self.margins_ = fingerprint, margins
        self._codes, self._has, self._centres = labelled.packed, has[rows], centres
        self._code_order = rng.permutation(len(rows)).astype(np.int64)
        self._class_order = rng.permutation(len(names)).astype(np.int64)
        self._map, self._offsets = class_regression(has[rows], units[rows], rng)
        self.n_features_in_ = int(vectors.shape[1])
        return self

    def _choose(
        self, codes: Codes, y: Any, has: sp.csr_matrix, vectors: Vectors, values: ArrayLike | None
    ) -> tuple[str, float, float]:
        """Return the rule, smoothing and agreement of the highest ΔMAP on a third held out."""
        relevance = Relevance.of(y, len(codes.packed))
        labelled = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(has.indptr)))
        learned, held_out = np.split(labelled, [len(labelled) * 2 // 3])
        own = ("agreeing", float(self.smoothing), float(self.agreement))
        if np.count_nonzero(has[learned].getnnz(axis=0)) < 2 or not len(held_out):
            return own
        margins = None if values is None else np.asarray(values)
        queries = np.arange(min(len(held_out), _JUDGED))
        query_vectors = held_out[queries]
        truth = relevance.subset(held_out).rows(queries)
        ones = Codes(codes.packed[held_out], self.bits).unpacked().astype(np.float64)
        result = []
        for rule, smoothing, agreement in _CHOICES:
            settings = self.get_params() | {"random_state": 0}
            settings |= {"rule": rule, "smoothing": smoothing, "agreement": agreement}
            model = BitWeights(**settings).fit(
                codes.packed[learned],
                relevance.subset(learned),
                vectors[learned],
                None if margins is None else margins[learned],
            )
            weights = model.query_weights(
                codes.packed[query_vectors],
                vectors[query_vectors],
                None if margins is None else margins[query_vectors],
            )
            scores = -weighted_distances(ones[queries], ones, weights)
            judged = judge(scores, truth, own=queries, cutoffs=())
            gains = (judged.average_precision - judged.prevalence)[judged.prevalence > 0]
            result.append(float(gains.mean()) if len(gains) else 0.0)
        return _CHOICES[int(np.argmax(result))] if any(result) else own

    def query_weights(
        self,
        codes: ArrayLike,
        X: ArrayLike | sp.spmatrix | None = None,
        values: ArrayLike | None = None,
        *,
        fingerprint: str | None = None,
    ) -> NDArray[np.float32]:
        """Return the weights of bits for each query: a_q∘a_q of Eq. 13, of shape (q, bits).

        ``X`` are the vectors from which the codes were made, and only needed where they have to
        agree; ``values`` are those of their bits (:meth:`Encoder.values`), by a power of whose size
        the weights are then multiplied, unless the rule is the paper's. The weights serve as
        ``weights`` of :meth:`lookalike.index.BitIndex.nearest`.
        """
        shares = self.class_shares(codes, X, fingerprint=fingerprint)
        if self.rule_ == "paper":
            return np.square(shares @ self.weights_).astype(np.float32)
        ones = check_codes("BitWeights", codes, self.bits).unpacked()
        # How many more codes of a class have a 1 than have a 0, and the reverse.
        more = 2 * self._centres - 1
        for_one, for_zero = (self.weights_ * np.maximum(sign * more, 0) for sign in (1, -1))
        mixed: Matrix = np.where(ones, shares @ for_one, shares @ for_zero)
        mixed += (1 - mixed.sum(axis=1, keepdims=True)) / self.bits
        weights: Matrix = np.square(mixed)
        if values is not None:
            in_class = np.asarray(shares.any(axis=1))
            weights = weights * self._powers(self._sizes(values, len(ones)), in_class)
        return weights.astype(np.float32)

    def margin_weights(self, values: ArrayLike) -> NDArray[np.float32]:
        """Return the weights of bits by margins alone: (|v| / m^¾)^.7, of shape (q, bits).

        Queries that take no class's weights have these, but for a factor.
        """
        self._fitted()
        sizes = self._sizes(values)
        return self._powers(sizes, np.zeros(len(sizes), np.bool_)).astype(np.float32)

    def _powers(self, sizes: Matrix, in_class: NDArray[np.bool_]) -> Matrix:
        scale = 1.0 if self.margins_ is None else self.margins_.astype(np.float64) ** _SCALE
        powers = np.where(in_class, _MARGIN_IN_CLASS, _MARGIN)
        weights: Matrix = (sizes / scale) ** powers[:, None]
        return weights

    def _sizes(self, values: ArrayLike, count: int | None = None) -> Matrix:
        """Return |v|, checked, of as many queries or codes as there have to be."""
        given = check_vectors("BitWeights: values", values, width=self.bits)
        if count is not None:
            _check_rows(given, count, "values")
        return np.abs(dense(given))

    def class_shares(
        self,
        codes: ArrayLike,
        X: ArrayLike | sp.spmatrix | None = None,
        *,
        fingerprint: str | None = None,
    ) -> Matrix:
        """Return the share of each leading class of each query, of shape (q, classes).

        The codes nearest to the query by Hamming distance vote for their classes, nearer ones with
        more weight; those of equal distance are chosen at random, but always alike. A share is
        m_i / Σ m_i times the part of the votes that is for the first class, or 0 for all classes
        if that part, or what the regression gives this class, is below ``agreement``. By the
        paper's rule all neighbours have one vote, and a share is m_i / Σ m_i. A row does not depend
        on the batch.
        """
        self._fitted()
        if fingerprint is not None:
            check_fingerprint("BitWeights", self.fingerprint_, fingerprint)
        queries = check_codes("BitWeights", codes, self.bits)
        confirmed = self.rule_ == "agreeing" and self.agreement_ > 0
        vectors = None
        if X is not None:
            vectors = check_vectors("BitWeights", X, width=self.n_features_in_ or None)
            _check_rows(vectors, len(queries.packed))
        elif confirmed:
            raise InvalidInput(
                "BitWeights: X must be the vectors of the codes, which have to confirm the class; "
                "got none. Codes alone are enough with rule='paper' or agreement=0."
            )
        most = min(self.neighbours, len(self._codes))
        shares = np.zeros((len(queries.packed), len(self.classes_)))
        if self.rule_ == "margins":
            return shares
        step = max(_DISTANCES // len(self._codes), 1)
        for first in range(0, len(shares), step):
            some = queries.packed[first : first + step]
            nearest, farther = self._nearest(Codes(some, self.bits), most)
            parts = 0 if self.rule_ == "paper" else _PARTS / self.bits
            voices = np.exp(-farther * parts)
            ends = np.arange(0, voices.size + 1, most)
            voting = sp.csr_matrix(
                (voices.ravel(), nearest.ravel(), ends), shape=(len(some), len(self._codes))
            )
            votes = (voting @ self._has).toarray()
            sure = votes.max(axis=1) / voices.sum(axis=1)
            for row in np.flatnonzero(sure >= self.agreement_):
                best = np.lexsort((self._class_order, -votes[row]))[: self.leading]
                if confirmed and vectors is not None:
                    unit = dense(unit_rows(vectors[first + row : first + row + 1]))[0]
                    # A matrix product would round rows differently in another batch.
                    score = (unit * self._map[best[0]]).sum() + self._offsets[best[0]]
                    if max(score, 0) < self.agreement_:
                        continue
                trust = 1.0 if self.rule_ == "paper" else sure[row]
                shares[first + row, best] = trust * votes[row, best] / votes[row, best].sum()
        return shares

    def _nearest(self, queries: Codes, most: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the nearest codes of each query, and how much farther than the first they are."""
        distances = np.zeros((len(queries.packed), len(self._codes)), np.int64)
        for column in range(queries.packed.shape[1]):
            differ = queries.packed[:, column, None] ^ self._codes[:, column]
            distances += np.bitwise_count(differ)
        keys = distances * len(self._codes) + self._code_order
        nearest = np.argpartition(keys, most - 1, axis=1)[:, :most]
        result = np.take_along_axis(distances, nearest, axis=1)
        return nearest, result - result.min(axis=1, keepdims=True)

    def _fitted(self) -> None:
        if not hasattr(self, "weights_"):
            raise NotFitted("BitWeights is not fitted; call fit first.")

    def _state(self) -> tuple[Arrays, Learned]:
        self._fitted()
        arrays: Arrays = {
            "weights": self.weights_,
            "codes": self._codes,
            "label_ends": self._has.indptr.astype(np.int64),
            "labels": self._has.indices.astype(np.int64),
            "code_order": self._code_order,
            "class_order": self._class_order,
            "energy": np.array(self.energy_),
        }
        if self.n_features_in_:
            arrays |= {"map": self._map, "offsets": self._offsets}
        if self.margins_ is not None:
            arrays["margins"] = self.margins_
        has_margins = self.margins_ is not None
        return arrays, {
            "classes": list(self.classes_),
            "margins": has_margins,
            "rule": [self.rule_, self.smoothing_, self.agreement_],
        }

    def save(self, path: Any, *, fingerprint: str = "") -> None:
        """Save to a safetensors file, by default with the fingerprint given to ``fit``."""
        super().save(path, fingerprint=fingerprint or self.fingerprint_)

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        own = [self.rule, self.smoothing, self.agreement]
        rule, smoothing, agreement = learned.get("rule", own)
        if rule not in RULES[1:]:
            raise ValueError(f"rule is {rule!r:.80}")
        self.rule_, self.smoothing_, self.agreement_ = rule, float(smoothing), float(agreement)
        names = [str(name) for name in learned["classes"]]
        weights = arrays["weights"]
        stored_array({"weights": weights.astype(np.float32)}, "weights", (len(names), self.bits))
        if weights.dtype != np.float64 or weights.min() < 0:
            raise ValueError("weights are not numbers from 0")
        packed = check_codes("BitWeights", arrays["codes"], self.bits).packed
        for name in ("labels", "label_ends", "code_order", "class_order"):
            if arrays[name].dtype != np.int64:
                raise ValueError(f"{name} are {arrays[name].dtype}")
        has = sp.csr_matrix(
            (np.ones(len(arrays["labels"])), arrays["labels"], arrays["label_ends"]),
            shape=(len(packed), len(names)),
        )
        has.check_format()
        for name, size in (("code_order", len(packed)), ("class_order", len(names))):
            if not np.array_equal(np.sort(arrays[name]), np.arange(size)):
                raise ValueError(f"{name} is not an order")
        if not len(packed) or not np.diff(has.indptr).all():
            raise ValueError("codes without labels")
        self.weights_, self.classes_ = weights, tuple(names)
        self.energy_ = tuple(arrays["energy"].tolist())
        self._codes, self._has = packed, has
        self._centres = smoothed_centres(Codes(packed, self.bits), has, self.smoothing_)
        self._code_order, self._class_order = arrays["code_order"], arrays["class_order"]
        # Files of before have no regression: there the votes of neighbours alone decide.
        self._map = np.zeros((len(names), 1), np.float32)
        self._offsets = np.full(len(names), np.inf, np.float32)
        self.n_features_in_ = 0
        if "map" in arrays or "offsets" in arrays:
            self._map = stored_array(arrays, "map", (len(names), None))
            self._offsets = stored_array(arrays, "offsets", (len(names),))
            self.n_features_in_ = int(self._map.shape[1])
        self.margins_ = None
        if learned.get("margins", False):
            margins = stored_array(arrays, "margins", (self.bits,))
            if margins.min() <= 0:
                raise ValueError("margins are not numbers above 0")
            self.margins_ = margins


def _check_rows(rows: Vectors, count: int, name: str = "X") -> None:
    if rows.shape[0] != count:
        raise InvalidInput(
            f"BitWeights: {name} must have a row for each of {count} codes; got {rows.shape[0]}."
        )
