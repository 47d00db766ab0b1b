"""Which words can be among a picture's best, by rounded vectors, one word after another."""

import numpy as np


def may_be_best(codes, units, query, slack, k):
    """Bound every word's product from both sides; keep what may be among the k largest."""
    middles = codes.astype(np.float64) @ query
    lows, highs = units * (middles - slack), units * (middles + slack)
    least = np.sort(lows)[-k] if k <= len(lows) else -np.inf
    return np.flatnonzero(highs >= least)
