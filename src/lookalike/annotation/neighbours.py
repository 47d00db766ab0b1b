"""Give a picture the words of the most similar ones, found exactly or by random trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation._fast.top import keep_top
from lookalike.annotation._fast.trees import Forest, Room, grow, list_products, search_trees
from lookalike.annotation.base import Annotator
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.held_out import Matrix, Split, precision
from lookalike.annotation.layout import lay_out
from lookalike.annotation.lessons import Lessons, blocks
from lookalike.core import sparse as sp
from lookalike.core.checks import check_share, check_whole
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState
from lookalike.core.stored import Arrays, Learned, stored_whole, with_settings
from lookalike.core.vectors import Vectors, unit_rows

CANDIDATES = (1, 3, 5, 10, 20, 50)
"""Numbers of neighbours to choose from on held-out pictures."""

DEFAULT = 10
"""The number of neighbours if no picture can be held out."""

_NODES = ("thresholds", "rights", "begins", "ends")
_FOREST_KINDS = (np.float64, *(np.uint64,) * 3, np.uint32, *(np.uint64,) * 2)
_PRIOR = 1e-6
_SCORES = 1 << 22
_ITEMS = 1 << 13

Nearest = tuple[NDArray[np.int64], Matrix]
"""Rows of stored pictures, the nearest first and −1 for none, and their cosines."""


class StoredPictures:
    """Pictures' unit vectors, and optionally trees over them.

    Parameters
    ----------
    units : array or CSR matrix of shape (n, d)
        Rows of length 1, or 0.
    forest : Forest or None
        None compares with every picture.
    """

    def __init__(self, units: Vectors, forest: Forest | None) -> None:
        self.units = units
        self.forest = forest
        # Exact search of sparse pictures goes column by column.
        by_column = forest is None and sp.issparse(units)
        self._items = lay_out(sp.csr_matrix(units.T) if by_column else units)

    def nearest(self, vectors: Vectors, k: int, progress: Progress = silent) -> Nearest:
        """Return the k stored pictures of largest cosine; ties go to the lower row."""
        q, n = vectors.shape[0], self.units.shape[0]
        rows = np.full((q, min(k, n)), -1, np.int64)
        cosines = np.full(rows.shape, -np.inf, np.float32)
        whole_rows = self.forest is None and sp.issparse(self.units)
        for some in blocks(q, max(1, _SCORES // (n if whole_rows else _ITEMS))):
            queries = self._like_stored(vectors[some])
            if self.forest is not None:
                self._search(self.forest, queries, cosines[some], rows[some])
            elif sp.issparse(queries):
                products = np.zeros((queries.shape[0], n), np.float32)
                list_products(self._items, lay_out(queries), np.uint64(0), products)
                keep_top(products, 0, cosines[some], rows[some])
            else:
                for part in blocks(n, _ITEMS):
                    products = queries @ self.units[part].T
                    keep_top(products, part.start, cosines[some], rows[some])
            progress(some.stop, q)
        return rows, cosines

    def _search(
        self, forest: Forest, queries: Vectors, cosines: Matrix, rows: NDArray[np.int64]
    ) -> None:
        n, width = self.units.shape
        room = Room(np.zeros(width, np.float32), np.zeros(n, np.uint32))
        none = np.zeros(n, np.float32)
        search_trees(self._items, none, forest, lay_out(queries), cosines, rows, room)

    def _like_stored(self, vectors: Vectors) -> Vectors:
        """Return vectors at unit length, sparse or dense as the stored ones are."""
        if sp.issparse(self.units):
            units: Vectors = unit_rows(sp.csr_matrix(vectors))
        else:
            units = unit_rows(vectors.toarray() if sp.issparse(vectors) else vectors)
        return units


@with_settings
class NearestNeighbours(Annotator):
    """Score a word by the pictures that have it among the k most similar ones.

    The baseline k-NN of Weston, Bengio and Usunier, *Large Scale Image Annotation* (2010),
    section 6.3. With N(x) the k stored pictures of largest cosine with x,

        f_i(x) = Σ_{z ∈ N(x), z has i} max(cos(x, z), 0)

    and words that none of them has come after all others, the most frequent first.

    With ``trees`` it is the paper's approximate k-NN: each node of a tree projects pictures on a
    random direction, with the median of its stored pictures as the threshold for left or right.
    After p nodes a picture reaches a leaf of t ≈ n/2^p, which is searched for its neighbours.

    Parameters
    ----------
    neighbours : int or None
        k. None chooses among 1, 3, 5, 10, 20 and 50 by precision at 1 on held-out pictures, then
        by precision at 10, then the smaller; or 10 if none can be held out.
    trees : int
        How many; 0 compares with every picture, 1 is the paper's. With more, a picture's leaves in
        all trees are searched.
    leaf : int
        t, the maximum number of stored pictures in a leaf: more find more of the true neighbours
        and take more time.
    held_out : float
        The share of the pictures, at most 2,000, on which k is chosen and confidence learned; all
        pictures are stored in the end. A word's only picture is never held out. 0 holds out
        nothing.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    neighbours_ : int
        k.
    history_ : list of (int, float)
        Numbers of neighbours tried and held-out precision at 1.
    pictures_ : StoredPictures
        The pictures that have words.
    has_ : csr_matrix of shape (n, Y)
        Ones where a stored picture has a word.
    confidence_ : Confidence or None
        Turns scores into confidence; None if too few pictures were held out.

    Notes
    -----
    A picture costs O((p + t)·nnz) with a tree and O(n·d) without. Without trees, sparse pictures
    are stored a second time by column: then one costs O(n·nnz²/d) if all columns are equally
    frequent. A model stores all vectors; a tree adds 4·n bytes and takes O(n·p·nnz) to build.

    *Departures.* The paper does not specify how neighbours vote; weighting them by cosine orders
    words of the same count. If several projections equal the median, the split is at the nearest
    place between two that differ, so copies of a picture share a leaf, however many there are.
    Directions have uniform coordinates, which are recomputed from a key and never stored.

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = NearestNeighbours(neighbours=2).fit(X, ["cat", "cat", "dog", "dog"])
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'cat']
    """

    name = "neighbours"
    file_kind = "nearest_neighbours/1"

    neighbours: int | None = None
    trees: int = 0
    leaf: int = 1000
    held_out: float = 0.1
    random_state: RandomState = None

    neighbours_: int = field(init=False)
    pictures_: StoredPictures = field(init=False)
    has_: sp.csr_matrix = field(init=False)

    def scores(self, X: ArrayLike | sp.spmatrix) -> Matrix:
        """Return every word's score for each picture; at most 0 for words that no neighbour has."""
        vectors = self._vectors(X)
        nearest = self.pictures_.nearest(vectors, self.neighbours_)
        return votes(nearest, self.has_, self._prior)

    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        key = rng.integers(0, 2**64, dtype=np.uint64)
        pictures = stored(split.learned.vectors, self.trees, self.leaf, key)
        most = self.neighbours or DEFAULT
        history: list[tuple[int, float]] = []
        confidence = None
        if split.judged is not None:
            has = split.learned.has
            most, history, confidence = self._choose(pictures, has, split.judged, progress)
        if split.learned is not split.whole:
            pictures = stored(split.whole.vectors, self.trees, self.leaf, key)
        self._publish(pictures, split.whole.has, split.whole.words, most, history)
        self.confidence_ = confidence

    def _own_state(self) -> tuple[Arrays, Learned]:
        units, forest = self.pictures_.units, self.pictures_.forest
        arrays: Arrays = {
            "has": self.has_.indices.astype(np.uint32),
            "has_indptr": self.has_.indptr.astype(np.uint64),
        }
        if sp.issparse(units):
            arrays["data"] = units.data
            arrays["columns"] = units.indices.astype(np.uint32)
            arrays["indptr"] = units.indptr.astype(np.uint64)
        else:
            arrays["vectors"] = units
        if forest is not None:
            arrays |= {name: np.asarray(array) for name, array in forest._asdict().items()}
            arrays["key"] = np.array([forest.key])
        return arrays, {"neighbours": self.neighbours_, "width": self.n_features_in_}

    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        ones = np.ones(arrays["has"].size, np.float32)
        has = _read_rows(ones, arrays["has"], arrays["has_indptr"], len(self.words_))
        units = _read_vectors(arrays, stored_whole(learned["width"]))
        if not 0 < units.shape[0] == has.shape[0]:
            raise ValueError(f"{units.shape[0]} vectors, but words for {has.shape[0]} pictures")
        forest = _read_forest(arrays, units.shape[0], self.trees) if self.trees else None
        most = check_whole(type(self).__name__, "neighbours", learned["neighbours"], 1)
        pictures = StoredPictures(units, forest)
        self._publish(pictures, has, self.words_, most, self.history_)

    def _choose(
        self, pictures: StoredPictures, has: sp.csr_matrix, judged: Lessons, progress: Progress
    ) -> tuple[int, list[tuple[int, float]], Confidence | None]:
        """Try numbers of neighbours; return the best, all precisions, and the best's confidence."""
        candidates = (self.neighbours,) if self.neighbours else CANDIDATES
        rows, cosines = pictures.nearest(judged.vectors, candidates[-1], progress)
        prior = _prior(has)
        history = []
        best, most = candidates[0], (-1.0, -1.0)
        for k in candidates:

            def score(some: slice, k: int = k) -> Matrix:
                return votes((rows[some, :k], cosines[some, :k]), has, prior)

            figures = precision(score, judged.has)
            history.append((k, figures[0]))
            if figures > most:
                best, most = k, figures
        some = enough(len(judged), has.shape[1])
        scores = votes((rows[some, :best], cosines[some, :best]), has, prior)
        return best, history, Confidence.learned(scores, judged.has[some])

    def _publish(
        self,
        pictures: StoredPictures,
        has: sp.csr_matrix,
        words: tuple[str, ...],
        neighbours: int,
        history: Sequence[tuple[int, float]],
    ) -> None:
        self.pictures_ = pictures
        self.has_ = has
        self.words_ = words
        self.n_features_in_ = int(pictures.units.shape[1])
        self.neighbours_ = neighbours
        self.history_ = history
        self._prior = _prior(has)

    def _check_parameters(self) -> None:
        who = type(self).__name__
        if self.neighbours is not None:
            check_whole(who, "neighbours", self.neighbours, 1)
        check_whole(who, "trees", self.trees, 0)
        check_whole(who, "leaf", self.leaf, 1)
        check_share(who, "held_out", self.held_out)


