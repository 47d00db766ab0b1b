"""Choose held-out pictures so that they can be evaluated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_number
from lookalike.core.errors import InvalidInput

Rows = NDArray[np.intp]

SPLITTABLE = 4
"""The smallest class that can put a pair of pictures on both sides."""


def check_fraction(fraction: float) -> None:
    """Raise InvalidInput if a share is not between 0 and 1."""
    check_number("hold_out", "fraction", fraction, below=1)


def from_each_class(members: sp.csr_matrix, fraction: float, rng: np.random.Generator) -> Rows:
    """Hold out a share of every class: at least two pictures of a class, or none.

    A single held-out picture of a class has nothing to be found by. So a class gives at least two
    or none, and one of fewer than four goes to one side as a whole. What a class gives less than
    its share is added to the next, in random order, so the total is close to the fraction.
    """
    sizes = np.diff(members.indptr)
    classes = rng.permutation(np.flatnonzero(sizes >= 2))
    trainable = len(classes)
    taken = dict.fromkeys(classes.tolist(), 0)
    due = 0.0
    for label in classes.tolist():
        size = int(sizes[label])
        due += fraction * size
        if size >= SPLITTABLE:
            count = min(round(due), size - 2) if due >= 1.5 else 0
            count = max(count, 2) if count else 0
        else:
            count = size if due >= size / 2 and trainable > 2 else 0
            trainable -= count > 0
        taken[label] = count
        due -= count
    # At least two classes, if two can give any: with one, every ranking looks perfect.
    spare = [label for label, count in taken.items() if count == 0 and sizes[label] >= SPLITTABLE]
    missing = max(0, 2 - sum(count > 0 for count in taken.values()))
    taken.update(dict.fromkeys(spare[:missing], 2))
    held = [
        rng.choice(members.indices[members.indptr[label] : members.indptr[label + 1]], count, False)
        for label, count in taken.items()
        if count
    ]
    return np.sort(np.concatenate(held)).astype(np.intp) if held else np.zeros(0, dtype=np.intp)


def in_pairs(
    links: sp.csr_matrix, members: sp.csr_matrix | None, fraction: float, rng: np.random.Generator
) -> Rows:
    """Hold out random pictures, each together with a random related one.

    If pictures were held out one by one, hardly two would be related where relations are few.
    ``members`` has the items of each label; without it, ``links`` has the items related to each.
    """
    wanted = round(fraction * links.shape[0])
    held = np.zeros(links.shape[0], dtype=bool)
    count = 0
    for i in rng.permutation(links.shape[0]).tolist():
        if count >= wanted:
            break
        others = links.indices[links.indptr[i] : links.indptr[i + 1]]
        if members is not None and len(others):
            label = others[rng.integers(len(others))]
            others = members.indices[members.indptr[label] : members.indptr[label + 1]]
        place = int(rng.integers(max(len(others), 1)))
        pair = [i, *others[place : place + 1].tolist()]
        if len(set(pair)) < 2:
            continue
        count += 2 - int(held[pair].sum())
        held[pair] = True
    return np.flatnonzero(held)


def whole_classes(
    links: sp.csr_matrix, members: sp.csr_matrix, fraction: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Hold out labels: return (rows with none of them, rows with only them)."""
    usable = np.flatnonzero(np.diff(members.indptr) >= 2)
    if len(usable) < 2:
        raise InvalidInput(
            f"hold_out_classes: at least two labels must have two pictures each, one to learn from "
            f"and one to evaluate; got {len(usable)}. Hold out pictures instead."
        )
    least = 2 if len(usable) >= SPLITTABLE else 1
    count = min(max(round(fraction * len(usable)), least), len(usable) - least)
    is_held = np.zeros(members.shape[0], dtype=np.float64)
    is_held[rng.choice(usable, count, replace=False)] = 1.0
    pattern = sp.csr_matrix((np.ones(links.nnz), links.indices, links.indptr), shape=links.shape)
    held_labels = pattern @ is_held
    labels = np.diff(links.indptr)
    return (
        np.flatnonzero(held_labels == 0),
        np.flatnonzero((held_labels == labels) & (labels > 0)),
    )
