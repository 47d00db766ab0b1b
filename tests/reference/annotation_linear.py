"""The steps of the linear annotators as the papers write them, one word after another."""

import numpy as np


def penalty(rank):
    """L(k) = Σ_{j≤k} 1/j."""
    return sum(1 / j for j in range(1, rank + 1))


def warp_step(W, x, true, draw, *, rate, limit, patience):
    """One round of Algorithm 1; ``draw(n)`` gives a number below n.

    After ``patience`` trials in vain it ends if no word violates the margin.
    """
    chosen = sorted(true)[draw(len(true))]
    others = [word for word in range(len(W)) if word not in true]
    scores = W @ x
    violators = [word for word in others if scores[word] > scores[chosen] - 1]
    for trial in range(1, len(others) + 1):
        if trial - 1 == patience and not violators:
            return
        other = others[draw(len(others))]
        if other in violators:
            step = rate * penalty(len(others) // trial)
            for word, sign in ((chosen, 1), (other, -1)):
                W[word] += sign * step * x
                if limit is not None and np.linalg.norm(W[word]) > limit:
                    W[word] *= limit / np.linalg.norm(W[word])
            return


def pair_step(W, x, true, draw, *, aggressiveness):
    """One step of PAMIR for image annotation, section 6.3."""
    chosen = sorted(true)[draw(len(true))]
    others = [word for word in range(len(W)) if word not in true]
    other = others[draw(len(others))]
    loss = 1 - W[chosen] @ x + W[other] @ x
    if loss > 0:
        tau = min(aggressiveness, loss / (2 * x @ x))
        W[chosen] += tau * x
        W[other] -= tau * x


def one_vs_rest_step(W, x, true, *, aggressiveness):
    """PA-I of Crammer et al. (2006) for every word."""
    for word in range(len(W)):
        sign = 1 if word in true else -1
        loss = max(0.0, 1 - sign * W[word] @ x)
        W[word] += sign * min(aggressiveness, loss / (x @ x)) * x