def stored(vectors: Vectors, trees: int, leaf: int, key: np.uint64) -> StoredPictures:
    """Return stored pictures with so many trees over them."""
    units = unit_rows(vectors)
    return StoredPictures(units, grow_trees(units, trees, leaf, key) if trees else None)


def grow_trees(units: Vectors, trees: int, leaf: int, key: np.uint64) -> Forest:
    """Return trees that halve pictures by projections until leaves are small enough."""
    items, n = lay_out(units), units.shape[0]
    most = trees * (2 * n - 1)
    whole = Forest(
        np.zeros(most, np.float64),
        np.zeros(most, np.uint64),
        np.zeros(most, np.uint64),
        np.zeros(most, np.uint64),
        np.zeros(trees * n, np.uint32),
        np.zeros(trees, np.uint64),
        key,
    )
    nodes = np.uint64(0)
    for tree in range(trees):
        nodes = np.uint64(grow(items, whole, np.uint64(tree), nodes, np.uint64(leaf)))
    kept = {name: getattr(whole, name)[: int(nodes)].copy() for name in _NODES}
    return whole._replace(**kept)


def votes(result: Nearest, has: sp.csr_matrix, prior: Matrix) -> Matrix:
    """Return the sum of neighbours' cosines for each word; its prior if it has none."""
    rows, cosines = result
    counted = (rows >= 0) & (cosines > 0)
    indptr = np.concatenate([[0], np.cumsum(counted.sum(axis=1))])
    weights = sp.csr_matrix(
        (cosines[counted], rows[counted], indptr), shape=(len(rows), has.shape[0])
    )
    sums = (weights @ has).tocoo()
    scores = np.tile(prior, (len(rows), 1))
    scores[sums.row, sums.col] = sums.data
    return scores


