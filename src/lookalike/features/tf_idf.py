"""Weigh the words of a picture: frequent in it and rare in others counts most."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def inverse_frequencies(pictures: NDArray[np.int64], total: int) -> NDArray[np.float32]:
    """Return -log(r) of each word, r the share of ``total`` pictures in which it occurs.

    A word in no picture is weighted like one in a single picture.
    """
    return np.log(total / np.maximum(pictures, 1)).astype(np.float32)


def weigh(
    result: NDArray[np.int32], idf: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the different words among those found and their weights f·idf, at unit length.

    Where all weights are 0, plain frequencies f. Words of weight 0 are left out (paper 1, Eq. 17).

    Examples
    --------
    >>> words, weights = weigh(np.array([1, 3, 3, 0], np.int32), np.array([0, 3, 9, 2], np.float32))
    >>> words.tolist(), weights.tolist()
    ([1, 3], [0.6000000238418579, 0.800000011920929])
    """
    words, frequencies = np.unique(result, return_counts=True)
    weights = frequencies * idf[words].astype(np.float64)
    if not weights.any():
        weights = frequencies.astype(np.float64)
    unit = (weights / np.sqrt(weights @ weights)).astype(np.float32)
    return words[unit > 0], unit[unit > 0]


def different_rows(rows: NDArray[Any]) -> NDArray[np.intp]:
    """Return the first place of each row that differs from all others."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.strides[0]))).ravel()
    return np.unique(whole, return_index=True)[1]
