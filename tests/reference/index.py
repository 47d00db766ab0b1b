"""The sum that guards a row of an index, by plain arithmetic."""

import numpy as np


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
