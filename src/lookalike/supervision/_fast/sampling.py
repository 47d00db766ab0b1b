"""Draw triplets from flat lists: first (image, more similar), then less similar, into ``out``.

Relevance is given as lists. With labels there are two: an item's labels (``offsets``,
``labels``) and a label's items (``starts``, ``members``), each sorted. With pairs there is one:
the items related to an item (``offsets``, ``others``), sorted. ``out`` has one row per triplet.
"""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import F64, LOOP, U32, U64, njit, uint64
from lookalike.core._fast.random import next_below, next_unit

NONE = np.uint32(0xFFFFFFFF)
"""No label: the largest number is never a label."""


@njit(**LOOP)
def _first_shared(offsets: U32, labels: U32, i: np.uint32, j: np.uint32) -> np.uint32:
    """Return the smallest label that both items have, or ``NONE``."""
    a, a_end = uint64(offsets[i]), uint64(offsets[i + uint64(1)])
    b, b_end = uint64(offsets[j]), uint64(offsets[j + uint64(1)])
    while a < a_end and b < b_end:
        left: np.uint32 = labels[a]
        right: np.uint32 = labels[b]
        if left == right:
            return left
        if left < right:
            a += uint64(1)
        else:
            b += uint64(1)
    return NONE


@njit(**LOOP)
def _place(values: U32, start: np.uint64, end: np.uint64, value: np.uint32) -> np.uint64:
    """Return the first index in sorted ``values[start:end]`` that is not below ``value``."""
    low, high = start, end
    while low < high:
        middle = (low + high) >> uint64(1)
        if values[middle] < value:
            low = middle + uint64(1)
        else:
            high = middle
    return low


@njit(**LOOP)
def _weighted_place(sums: F64, start: np.uint64, end: np.uint64, target: float) -> np.uint64:
    """Return the first index in the running ``sums[start:end]`` above ``target``, or the last."""
    low, high = start, end - uint64(1)
    while low < high:
        middle = (low + high) >> uint64(1)
        if sums[middle] <= target:
            low = middle + uint64(1)
        else:
            high = middle
    return low


@njit(**LOOP)
def _not_among(offsets: U32, others: U32, i: np.uint32, j: np.uint32) -> bool:
    end = uint64(offsets[i + uint64(1)])
    place = _place(others, uint64(offsets[i]), end, j)
    return bool(place == end or others[place] != j)


@njit(**LOOP)
def label_pairs(
    state: U64, out: U32, anchors: U32, offsets: U32, labels: U32, starts: U32, members: U32
) -> None:
    """Draw an anchor, then another item uniformly from the union of its labels' items.

    A label is chosen in proportion to its other items and one of them uniformly; the item is
    accepted only if the label is the first they share, so it counts once however many they share.
    """
    for t in range(uint64(len(out))):
        i = anchors[next_below(state, uint64(len(anchors)))]
        first, last = uint64(offsets[i]), uint64(offsets[i + uint64(1)])
        total = uint64(0)
        for e in range(first, last):
            label = uint64(labels[e])
            total += uint64(starts[label + uint64(1)]) - uint64(starts[label]) - uint64(1)
        while True:
            left = next_below(state, total)
            e = first
            label = uint64(labels[e])
            size = uint64(starts[label + uint64(1)]) - uint64(starts[label]) - uint64(1)
            while left >= size:
                left -= size
                e += uint64(1)
                label = uint64(labels[e])
                size = uint64(starts[label + uint64(1)]) - uint64(starts[label]) - uint64(1)
            place = uint64(starts[label]) + left
            j = members[place]
            if j >= i:  # the list is sorted: skip the item itself
                j = members[place + uint64(1)]
            if last - first == uint64(1) or _first_shared(offsets, labels, i, j) == label:
                break
        out[t, 0] = i
        out[t, 1] = j


@njit(**LOOP)
def weighted_label_pairs(
    state: U64,
    out: U32,
    anchors: U32,
    anchor_sums: F64,
    offsets: U32,
    labels: U32,
    weights: F64,
    starts: U32,
    members: U32,
    member_sums: F64,
) -> None:
    """Draw (i, j) in proportion to Σ_l a_li·a_lj: i by its row's sum, then a label, then j."""
    for t in range(uint64(len(out))):
        target = next_unit(state) * anchor_sums[len(anchor_sums) - 1]
        i = anchors[_weighted_place(anchor_sums, uint64(0), uint64(len(anchors)), target)]
        first, last = uint64(offsets[i]), uint64(offsets[i + uint64(1)])
        total = 0.0
        for e in range(first, last):
            label = uint64(labels[e])
            mass = member_sums[uint64(starts[label + uint64(1)]) - uint64(1)]
            total += weights[e] * (mass - weights[e])
        target = next_unit(state) * total
        chosen = first
        for e in range(first, last):
            label = uint64(labels[e])
            mass = member_sums[uint64(starts[label + uint64(1)]) - uint64(1)]
            part = weights[e] * (mass - weights[e])
            if part > 0.0:
                chosen = e
                if target < part:
                    break
                target -= part
        label = uint64(labels[chosen])
        start, end = uint64(starts[label]), uint64(starts[label + uint64(1)])
        own = _place(members, start, end, i)
        target = next_unit(state) * (member_sums[end - uint64(1)] - weights[chosen])
        before = member_sums[own - uint64(1)] if own > start else 0.0
        if target >= before:
            target += weights[chosen]
        place = _weighted_place(member_sums, start, end, target)
        if place == own:  # only by rounding
            place = own + uint64(1) if own + uint64(1) < end else own - uint64(1)
        out[t, 0] = i
        out[t, 1] = members[place]


