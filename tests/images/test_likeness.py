"""How alike small pictures are: the same as cell by cell, whatever the crop."""

import io

import numpy as np
import pytest
from PIL import Image

from lookalike.images.likeness import UNALIGNED, likeness, small_picture
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
    assert found[1] < UNALIGNED, "so that no alignment was looked for"


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
    assert likeness(one, copy[None])[0] > 0.97
    assert likeness(copy, one[None])[0] == pytest.approx(likeness(one, copy[None])[0], abs=1e-5)


def test_other_scenes_colours_and_shades_are_not():
    one = small(scene(3))
    others = [scene(4), scene(3).transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
    red, green, blue = scene(3).split()
    others.append(Image.merge("RGB", (blue, green, red)))
    assert likeness(one, np.stack([small(it) for it in others])).max() < 0.9


def test_flat_pictures_are_alike_only_in_the_same_colour():
    white, grey, black = (
        small(Image.new("RGB", (40, 30), (level, level, level))) for level in (255, 250, 0)
    )
    found = likeness(white, np.stack([white, grey, black]))
    assert found[0] == 1
    assert found[1] < 0
    assert found[2] < 0


def test_no_others_and_no_picture():
    assert likeness(small(scene(5)), np.zeros((0, 32, 32, 3), np.uint8)).shape == (0,)
    assert small_picture(b"") is None
    assert small_picture(thumbnail(scene(5))[:200]) is None
