"""Slow, obvious twins of what the baselines compute: triplet by triplet, pair by pair."""

import math

import numpy as np

from tests.reference.xoshiro import next_word


def squared_distance(M, a, b):
    difference = a - b
    return float(difference @ M @ difference)


def euclidean_scores(Q, P):
    return np.array([[0.5 * (q @ q - ((q - p) ** 2).sum()) for p in P] for q in Q])


def lmnn_targets(Z, codes, neighbours):
    targets = []
    for i in range(len(Z)):
        mine = [j for j in range(len(Z)) if j != i and codes[j] == codes[i]]
        mine.sort(key=lambda j: ((Z[i] - Z[j]) ** 2).sum())
        targets.append(mine[:neighbours])
    return targets


def lmnn_loss(M, Z, codes, neighbours, weight):
    """ω Σ d_ij + (1 − ω) Σ [1 + d_ij − d_il]₊ over all triplets."""
    loss = 0.0
    for i, targets in enumerate(lmnn_targets(Z, codes, neighbours)):
        for j in targets:
            pull = squared_distance(M, Z[i], Z[j])
            loss += weight * pull
            for other in range(len(Z)):
                if codes[other] != codes[i]:
                    push = 1 + pull - squared_distance(M, Z[i], Z[other])
                    loss += (1 - weight) * max(0.0, push)
    return loss


def mcml_divergence(M, Z, codes):
    """Σ_i KL(p₀(·|i) ‖ p(·|i)); a class of one has no p₀ and adds nothing."""
    total = 0.0
    for i in range(len(Z)):
        others = [j for j in range(len(Z)) if j != i]
        same = [j for j in others if codes[j] == codes[i]]
        weights = {j: math.exp(-squared_distance(M, Z[i], Z[j])) for j in others}
        whole = sum(weights.values())
        for j in same:
            total += (1 / len(same)) * math.log((1 / len(same)) / (weights[j] / whole))
    return total


def numeric_gradient(function, M, width=1e-6):
    """Central differences, each entry moved alone."""
    gradient = np.zeros_like(M)
    for r in range(M.shape[0]):
        for c in range(M.shape[1]):
            moved = np.zeros_like(M)
            moved[r, c] = width
            gradient[r, c] = (function(M + moved) - function(M - moved)) / (2 * width)
    return gradient


def lego_step(A, z, target, eta):
    """The step as printed in Jain et al. (2008), Eq. 2 and 3."""
    now = z @ A @ z
    after = (
        eta * target * now - 1 + math.sqrt((eta * target * now - 1) ** 2 + 4 * eta * now**2)
    ) / (2 * eta * now)
    change = eta * (after - target) / (1 + eta * (after - target) * now)
    return A - change * np.outer(A @ z, z @ A)


def lego_pairs(codes, steps, words):
    """Pairs as they are drawn: in turn of one class and of two, each from all pictures."""
    n = len(codes)
    members = np.argsort(codes, kind="stable")
    classes = codes[members]
    pairs = []
    while len(pairs) < steps:
        i = ((next_word(words) >> 32) * n) >> 32
        if len(pairs) % 2 == 0:
            own = members[classes == codes[i]]
            j = int(own[((next_word(words) >> 32) * len(own)) >> 32])
            taken = i != j
        else:
            j = ((next_word(words) >> 32) * n) >> 32
            taken = codes[i] != codes[j]
        if taken:
            pairs.append((i, j))
    return pairs


def mmc_pairs(codes, alike):
    return [
        (i, j)
        for i in range(len(codes))
        for j in range(len(codes))
        if i != j and (codes[i] == codes[j]) == alike
    ]


def mmc_spread(M, Z, codes):
    """The mean of √d over pairs of two classes (Xing et al., 2003, Eq. 6)."""
    pairs = mmc_pairs(codes, False)
    return sum(math.sqrt(max(squared_distance(M, Z[i], Z[j]), 0)) for i, j in pairs) / len(pairs)


def mmc_loss(M, Z, codes):
    """The mean of d over pairs of one class, less the logarithm of the spread."""
    pairs = mmc_pairs(codes, True)
    near = sum(squared_distance(M, Z[i], Z[j]) for i, j in pairs) / len(pairs)
    return near - math.log(mmc_spread(M, Z, codes))
