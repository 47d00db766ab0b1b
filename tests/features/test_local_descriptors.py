"""SURF against plain sums, and SIFT and SURF on pictures whose points are known."""

import math

import numpy as np
import pytest
from PIL import Image

from lookalike.features._fast import surf as fast
from lookalike.features.descriptors.pixels import Pixels, pixels_of
from lookalike.features.descriptors.sift import affine_sift, sift
from lookalike.features.descriptors.surf import interest_points, summed, surf
from tests.features.test_descriptors import scene
from tests.reference import surf as slow

WIDTHS = {affine_sift: 128, sift: 128, surf: 64}


def crop(seed=0, width=70, height=55):
    return np.asarray(scene(seed, 120, 90).convert("L"))[:height, :width].copy()


def grey_only(grey):
    return Pixels(np.dstack([grey] * 3), grey)


def blob(sigma, x=250, y=200, light=200.0):
    rows, columns = np.mgrid[:400, :500]
    bell = np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * sigma**2))
    return (30 + light * bell).astype(np.uint8)


def texture(seed):
    """Smooth noise: every place looks different."""
    coarse = np.random.default_rng(seed).integers(0, 256, (40, 50), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((400, 320), Image.Resampling.BICUBIC))


def box_answer(sigma, light, size):
    """det H of a Gaussian blob by box filters at its middle: integrals, not sums of pixels."""

    def integral(pixels):
        return sigma * math.sqrt(2 * math.pi) * math.erf(pixels / 2 / (sigma * math.sqrt(2)))

    lobe = size // 3
    second = integral(2 * lobe - 1) * (integral(size) - 3 * integral(lobe))
    return (light * second / size**2) ** 2


class TestEveryOne:
    @pytest.mark.parametrize("describe", WIDTHS, ids=lambda one: one.__name__)
    @pytest.mark.parametrize(
        "image",
        [
            Image.new("RGB", (1, 1), "red"),
            Image.new("RGB", (640, 480), "white"),
            Image.new("RGB", (2000, 2), "green"),
            scene(3, 3, 900),
            scene(3).convert("L"),
            scene(3),
        ],
        ids=["one pixel", "white", "long", "tall", "grey", "scene"],
    )
    def test_it_is_finite_whatever_the_picture(self, describe, image):
        found = describe(pixels_of(image))
        assert found.ndim == 2
        assert found.shape[1] == WIDTHS[describe]
        assert found.dtype == np.float32
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(describe(pixels_of(image)), found)

    @pytest.mark.parametrize("describe", WIDTHS, ids=lambda one: one.__name__)
    def test_a_constant_picture_has_no_points_and_a_scene_has_many(self, describe):
        assert len(describe(pixels_of(Image.new("RGB", (300, 200), "grey")))) == 0
        assert len(describe(pixels_of(scene(3)))) > 50

    @pytest.mark.parametrize("describe", WIDTHS, ids=lambda one: one.__name__)
    def test_noise_has_no_more_than_the_most(self, describe):
        noise = np.random.default_rng(0).integers(0, 256, (400, 500), dtype=np.uint8)
        assert 500 < len(describe(grey_only(noise))) <= 1010

    @pytest.mark.parametrize("describe", WIDTHS, ids=lambda one: one.__name__)
    @pytest.mark.parametrize("change", ["turned", "brighter", "larger"])
    def test_descriptors_stay_where_the_picture_changes(self, describe, change):
        grey = texture(5)
        if change == "turned":
            other = np.rot90(grey)
        elif change == "brighter":
            other = (20 + 0.8 * grey).astype(np.uint8)
        else:
            other = np.asarray(Image.fromarray(grey).resize((500, 400), Image.Resampling.BICUBIC))
        same, stranger = (self.found_again(describe, grey, one) for one in (other, texture(6)))
        assert same > 0.75
        assert stranger < 0.25

    @staticmethod
    def found_again(describe, grey, other):
        a, b = (describe(grey_only(np.ascontiguousarray(one))) for one in (grey, other))
        a, b = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (a, b))
        return np.mean((a @ b.T).max(axis=1) > 0.97)


class TestSURF:
    @pytest.mark.parametrize(("size", "step"), [(9, 1), (15, 1), (21, 2), (27, 4)])
    def test_responses_equal_plain_sums(self, size, step):
        grey = crop()
        found = np.empty([-(-side // step) for side in grey.shape])
        fast.hessian(summed(grey), size, step, found)
        np.testing.assert_allclose(found, slow.hessian(grey.astype(int), size, step), atol=1e-9)
        assert np.abs(found).max() > 1

    def test_peaks_equal_a_plain_search(self):
        grey, sizes = crop(5), (9, 15, 21, 27)
        layers = np.array([slow.hessian(grey.astype(int), size, 1) for size in sizes])
        room = np.empty((500, 4))
        count = fast.peaks(layers, np.array(sizes), 1, 5.0, room)
        expected = slow.peaks(layers, sizes, 1, 5.0)
        assert len(expected) > 5
        np.testing.assert_allclose(room[:count], expected, rtol=1e-9)

    @pytest.mark.parametrize(
        ("x", "y", "scale"), [(33.2, 27.8, 1.3), (30.0, 20.0, 2.6), (2.0, 50.0, 3.1), (60, 8, 7.7)]
    )
    def test_descriptors_equal_plain_sums(self, x, y, scale):
        grey = crop(2)
        rows = np.empty((1, 64), np.float32)
        fast.descriptors(summed(grey), np.array([[x, y, scale, 0.0]]), rows)
        np.testing.assert_allclose(rows[0], slow.descriptor(grey, x, y, scale), atol=1e-6)

    @pytest.mark.parametrize("size", [15, 27, 51, 99])
    def test_the_middle_of_a_blob_answers_as_an_integral_says(self, size):
        found = np.empty((400, 500))
        fast.hessian(summed(blob(10.0)), size, 1, found)
        # Whole greys and pixels cost the smallest filter most.
        assert found[200, 250] == pytest.approx(box_answer(10.0, 200.0, size), rel=0.05)

    @pytest.mark.parametrize("sigma", [3.0, 6.0, 10.0])
    def test_a_blob_is_found_at_its_place_and_scale(self, sigma):
        x, y, scale, response = interest_points(summed(blob(sigma)))[0]
        assert (x, y) == pytest.approx((250, 200), abs=0.2)
        answers = [box_answer(sigma, 200.0, size) for size in range(9, 200, 6)]
        assert scale == pytest.approx(1.2 / 9 * (9 + 6 * np.argmax(answers)), rel=0.1)
        assert response == pytest.approx(max(answers), rel=0.1)

    def test_points_come_strongest_first(self):
        found = interest_points(summed(np.asarray(pixels_of(scene(3)).grey)))
        assert (np.diff(found[:, 3]) <= 0).all()
        assert (found[:, 3] > 17).all()


class TestSIFT:
    def test_a_blob_alone_is_one_place(self):
        found = sift(grey_only(blob(6.0)))
        assert len(found) >= 1
        # A round blob has the same gradients all around: each of the 4 corners has equal sums.
        grid = found[0].reshape(4, 4, 8).sum(axis=2)
        corners = grid[[0, 0, 3, 3], [0, 3, 0, 3]]
        assert np.ptp(corners) < 0.2 * corners.mean()
