"""Slow, obvious twins of the supervision stage: dense loops and full enumeration."""

import itertools

import numpy as np


def image_relevance(R_QI, threshold):
    """Eq. 18-20 of paper 1, term by term; the diagonal is dropped."""
    R = np.asarray(R_QI, dtype=float)
    joint = R / R.sum()
    queries, images = R.shape
    result = np.zeros((images, images))
    for p1, p2 in itertools.permutations(range(images), 2):
        for q in range(queries):
            probability = joint[q].sum()
            if probability > 0:
                result[p1, p2] += (
                    joint[q, p1] / probability * joint[q, p2] / probability * probability
                )
    result[result <= threshold] = 0
    return result


def shared_labels(label_sets):
    """r(i, j): how many labels two items share; 0 on the diagonal."""
    n = len(label_sets)
    r = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        r[i, j] = len(set(label_sets[i]) & set(label_sets[j]))
    return r


def triplet_probabilities(r, known, *, sampling, negatives, anchors=None):
    """Section 2.3 of paper 1 by enumeration: the probability of each triplet, n × n × n."""
    n = len(r)
    result = np.zeros((n, n, n))
    choices = {}
    for i in range(n) if anchors is None else anchors:
        alike = [j for j in range(n) if j != i and r[i, j] > 0]
        unlike = [k for k in range(n) if k != i and known[k] and r[i, k] == 0]
        if alike and (negatives == "all" or (known[i] and unlike)):
            choices[i] = alike, unlike
    total = sum(r[i].sum() for i in choices)
    for i, (alike, unlike) in choices.items():
        for j in alike:
            if sampling == "uniform":
                pair = 1 / len(choices) / len(alike)
            else:
                pair = r[i, j] / total
            rest = [k for k in range(n) if k not in (i, j)] if negatives == "all" else unlike
            for k in rest:
                result[i, j, k] = pair / len(rest)
    return result
