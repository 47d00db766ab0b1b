"""Turn clicks on the results of queries into relevance between pictures."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_share, check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.supervision.relevance import Relevance
from lookalike.supervision.tables import FILE_COLUMNS, checked_name, column, read_rows

BLOCK = 10_000_000
"""Products computed at a time by default, 12 bytes each."""

MAX_PAIRS = 100_000_000
"""Pairs kept above a threshold, 12 bytes each, and twice that while they are assembled."""

QUERY_COLUMNS = ("query", "search")
WEIGHT_COLUMNS = ("weight", "clicks", "relevance")


def clicks_to_relevance(
    R_QI: sp.spmatrix, *, threshold: float = 0.0, block: int = BLOCK, progress: Progress = silent
) -> Relevance:
    r"""Turn query–image relevance into image–image relevance (paper 1, section 5.2.1).

    .. math::

        Pr(q, p) = R_{QI}(q, p) / \textstyle\sum R_{QI} \quad (18) \qquad
        Pr(p_1, p_2) = \textstyle\sum_q Pr(p_1|q)\,Pr(p_2|q)\,Pr(q) \quad (19) \qquad
        R_{II}(p_1, p_2) = [Pr(p_1, p_2)]_\theta \quad (20)

    Parameters
    ----------
    R_QI : sparse matrix, queries × images
        Clicks or relevance: finite and at least 0.
    threshold : float
        θ: pairs are related if their probability is above it.
    block : int
        How many products are computed at a time, which bounds the memory.
    progress : callable
        Called with the number of images done and the total.

    Returns
    -------
    Relevance
        With θ = 0, the lists themselves: each query is a label with the weights
        Pr(p|q)·√Pr(q), whose products add up to Eq. 19 exactly, so that a query relevant to
        100,000 images costs 100,000 entries and not their square. With θ > 0, the pairs of
        :func:`image_relevance`. In both, images without a relevant query are unlabelled.

    Examples
    --------
    >>> clicks = sp.csr_matrix([[3, 1, 0], [0, 1, 1]])
    >>> clicks_to_relevance(clicks).rows([0])
    array([[ True,  True, False]])
    >>> clicks_to_relevance(clicks, threshold=0.1).rows([0, 1])
    array([[False,  True, False],
           [ True, False, False]])
    """
    _check_threshold(threshold)
    roots = _roots(R_QI)
    is_known = np.bincount(roots.indices, minlength=roots.shape[1]) > 0
    if threshold == 0:
        links = sp.csr_matrix(roots.T)
        links.sort_indices()
        return Relevance(links, tuple(map(str, range(roots.shape[0]))), is_known)
    return Relevance(_above(roots, threshold, block, progress), None, is_known)


def image_relevance(
    R_QI: sp.spmatrix,
    *,
    threshold: float,
    block: int = BLOCK,
    max_pairs: int = MAX_PAIRS,
    progress: Progress = silent,
) -> sp.csr_matrix:
    """Return R_II of Eq. 20 as a sparse matrix, its diagonal empty (paper 1, section 5.2.1).

    Rows are computed in blocks and cut at the threshold immediately, so memory holds only one
    block and the result. Images whose probability with any other cannot exceed the threshold, by
    the bound Σ_q a_qp·max a_q with a = Pr(p|q)·√Pr(q), are skipped.

    Parameters
    ----------
    R_QI, threshold, block, progress
        As for :func:`clicks_to_relevance`.
    max_pairs : int
        Pairs kept at most.

    Raises
    ------
    InvalidInput
        If more than ``max_pairs`` pairs are above the threshold.
    """
    _check_threshold(threshold)
    return _above(_roots(R_QI), threshold, block, progress, max_pairs)


def read_clicks(path: str | Path) -> tuple[list[str], list[str], sp.csr_matrix]:
    """Read which pictures people chose for which query from a CSV file in UTF-8.

    The header has a column ``query`` or ``search``, a column for the file as in
    :func:`read_labels`, and optionally ``weight``, ``clicks`` or ``relevance``, a number of 0 or
    more; without it each row counts as 1. Repeated rows add up.

    Returns
    -------
    queries : list of str
        In order of appearance, NFC-normalised.
    files : list of str
        In order of appearance, as written.
    R_QI : csr_matrix of float64, queries × files
    """
    source = Path(path)
    queries: dict[str, int] = {}
    files: dict[str, int] = {}
    entries: list[tuple[int, int, float]] = []
    for line, row in read_rows(source):
        where = f"{source}, line {line}"
        query = checked_name(where, row[column(source, row, QUERY_COLUMNS)])
        file = row[column(source, row, FILE_COLUMNS)]
        if not query or not file:
            raise InvalidInput(f"{where}: the row has no {'file' if query else 'query'}.")
        weight_column = next((name for name in WEIGHT_COLUMNS if name in row), None)
        weight = 1.0 if weight_column is None else _weight(where, row[weight_column])
        entries.append(
            (queries.setdefault(query, len(queries)), files.setdefault(file, len(files)), weight)
        )
    if not entries:
        raise InvalidInput(f"{source} has a header but no rows. Add a row for each click.")
    rows, columns, weights = zip(*entries, strict=True)
    matrix = sp.csr_matrix((weights, (rows, columns)), (len(queries), len(files)), dtype=np.float64)
    matrix.eliminate_zeros()
    return list(queries), list(files), matrix


def _weight(where: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight) or weight < 0:
        raise InvalidInput(
            f"{where}: a weight must be a number of 0 or more, such as 2 or 0.5; got {text!r:.80}."
        )
    return weight


def _check_threshold(threshold: float) -> None:
    check_share("clicks", "threshold", threshold)


def _roots(R_QI: sp.spmatrix) -> sp.csr_matrix:
    """Return a = Pr(p|q)·√Pr(q) = R(q, p) / √(Σ_p R(q, p) · Σ R), so that Eq. 19 is aᵀa."""
    given: Any = R_QI if sp.issparse(R_QI) else None
    if given is None or given.ndim != 2 or np.dtype(given.dtype).kind not in "biuf":
        raise InvalidInput(
            "clicks: R_QI must be a SciPy sparse matrix of numbers, queries × images."
        )
    matrix: Any = sp.csr_matrix(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise InvalidInput("clicks: R_QI must be finite and at least 0.")
    matrix.eliminate_zeros()
    if not matrix.nnz:
        raise InvalidInput("clicks: R_QI has no entry above 0, so there is nothing to learn from.")
    matrix.data /= matrix.data.max()
    matrix.eliminate_zeros()
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    matrix.data /= np.repeat(np.sqrt(sums) * math.sqrt(sums.sum()), np.diff(matrix.indptr))
    matrix.eliminate_zeros()
    return sp.csr_matrix(matrix)


def _above(
    roots: sp.csr_matrix,
    threshold: float,
    block: int,
    progress: Progress,
    max_pairs: int = MAX_PAIRS,
) -> sp.csr_matrix:
    check_whole("clicks", "block", block, 1)
    n = roots.shape[1]
    largest = np.asarray(roots.max(axis=1).todense()).ravel()
    # A little slack, since the bound and the sums it bounds are rounded differently.
    active = np.flatnonzero((roots.T @ largest) * (1 + 1e-9) > threshold)
    right = sp.csr_matrix(roots[:, active])
    left = sp.csr_matrix(right.T)
    left.sort_indices()
    work = sp.csr_matrix(left, copy=True)
    work.data = np.diff(right.indptr)[left.indices].astype(np.float64)
    edges = _edges(np.cumsum(np.asarray(work.sum(axis=1)).ravel()), block)
    sizes = np.zeros(n + 1, dtype=np.int64)
    columns: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
    values: list[NDArray[np.float64]] = [np.zeros(0)]
    for start, end in itertools.pairwise(edges):
        products: Any = left[start:end] @ right
        rows = np.repeat(np.arange(start, end), np.diff(products.indptr))
        kept = (products.data > threshold) & (rows != products.indices)
        sizes[active[start:end] + 1] = np.bincount(rows[kept] - start, minlength=end - start)
        columns.append(active[products.indices[kept]].astype(np.int32))
        values.append(products.data[kept])
        if sizes.sum() > max_pairs:
            raise InvalidInput(
                f"clicks: more than {max_pairs} pairs of images are above the threshold "
                f"{threshold}. Raise it, or use 0, which keeps lists instead of pairs."
            )
        progress(end, len(active))
    pairs = sp.csr_matrix(
        (np.concatenate(values), np.concatenate(columns), np.cumsum(sizes)), shape=(n, n)
    )
    pairs.sort_indices()
    return pairs


def _edges(work: NDArray[np.float64], block: int) -> list[int]:
    """Split rows with the cumulative ``work`` into runs of at most ``block``, or of one row."""
    edges = [0]
    while edges[-1] < len(work):
        done = work[edges[-1] - 1] if edges[-1] else 0.0
        edges.append(max(int(np.searchsorted(work, done + block, side="right")), edges[-1] + 1))
    return edges
