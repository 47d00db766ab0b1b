"""to_rgb: grey of many bits, a block at a time, as if the whole picture were at hand."""

import tracemalloc

import numpy as np
import pytest
from PIL import Image

from lookalike.images.colours import to_rgb

WHITES = (255.0, 65535.0, 4294967295.0)


def whole_16_bits(samples, *, depth=16, inverted=False, transparent=None):
    white = (1 << depth) - 1
    grey = (np.minimum(samples, white).astype(np.int64) * 255 + white // 2) // white
    grey = 255 - grey if inverted else grey
    return np.where(samples == transparent, 255, grey)


def whole_wide(samples, *, inverted=False):
    finite = np.where(np.isfinite(samples), samples, 0).astype(np.float64)
    least, greatest = finite.min(), finite.max()
    whites = WHITES if samples.dtype.kind in "iu" else (1.0, *WHITES)
    black, white = 0.0, next((value for value in whites if greatest <= value), greatest)
    if least < 0:
        black, white = least, greatest
    grey = (finite - black) * (255 / ((white - black) or 1))
    return np.rint(255 - grey if inverted else grey)


def assert_grey(image, expected):
    assert image.mode == "RGB"
    pixels = np.asarray(image)
    assert pixels.shape == (*expected.shape, 3)
    for colour in range(3):
        np.testing.assert_array_equal(pixels[..., colour], expected)


# More than a block in height, in width, and in both.
SHAPES = [(700, 500), (2, 300_000), (300_000, 2), (3, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["I;16", "I;16B"])
def test_16_bits_are_as_of_the_whole_picture(mode, shape):
    samples = np.random.default_rng(0).integers(0, 65536, shape, dtype=np.uint16)
    image = Image.frombytes(mode, shape[::-1], samples.astype(">u2" if "B" in mode else "<u2"))
    assert_grey(to_rgb(image), whole_16_bits(samples))
    assert_grey(
        to_rgb(image, depth=12, inverted=True), whole_16_bits(samples, depth=12, inverted=True)
    )
    image.info["transparency"] = int(samples[-1, -1])
    assert_grey(to_rgb(image), whole_16_bits(samples, transparent=samples[-1, -1]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first", [0.0, -3.0, 200.0, 60_000.0, 3e38, np.nan, -np.inf])
@pytest.mark.parametrize("inverted", [False, True])
def test_floats_are_as_of_the_whole_picture(first, inverted, shape):
    """The range is that of all blocks: one sample, in the first or the last, changes it."""
    for place in (0, -1):
        samples = np.random.default_rng(1).random(shape, dtype=np.float32)
        samples.flat[place] = first
        image = Image.fromarray(samples)
        assert image.mode == "F"
        assert_grey(to_rgb(image, inverted=inverted), whole_wide(samples, inverted=inverted))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("most", "unsigned"), [(200, False), (2**31 - 1, False), (2**32, True)])
def test_integers_are_as_of_the_whole_picture(most, unsigned, shape):
    least = 0 if unsigned else -most // 3
    samples = np.random.default_rng(2).integers(least, most, shape)
    image = Image.fromarray(samples.astype(np.uint32).view(np.int32))
    assert image.mode == "I"
    kept = samples.astype(np.uint32 if unsigned else np.int32)
    assert_grey(to_rgb(image, unsigned=unsigned), whole_wide(kept))


@pytest.mark.parametrize("size", [(2000, 2000), (4_000_000, 1), (1, 4_000_000)])
@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I", "F"])
def test_little_memory_is_taken_beside_the_two_pictures(mode, size):
    """Pillow's own memory is not traced: what is counted are arrays and bytes."""
    image = Image.new(mode, size)
    tracemalloc.start()
    try:
        to_rgb(image)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / 4_000_000 < 3
