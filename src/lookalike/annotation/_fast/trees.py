"""Neighbours: products with sparse pictures, and random-projection trees with median splits.

The projections of the trees are not stored. The direction at a node has the coordinates

    r_j = 2·hash(key, node, j) − 1,   uniform in [−1, 1),

computed when needed. Sums are computed in float64 and in order, so that a picture always falls
into the same leaf.
"""

from typing import NamedTuple

import numpy as np

from lookalike.annotation._fast.linear import product
from lookalike.annotation._fast.wsabie import Pictures
from lookalike.core._fast import F32, F64, I64, LOOP, U32, U64, njit, uint64


class Forest(NamedTuple):
    """Trees in one list of nodes, each before its left child and that before its right one.

    A node sends pictures with a projection below ``thresholds`` to the left, to the next node,
    and others to ``rights``; a leaf has 0 there, and its pictures are ``order[begins:ends]``.
    """

    thresholds: F64
    rights: U64
    begins: U64
    ends: U64
    order: U32
    roots: U64
    key: np.uint64


class Room(NamedTuple):
    """Buffers for one query: its values in a row of d, and the last query at each point."""

    spread: F32
    met: U32


@njit(**LOOP, inline="always")
def direction(key: np.uint64, node: np.uint64, column: np.uint64) -> float:
    """Return r_j at a node, by the final mix of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = key + (node << uint64(32)) + column
    z = (z + uint64(0x9E3779B97F4A7C15)) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint64(31))
    return float(z >> uint64(11)) * (2.0 / 9007199254740992.0) - 1.0


@njit(**LOOP)
def project(pictures: Pictures, row: np.uint64, key: np.uint64, node: np.uint64) -> float:
    """Return Σ_j r_j·x_j of a picture at a node."""
    begin, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
    shift = begin if pictures.dense else uint64(0)
    total = 0.0
    for e in range(begin, end):
        if pictures.data[e] != np.float32(0.0):
            column = uint64(pictures.columns[e - shift])
            total += direction(key, node, column) * float(pictures.data[e])
    return total


@njit(**LOOP)
def grow(
    pictures: Pictures, forest: Forest, tree: np.uint64, node: np.uint64, leaf: np.uint64
) -> np.uint64:
    """Grow one tree from ``node`` on until no leaf has more than ``leaf`` pictures.

    A node splits at the median of the projections, or, if several are equal to it, at the nearest
    place between two that differ; pictures whose projections are all equal, such as copies, stay
    together. Return the first node after the tree.
    """
    n = uint64(pictures.indptr.shape[0] - 1)
    first = tree * n
    for i in range(n):
        forest.order[first + i] = i
    forest.roots[tree] = node
    stack = [(first, first + n, uint64(0))]
    while len(stack) > 0:
        begin, end, parent = stack.pop()
        if parent != uint64(0):
            forest.rights[parent - uint64(1)] = node
        forest.begins[node], forest.ends[node] = begin, end
        forest.rights[node] = uint64(0)
        forest.thresholds[node] = 0.0
        count = end - begin
        if count > leaf:
            values = np.empty(count, np.float64)
            for i in range(count):
                values[i] = project(pictures, uint64(forest.order[begin + i]), forest.key, node)
            places = np.argsort(values, kind="mergesort")
            values = values[places]
            low = high = count >> uint64(1)
            while low > uint64(0) and values[low] == values[low - uint64(1)]:
                low -= uint64(1)
            while high < count and values[high] == values[high - uint64(1)]:
                high += uint64(1)
            middle = count >> uint64(1)
            cut = low if low > uint64(0) and middle - low <= high - middle else high
            if cut == count:
                cut = low
            if cut > uint64(0):
                moved = forest.order[begin:end][places]
                for i in range(count):
                    forest.order[begin + i] = moved[i]
                forest.thresholds[node] = values[cut]
                stack.append((begin + cut, end, node + uint64(1)))
                stack.append((begin, begin + cut, uint64(0)))
        node += uint64(1)
    return node


@njit(**LOOP, inline="always")
def offer(best: F32, rows: I64, similarity: np.float32, row: np.int64) -> None:
    """Insert a row into the best of a query; ties go to the lower number."""
    place = best.shape[0] - 1
    if similarity < best[place] or (similarity == best[place] and row > rows[place]):
        return
    while place > 0 and (
        best[place - 1] < similarity or (best[place - 1] == similarity and rows[place - 1] > row)
    ):
        best[place] = best[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    best[place] = similarity
    rows[place] = row


@njit(**LOOP, fastmath={"reassoc", "contract", "nsz"})
def search_trees(
    points: Pictures,
    halves: F32,
    forest: Forest,
    queries: Pictures,
    best: F32,
    rows: I64,
    room: Room,
) -> None:
    """Find for each query the points with the largest xᵀp − ``halves`` in its leaves.

    ``best``, filled with -inf at first, decreases along each row, and ``rows`` are the points; a
    point in the leaves of several trees counts once. ``room.met`` must be all zeros.
    """
    spread = room.spread.reshape(1, room.spread.shape[0])
    for query in range(uint64(best.shape[0])):
        begin, end = queries.indptr[query], queries.indptr[query + uint64(1)]
        shift = begin if queries.dense else uint64(0)
        for e in range(begin, end):
            spread[0, uint64(queries.columns[e - shift])] = queries.data[e]
        for tree in range(uint64(forest.roots.shape[0])):
            node = forest.roots[tree]
            while forest.rights[node] != uint64(0):
                if project(queries, query, forest.key, node) < forest.thresholds[node]:
                    node += uint64(1)
                else:
                    node = forest.rights[node]
            for place in range(forest.begins[node], forest.ends[node]):
                row = uint64(forest.order[place])
                if room.met[row] != query + uint64(1):
                    room.met[row] = query + uint64(1)
                    similarity = product(spread, uint64(0), points, row) - halves[row]
                    offer(best[query], rows[query], similarity, np.int64(row))
        for e in range(begin, end):
            spread[0, uint64(queries.columns[e - shift])] = np.float32(0.0)


@njit(**LOOP)
def list_products(lists: Pictures, queries: Pictures, first: np.uint64, similarities: F32) -> None:
    """Add xᵀp of sparse queries, from ``first`` on, to the rows of ``similarities``.

    ``lists`` has one row for each column of the points: which points have it, and their values.
    """
    for query in range(uint64(similarities.shape[0])):
        line = similarities[query]
        start, stop = queries.indptr[first + query], queries.indptr[first + query + uint64(1)]
        for e in range(start, stop):
            value = queries.data[e]
            column = uint64(queries.columns[e])
            for place in range(lists.indptr[column], lists.indptr[column + uint64(1)]):
                line[uint64(lists.columns[place])] += value * lists.data[place]
