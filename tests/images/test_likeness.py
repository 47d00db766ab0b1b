"""How alike small pictures are: the same as cell by cell, whatever the crop."""

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from lookalike.images.likeness import MIN_STRUCTURE, likeness, small_picture
from lookalike.images.thumbnails import thumbnail
from tests.reference import likeness as reference


def scene(seed, size=(240, 160)):
    """Return a picture of soft spots."""
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (9, 13, 3), dtype=np.uint8))
    return rough.resize(size, Image.Resampling.BICUBIC)


def small(image):
    return small_picture(thumbnail(image))


def test_it_is_what_comparing_cell_by_cell_gives():
    image = scene(0)
    one = small(image)
    moved = small(image.crop((12, 0, 240, 154)))
    found = likeness(one, np.stack([moved, small(scene(1))]))
    assert found[0] == pytest.approx(reference.likeness(one, moved), abs=1e-4)
    assert found[1] == 0, "no alignment was looked for"


@pytest.mark.parametrize(
    "box",
    [
        *[(0, 0, 240, 160), (12, 8, 228, 152), (20, 0, 240, 160), (0, 14, 240, 160)],
        *[(5, 3, 240, 151), (0, 0, 216, 160)],
    ],
)
def test_a_cropped_shrunk_and_recompressed_copy_is_alike_both_ways(box):
    image = scene(2)
    buffer = io.BytesIO()
    image.crop(box).resize((110, 80)).save(buffer, "JPEG", quality=40)
    one, copy = small(image), small(Image.open(buffer))
    assert likeness(one, copy[None])[0] > 0.95
    assert likeness(copy, one[None])[0] == pytest.approx(likeness(one, copy[None])[0], abs=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda image: image.convert("L").convert("RGB"),
        ImageOps.mirror,
        lambda image: ImageEnhance.Brightness(image).enhance(1.3),
        lambda image: ImageEnhance.Brightness(image).enhance(0.6),
        lambda image: ImageEnhance.Contrast(image).enhance(1.4),
        lambda image: ImageOps.mirror(image).convert("L").convert("RGB").crop((8, 5, 235, 150)),
    ],
)
def test_a_grey_mirrored_or_brightened_copy_is_alike(change):
    image = scene(8)
    for one, copy in ((image, change(image)), (change(image), image)):
        assert likeness(small(one), small(copy)[None])[0] > 0.95


def test_other_scenes_and_colours_are_not():
    one = small(scene(3))
    others = [scene(4), scene(3).transpose(Image.Transpose.FLIP_TOP_BOTTOM)]
    red, green, blue = scene(3).split()
    others.append(Image.merge("RGB", (blue, green, red)))
    assert likeness(one, np.stack([small(it) for it in others])).max() < 0.9


def test_plain_pictures_and_ramps_have_nothing_to_be_known_by():
    plain = [Image.new("RGB", (40, 30), (level, level, level)) for level in (255, 250, 0)]
    across = Image.linear_gradient("L").resize((640, 480)).convert("RGB")
    noisy = np.random.default_rng(0).normal(128, MIN_STRUCTURE / 2, (32, 32, 3))
    some = np.stack([*map(small, [*plain, across]), noisy.astype(np.uint8)])
    for one in some:
        assert likeness(one, some).max() == 0


def test_no_others_and_no_picture():
    assert likeness(small(scene(5)), np.zeros((0, 32, 32, 3), np.uint8)).shape == (0,)
    assert small_picture(b"") is None
    assert small_picture(thumbnail(scene(5))[:200]) is None
