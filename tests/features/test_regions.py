"""Regions: the detector, descriptors, the vocabulary, records, and the feature's contract."""

import math
from dataclasses import replace
from functools import cache

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.checks.feature import FeatureContract, pictures
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.vectors import dense
from lookalike.features import FEATURES
from lookalike.features._fast import hessian, patches
from lookalike.features.hessian_affine import _disc, _tables, hessian_affine
from lookalike.features.region_records import RegionRecord, pack_regions, unpack_regions
from lookalike.features.regions import MAX_DOUBLED, Regions, difference_of_gaussians
from lookalike.features.visual_words import VisualVocabulary, learn_words
from tests.contract import each, passes
from tests.reference import regions as reference


def scene(seed=0, height=180, width=240):
    """Blobs of several sizes and shades on a grey ground."""
    rng = np.random.default_rng(seed)
    picture = np.full((height, width), 128, np.uint8)
    for _ in range(60):
        centre = tuple(int(n) for n in rng.integers(10, (width - 10, height - 10)))
        axes = tuple(int(n) for n in rng.integers(3, 14, 2))
        shade = int(rng.integers(0, 256))
        cv2.ellipse(picture, centre, axes, float(rng.integers(180)), 0, 360, shade, -1)
    return cv2.GaussianBlur(picture, (0, 0), 1.0)


def rgb(grey):
    return Image.fromarray(np.repeat(grey[:, :, None], 3, axis=2))


FORMS = {
    "hessian": {},
    "sift, turned, soft": {"detector": "sift", "upright": False, "assigned": 3, "root": False},
}


@cache
def fitted(form):
    return Regions(dimension=24, **FORMS[form]).fit(pictures())


@pytest.mark.parametrize("form", FORMS)
@each(FeatureContract)
def test_contract(form, rule):
    passes(rule, FeatureContract, fitted(form), Regions(dimension=16), FEATURES)


# The loops and their slow twins


def test_determinants_equal_the_reference():
    image = np.random.default_rng(0).random((12, 15)).astype(np.float32) * 255
    found = np.empty_like(image)
    hessian.determinants(image, 2.5, found)
    np.testing.assert_allclose(found, reference.determinants(image, 2.5), rtol=1e-3, atol=1)


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_extreme_samples_equal_the_reference(seed):
    layers = np.random.default_rng(seed).normal(size=(4, 9, 9)).astype(np.float32)
    found = {
        (k, i, j)
        for k in (1, 2)
        for i in range(1, 8)
        for j in range(1, 8)
        if abs(layers[k, i, j]) >= 1 and hessian.is_extreme(layers, k, i, j)
    }
    assert found == reference.extreme_samples(layers, 1.0)


def test_an_extreme_lies_where_the_parabola_has_its_top():
    k, i, j = np.mgrid[:5, :21, :21]
    layers = 100 - (k - 2.2) ** 2 - (i - 10.3) ** 2 - (j - 9.8) ** 2
    found = np.empty((10, 4), np.float32)
    assert hessian.extremes(layers.astype(np.float32), 20.0, 10.0, 2, found) == 1
    np.testing.assert_allclose(found[0], [9.8, 10.3, 2.2, 100], atol=1e-3)


@given(st.floats(-4, 4), st.floats(-4, 4))
def test_angles_are_right_to_a_small_error(gx, gy):
    if abs(gx) + abs(gy) > 1e-3:
        found = patches.angle_of(np.float32(gx), np.float32(gy))
        expected = math.atan2(gy, gx) % (2 * math.pi)
        gap = abs(found - expected)
        assert min(gap, 2 * math.pi - gap) < 5e-4


@pytest.mark.parametrize("place", [(30.3, 20.7), (2.0, 3.0), (58.0, 38.0)])
def test_patches_equal_the_reference(place):
    image = np.random.default_rng(1).random((40, 60)).astype(np.float32)
    step = np.array([0.6, 0.2, -0.1, 0.7], np.float32)
    found = np.empty((9, 9), np.float32)
    patches.sample(image.ravel(), 0, 40, 60, *place, step, found)
    np.testing.assert_allclose(found, reference.patch(image, *place, step, 9), atol=1e-4)


