"""xoshiro256++ as its authors wrote it, in Python's whole numbers."""

MASK = (1 << 64) - 1


def rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def next_word(state):
    """Advance a list of four words and return 64 bits."""
    result = (rotate((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
    t = (state[1] << 17) & MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotate(state[3], 45)
    return result