def _prior(has: sp.csr_matrix) -> Matrix:
    """Return words' scores by frequency alone: 0 for the most frequent, less for others."""
    uses = np.bincount(has.indices, minlength=has.shape[1])
    prior: Matrix = (_PRIOR * (uses / uses.max(initial=1) - 1)).astype(np.float32)
    return prior


def _read_vectors(arrays: Arrays, width: int) -> Vectors:
    if "vectors" not in arrays:
        return _read_rows(arrays["data"], arrays["columns"], arrays["indptr"], width)
    vectors = arrays["vectors"]
    if vectors.dtype != np.float32 or vectors.ndim != 2 or vectors.shape[1] != width or width < 1:
        raise ValueError(f"vectors are {vectors.dtype} of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("vectors are not finite")
    return vectors


def _read_rows(
    data: NDArray[Any], columns: NDArray[Any], indptr: NDArray[Any], width: int
) -> sp.csr_matrix:
    """Return rows; raise ValueError if a compiled loop would read out of bounds."""
    _check_kinds((data, columns, indptr), (np.float32, np.uint32, np.uint64))
    whole = len(indptr) > 0 and indptr[0] == 0
    if not whole or not indptr[-1] == len(columns) == len(data):
        raise ValueError("rows are inconsistent")
    if (indptr[1:] < indptr[:-1]).any() or (columns >= width).any() or not np.isfinite(data).all():
        raise ValueError("rows are out of bounds or not finite")
    kind = np.int32 if len(data) < 2**31 else np.int64
    return sp.csr_matrix(
        (data, columns.astype(kind), indptr.astype(kind)), shape=(len(indptr) - 1, width)
    )


def _read_forest(arrays: Arrays, n: int, trees: int) -> Forest:
    """Return trees; raise ValueError if a search would read out of bounds or never end."""
    parts = [arrays[name] for name in Forest._fields]
    _check_kinds(parts, _FOREST_KINDS)
    thresholds, rights, begins, ends, order, roots, key = parts
    nodes = len(thresholds)
    sizes = [len(part) for part in (rights, begins, ends, order, roots, key)]
    if nodes < 1 or sizes != [nodes, nodes, nodes, trees * n, trees, 1]:
        raise ValueError("trees do not match the pictures")
    inner = np.flatnonzero(rights)
    onward = (rights[inner] > inner) & (rights[inner] < nodes)
    if not onward.all() or (roots >= nodes).any():
        raise ValueError("the nodes of trees do not lead to leaves")
    if (begins > ends).any() or (ends > trees * n).any() or not np.isfinite(thresholds).all():
        raise ValueError("the leaves of trees are out of bounds")
    if (np.sort(order.reshape(trees, n), axis=1) != np.arange(n)).any():
        raise ValueError("trees do not contain every picture exactly once")
    return Forest(thresholds, rights, begins, ends, order, roots, key[0])


def _check_kinds(parts: Sequence[NDArray[Any]], kinds: Sequence[type[np.generic]]) -> None:
    for part, kind in zip(parts, kinds, strict=True):
        if part.ndim != 1 or part.dtype.type is not kind:
            raise ValueError(f"a list of {kind.__name__} is {part.dtype} of shape {part.shape}")
