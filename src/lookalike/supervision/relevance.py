"""Which pictures are related, from labels or from weighted pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name
from lookalike.supervision import hold_out
from lookalike.supervision._fast.sampling import have_strangers

Rows = NDArray[np.intp]

MAX_ENTRIES = 2**32 - 1
"""Lists are indexed with 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Relevance:
    """Which of n pictures are related: lists of labels, or weighted pairs. It is immutable.

    Two pictures are related if they share a label, r(i, j) = Σ_l a_li·a_lj with a = 1 unless
    given (paper 1, sections 2.3 and 5.2.1), or if the matrix of pairs has r(i, j) > 0. Make one
    with :meth:`of` or :func:`~lookalike.supervision.clicks_to_relevance`.

    Parameters
    ----------
    links : csr_matrix of float64
        n × labels with the weights a_li, or n × n with r(i, j) and an empty diagonal; every
        stored weight is above 0.
    labels_ : tuple of str or None
        The labels' names; None if ``links`` are pairs.
    known : ndarray of bool
        The pictures about which anything is known; the others never count as unrelated.

    Examples
    --------
    >>> relevance = Relevance.of([{"cat", "pet"}, {"pet"}, {"car"}, set()])
    >>> relevance.rows([0, 3])
    array([[ True,  True, False, False],
           [False, False, False, False]])
    """

    links: sp.csr_matrix
    labels_: tuple[str, ...] | None
    known: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if max(self.links.shape[0], self.links.nnz) > MAX_ENTRIES:
            raise InvalidInput(
                f"Relevance: at most {MAX_ENTRIES} pictures and as many relations are supported; "
                f"got {self.links.shape[0]} and {self.links.nnz}. Raise the threshold or learn "
                f"from fewer pictures."
            )
        for array in (self.links.data, self.links.indices, self.links.indptr, self.known):
            array.setflags(write=False)

    @classmethod
    def of(cls, y: Any, n: int | None = None) -> Relevance:
        """Return the relevance for whatever a learner's ``fit(X, y)`` takes.

        Parameters
        ----------
        y : sequence of labels, sequence of sets of labels, sparse matrix or Relevance
            A label is text or a whole number. None, NaN, empty text and an empty set mean
            unlabelled: not known to be related or unrelated to anything. A sparse n × n matrix has
            r(i, j) ≥ 0, with what is related to i in row i; entries that are not stored mean
            unrelated, and the diagonal is ignored.
        n : int or None
            The number of pictures to check against; None does not check.
        """
        if isinstance(y, Relevance):
            relevance = y
        elif sp.issparse(y):
            relevance = cls._of_pairs(y)
        else:
            relevance = cls._of_labels(y)
        if n is not None and len(relevance) != n:
            raise InvalidInput(
                f"y must have one entry for each of the {n} pictures; got {len(relevance)}."
            )
        return relevance

    @classmethod
    def _of_pairs(cls, matrix: Any) -> Self:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidInput(
                f"y: a relevance matrix must be square, with a row and a column for each picture; "
                f"got {matrix.shape}. Convert queries × pictures with clicks_to_relevance."
            )
        if np.dtype(matrix.dtype).kind not in "biuf":
            raise InvalidInput(f"y: relevance must be real numbers; got {matrix.dtype}.")
        entries = sp.coo_matrix(matrix)
        if not np.isfinite(entries.data).all() or (entries.data < 0).any():
            raise InvalidInput("y: relevance must be finite and at least 0.")
        off = entries.row != entries.col
        links = sp.csr_matrix(
            (entries.data[off].astype(np.float64), (entries.row[off], entries.col[off])),
            shape=matrix.shape,
        )
        links.eliminate_zeros()
        if not np.isfinite(links.data).all():
            raise InvalidInput("y: duplicate entries for a pair add up to infinity.")
        return cls(links, None, np.ones(matrix.shape[0], dtype=np.bool_))

    @classmethod
    def _of_labels(cls, y: Any) -> Self:
        if y is None or isinstance(y, str | bytes | dict) or not isinstance(y, Iterable):
            raise InvalidInput(
                f"y must be a sequence of labels, of sets of labels, or a sparse relevance matrix; "
                f"got {type(y).__name__}."
            )
        if isinstance(y, np.ndarray) and y.ndim != 1:
            raise InvalidInput(
                f"y must have one dimension, with one entry per picture; got the shape {y.shape}. "
                f"Wrap a relevance matrix in scipy.sparse.csr_matrix."
            )
        entries = list(y.tolist() if isinstance(y, np.ndarray) else y)
        spelled: dict[Any, str] = {}
        rows: list[int] = []
        names: list[str] = []
        for row, entry in enumerate(entries):
            single = entry is None or isinstance(entry, str) or not isinstance(entry, Iterable)
            if isinstance(entry, bytes | dict):
                raise InvalidInput(
                    f"y: entry {row} must be a label or a set of labels; got {entry!r}."
                )
            for label in (entry,) if single else entry:
                name = spelled.get(label) if isinstance(label, str | int) else None
                if name is None:
                    name = label_name(label)
                    spelled[label] = name
                if name:
                    rows.append(row)
                    names.append(name)
        labels = sorted(set(names))
        number = {name: k for k, name in enumerate(labels)}
        links = sp.csr_matrix(
            (np.ones(len(rows)), (rows, [number[name] for name in names])),
            shape=(len(entries), len(labels)),
            dtype=np.float64,
        )
        links.data[:] = 1.0  # a label given twice counts once
        return cls(links, tuple(labels), np.diff(links.indptr) > 0)

    def __len__(self) -> int:
        return int(self.links.shape[0])

    def __repr__(self) -> str:
        what = "pairs" if self.labels_ is None else f"entries of {len(self.labels_)} labels"
        return f"<Relevance of {len(self)} pictures, {self.links.nnz} {what}>"

    def subset(self, rows: ArrayLike) -> Relevance:
        """Return the relevance of the pictures in ``rows``, numbered in that order."""
        chosen = self._checked("rows", rows)
        if len(np.unique(chosen)) != len(chosen):
            raise InvalidInput("Relevance.subset: rows must contain each picture at most once.")
        part = self.links[chosen]
        if self.labels_ is None:
            return Relevance(_clean(part[:, chosen]), None, self.known[chosen])
        used = np.flatnonzero(np.bincount(part.indices, minlength=part.shape[1]))
        names = tuple(self.labels_[k] for k in used)
        return Relevance(_clean(part[:, used]), names, self.known[chosen])

    def rows(self, queries: ArrayLike, candidates: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Return for each query (a row) which candidates (the columns) are related to it.

        A picture is related to itself if it has a label; by default all pictures are candidates.
        """
        query_vectors = self._pattern[self._checked("queries", queries)]
        if candidates is None:
            result = query_vectors if self.labels_ is None else query_vectors @ self._member_pattern
        else:
            columns = self._checked("candidates", candidates)
            if self.labels_ is None:
                result = query_vectors[:, columns]
            else:
                result = query_vectors @ self._pattern[columns].T
        return np.asarray(result.toarray(), dtype=np.bool_)

    def values(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Return r(i, j) for all pairs of some pictures."""
        some = self._checked("rows", rows)
        links = self.links[some].astype(np.float32)
        result = links[:, some] if self.labels_ is None else links @ links.T
        return np.ascontiguousarray(result.toarray())

    def by_rarity(self) -> Relevance:
        """Return it with r(i, j) the sum of log(n/n_l) over the labels both have: rare ones count.

        n_l is the number of the n labelled pictures that have the label l.
        """
        if self.labels_ is None:
            raise InvalidInput("by_rarity: pairs have no labels that could be rare.")
        sizes = np.diff(self.members.indptr)
        weights = np.sqrt(np.log(np.count_nonzero(self.known) / np.maximum(sizes, 1)))
        links = sp.csr_matrix(self._pattern.astype(np.float64) @ sp.diags(weights))
        links.eliminate_zeros()
        return Relevance(_clean(links), self.labels_, self.known)

    def alike(self, i: int, j: int) -> bool:
        """Return whether picture ``j`` is related to picture ``i``."""
        first, second = self._checked("pictures", [i, j]).tolist()
        mine = self._row(first)
        if self.labels_ is None:
            return bool((mine == second).any())
        return not set(mine.tolist()).isdisjoint(self._row(second).tolist())

    def hold_out(self, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Split the rows into those to learn from and the held-out ones, both sorted.

        With one label each, a share of every class is held out: at least two pictures or none,
        and a class of fewer than four only as a whole. Otherwise random pictures are held out,
        each together with a random related one. Pictures related to no other are never held out.
        There may be no held-out rows if too few pictures are related.
        """
        hold_out.check_fraction(fraction)
        if self.labels_ is not None and self.is_single:
            held = hold_out.from_each_class(self.members, fraction, rng)
        else:
            members = None if self.labels_ is None else self.members
            held = hold_out.in_pairs(self.links, members, fraction, rng)
        return np.setdiff1d(np.arange(len(self)), held), held

    def hold_out_classes(self, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Hold out whole labels: return (rows with none of them, rows with only them), sorted.

        Pictures with both kinds of labels are in neither, so whatever learns from the first has
        not seen a label of the second.
        """
        hold_out.check_fraction(fraction)
        if self.labels_ is None:
            raise InvalidInput(
                "hold_out_classes: pairs have no classes to hold out. Use hold_out, or labels."
            )
        return hold_out.whole_classes(self.links, self.members, fraction, rng)

    def trainable(self) -> str | None:
        """Return why no triplet (image, more similar, less similar) exists; None if one does."""
        if not self.known.any():
            return "No picture has a label."
        if not self.has_alike.any():
            return "No two pictures are related, so there is nothing to learn from."
        if not (self.has_alike & self.has_unlike).any():
            if self.labels_ is not None and len(self.labels_) == 1:
                return (
                    f"All labelled pictures have the same label {self.labels_[0]!r}, "
                    f"so there is nothing to compare."
                )
            return "Every pair of labelled pictures is related, so there is nothing to compare."
        return None

    @cached_property
    def is_single(self) -> bool:
        """Whether there are labels and no picture has two."""
        return self.labels_ is not None and bool((np.diff(self.links.indptr) <= 1).all())

    @cached_property
    def members(self) -> sp.csr_matrix:
        """The pictures of each label, labels × n: ``links`` transposed."""
        turned = sp.csr_matrix(self.links.T)
        turned.sort_indices()
        return turned

    @cached_property
    def has_alike(self) -> NDArray[np.bool_]:
        """Which pictures are related to another."""
        if self.labels_ is None:
            return np.asarray(np.diff(self.links.indptr) > 0)
        return np.asarray(self._pattern @ (np.diff(self.members.indptr) >= 2))

    @cached_property
    def has_unlike(self) -> NDArray[np.bool_]:
        """Which known pictures have another known picture that is unrelated."""
        total = int(self.known.sum())
        if self.labels_ is None:
            alike = self._pattern.astype(np.int64) @ self.known.astype(np.int64)
            unlike: NDArray[np.bool_] = self.known & (total - 1 - alike > 0)
            return unlike
        sizes = np.diff(self.members.indptr).astype(np.int64)
        most = self._pattern.astype(np.int64) @ (sizes - 1) + 1
        unlike = self.known & (most < total)
        if self.is_single:
            return unlike
        doubtful = self.known & ~unlike & ~(self._pattern @ (sizes == total))
        if doubtful.any():
            unlike[doubtful] = self._search_unlike(np.flatnonzero(doubtful))
        return unlike

    def _search_unlike(self, rows: Rows) -> NDArray[np.bool_]:
        """Find one unrelated picture for each row; pictures with the same labels count as one."""
        kinds: dict[bytes, int] = {}
        kind = np.array([kinds.setdefault(self._row(i).tobytes(), i) for i in range(len(self))])
        firsts = np.array([i for i in kinds.values() if self.known[i]], dtype=np.uint32)
        # In random order the search ends early if many pictures are unrelated.
        order = np.random.default_rng(0).permutation(firsts)
        queries, back = np.unique(kind[rows], return_inverse=True)
        is_found: NDArray[np.bool_] = have_strangers(
            queries.astype(np.uint32), order, flat(self.links.indptr), flat(self.links.indices)
        )
        return is_found[back]

    @cached_property
    def groups(self) -> sp.csr_matrix:
        """Which pictures are judged by each other, a column each: those of a label.

        A row is of unit length, so that of two pictures with several labels each pair counts by the
        share of labels they have in common, and every picture counts once. Of pairs, a column has
        those related to a picture and itself, divided by the root of their number: as many pictures
        that are all related then count as one group.
        """
        if self.labels_ is not None:
            lengths = np.sqrt(np.asarray(self.links.power(2).sum(axis=1)).ravel())
            shares = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            return sp.csr_matrix(sp.diags(shares) @ self.links)
        related = (self._pattern + self._pattern.T).astype(np.bool_).astype(np.float64)
        each = sp.csr_matrix(related + sp.identity(len(self), format="csr"))
        sizes = np.asarray(each.sum(axis=0)).ravel()
        return sp.csr_matrix(each @ sp.diags(1 / np.sqrt(sizes)))

    @cached_property
    def _pattern(self) -> sp.csr_matrix:
        ones = np.ones(self.links.nnz, dtype=np.bool_)
        return sp.csr_matrix((ones, self.links.indices, self.links.indptr), shape=self.links.shape)

    @cached_property
    def _member_pattern(self) -> sp.csr_matrix:
        return self.members.astype(np.bool_)

    def _row(self, i: int) -> NDArray[Any]:
        row: NDArray[Any] = self.links.indices[self.links.indptr[i] : self.links.indptr[i + 1]]
        return row

    def _checked(self, what: str, rows: ArrayLike) -> Rows:
        array = np.asarray(rows)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InvalidInput(
                f"Relevance: {what} must be a list of row numbers; got {array.dtype} of shape "
                f"{array.shape}."
            )
        if array.size and (array.min() < 0 or array.max() >= len(self)):
            raise InvalidInput(
                f"Relevance: {what} must be from 0 to {len(self) - 1}; "
                f"got {array.min()} to {array.max()}."
            )
        return array.astype(np.intp)


def flat(array: NDArray[Any]) -> NDArray[np.uint32]:
    """Return row numbers or offsets as read-only uint32 for the compiled loops."""
    numbers = array.view(np.uint32) if array.dtype == np.int32 else array.astype(np.uint32)
    numbers.setflags(write=False)
    return numbers


def _clean(matrix: sp.csr_matrix) -> sp.csr_matrix:
    clean = sp.csr_matrix(matrix, dtype=np.float64)
    clean.sort_indices()
    return clean
