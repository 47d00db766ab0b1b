"""Search again by the mean of the query and the hits that were found to show its object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.vectors import Vectors, stack_rows
from lookalike.features.region_records import RegionRecord
from lookalike.index.base import Hits
from lookalike.index.reranker import Query, Reranker
from lookalike.index.spatial import Agreement, SpatialCheck, ranked, read_regions


class SpatialExpansion(Reranker):
    """Check where words lie, score again by the mean of the query and what agrees, check again.

    Average query expansion of Chum et al., *Total Recall* (2007), section 4.4, as paper 4 uses it
    (section V): d_avg is the mean of the query and of those hits that pass the spatial check, of
    which only the words count that lie where the query's object is.

    Parameters
    ----------
    top : int, default=200
        Hits that are checked.
    least : int, default=6
        Regions that must agree for a hit to come first.
    sure : int, default=12
        Regions that must agree for a hit to be added to the query.
    most : int, default=50
        Hits that are added at most.

    Notes
    -----
    *Departure.* The hits that were given are scored again, not everything: give as many as are to
    be found.

    Examples
    --------
    >>> SpatialExpansion(most=10).name
    'spatial-expansion'
    """

    name = "spatial-expansion"
    needs_record = True

    def __init__(self, *, top: int = 200, least: int = 6, sure: int = 12, most: int = 50) -> None:
        self.top = top
        self.least = least
        self.sure = sure
        self.most = most

    @property
    def depth(self) -> int:
        """``top``."""
        return self.top

    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits by their agreement with the query and the mean of what agrees."""
        self._check_parameters()
        check = SpatialCheck(top=self.top, least=self.least)
        agreements = check.agreements(query, hits)
        sure = sorted(
            (number for number, is_found in agreements.items() if len(is_found) >= self.sure),
            key=lambda number: -len(agreements[number]),
        )[: self.most]
        if not sure:
            return ranked(hits, agreements, self.least)
        ids = np.array(sure, np.int64)
        own = read_regions(query.record)
        rows = query.vectors(ids)
        parts = [query.vector]
        for place, record in enumerate(query.records(ids)):
            item = read_regions(record)
            parts.append(_of_object(rows[place : place + 1], own, item, agreements[sure[place]]))
        together = stack_rows(parts)
        share = np.full((1, together.shape[0]), 1 / together.shape[0], np.float32)
        is_sparse: bool = sp.issparse(together)
        mean: Vectors = (sp.csr_matrix(share) if is_sparse else share) @ together
        is_found = hits.ids[0] >= 0
        scores = np.full(hits.ids.shape, -np.inf, np.float32)
        scores[0, is_found] = query.scores(mean, hits.ids[0][is_found])[0]
        again = Hits.best_first(hits.ids, scores)
        return ranked(again, {**check.agreements(query, again), **agreements}, self.least)

    def _check_parameters(self) -> None:
        check_whole("SpatialExpansion", "top", self.top, 1)
        check_whole("SpatialExpansion", "least", self.least, 3)
        check_whole("SpatialExpansion", "sure", self.sure, 3)
        check_whole("SpatialExpansion", "most", self.most, 1)


def _of_object(
    row: Vectors, own: RegionRecord, item: RegionRecord, agreement: Agreement
) -> Vectors:
    """Return a hit's vector with each word's value reduced to the share that lies on the object."""
    if not sp.issparse(row):
        return row
    back = agreement.mapped_back(item.places)
    low, high = own.places.min(axis=0), own.places.max(axis=0)
    inside = ((back >= low) & (back <= high)).all(axis=1)
    values = row.data * _shares(item, inside)[row.indices]
    return sp.csr_matrix((values.astype(np.float32), row.indices, row.indptr), shape=row.shape)


class _Shares:
    """For each word, the share of its regions that is inside; 0 for words of no region."""

    def __init__(self, words: NDArray[np.int32], shares: NDArray[np.float64]) -> None:
        self.words, self.shares = words, shares

    def __getitem__(self, columns: NDArray[np.int32]) -> NDArray[np.float64]:
        places = np.minimum(np.searchsorted(self.words, columns), len(self.words) - 1)
        return np.where(self.words[places] == columns, self.shares[places], 0.0)


def _shares(item: RegionRecord, inside: NDArray[np.bool_]) -> _Shares:
    words, numbers = np.unique(item.words.ravel(), return_inverse=True)
    every = np.bincount(numbers, item.weights.ravel())
    each = np.repeat(inside, item.words.shape[1])
    own = np.bincount(numbers, item.weights.ravel() * each)
    return _Shares(words, own / np.maximum(every, 1e-12))
