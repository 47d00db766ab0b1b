"""The measures of paper 2, section 4: precision, average precision and sibling precision at k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import check_cutoffs, judge
from lookalike.evaluate.metrics import as_rows
from lookalike.supervision import TagTree

CUTOFFS = (1, 10)
"""The k of precision at top k in Table 2 of paper 2."""

LEVELS = (1, 2)
"""At level 1 siblings have a common parent, at level 2 a common grandparent."""

BLOCK_SCORES = 1 << 22
"""Scores in memory at once."""


class Annotating(Protocol):
    """Anything that scores its words for pictures."""

    words_: tuple[str, ...]

    def scores(self, X: Any) -> NDArray[Any]:
        """Return the score of every word for each picture, of shape (pictures, words)."""
        ...


@dataclass(frozen=True)
class AnnotationFigures:
    """How well words are ranked for pictures, as means over the pictures (paper 2, section 4).

    Attributes
    ----------
    precision : dict of int to float
        p@k by k: true words among the k ranked highest, divided by k.
    mean_average_precision : float
        MAP: the mean of (1/R) Σⱼ j / rⱼ, with the R true words at the ranks r₁ < r₂ < …
    sibling_precision : dict of int to dict of int to float
        p_sib@k by level and k; empty without a tree.
    pictures : int
        The number of pictures with a true word; means are over these.
    each : array of shape (pictures, 1 + cutoffs)
        The average precision, then p@k by k, of each.
    """

    precision: dict[int, float]
    mean_average_precision: float
    sibling_precision: dict[int, dict[int, float]]
    pictures: int
    each: NDArray[np.float64] = field(compare=False, repr=False)


def sibling_precision_at_k(
    scores: ArrayLike, relevant: NDArray[np.bool_], groups: sp.csr_matrix, k: int
) -> float:
    """Return the mean share of siblings of a true word among the ``k`` words ranked highest.

    p_sib@k = (1/k) Σᵢ₌₁..k S(yᵢ, y), with yᵢ the word at rank i, y the true word, and S 1 for
    siblings and 0 for others (paper 2, section 4). For a picture with several true words, siblings
    of any count. Ties are ranked by column; the share is of ``k`` even if there are fewer words.
    Pictures without a true word are left out. If every word is alone in its group, S is the
    identity and this is precision at k.

    Parameters
    ----------
    scores : array of shape (q, Y)
        One row per picture, one column per word; larger is better.
    relevant : bool array of shape (q, Y)
        Which words are true.
    groups : csr_matrix of shape (Y, groups)
        Words that share a group are siblings, as :meth:`lookalike.supervision.TagTree.groups`
        gives them.
    k : int
        At least 1.

    Examples
    --------
    >>> tree = TagTree.from_paths(["fish/tuna", "fish/salmon", "motorcar"])
    >>> groups = tree.groups(["fish/tuna", "fish/salmon", "motorcar"])
    >>> sibling_precision_at_k([[0.7, 0.9, 0.1]], np.array([[True, False, False]]), groups, 1)
    1.0
    """
    truth = np.asarray(relevant)
    if truth.ndim != 2 or truth.dtype != np.bool_ or truth.shape[1] != groups.shape[0]:
        raise InvalidInput(
            f"sibling_precision_at_k: relevant must be a bool array with one column for each of "
            f"the {groups.shape[0]} words of groups; got {truth.dtype} of shape {truth.shape}."
        )
    known = truth.any(axis=1)
    if not known.any():
        raise InvalidInput(
            "sibling_precision_at_k: no picture has a true word, so there is nothing to average."
        )
    members = groups.astype(np.bool_)
    siblings = _siblings(sp.csr_matrix(truth), members, truth)
    return float(judge(scores, siblings, cutoffs=(k,)).precision[known].mean())


def graded_precision_at_k(
    scores: ArrayLike, relevant: NDArray[np.bool_], likeness: ArrayLike, k: int
) -> float:
    """Return the mean likeness to a true word of the ``k`` words ranked highest.

    p_sib@k = (1/k) Σᵢ₌₁..k S(yᵢ, y) with graded S (paper 2, section 4); for a picture with several
    true words, the likeness to the nearest of them. Ties are ranked by column. Pictures without a
    true word are left out. With S the identity this is precision at k.

    Parameters
    ----------
    scores : array of shape (q, Y)
        One row per picture, one column per word; larger is better.
    relevant : bool array of shape (q, Y)
        Which words are true.
    likeness : array of shape (Y, Y)
        S, from 0 to 1: how alike two words are in meaning; 1 for the same.
    k : int
        At least 1.

    Examples
    --------
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> graded_precision_at_k([[0.7, 0.9, 0.1]], np.array([[True, False, False]]), S, 2)
    0.75
    """
    table, S = np.asarray(scores, np.float64), np.asarray(likeness, np.float64)
    words = table.shape[-1]
    if S.shape != (words, words) or not ((S >= 0) & (S <= 1)).all():
        raise InvalidInput(
            f"graded_precision_at_k: likeness must be from 0 to 1, of shape {(words, words)}; got "
            f"shape {S.shape}."
        )
    (limit,) = check_cutoffs((k,))
    known = np.flatnonzero(np.asarray(relevant).any(axis=1))
    if not len(known):
        raise InvalidInput(
            "graded_precision_at_k: no picture has a true word, so there is nothing to average."
        )
    means = []
    for row in known:
        first = np.argsort(-table[row], kind="stable")[:limit]
        means.append(S[np.ix_(first, np.flatnonzero(relevant[row]))].max(axis=1).sum() / limit)
    return float(np.mean(means))


def evaluate_annotation(
    annotator: Annotating,
    X: ArrayLike | sp.spmatrix,
    y: Any,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    tree: TagTree | None = None,
    levels: Sequence[int] = LEVELS,
    progress: Progress = silent,
    block_scores: int = BLOCK_SCORES,
) -> AnnotationFigures:
    """Rank all words for each picture and evaluate the ranking by its true words.

    Pictures are scored and evaluated in blocks, so that memory stays bounded. A true word that was
    not learned counts as not found: it is one of the R true words and adds nothing to average
    precision or precision; but its siblings count as siblings of a true word. Pictures without a
    word are left out.

    Parameters
    ----------
    annotator : object with ``words_`` and ``scores(X)``
        A fitted annotator.
    X : dense or CSR matrix
        One row per picture.
    y : sequence of labels, sequence of sets of labels, or Relevance with labels
        The true word or words of each picture.
    cutoffs : sequence of int
        The k for precision at top k; ``range(1, 21)`` gives the curves of Figure 1.
    tree : TagTree, optional
        Which words are siblings; without it there is no sibling precision.
    levels : sequence of int
        How many steps up siblings may have a common node, as in
        :meth:`lookalike.supervision.TagTree.groups`.
    progress : callable
        Called with the number of pictures done and the total.
    block_scores : int
        Scores in memory at once.

    Raises
    ------
    InvalidInput
        If no picture has a word.
    """
    limits = check_cutoffs(cutoffs)
    if not hasattr(annotator, "words_"):
        raise NotFitted(f"{type(annotator).__name__} is not fitted; call fit first.")
    vectors = as_rows(X)
    has, words = read_words("evaluate_annotation", y, vectors.shape[0], annotator.words_)
    true_words = np.diff(has.indptr)
    taught = np.flatnonzero(true_words)
    if not len(taught):
        raise InvalidInput(
            "evaluate_annotation: no picture has a word, so there is nothing to average. Give "
            "pictures with words."
        )
    learned = len(annotator.words_)
    groups = {} if tree is None else {level: tree.groups(words, level) for level in levels}
    each = np.zeros((len(taught), 1 + len(limits)))
    by_level = {level: np.zeros(len(limits)) for level in groups}
    step = max(1, block_scores // len(words))
    for start in range(0, len(taught), step):
        rows = taught[start : start + step]
        scores = annotator.scores(vectors[rows])
        truth = has[rows].astype(np.bool_)
        relevant = truth[:, :learned].toarray()
        judged = judge(scores, relevant, cutoffs=limits)
        result = relevant.sum(axis=1) / true_words[rows]
        own = each[start : start + step]
        own[:, 0] = np.nan_to_num(judged.average_precision * result)
        own[:, 1:] = np.nan_to_num(judged.precision)
        for level, members in groups.items():
            siblings = _siblings(truth, members, relevant)
            by_level[level] += np.nansum(judge(scores, siblings, cutoffs=limits).precision, axis=0)
        progress(start + len(rows), len(taught))
    count = len(taught)
    average, *precision = each.mean(axis=0)
    return AnnotationFigures(
        _by_cutoff(limits, np.array(precision)),
        float(average),
        {level: _by_cutoff(limits, total / count) for level, total in by_level.items()},
        count,
        each,
    )


def _siblings(
    truth: sp.csr_matrix, groups: sp.csr_matrix, relevant: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each picture which of its ranked words are siblings of a true word."""
    candidates = groups[: relevant.shape[1]]
    result = np.asarray(((truth @ groups) @ candidates.T).toarray(), dtype=np.bool_)
    siblings: NDArray[np.bool_] = result | relevant
    return siblings


def _by_cutoff(cutoffs: tuple[int, ...], values: NDArray[np.float64]) -> dict[int, float]:
    return dict(zip(cutoffs, values.tolist(), strict=True))