def test_sift_equals_the_reference():
    patch = np.random.default_rng(2).random((43, 43)).astype(np.float32)
    row = np.empty(128, np.float32)
    patches.sift(patch, *_tables(), row)
    np.testing.assert_allclose(row, reference.sift(patch, _disc(41)), atol=2e-4)


@pytest.mark.parametrize("whole", [2.0, 1.0])
@pytest.mark.parametrize("count", [1, 3])
def test_probing_every_cell_finds_the_nearest_words(whole, count):
    rng = np.random.default_rng(3)
    words = rng.random((300, 16)).astype(np.float32)
    centres = words[:: 30 if whole == 1.0 else 300].copy()
    rows = rng.random((77, 16)).astype(np.float32)
    found, squares = VisualVocabulary(words, centres).nearest(rows, count)
    np.testing.assert_array_equal(found, reference.nearest(rows, words, count))
    assert (np.diff(squares, axis=1) >= 0).all()
    near = ((rows - words[found[:, 0]]) ** 2).sum(axis=1)
    np.testing.assert_allclose(squares[:, 0], near, atol=1e-4)


# The detector


def test_regions_of_blobs_are_found_again_in_a_tilted_view():
    grey = scene()
    squeeze = np.array([[0.6, 0, 0], [0, 1, 0]])
    tilted = cv2.warpAffine(cv2.GaussianBlur(grey, (0, 0), 0.8), squeeze, (144, 180))
    one, two = (hessian_affine(view, upright=True, most=500) for view in (grey, tilted))
    products = one.descriptors @ two.descriptors.T
    best = products.argmax(axis=1)
    mutual = products.argmax(axis=0)[best] == np.arange(len(best))
    gaps = np.linalg.norm(one.places * [0.6, 1] - two.places[best], axis=1)
    assert len(one.places) > 30
    assert (mutual & (gaps < 3)).sum() > 0.4 * len(best)


def test_a_long_blob_has_a_long_region():
    grey = np.full((240, 240), 200, np.uint8)
    cv2.ellipse(grey, (120, 120), (24, 12), 0, 0, 360, 40, -1)
    grey = cv2.GaussianBlur(grey, (0, 0), 2)
    found = hessian_affine(grey, upright=True, most=1)
    np.testing.assert_allclose(found.places[0], [120, 120], atol=2)
    spread = found.shapes[0] @ found.shapes[0].T
    # Smoothing by a circle makes it rounder than the blob.
    assert 1.6 < spread[0, 0] / spread[1, 1] < 6


def test_turned_regions_match_a_turned_picture():
    grey = scene(4, 200, 200)
    turned = np.ascontiguousarray(np.rot90(grey))
    one, two = (hessian_affine(view, upright=False, most=300) for view in (grey, turned))
    best = (one.descriptors @ two.descriptors.T).argmax(axis=1)
    expected = np.stack([one.places[:, 1], 199 - one.places[:, 0]], axis=1)
    gaps = np.linalg.norm(expected - two.places[best], axis=1)
    assert (gaps < 3).mean() > 0.7


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (64, 48)])
@pytest.mark.parametrize("find", [hessian_affine, difference_of_gaussians])
def test_a_picture_without_regions_has_none(size, find):
    found = find(np.full(size[::-1], 77, np.uint8), upright=True, most=9)
    assert [len(part) for part in found] == [0, 0, 0]


# The vocabulary


def test_words_are_learned_and_learning_goes_on_after_a_stop(tmp_path):
    rng = np.random.default_rng(5)
    centres = rng.integers(0, 200, (20, 128))
    rows = np.clip(centres[rng.integers(20, size=900)] + rng.normal(0, 4, (900, 128)), 0, 255)
    rows = rows.astype(np.uint8)
    heard = []
    whole = learn_words(rows, 40, 3, lambda: heard.append(1))
    assert len(heard) == 8

    class Stop(Exception):
        pass

    def stop_at_4():
        heard.append(1)
        if len(heard) == 12:
            raise Stop

    with pytest.raises(Stop):
        learn_words(rows, 40, 3, stop_at_4, tmp_path / "words")
    heard.clear()
    again = learn_words(rows, 40, 3, lambda: heard.append(1), tmp_path / "words")
    assert len(heard) == 8
    np.testing.assert_array_equal(again.words, whole.words)
    gaps = whole.nearest(rows)[1][:, 0]
    assert np.median(gaps) < 128 * 4**2 * 1.5
    other = learn_words(rows, 40, 4, lambda: None, tmp_path / "words")
    assert not np.array_equal(other.words, whole.words)


