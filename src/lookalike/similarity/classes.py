"""Check the labels for a learner of classes: one for each picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.similarity.registry import learning_from
from lookalike.supervision import Relevance


def class_codes(who: str, y: Any, rows: int) -> NDArray[np.int64]:
    """Return one class number per row, from 0, or raise InvalidInput.

    At least two classes must have at least two rows.

    Parameters
    ----------
    who : str
        The caller, for messages.
    y : sequence of labels, or Relevance
        One label each: text or a number.
    rows : int
        The number of rows.
    """
    if y is None:
        raise InvalidInput(f"{who}: y must be one class label for each row; got none.")
    if sp.issparse(y) or (isinstance(y, Relevance) and y.labels_ is None):
        raise _not_classes(who, "got pairs of pictures", "relevance")
    labels = _of_relevance(who, y) if isinstance(y, Relevance) else _of_sequence(who, y)
    if len(labels) != rows:
        raise InvalidInput(
            f"{who}: y must have a label for each of {rows} rows; got {len(labels)}."
        )
    try:
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise InvalidInput(f"{who}: y must not mix text and numbers; {error}.") from error
    if np.count_nonzero(counts > 1) < 2:
        raise InvalidInput(
            f"{who}: y must have at least two classes of at least two rows; got "
            f"{counted(len(counts), 'class', 'classes')}, the largest with "
            f"{counted(counts.max(initial=0), 'row')}. Label more pictures."
        )
    return codes.astype(np.int64)


def _of_relevance(who: str, y: Relevance) -> NDArray[Any]:
    counts = np.diff(y.links.indptr)
    if (counts != 1).any():
        several, none = np.count_nonzero(counts > 1), np.count_nonzero(counts == 0)
        raise _not_classes(
            who, f"got several labels for {several} rows and none for {none}", "labels"
        )
    return np.asarray(y.links.indices)


def _of_sequence(who: str, y: Any) -> NDArray[Any]:
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise _not_classes(who, str(error), "labels") from error
    plain = labels.dtype.kind in "biufUS" or all(
        isinstance(label, str | bytes | int | np.integer) for label in labels.flat
    )
    finite = labels.dtype.kind != "f" or np.isfinite(labels).all()
    if labels.ndim != 1 or not plain or not finite:
        raise _not_classes(who, f"got {labels.dtype} of shape {labels.shape}", "labels")
    return labels


def _not_classes(who: str, came: str, source: str) -> InvalidInput:
    what = "several labels per picture" if source == "labels" else source
    return InvalidInput(
        f"{who}: y must be one class label (text or a number) for each row; {came}. {who} learns "
        f"from one class per picture; choose one that learns from {what}: "
        f"{', '.join(learning_from(source))}."
    )
