"""What votes teach, written out: a full matrix, a step a comparison."""

import numpy as np


def step(W, query, good, bad, aggressiveness, margin, own, base):
    """Take one step between Eq. 8 and Eq. 22 on W, which is put on ``base``."""
    loss = margin - query @ (base + W) @ (good - bad)
    length = (query @ query) * ((good - bad) @ (good - bad))
    if loss > 0 and length > 1e-9:
        tau = min(aggressiveness, loss / length)
        W += tau / 2 * (np.outer(query, good - bad) + np.outer(good - bad, query))
        W -= tau / 2 * own * (np.outer(good, good) - np.outer(bad, bad))


def learned(votes, width, aggressiveness, margin, own, base):
    """Go through votes of (query, [(good, bad), ...]) in order."""
    W = np.zeros((width, width))
    for query, comparisons in votes:
        for good, bad in comparisons:
            step(W, query, good, bad, aggressiveness, margin, own, base)
    return W