@njit(**LOOP)
def row_pairs(state: U64, out: U32, anchors: U32, offsets: U32, others: U32) -> None:
    """Draw an anchor, then one of the items related to it uniformly."""
    for t in range(uint64(len(out))):
        i = anchors[next_below(state, uint64(len(anchors)))]
        first = uint64(offsets[i])
        size = uint64(offsets[i + uint64(1)]) - first
        out[t, 0] = i
        out[t, 1] = others[first + next_below(state, size)]


@njit(**LOOP)
def weighted_row_pairs(
    state: U64, out: U32, anchors: U32, anchor_sums: F64, offsets: U32, others: U32, row_sums: F64
) -> None:
    """Draw (i, j) in proportion to the weight of the pair: i by its row's sum, then j."""
    for t in range(uint64(len(out))):
        target = next_unit(state) * anchor_sums[len(anchor_sums) - 1]
        i = anchors[_weighted_place(anchor_sums, uint64(0), uint64(len(anchors)), target)]
        first, last = uint64(offsets[i]), uint64(offsets[i + uint64(1)])
        target = next_unit(state) * row_sums[last - uint64(1)]
        out[t, 0] = i
        out[t, 1] = others[_weighted_place(row_sums, first, last, target)]


@njit(**LOOP)
def any_other(state: U64, out: U32, n: int) -> None:
    """Draw the less similar item from all ``n`` items but the two already drawn."""
    for t in range(uint64(len(out))):
        low, high = min(out[t, 0], out[t, 1]), max(out[t, 0], out[t, 1])
        k = next_below(state, uint64(n) - uint64(2))
        if k >= low:
            k += uint64(1)
        if k >= high:
            k += uint64(1)
        out[t, 2] = k


@njit(**LOOP)
def other_class(state: U64, out: U32, offsets: U32, labels: U32, starts: U32, members: U32) -> None:
    """Draw the less similar item from other labels, where items have at most one label."""
    for t in range(uint64(len(out))):
        label = uint64(labels[offsets[out[t, 0]]])
        start, end = uint64(starts[label]), uint64(starts[label + uint64(1)])
        place = next_below(state, uint64(len(members)) - (end - start))
        if place >= start:
            place += end - start
        out[t, 2] = members[place]


@njit(**LOOP)
def unshared(state: U64, out: U32, known: U32, offsets: U32, labels: U32) -> None:
    """Draw the less similar item from the ``known`` items that share no label with the anchor.

    Draw and reject, at most as often as there are items; then one pass over all of them, keeping
    the c-th that qualifies with probability 1/c. Both are uniform, so their mixture is.
    """
    size = uint64(len(known))
    for t in range(uint64(len(out))):
        i = out[t, 0]
        kept = i
        for _ in range(size):
            k = known[next_below(state, size)]
            if _first_shared(offsets, labels, i, k) == NONE:
                kept = k
                break
        if kept == i:
            fitting = uint64(0)
            for e in range(size):
                k = known[e]
                if _first_shared(offsets, labels, i, k) == NONE:
                    fitting += uint64(1)
                    if next_below(state, fitting) == uint64(0):
                        kept = k
        out[t, 2] = kept


@njit(**LOOP)
def unpaired(state: U64, out: U32, known: U32, offsets: U32, others: U32) -> None:
    """Draw the less similar item from the ``known`` ones not listed for the anchor."""
    size = uint64(len(known))
    for t in range(uint64(len(out))):
        i = out[t, 0]
        kept = i
        for _ in range(size):
            k = known[next_below(state, size)]
            if k != i and _not_among(offsets, others, i, k):
                kept = k
                break
        if kept == i:
            fitting = uint64(0)
            for e in range(size):
                k = known[e]
                if k != i and _not_among(offsets, others, i, k):
                    fitting += uint64(1)
                    if next_below(state, fitting) == uint64(0):
                        kept = k
        out[t, 2] = kept


@njit(**LOOP)
def have_strangers(queries: U32, order: U32, offsets: U32, labels: U32) -> NDArray[np.bool_]:
    """Return for each item in ``queries`` whether any item in ``order`` shares no label with it."""
    result = np.zeros(len(queries), dtype=np.bool_)
    for a in range(uint64(len(queries))):
        for e in range(uint64(len(order))):
            if _first_shared(offsets, labels, queries[a], order[e]) == NONE:
                result[a] = True
                break
    return result
