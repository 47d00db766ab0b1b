"""OASIS written slowly and plainly, a line an equation, for the compiled loops to equal."""

import numpy as np


def loss(W, image, more, less):
    """Eq. 4."""
    return max(0.0, 1.0 - image @ W @ more + image @ W @ less)


def bilinear_step(W, image, more, less, C, *, symmetric=False):
    """Eq. 8 and 11, with the projection of section 6.1 after the step if asked."""
    V = np.outer(image, more - less)
    if np.sum(V**2) == 0:
        return W
    tau = min(C, loss(W, image, more, less) / np.sum(V**2))
    moved = W + tau * V
    return (moved + moved.T) / 2 if symmetric else moved


def dissimilarity_score(W, first, second):
    """Eq. 22."""
    return -(first - second) @ W @ (first - second)


def dissimilarity_step(W, image, more, less, C):
    """The passive-aggressive step for Eq. 22."""
    a, b = image - more, image - less
    missing = max(
        0.0, 1.0 - dissimilarity_score(W, image, more) + dissimilarity_score(W, image, less)
    )
    V = np.outer(b, b) - np.outer(a, a)
    if np.sum(V**2) == 0:
        return W
    return W + min(C, missing / np.sum(V**2)) * V


def run(X, triplets, C, step, **how):
    """Take a step for each triplet from the identity on; give W and the losses met before each."""
    W = np.eye(X.shape[1])
    losses = []
    for image, more, less in triplets:
        losses.append(loss(W, X[image], X[more], X[less]))
        W = step(W, X[image], X[more], X[less], C, **how)
    return W, np.array(losses)


def logdet_step(W, image, more, less, C):
    """The step of least LogDet divergence, its length found by halving (Jain et al., 2008)."""
    d = more - less
    V = (np.outer(image, d) + np.outer(d, image)) / 2
    if image @ W @ d >= 1 or np.sum(V**2) == 0:
        return W

    def after(tau):
        inverse = np.linalg.inv(W) - tau * V
        return np.linalg.inv(inverse) if np.linalg.eigvalsh(inverse)[0] > 0 else None

    def short(tau):
        moved = after(tau)
        return moved is not None and image @ moved @ d < 1

    if short(C):
        return after(C)
    low, high = 0.0, C
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return after(low)
