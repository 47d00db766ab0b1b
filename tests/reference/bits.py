"""Weighted Hamming distances bit by bit, every answer by a full sort."""

import numpy as np


def distances(codes, queries, weights, bits):
    """Sum in float64 the weights of the bits that differ, rounded to float32."""
    items = np.unpackbits(codes, axis=1, count=bits)
    asked = np.unpackbits(queries, axis=1, count=bits)
    each = np.broadcast_to(np.asarray(weights, np.float32).astype(np.float64), asked.shape)
    return np.stack(
        [(items != query) @ weight for query, weight in zip(asked, each, strict=True)]
    ).astype(np.float32)


def near_lanes(block, tables, most):
    """The codes of a block whose sum of table entries, at most 255, is at most ``most``."""
    lanes = 0
    for lane in range(block.shape[1]):
        total = 0
        for column in range(block.shape[0]):
            byte = int(block[column, lane])
            total += int(tables[2 * column][byte % 16]) + int(tables[2 * column + 1][byte // 16])
        lanes |= (min(total, 255) <= most) << lane
    return lanes
