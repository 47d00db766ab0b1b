"""Where learning starts: vectors whitened by how related pictures differ, or by their words.

What differs between two pictures that are alike says nothing of what they show, and that holds for
kinds of pictures that were never taught as well. So a start that weighs such directions less serves
both, and steps from there serve what was taught. Where pictures have several labels, hardly two
differ in all, and most share one by chance; there it serves better to compare the words that a
picture's vector predicts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors, unit_rows
from lookalike.supervision import Relevance

SHRINKAGE = 1.0
"""How much of the mean variance is added to that of each direction."""

RIDGE = 10.0
"""λ of the regression from vectors to words: of 1, 3, 10 and 30, the best or next to it with 100,
300 and 2,000 pictures of ``snapshots``."""

PLAIN = 0.2
"""How much of the identity is added to what compares words, of .02 to .4: it costs what was taught
nothing, and serves what no word says."""

ROWS = 4096
"""Pictures that are computed with in float64 at once."""


def whitened(vectors: Vectors, A: NDArray[np.float64] | None) -> Vectors:
    """Return vectors times A at unit length, or themselves if there is none."""
    if A is None:
        return vectors
    return np.ascontiguousarray(unit_rows(vectors @ A.astype(np.float32)), dtype=np.float32)


def turned_back(W: NDArray[Any], A: NDArray[np.float64] | None) -> NDArray[Any]:
    """Return AWA, which compares vectors as W compares whitened ones; W itself without an A."""
    return W if A is None else np.asarray(A @ W @ A, dtype=np.float64)


def whitening(vectors: Vectors, relevance: Relevance) -> NDArray[np.float64] | None:
    """Return the symmetric A that whitens dense vectors; None if related ones do not differ.

        A ∝ (C + mmᵀ + λ·tr(C)/d·I)^{−1/2}

    with C the covariance between related pictures, as in relevant component analysis (Bar-Hillel,
    Hertz, Shental and Weinshall, 2003), m the mean, which all pictures have in common, and λ = 1.
    Vectors count at unit length, and A is scaled to keep that on average.
    """
    units = unit_rows(vectors)
    C = related_covariance(units, relevance)
    variance = float(np.trace(C)) / len(C)
    if not variance * len(C) > 1e-9:
        return None
    mean = np.asarray(units.mean(axis=0), dtype=np.float64)
    values, axes = np.linalg.eigh(C + np.outer(mean, mean))
    A = (axes / np.sqrt(np.maximum(values, 0) + SHRINKAGE * variance)) @ axes.T
    turned = units @ A
    lengths = np.einsum("ij,ij->", turned, turned)
    return np.asarray(A * np.sqrt(np.count_nonzero(units.any(axis=1)) / lengths))


def by_words(vectors: Vectors, relevance: Relevance) -> NDArray[np.float64] | None:
    """Return the symmetric A by which dense vectors compare as the words they predict.

        A² ∝ (1 − p)·BBᵀ + p·I,   B = (XᵀX + λI)⁻¹XᵀY

    with X the vectors at unit length less their mean, Y the labels of each picture weighted as in
    ``relevance``, and BBᵀ at 1 on average. None if no label has two pictures.
    """
    rows = np.flatnonzero(relevance.known)
    labels = relevance.links[rows]
    targets = labels[:, np.bincount(labels.indices, minlength=labels.shape[1]) > 1]
    units = np.asarray(unit_rows(vectors[rows]), np.float64)
    if not targets.shape[1] or not len(units):
        return None
    X = units - units.mean(axis=0)
    B = np.linalg.solve(X.T @ X + RIDGE * np.eye(X.shape[1]), (targets.T @ X).T)
    lengths = float(np.square(units @ B).sum()) / len(units)
    if not lengths > 0:
        return None
    values, axes = np.linalg.eigh((1 - PLAIN) / lengths * (B @ B.T))
    return np.asarray((axes * np.sqrt(np.maximum(values, 0) + PLAIN)) @ axes.T)


def related_covariance(X: Vectors, relevance: Relevance) -> NDArray[np.float64]:
    """Return the mean of (x − x′)(x − x′)ᵀ/2 over related pictures; 0 where there are none.

    Of labels this is the covariance within each, pooled; of pairs every picture counts the same.
    """
    # A row of ``other`` for each group, and what each picture counts: Σ_i w_i·x_i·x_iᵀ less that
    # of the groups' means, or less the products of the pairs.
    if relevance.labels_ is not None:
        links = relevance.links.astype(bool).astype(np.float32)
        sizes = np.maximum(np.diff(relevance.members.indptr), 1).astype(np.float32)
        weights = np.diff(links.indptr).astype(np.float64)
        partners = links @ (sp.diags(1 / sizes) @ (links.T @ X))
        count = weights.sum() - np.count_nonzero(np.diff(relevance.members.indptr))
    else:
        sums = np.asarray(relevance.links.sum(axis=1)).ravel()
        shares = sp.diags(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0))
        links = sp.csr_matrix(shares @ relevance.links, dtype=np.float32)
        weights = np.asarray(links.sum(axis=1) + links.sum(axis=0).T, np.float64).ravel() / 2
        partners = links @ X
        count = weights.sum()
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], ROWS):
        some = slice(start, start + ROWS)
        rows = X[some].astype(np.float64)
        total += rows.T @ (weights[some, None] * rows - partners[some])
    return np.asarray((total + total.T) / (2 * count) if count > 0 else np.zeros_like(total))