def test_a_large_vocabulary_is_searched_by_cells():
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 120, (5000, 128)).astype(np.uint8)
    words = learn_words(rows, 2500, 0, lambda: None)
    assert len(words.centres) == 50
    found = words.nearest(rows[:200])[0][:, 0]
    exact = reference.nearest(rows[:200], words.words, 1)[:, 0]
    assert (found == exact).mean() > 0.8
    neighbours = words.neighbours(3)
    assert neighbours.shape == (2500, 3)
    assert (neighbours != np.arange(2500)[:, None]).all()


def test_a_vocabulary_is_no_larger_than_its_pictures_allow():
    fitted = Regions(dimension=100_000).fit([rgb(scene())])
    regions = len(fitted.local_regions(rgb(scene())).places)
    assert fitted.dimension == len(fitted.vocabulary_.words) == regions // 4
    with pytest.raises(InvalidInput, match=r"these 1 have 0\. Give more pictures"):
        Regions(dimension=8).fit([Image.new("RGB", (64, 64), "grey")])
    with pytest.raises(InvalidInput, match="from 1 to"):
        learn_words(np.zeros((3, 128), np.uint8), 4, 0, lambda: None)


def test_fit_goes_on_from_its_folder(tmp_path):
    views = [rgb(scene(seed)) for seed in range(4)]
    first = Regions(dimension=30).fit(views, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["regions-00000", "words"]

    class Unread:
        def __len__(self):
            return 4

        def __getitem__(self, at):
            raise AssertionError("read again")

    again = Regions(dimension=30).fit(Unread(), checkpoint=tmp_path)
    assert again.fingerprint == first.fingerprint == Regions(dimension=30).fit(views).fingerprint


def test_a_vocabulary_of_another_descriptor_has_another_fingerprint(tmp_path):
    views = [rgb(scene(seed)) for seed in range(3)]
    made = [Regions(dimension=20, root=root).fit(views) for root in (True, False)]
    assert made[0].fingerprint != made[1].fingerprint
    made[0].save(tmp_path / "one")
    with pytest.raises(DamagedFile):
        type("Other", (Regions,), {"name": "other", "file_kind": "other/1"}).load(tmp_path / "one")


def test_the_time_is_estimated_beforehand():
    estimate = Regions(dimension=50).estimate([rgb(scene(seed)) for seed in range(3)])
    assert estimate.describing > 0
    assert estimate.clustering > 0
    assert estimate.total == estimate.describing + estimate.clustering


# Records and vectors


def record_of(rng, n=9, each=2):
    return RegionRecord(
        (320, 200),
        rng.integers(0, 50, (n, each)).astype(np.int32),
        rng.random((n, each)).astype(np.float32),
        (rng.random((n, 2)) * [320, 200]).astype(np.float32),
        (rng.random((n, 2, 2)) * 20).astype(np.float32),
    )


@pytest.mark.parametrize("each", [1, 3])
def test_records_come_back(each):
    record = record_of(np.random.default_rng(0), each=each)
    again = unpack_regions(pack_regions(record))
    assert again.size == (320, 200)
    np.testing.assert_array_equal(again.words, record.words)
    np.testing.assert_allclose(again.places, record.places, atol=0.01)
    np.testing.assert_allclose(again.shapes, record.shapes, rtol=2e-3, atol=0.02)
    if each > 1:
        np.testing.assert_allclose(again.weights, record.weights, atol=1e-3)


def test_records_keep_signatures_and_older_ones_have_none():
    record = record_of(np.random.default_rng(0))
    signatures = np.random.default_rng(1).integers(0, 2**64, 9, np.uint64)
    again = unpack_regions(pack_regions(replace(record, signatures=signatures)))
    np.testing.assert_array_equal(again.signatures, signatures)
    part = again.inside((0, 0, 160, 200))
    assert 0 < len(part) == len(part.signatures) < 9
    assert unpack_regions(pack_regions(record)).signatures is None
    with pytest.raises(ValueError, match="truncated"):
        unpack_regions(pack_regions(replace(record, signatures=signatures))[:-1])


def test_near_descriptors_have_like_signatures():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (40, 128)).astype(np.uint8)
    vocabulary = VisualVocabulary(rows.astype(np.float32), np.zeros((1, 128), np.float32))
    near = np.clip(rows + rng.normal(0, 5, rows.shape), 0, 255).astype(np.uint8)
    one, two = vocabulary.signatures(rows), vocabulary.signatures(near)
    bits = np.array([[int(a ^ b).bit_count() for b in two] for a in one])
    assert (bits.argmin(axis=1) == np.arange(40)).all()
    assert np.diag(bits).max() < 12
    assert 28 < bits[~np.eye(40, dtype=bool)].mean() < 36


