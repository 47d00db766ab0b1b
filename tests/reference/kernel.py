"""OKS and OMKS written slowly and plainly: support vectors as the paper has them (Eq. 19)."""

import math

import numpy as np


class Support:
    """The similarity of Eq. 19: a list of triplets with their coefficients."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.triplets = []

    def score(self, q, p):
        total = self.kernel(q, p)
        for tau, image, more, less in self.triplets:
            total += tau * self.kernel(q, image) * (self.kernel(more, p) - self.kernel(less, p))
        return total

    def step(self, image, more, less, C):
        """Eq. 17 and 18; return the margin before the step."""
        margin = self.score(image, more) - self.score(image, less)
        k = self.kernel
        norm = k(image, image) * (k(more, more) - 2 * k(more, less) + k(less, less))
        if margin < 1 and norm > 1e-12:
            self.triplets.append((min(C, (1 - margin) / norm), image, more, less))
        return margin


def oks(kernel, X, triplets, C):
    """Algorithm 1: return the similarity, and the margin of each triplet before its step."""
    learned = Support(kernel)
    return learned, np.array([learned.step(*X[list(triplet)], C) for triplet in triplets])


def omks(kernels, X, triplets, C, beta):
    """Algorithm 2: return the similarities, θ as shares, and the mistakes of the weighted vote."""
    learned = [Support(kernel) for kernel in kernels]
    theta = np.ones(len(kernels))
    mistakes = 0
    for triplet in triplets:
        margins = np.array([one.step(*X[list(triplet)], C) for one in learned])
        z = margins <= 0
        mistakes += (theta / theta.sum()) @ z >= 0.5
        theta = theta * beta**z
    return learned, theta / theta.sum(), mistakes


def gaussian(gamma):
    return lambda x, y: math.exp(-float(((x - y) ** 2).sum()) / gamma)


def itml(Z, pairs, same, near, far, slack, passes):
    """Davis et al. (2007), Algorithm 1, with the slack and the multiplier of each pair."""
    A = np.eye(Z.shape[1])
    xi = [near if alike else far for alike in same]
    dual = [0.0] * len(pairs)
    for _ in range(passes):
        for t, (i, j) in enumerate(pairs):
            z = Z[i] - Z[j]
            p = float(z @ A @ z)
            if p <= 1e-12:
                continue
            delta = 1 if same[t] else -1
            alpha = min(dual[t], delta / 2 * (1 / p - slack / xi[t]))
            beta = delta * alpha / (1 - delta * alpha * p)
            xi[t] = slack * xi[t] / (slack + delta * alpha * xi[t])
            dual[t] -= alpha
            A = A + beta * np.outer(A @ z, z @ A)
    return A
