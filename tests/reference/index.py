"""An index that is a dictionary: every score by a plain sum, every answer by a full sort."""

import numpy as np


class SlowIndex:
    def __init__(self):
        self.vectors = {}
        self.scales = {}
        self.next_id = 0

    def add(self, vectors, ids=None, scales=None):
        names = list(range(self.next_id, self.next_id + len(vectors))) if ids is None else ids
        factors = np.ones(len(vectors), np.float32) if scales is None else scales
        for name, vector, factor in zip(names, vectors, factors, strict=True):
            self.vectors[name] = vector
            self.scales[name] = factor
            self.next_id = max(self.next_id, name + 1)
        return names

    def remove(self, ids):
        for name in ids:
            del self.vectors[name]
            del self.scales[name]

    def search(self, query, k, exclude=()):
        scored = []
        for name, vector in self.vectors.items():
            if name not in exclude:
                total = 0.0
                for a, b in zip(query, vector, strict=True):
                    total += float(a) * float(b)
                scored.append((-np.float32(total * float(self.scales[name])), name))
        scored.sort()
        found = [(name, -score) for score, name in scored[:k]]
        return found + [(-1, -np.inf)] * (k - len(found))


def row_sum(row, key):
    """The sum of a row of float32, by whole numbers of any size."""
    words = [int(word) for word in np.asarray(row, np.float32).view(np.uint32)]
    words += [0] * (len(words) % 2)
    total = 0
    for place in range(0, len(words), 2):
        a = words[place] ^ int(key[place // 2]) % 2**32
        b = words[place + 1] ^ int(key[place // 2]) >> 32
        total += (a + 2**32) * (b + 1) - 2**32
    return total % 2**64
