"""The five global descriptors against other formulas, and on pictures whose answer is known."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lookalike.core.errors import InvalidInput
from lookalike.features.descriptors import gabor as gabor_module
from lookalike.features.descriptors.colour import colour
from lookalike.features.descriptors.edges import direction_histogram, edges
from lookalike.features.descriptors.gabor import gabor
from lookalike.features.descriptors.gist import gist
from lookalike.features.descriptors.lbp import lbp
from lookalike.features.descriptors.pixels import Pixels, pixels_of
from tests.reference import descriptors as slow
from tests.reference.visterms import grey as slow_grey
from tests.reference.visterms import pattern_code, uniform_bin

GLOBAL = {colour: 81, edges: 37, gabor: 120, lbp: 59, gist: 512}


def scene(seed=0, width=300, height=200):
    """Rectangles and discs on a ramp, with a little noise."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(0, 200, width)[None, :, None] * rng.random(3)
    image = Image.fromarray((ramp + rng.integers(0, 30, (height, width, 3))).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = rng.integers(0, width), rng.integers(0, height)
        box = (x, y, x + rng.integers(5, 80), y + rng.integers(5, 80))
        shape = draw.rectangle if rng.random() < 0.5 else draw.ellipse
        shape([int(side) for side in box], fill=tuple(rng.integers(0, 256, 3).tolist()))
    return image


def raw(rgb):
    return Pixels(rgb, np.asarray(Image.fromarray(rgb).convert("L")))


class TestPixels:
    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            ((640, 480), (500, 375)),
            ((480, 640), (375, 500)),
            ((25, 50), (250, 500)),
            ((1, 1), (500, 500)),
            ((9000, 3), (500, 32)),
            ((1, 5000), (32, 500)),
        ],
    )
    def test_the_longer_side_becomes_500(self, size, expected):
        found = pixels_of(Image.new("RGB", size))
        assert found.rgb.shape == (*expected[::-1], 3)
        assert found.grey.shape == expected[::-1]

    @pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "CMYK", "I;16"])
    def test_any_mode_is_read(self, mode):
        image = (
            Image.new("L", (40, 30), 255).convert(mode)
            if mode != "I;16"
            else Image.new(mode, (40, 30))
        )
        found = pixels_of(image)
        assert found.rgb.dtype == found.grey.dtype == np.uint8
        assert found.rgb.shape == (375, 500, 3)

    def test_transparency_lies_on_white(self):
        image = Image.new("RGBA", (40, 40), (200, 0, 0, 0))
        assert (pixels_of(image).rgb == 255).all()
        half = pixels_of(Image.new("RGBA", (40, 40), (0, 0, 0, 128))).rgb
        assert np.unique(half).tolist() == [127]

    @pytest.mark.parametrize(
        "wrong", [None, "picture.jpg", np.zeros((4, 4, 3)), Image.new("RGB", (0, 4))]
    )
    def test_what_is_no_picture_is_refused(self, wrong):
        with pytest.raises(InvalidInput, match="Read pictures with"):
            pixels_of(wrong)


class TestEveryOne:
    @pytest.mark.parametrize("describe", GLOBAL, ids=lambda one: one.__name__)
    @pytest.mark.parametrize(
        "image",
        [
            Image.new("RGB", (1, 1), "red"),
            Image.new("RGB", (640, 480), "black"),
            Image.new("RGB", (640, 480), "white"),
            Image.new("RGB", (2000, 2), "green"),
            scene(3, 3, 900),
            scene(3).convert("L"),
            scene(3),
        ],
        ids=["one pixel", "black", "white", "long", "tall", "grey", "scene"],
    )
    def test_it_is_finite_and_of_the_papers_length(self, describe, image):
        found = describe(pixels_of(image))
        assert found.shape == (GLOBAL[describe],)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(describe(pixels_of(image)), found)

    @pytest.mark.parametrize("describe", GLOBAL, ids=lambda one: one.__name__)
    def test_it_tells_pictures_apart(self, describe):
        a, b = (describe(pixels_of(scene(seed))) for seed in (1, 2))
        assert np.abs(a - b).max() > 0.001


class TestColour:
    def test_it_equals_exact_fractions(self):
        every = np.array(
            [
                [r, g, b]
                for r in (0, 1, 85, 170, 254, 255)
                for g in (0, 85, 127, 128, 255)
                for b in (0, 84, 86, 255)
            ]
        )
        rng = np.random.default_rng(0)
        rgb = np.concatenate([every, rng.integers(0, 256, (400, 3))]).astype(np.uint8)[None]
        np.testing.assert_allclose(colour(raw(rgb)), slow.colour(rgb), atol=1e-6)

    def test_a_grey_picture_has_no_hue(self):
        found = colour(pixels_of(scene().convert("L")))
        assert found[:72].reshape(8, 3, 3)[1:].sum() == 0
        assert found[:72].sum() == pytest.approx(1)


