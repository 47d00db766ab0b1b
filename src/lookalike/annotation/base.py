"""The base class of annotators, and how they find the best words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation._fast.top import keep_top
from lookalike.annotation.chances import Chances
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.glance import Glance
from lookalike.annotation.held_out import Split, hold_out
from lookalike.annotation.lessons import Lessons, blocks
from lookalike.annotation.tag import Tag
from lookalike.annotation.words import pack_words, unpack_words
from lookalike.core import sparse as sp
from lookalike.core.checks import check_share, check_whole
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.estimator import Estimator
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, Stored, stored_whole
from lookalike.core.text import word_key
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, check_vectors, stack_rows, unit_rows

_BLOCK_SCORES = 1 << 22
_BLOCK_WORDS = 1 << 13
_FEW = 4
_LARGE = 1 << 24


@dataclass(frozen=True)
class Ranking:
    """The best words of each picture, best first: indices into ``words_``, and scores."""

    words: NDArray[np.int64]
    scores: NDArray[np.float32]


class Annotator(Stored, Estimator):
    """Rank words for pictures: f_i(x) for the word i and the picture x, larger is better.

    A subclass learns in ``_learn``, implements :meth:`scores`, and saves what it learned besides
    the words in ``_own_state`` and ``_restore_own``. Words that differ only in case or Unicode
    form are the same (see :func:`~lookalike.core.text.word_key`); pictures without a word are
    ignored.

    Attributes
    ----------
    held_out : float
        The share of the pictures that ``fit`` holds out to evaluate on.
    random_state : int, Generator or None
        Makes a run repeatable.
    words_ : tuple of str
        The words, in the order of their indices.
    n_features_in_ : int
        The width of a picture's vector.
    history_ : sequence of (int, float)
        What was tried, such as the number of passes, and its held-out precision at 1.
    confidence_ : Confidence or None
        Turns scores into confidence; None if too few pictures were held out.
    chances_ : Chances or None
        Confidence among all pictures of a collection; if there is one it is used instead.
    judged_ : Annotator or None
        The annotator before it learned from the pictures that judge it; None if it has not.
    """

    held_out: float = 0.0
    random_state: RandomState = None

    words_: tuple[str, ...]
    n_features_in_: int
    history_: Sequence[tuple[int, float]] = ()
    confidence_: Confidence | None = None
    chances_: Chances | None = None
    judged_: Annotator | None = None

    _numbers: tuple[tuple[str, ...], dict[str, int]] = ((), {})

    @one_blas_thread()
    def fit(
        self,
        X: ArrayLike | sp.spmatrix,
        y: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from vectors and words.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One row per picture.
        y : sequence of words, or of sets of words
            The words of each picture; pictures without a word are ignored.
        validation : (X, y) or None
            Pictures to evaluate on and to learn confidence from; None holds out some of ``X``.
        progress : callable
            Called with the work done and the maximum.
        """
        self._check_parameters()
        who = type(self).__name__
        rng = generator(self.random_state)
        lessons = Lessons.read(who, X, y)
        if validation is None:
            split = hold_out(lessons, check_share(who, "held_out", self.held_out), rng)
        else:
            width = int(lessons.vectors.shape[1])
            judged = Lessons.judging(who, width, lessons.words, *validation)
            split = Split(lessons, lessons, judged)
        self._learn(split, rng, progress)
        self.chances_ = None
        return self

    @property
    def refits(self) -> bool:
        """Whether :meth:`refitted` can be called: what held-out pictures choose is a setting."""
        return False

    @property
    def has_confidence(self) -> bool:
        """Whether it is known how sure words are."""
        return self.confidence_ is not None or self.chances_ is not None

    @property
    def as_judged(self) -> Annotator:
        """The annotator to judge by held-out pictures: it has not learned from them."""
        return self if self.judged_ is None else self.judged_

    def refitted(
        self,
        X: ArrayLike | sp.spmatrix,
        y: Any,
        validation: tuple[Any, Any],
        progress: Progress = silent,
    ) -> Self:
        """Return a copy that was fitted again, from the pictures it was judged by as well.

        With the settings that these chose and the confidence learned from them, since nothing is
        left to choose by; :attr:`judged_` of the copy is this annotator. Given what it was fitted
        with, and only where :attr:`refits`.
        """
        check_fitted(self)
        who = type(self).__name__
        lessons = Lessons.read(who, X, y)
        judged = Lessons.judging(who, self.n_features_in_, lessons.words, *validation)
        whole = Lessons(
            stack_rows([lessons.vectors, judged.vectors]),
            sp.csr_matrix(sp.vstack([lessons.has, judged.has])),
            lessons.words,
        )
        cls = type(self)
        again = cls(**self.get_params(deep=False))
        split = Split(whole, lessons, judged)
        cls._learn_again(again, self, split, generator(self.random_state), progress)
        again.history_, again.confidence_ = self.history_, self.confidence_
        again.judged_ = self
        return again

    def partial_fit(self, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Continue with more pictures; before ``fit`` it is the same as ``fit``.

        Raise InvalidInput if the annotator can only learn from all pictures at once.
        """
        if not hasattr(self, "words_"):
            return self.fit(X, y)
        raise InvalidInput(
            f"{type(self).__name__} cannot learn incrementally. Call fit with all pictures."
        )

    @abstractmethod
    def scores(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the score of every word for each picture, of shape (pictures, words)."""

    def rank(self, X: ArrayLike | sp.spmatrix, k: int = 10) -> Ranking:
        """Return the k best words of each picture; ties go to the lower index."""
        checked = self._vectors(X)
        best = self._room(checked.shape[0], k)
        for rows in blocks(checked.shape[0], max(1, _BLOCK_SCORES // len(self.words_))):
            keep_top(self.scores(checked[rows]), 0, best.scores[rows], best.words[rows])
        return best

    def annotate(
        self, X: ArrayLike | sp.spmatrix, k: int = 10, *, min_confidence: float = 0.0
    ) -> list[list[Tag]]:
        """Return up to k words for each picture, best first, with sufficient confidence.

        Where :attr:`chances_` were learned, the surest comes first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One row per picture.
        k : int
            The maximum number of words per picture.
        min_confidence : float
            The minimum confidence of a word, from 0 to 1.
        """
        if not 0 <= min_confidence <= 1:
            raise InvalidInput(
                f"{type(self).__name__}: min_confidence must be from 0 to 1; "
                f"got {min_confidence!r}."
            )
        checked = self._vectors(X)
        if min_confidence > 0 and not self.has_confidence:
            raise InvalidInput(
                f"{type(self).__name__}: min_confidence must be 0, since too few pictures were "
                f"held out to learn confidence. Learn from more pictures, or leave it at 0."
            )
        tags: list[list[Tag]] = []
        for rows in blocks(checked.shape[0], max(1, _BLOCK_SCORES // len(self.words_))):
            scores = self.scores(checked[rows])
            best = self._room(len(scores), k)
            keep_top(scores, 0, best.scores, best.words)
            sure = np.full(best.scores.shape, np.nan)
            if self.chances_ is not None:
                sure = self.chances_.of(checked[rows], best.words)
                picture, order = np.arange(len(sure))[:, None], np.argsort(-sure, axis=1)
                best = Ranking(best.words[picture, order], best.scores[picture, order])
                sure = sure[picture, order]
            elif self.confidence_ is not None:
                sure = self.confidence_.of(best.scores, scores)
            tags += [
                [
                    Tag(self.words_[word], float(score), float(chance))
                    for word, score, chance in zip(*picture, strict=True)
                    if not chance < min_confidence
                ]
                for picture in zip(best.words, best.scores, sure, strict=True)
            ]
        return tags

    def learn_confidence(self, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Learn confidence from held-out pictures and their words.

        From fewer than 20 pictures nothing is learned, and ``confidence_`` stays as it is.
        """
        check_fitted(self)
        judged = Lessons.judging(type(self).__name__, self.n_features_in_, self.words_, X, y)
        self.confidence_ = self._confidence_from(judged) or self.confidence_
        return self

    def learn_chances(self, X: ArrayLike | sp.spmatrix, y: Any, others: Vectors) -> Self:
        """Learn how sure words are among all pictures of a collection.

        Parameters
        ----------
        X, y
            Pictures that have words, and these, as for :meth:`fit`.
        others : array or sparse matrix
            Pictures without words.
        """
        check_fitted(self)
        lessons = Lessons.judging(type(self).__name__, self.n_features_in_, self.words_, X, y)
        self.chances_ = Chances.learned(lessons.vectors, lessons.has, others)
        return self

    def word_number(self, word: str) -> int:
        """Return a word's index, in any case or Unicode form, or raise InvalidInput."""
        check_fitted(self)
        words, numbers = self._numbers
        if words is not self.words_:
            numbers = {}
            for number, known in enumerate(self.words_):
                numbers.setdefault(word_key(known), number)
            self._numbers = self.words_, numbers
        try:
            return numbers[word_key(word)]
        except KeyError:
            raise InvalidInput(
                f"{type(self).__name__}: the word {word!r:.80} was not learned. "
                f"Choose one of its {len(self.words_)} words, in words_."
            ) from None

    def word_queries(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector for each word whose inner product with a picture's ranks like its score.

        So an index of pictures can be searched for a word without storing anything new. Raise
        InvalidInput if the annotator has no such vectors.
        """
        check_fitted(self)
        raise InvalidInput(
            f"{type(self).__name__} cannot search pictures by a word: it has no vector for one. "
            f"Learn with wsabie, linear, ridge or one_vs_rest."
        )

    def related_words(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the k words nearest to a word, each with the cosine of their vectors."""
        number = self.word_number(word)
        most = min(check_whole(type(self).__name__, "k", k, 1), len(self.words_) - 1)
        units = unit_rows(self._places_of_words())
        cosines = units @ units[number]
        cosines[number] = -np.inf
        order = np.argsort(-cosines, kind="stable")[:most]
        return [(self.words_[other], float(cosines[other])) for other in order]

    @abstractmethod
    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        """Learn from checked pictures, all or nothing."""

    def _learn_again(
        self, fitted: Self, split: Split, rng: np.random.Generator, progress: Progress
    ) -> None:
        """Learn from all pictures of a split, with what those to evaluate on chose before."""
        self._learn(split, rng, progress)

    @abstractmethod
    def _own_state(self) -> tuple[Arrays, Learned]:
        """Return what was learned besides words, history and confidence."""

    @abstractmethod
    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        """Set what :meth:`_own_state` returned; ``words_`` and ``history_`` are set already."""

    def _state(self) -> tuple[Arrays, Learned]:
        check_fitted(self)
        arrays, learned = self._own_state()
        common = {
            "words": len(self.words_),
            "history": list(self.history_),
            "confidence": None if self.confidence_ is None else self.confidence_.written(),
        }
        if self.chances_ is not None:
            arrays = {**arrays, **self.chances_.arrays()}
        if self.judged_ is not None:
            inside, common["judged"] = self.judged_.inside("judged")
            arrays = {**arrays, **inside}
        return {**arrays, "words": pack_words(self.words_)}, {**learned, **common}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        self.words_ = unpack_words(arrays["words"], stored_whole(learned["words"]))
        self.history_ = [(int(at), float(figure)) for at, figure in learned["history"]]
        self.confidence_ = Confidence.read(learned["confidence"])
        if Chances.is_in(arrays):
            self.chances_ = Chances.read(arrays, len(self.words_))
        if "judged" in learned:
            self.judged_ = self.from_inside(arrays, learned["judged"], "judged")
        self._restore_own(arrays, learned)

    def _confidence_from(self, judged: Lessons | None) -> Confidence | None:
        """Return the confidence learned from held-out pictures; None if there are none."""
        if judged is None:
            return None
        rows = enough(len(judged), len(self.words_))
        return Confidence.learned(self.scores(judged.vectors[rows]), judged.has[rows])

    def _places_of_words(self) -> NDArray[np.float32]:
        """Return vectors of all words, whose cosines measure how near they are."""
        return self.word_queries(self.words_)

    def _room(self, pictures: int, k: int) -> Ranking:
        most = min(check_whole(type(self).__name__, "k", k, 1), len(self.words_))
        return Ranking(
            np.full((pictures, most), -1, np.int64),
            np.full((pictures, most), -np.inf, np.float32),
        )

    def _vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Return vectors checked against the width set by ``fit``."""
        check_fitted(self)
        return check_vectors(type(self).__name__, X, width=self.n_features_in_)


class InnerProductAnnotator(Annotator):
    """Rank words by the inner product of a picture's and a word's vector.

    A subclass implements ``picture_vectors`` and ``word_vectors``: one is the query's side and
    the other what an index stores, or the other way round.
    """

    _glance: Glance | None = None

    @abstractmethod
    def picture_vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Return pictures' vectors in the space that they share with words."""

    @abstractmethod
    def word_vectors(self) -> NDArray[np.float32]:
        """Return the words' vectors, one row per word."""

    def scores(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the score of every word for each picture, of shape (pictures, words)."""
        pictures = self.picture_vectors(X)
        return _products(pictures, self.word_vectors())

    def rank(self, X: ArrayLike | sp.spmatrix, k: int = 10) -> Ranking:
        """Return the k best words of each picture; ties go to the lower index.

        Costs O(Y·D) per picture for Y words in D dimensions, bound by arithmetic for many pictures
        and by memory traffic for a few; for a few, the words' vectors are first compared rounded
        to bytes if they are larger than the caches.
        """
        pictures = self.picture_vectors(X)
        words = self.word_vectors()
        best = self._room(pictures.shape[0], k)
        few = pictures.shape[0] <= _FEW and words.nbytes >= _LARGE
        if few and isinstance(pictures, np.ndarray):
            self._rank_few(pictures, words, best)
            return best
        for rows in blocks(pictures.shape[0], max(1, _BLOCK_SCORES // _BLOCK_WORDS)):
            for some in blocks(len(words), _BLOCK_WORDS):
                products = _products(pictures[rows], words[some])
                keep_top(products, some.start, best.scores[rows], best.words[rows])
        return best

    def _places_of_words(self) -> NDArray[np.float32]:
        return self.word_vectors()

    def _rank_few(
        self, pictures: NDArray[np.float32], words: NDArray[np.float32], best: Ranking
    ) -> None:
        glance = self._glance
        if glance is None or glance.words is not words:
            glance = self._glance = Glance(words)
        for row, picture in enumerate(pictures):
            some = glance.candidates(picture, best.words.shape[1])
            one = slice(row, row + 1)
            products = _products(pictures[one], words[some])
            keep_top(products, 0, best.scores[one], best.words[one])
            best.words[one] = some[best.words[one]]


def check_fitted(annotator: Annotator) -> None:
    """Raise NotFitted if an annotator is not fitted."""
    if not hasattr(annotator, "words_"):
        raise NotFitted(f"{type(annotator).__name__} is not fitted; call fit first.")


def _products(pictures: Vectors, words: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = np.asarray(pictures @ words.T, dtype=np.float32)
    return products
