"""What votes teach, written out: a sum over every picture of every vote, in plain loops."""

import math

import numpy as np


def direction(vectors, picked, place):
    """Return what the picture at ``place`` moves towards, less what it moves away from."""
    alike, rejected = list(vectors[:picked]), list(vectors[picked:])
    if place >= picked:
        return vectors[place] - np.mean(alike, axis=0)
    others = alike[:place] + alike[place + 1 :] or alike
    return np.mean(others, axis=0) - (np.mean(rejected, axis=0) if rejected else 0.0)


def turn(votes, query):
    """Return how votes of (vectors, picked, steps, width) turn a query of unit length."""
    total = np.zeros(len(query))
    for vectors, picked, steps, width in votes:
        for place, step in enumerate(steps):
            apart = width * (1 - min(1.0, float(query @ vectors[place])))
            kernel = math.exp(-(apart**2))
            total = total + step * kernel * direction(vectors, picked, place)
    return total


def everywhere(votes, query, evidence):
    """Return how votes of (vectors, picked, …) turn every query u, wherever it is.

    By M⁻¹u/(uᵀM⁻¹u) − u, where M is the covariance within what each vote picked, and the identity.
    """
    total, count = np.zeros((len(query), len(query))), 0
    for vectors, picked, *_ in votes:
        mean = np.mean(vectors[:picked], axis=0)
        for vector in vectors[:picked]:
            total += np.outer(vector - mean, vector - mean)
        count += picked - 1
    if not count:
        return np.zeros(len(query))
    share = count / (count + evidence)
    total /= np.trace(total) / len(query)
    moved = np.linalg.solve(share * total + (2 - share) * np.eye(len(query)), query)
    return moved / (moved @ query) - query


def learned(votes, vectors, picked, width, *, longest, margin, from_rejected, limit, alike):
    """Return the steps of one more vote, by scores of cosine and earlier votes.

    ``alike`` are the longest step and the margin of a vote that rejects nothing.
    """
    before = []
    for vector in vectors:
        turned = turn(votes, vector)
        before.append(turned * min(1.0, limit / max(float(np.linalg.norm(turned)), 1e-12)))
    fewest = min(max(picked - 1, 1), len(vectors) - picked)
    most, wanted = (longest * fewest / (fewest + 1), margin) if fewest else alike
    steps = [0.0] * len(vectors)
    for place, vector in enumerate(vectors):
        towards = direction(vectors, picked, place)
        # Its own steps so far count in full, those of earlier votes as far as they may go.
        own = turn([(vectors, picked, steps, width)], vector)
        loss = max(0.0, wanted - (vector + before[place] + own) @ towards)
        length = min(most, loss / float(towards @ towards))
        steps[place] = length * (1.0 if place < picked else from_rejected)
    return steps