class TestEdges:
    @pytest.mark.parametrize("turn", [0, 90, 180, 270])
    def test_a_step_has_one_direction(self, turn):
        pixels = np.zeros((200, 200), np.uint8)
        pixels[:, 100:] = 200
        found = edges(pixels_of(Image.fromarray(pixels).rotate(turn)))
        # Rows count downwards, so a counter-clockwise turn lowers the angle.
        assert found.nonzero()[0].tolist() == [(36 - turn // 10) % 36, 36]
        assert found[(36 - turn // 10) % 36] == 1
        assert found[36] == pytest.approx(1 - 1 / 500, abs=1 / 500)

    def test_a_disc_has_all_directions_alike(self):
        y, x = np.mgrid[:500, :500] - 250
        light = 255 / (1 + np.exp((np.hypot(x, y) - 200) / 2))
        found = edges(pixels_of(Image.fromarray(light.astype(np.uint8))))
        assert found[:36].sum() == pytest.approx(1)
        # The edge has fewer pixels where it runs aslant, by up to √2.
        assert found[:36].min() > 0.75 / 36
        assert found[:36].max() < 1.25 / 36
        # A circle of radius r has 4√2 r pixels if corners may touch, 8r if they may not.
        assert 4 * np.sqrt(2) * 200 < (1 - found[36]) * 500**2 < 8 * 200

    def test_bins_are_centred_at_tens_of_degrees(self):
        angles = np.radians([0, 4.9, 5.1, 94.9, 95.1, 180, 359, 354.9])
        right, down = (np.rint(10000 * f(angles)).astype(np.int16) for f in (np.cos, np.sin))
        found = direction_histogram(right, down, 16)
        expected = np.zeros(37)
        expected[[0, 1, 9, 10, 18, 35, 36]] = [3 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2]
        np.testing.assert_allclose(found, expected)


class TestGabor:
    @pytest.mark.parametrize(("scale", "direction"), [(0, 0), (1, 3), (2, 6), (3, 1)])
    def test_it_equals_direct_sums(self, scale, direction):
        rng = np.random.default_rng(scale)
        square = np.zeros((64, 64), np.uint8)
        square[rng.integers(0, 64, 40), rng.integers(0, 64, 40)] = rng.integers(1, 256, 40)
        found = gabor(Pixels(np.dstack([square] * 3), square)).reshape(5, 8, 3)[scale, direction]
        magnitude = slow.gabor_magnitude(square / 255, scale, direction)
        apart = magnitude - magnitude.mean()
        expected = [magnitude.mean(), magnitude.std(), np.cbrt((apart**3).mean())]
        np.testing.assert_allclose(found, expected, rtol=1e-3)

    def test_a_grating_answers_in_its_own_filter(self):
        k = gabor_module.MAX_WAVE_NUMBER / np.sqrt(2) ** 2
        x = np.arange(64)
        wave = np.broadcast_to(128 + 100 * np.cos(k * x), (64, 64)).astype(np.uint8)
        means = gabor(Pixels(np.dstack([wave] * 3), wave)).reshape(5, 8, 3)[:, :, 0]
        assert np.unravel_index(means.argmax(), means.shape) == (2, 0)


class TestLBP:
    def test_it_equals_the_slow_patterns(self):
        rgb = np.asarray(scene(4, 45, 37))
        light = slow_grey(rgb)
        expected = np.zeros(59)
        for y in range(37):
            for x in range(45):
                expected[uniform_bin(pattern_code(light, y, x))] += 1
        np.testing.assert_allclose(lbp(raw(rgb)), expected / (37 * 45), atol=1e-7)


class TestGist:
    def test_it_equals_the_authors_program(self):
        pixels = pixels_of(scene(5))
        expected = slow.gist(pixels.grey_square(256))
        np.testing.assert_allclose(gist(pixels), expected, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize(("scale", "turn"), [(0, 0), (1, 2), (2, 4), (2, 7)])
    def test_a_grating_answers_in_its_own_filter(self, scale, turn):
        wave = 2 * np.pi * 0.3 / 1.85**scale
        angle = -np.pi * turn / 8
        y, x = np.mgrid[:256, :256]
        light = 128 + 100 * np.cos(wave * (x * np.cos(angle) + y * np.sin(angle)))
        square = light.astype(np.uint8)
        means = gist(Pixels(np.dstack([square] * 3), square)).reshape(4, 8, 16).mean(axis=2)
        assert np.unravel_index(means.argmax(), means.shape) == (scale, turn)
