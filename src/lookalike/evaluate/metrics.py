"""The measures of paper 1, section 5.1: precision at top k and mean average precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import BLOCK_SCORES, CUTOFFS, Judgement, judge, judge_in_blocks
from lookalike.supervision import Relevance


class Scorer(Protocol):
    """Anything that scores queries against items."""

    def scores(self, Q: Any, P: Any) -> NDArray[Any]:
        """Return the score of each row of ``Q`` with each row of ``P``; larger is more similar."""
        ...


def mean_average_precision(
    scores: ArrayLike, relevant: Any, *, own: ArrayLike | None = None
) -> float:
    """Return the mean over queries of the average precision.

    mAP = mean over queries of (1/R) Σⱼ j / rⱼ, with the R relevant items at the ranks
    r₁ < r₂ < … (paper 1, section 5.1). Ties are ranked by column.

    Parameters
    ----------
    scores : array of shape (q, n)
        One row per query, one column per item; larger is more similar.
    relevant : bool array of shape (q, n), or the relevance between the items
        Which items are relevant. With labels, sets of labels, a sparse relevance matrix or a
        Relevance, ``scores`` must be square and each item is ranked against all others.
    own : int array of shape (q,), optional
        With a bool array, each query's own column, which is left out of its ranking; -1 for none.

    Examples
    --------
    >>> scores = [[1.0, 0.9, 0.2], [0.9, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> mean_average_precision(scores, ["cat", "dog", "cat"])
    0.5
    """
    return _judged(scores, relevant, own, ()).mean_average_precision


def precision_at_k(
    scores: ArrayLike, relevant: Any, k: int, *, own: ArrayLike | None = None
) -> float:
    """Return the mean over queries of the share of relevant items among the ``k`` best.

    The share is of ``k`` even if there are fewer items to rank (paper 1, section 5.1).

    Parameters
    ----------
    scores, relevant, own
        As for :func:`mean_average_precision`.
    k : int
        At least 1.

    Examples
    --------
    >>> scores = [[1.0, 0.9, 0.2], [0.9, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> precision_at_k(scores, ["cat", "dog", "cat"], 2)
    0.5
    """
    return _judged(scores, relevant, own, (k,)).precision_at(k)


def precision_curve(
    scores: ArrayLike, relevant: Any, cutoffs: Sequence[int], *, own: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return precision at top k for each k of ``cutoffs``, as in Figure 6 of paper 1.

    Parameters
    ----------
    scores, relevant, own
        As for :func:`mean_average_precision`.
    cutoffs : sequence of int
        The k, each at least 1.
    """
    return _judged(scores, relevant, own, cutoffs).mean_precision


def evaluate_similarity(
    model: Scorer,
    X: ArrayLike | sp.spmatrix,
    y: Any,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    progress: Progress = silent,
    block_scores: int = BLOCK_SCORES,
) -> Judgement:
    """Rank every row of ``X`` against all others by the model's scores, and evaluate.

    The scores are computed and evaluated in blocks of rows, so that memory stays bounded.

    Parameters
    ----------
    model : object with ``scores(Q, P)``
        A learned similarity.
    X : dense or CSR matrix
        One row per picture.
    y : labels, sets of labels, sparse relevance matrix or Relevance
        Which pictures are similar.
    cutoffs : sequence of int
        The k for precision at top k.
    progress : callable
        Called with the number of queries done and the total.
    block_scores : int
        Scores in memory at once.
    """
    vectors = as_rows(X)
    relevance = Relevance.of(y, vectors.shape[0])
    return judge_in_blocks(
        lambda rows: model.scores(vectors[rows], vectors),
        relevance.rows,
        len(relevance),
        cutoffs=cutoffs,
        progress=progress,
        block_scores=block_scores,
    )


def as_rows(X: ArrayLike | sp.spmatrix) -> Any:
    """Return ``X`` in a form whose rows can be selected: CSR if sparse, otherwise an array."""
    rows: Any = X
    rows = rows.tocsr() if sp.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise InvalidInput(
            f"X must be a matrix with one row per picture; got the shape {rows.shape}."
        )
    return rows


def _judged(
    scores: ArrayLike, relevant: Any, own: ArrayLike | None, cutoffs: Sequence[int]
) -> Judgement:
    table = np.asarray(scores)
    if isinstance(relevant, np.ndarray) and relevant.dtype == np.bool_ and relevant.ndim == 2:
        return judge(table, relevant, own=own, cutoffs=cutoffs)
    if own is not None:
        raise InvalidInput(
            "own needs a bool array; with labels, each item's own column is known. Leave it out."
        )
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InvalidInput(
            f"with labels, scores must be square, all items against all; got {table.shape}. "
            f"Give a bool array of what is relevant instead."
        )
    rows = np.arange(len(table))
    truth = Relevance.of(relevant, len(table)).rows(rows)
    return judge(table, truth, own=rows, cutoffs=cutoffs)
