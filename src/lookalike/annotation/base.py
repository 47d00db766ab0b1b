"""What every annotator offers, and how it finds the best words."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from lookalike.annotation._fast.top import keep_top
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.glance import Glance
from lookalike.annotation.words import pack_words, read_words, unpack_words
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key
from lookalike.similarity.base import Vectors, check_vectors

_BLOCK_SCORES = 1 << 22
_BLOCK_WORDS = 1 << 13
_FEW = 4
_LARGE = 1 << 24


@dataclass(frozen=True)
class Ranking:
    """The best words of each picture, best first: numbers into ``words_``, and scores."""

    words: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tag:
    """A word for a picture; ``confidence`` is the chance that it is right, NaN if unknown."""

    word: str
    score: float
    confidence: float


class Annotator(BaseEstimator):
    """Rank words for pictures: f_i(x) for the word i and the picture x, larger is better.

    A subclass learns in ``fit`` and offers ``scores``. Words are told apart whatever their case
    and Unicode form (see :func:`~lookalike.core.text.word_key`); pictures without a word
    teach nothing.

    Attributes
    ----------
    words_ : tuple of str
        The words, in the order of their numbers.
    n_features_in_ : int
        The width of a picture's vector.
    """

    file_kind: ClassVar[str]

    words_: tuple[str, ...]
    n_features_in_: int
    fingerprint_: str
    history_: list[tuple[int, float]]
    confidence_: Confidence | None = None

    def fit(self, X: ArrayLike | sp.spmatrix, y: Any, *, progress: Progress = silent) -> Self:
        """Learn from vectors, a row a picture, and each picture's word or set of words."""
        raise NotImplementedError

    def scores(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Score every word for each picture: an array of shape (pictures, words)."""
        raise NotImplementedError

    def rank(self, X: ArrayLike | sp.spmatrix, k: int = 10) -> Ranking:
        """Find the k best words of each picture; the lower number first among equals."""
        checked = self._vectors(X)
        best = self._room(checked.shape[0], k)
        step = max(1, _BLOCK_SCORES // len(self.words_))
        for start in range(0, checked.shape[0], step):
            block = self.scores(checked[start : start + step])
            keep_top(block, 0, best.scores[start : start + step], best.words[start : start + step])
        return best

    def annotate(
        self, X: ArrayLike | sp.spmatrix, k: int = 10, *, min_confidence: float = 0.0
    ) -> list[list[Tag]]:
        """Find the k best words of each picture that are sure enough.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            A row a picture.
        k : int
            Words a picture at most.
        min_confidence : float
            The least chance, from 0 to 1, that a word given is right.
        """
        if not 0 <= min_confidence <= 1:
            raise InvalidInput(
                f"{type(self).__name__}: min_confidence must be from 0 to 1; "
                f"got {min_confidence!r}."
            )
        checked = self._vectors(X)
        if min_confidence > 0 and self.confidence_ is None:
            raise InvalidInput(
                f"{type(self).__name__}: how sure a word is was not learned, for too few pictures "
                f"were held out. Learn from more pictures, or leave min_confidence at 0."
            )
        tags: list[list[Tag]] = []
        for rows in blocks(checked.shape[0], max(1, _BLOCK_SCORES // len(self.words_))):
            scores = self.scores(checked[rows])
            best = self._room(len(scores), k)
            keep_top(scores, 0, best.scores, best.words)
            sure = np.full(best.scores.shape, np.nan)
            if self.confidence_ is not None:
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

    def _learn_confidence(self, judged: "Lessons | None") -> None:
        """Learn from pictures that were not learned from how sure a tag is, if there are some."""
        self.confidence_ = None
        if judged is not None:
            rows = enough(len(judged), len(self.words_))
            scores = self.scores(judged.vectors[rows])
            self.confidence_ = Confidence.learned(scores, judged.has[rows])

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Write the model to a safetensors file, with the fingerprint of its vectors."""
        self._check_fitted()
        arrays, learned = self._state()
        sure = None if self.confidence_ is None else self.confidence_.written()
        common = {"words": len(self.words_), "history": self.history_, "confidence": sure}
        manifest = {
            "settings": self._settings(),
            "learned": {**learned, **common},
            "fingerprint": fingerprint,
        }
        whole = {**arrays, "words": pack_words(self.words_)}
        save_arrays(Path(path), whole, kind=self.file_kind, manifest=manifest)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote; ``fingerprint_`` says which vectors it is for."""
        arrays, manifest = load_arrays(Path(path), kind=cls.file_kind)
        try:
            model = cls(**manifest["settings"])
            model._check_parameters()
            learned = manifest["learned"]
            model.words_ = unpack_words(arrays["words"], int(learned["words"]))
            model.history_ = [(int(at), float(figure)) for at, figure in learned["history"]]
            model.confidence_ = Confidence.read(learned["confidence"])
            model.fingerprint_ = str(manifest["fingerprint"])
            model._restore(arrays, learned)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path} is not a whole {cls.__name__}: {error}") from error
        return model

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what was learned besides the words: arrays, and what JSON can hold."""
        raise NotImplementedError

    def _restore(self, arrays: dict[str, NDArray[Any]], learned: dict[str, Any]) -> None:
        """Take what :meth:`_state` gave, or say by a ValueError what is wrong with it."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Say what is wrong with the settings."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """Return what the model was made with, as JSON can hold it; a Generator becomes None."""
        settings = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params().items()
        }
        if not isinstance(settings["random_state"], int | None):
            settings["random_state"] = None
        return settings

    def word_number(self, word: str) -> int:
        """Find a word's number, in any case or Unicode form."""
        self._check_fitted()
        key = word_key(word)
        for number, known in enumerate(self.words_):
            if word_key(known) == key:
                return number
        raise InvalidInput(
            f"{type(self).__name__}: the word {word!r:.80} was never learned. "
            f"It knows {len(self.words_)} words."
        )

    def _room(self, pictures: int, k: int) -> Ranking:
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise InvalidInput(
                f"{type(self).__name__}: k must be a whole number from 1; got {k!r}."
            )
        most = min(int(k), len(self.words_))
        return Ranking(
            np.full((pictures, most), -1, np.int64),
            np.full((pictures, most), -np.inf, np.float32),
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "words_"):
            raise NotFitted(f"{type(self).__name__} has not learned yet; call fit first.")

    def _vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Check vectors against the width learned by ``fit``."""
        self._check_fitted()
        return check_vectors(type(self).__name__, X, width=self.n_features_in_)

    def _lessons(self, X: ArrayLike | sp.spmatrix, y: Any) -> "Lessons":
        """Check what ``fit`` was given: the pictures with words, and at least two words."""
        who = type(self).__name__
        vectors = check_vectors(who, X)
        has, words = read_words(who, y, vectors.shape[0])
        check_words(who, words)
        taught = np.flatnonzero(np.diff(has.indptr))
        if len(taught) < vectors.shape[0]:
            vectors, has = vectors[taught], has[taught]
        return Lessons(vectors, has, words)


class InnerProductAnnotator(Annotator):
    """Rank words by the inner product of a picture's and a word's vector.

    A subclass offers ``picture_vectors`` and ``word_vectors``: the one is the query's side and
    the other what an index stores, or the other way round.
    """

    _glance: Glance | None = None

    def picture_vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Turn pictures' vectors into the space they share with words."""
        raise NotImplementedError

    def word_vectors(self) -> NDArray[np.float32]:
        """Return the words' vectors, a row a word."""
        raise NotImplementedError

    def scores(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Score every word for each picture: an array of shape (pictures, words)."""
        pictures = self.picture_vectors(X)
        return _products(pictures, self.word_vectors())

    def rank(self, X: ArrayLike | sp.spmatrix, k: int = 10) -> Ranking:
        """Find the k best words of each picture; the lower number first among equals.

        Costs O(Y·D) a picture for Y words in D dimensions, bound by arithmetic for many pictures
        and by memory traffic for a few; these look at the words' vectors rounded to bytes first
        if the vectors are more than caches hold.
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


@dataclass(frozen=True)
class Lessons:
    """Pictures that all have words: vectors, ones where a picture has a word, and the words."""

    vectors: Vectors
    has: sp.csr_matrix
    words: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.has.shape[0])


def check_words(who: str, words: tuple[str, ...]) -> None:
    """Refuse what no ranking can be learned from."""
    if len(words) < 2:
        only = f"only the word {words[0]!r:.80}" if words else "no word"
        raise InvalidInput(
            f"{who}: words are learned by ranking them against each other, so it needs at least "
            f"two; the pictures have {only}. Give pictures with another word too."
        )


def blocks(count: int, step: int) -> Iterator[slice]:
    """Cut 0 .. count-1 into slices of at most ``step``."""
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _products(pictures: Vectors, words: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = np.asarray(pictures @ words.T, dtype=np.float32)
    return products


def check_matrix(name: str, matrix: NDArray[Any], *, rows: int | None = None) -> None:
    """Refuse what a file holds in place of a matrix of finite float32 numbers."""
    if matrix.dtype != np.float32 or matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"{name} is {matrix.dtype} of shape {matrix.shape}, no float32 matrix")
    if rows is not None and len(matrix) != rows:
        raise ValueError(f"{name} has {len(matrix)} rows where there are {rows} words")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} is not finite")
