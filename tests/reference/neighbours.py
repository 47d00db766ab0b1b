"""k-NN by the book: every cosine, a sort, and votes counted one by one; and a tree, walked."""

import math

MASK = (1 << 64) - 1


def cosine(a, b):
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def nearest(query, points, k, among=None):
    """Return (row, cosine) of the k nearest, the lower row first among equals."""
    rows = range(len(points)) if among is None else sorted(among)
    found = [(row, cosine(query, points[row])) for row in rows]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def word_votes(found, words_of, count):
    votes = [0.0] * count
    for row, similarity in found:
        for word in words_of[row]:
            votes[word] += max(similarity, 0.0)
    return votes


def direction(key, node, column):
    z = (key + (node << 32) + column) & MASK
    z = ((z + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return (z >> 11) * (2 / 2**53) - 1


def project(point, key, node):
    return sum(direction(key, node, column) * x for column, x in enumerate(point))


def grow(points, rows, key, node, leaf):
    """Return (tree, the next node's number): a leaf is a set, a node is (number, cut, left, right).

    For points without equal projections.
    """
    if len(rows) <= leaf:
        return set(rows), node + 1
    ranked = sorted(rows, key=lambda row: project(points[row], key, node))
    middle = len(ranked) // 2
    cut = project(points[ranked[middle]], key, node)
    left, after = grow(points, ranked[:middle], key, node + 1, leaf)
    right, end = grow(points, ranked[middle:], key, after, leaf)
    return (node, cut, left, right), end


def leaf_of(tree, key, query):
    while not isinstance(tree, set):
        node, cut, left, right = tree
        tree = left if project(query, key, node) < cut else right
    return tree