def test_small_pictures_are_doubled_and_places_are_their_own():
    grey = scene(2)
    assert max(grey.shape) <= MAX_DOUBLED
    own = hessian_affine(grey, upright=False, most=3000)
    doubled = Regions(dimension=2).local_regions(rgb(grey))
    assert len(doubled.places) > len(own.places)
    gaps = np.linalg.norm(own.places[:, None] - doubled.places[None], axis=2).min(axis=1)
    assert np.median(gaps) < 1
    large = Regions(dimension=2, longest_side=max(grey.shape)).local_regions(rgb(grey))
    np.testing.assert_array_equal(large.places, own.places)


@pytest.mark.parametrize(
    "box", [(400, 0, 9, 9), (0, 0, 0, 5), (-50, -50, 20, 20), (0, 0, np.nan, 1)]
)
def test_a_crop_outside_the_picture_is_refused(box):
    with pytest.raises(InvalidInput, match="overlap the picture of 320 × 200"):
        record_of(np.random.default_rng(0)).inside(box)


def test_a_crop_has_the_regions_inside():
    record = record_of(np.random.default_rng(1), 60)
    part = record.inside((100, 50, 80, 500))
    assert 0 < len(part) < 60
    assert (part.places >= [100, 50]).all()
    assert (part.places[:, 0] <= 180).all()


def test_a_picture_without_regions_is_a_row_of_zeros():
    feature = Regions(dimension=24).fit(pictures())
    blank = Image.new("RGB", (64, 48), "red")
    rows = dense(feature.vectors([feature.record(blank), feature.record(pictures(1)[0])]))
    assert not rows[0].any()
    assert np.linalg.norm(rows[1]) == pytest.approx(1, abs=1e-5)


def test_a_word_beyond_the_vocabulary_is_damage():
    with pytest.raises(ValueError, match="beyond 10"):
        unpack_regions(pack_regions(record_of(np.random.default_rng(0))), 10)


def test_vectors_are_tf_idf():
    feature = Regions(dimension=24).fit(pictures())
    record = feature.record(pictures(1)[0])
    words = feature.regions(record).words[:, 0]
    expected = np.bincount(words, minlength=24) * feature.idf_
    row = dense(feature.vectors([record]))[0]
    if expected.any():
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-5)


def test_large_pictures_are_scaled_down_and_places_are_their_own():
    grey = scene(2)
    large = cv2.resize(grey, (960, 720), interpolation=cv2.INTER_LINEAR)
    small = Regions(longest_side=240, dimension=2).local_regions(rgb(grey))
    found = Regions(longest_side=240, dimension=2).local_regions(rgb(large))
    gaps = np.linalg.norm(found.places[:, None] / 4 - small.places[None], axis=2).min(axis=1)
    assert np.median(gaps) < 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("dimension", 1), ("detector", "surf"), ("assigned", 0), ("upright", 1), ("longest_side", 3)],
)
def test_settings_that_do_not_fit_are_refused(name, value):
    with pytest.raises(InvalidInput, match=f"Regions: {name}"):
        Regions(**{name: value}).fit(pictures())
