"""Copies of a picture differ in no part, other pictures of the same layout do."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance, ImageOps

from lookalike.images import thumbnail
from lookalike.images.local_difference import local_difference

MAX = 0.4


def scene(seed=0, extra=None):
    """Soft noise with dark discs on it, and perhaps one more."""
    rough = np.random.default_rng(seed).integers(60, 190, (5, 6, 3), dtype=np.uint8)
    image = Image.fromarray(rough).resize((300, 240), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for x, y in [(60, 60), (150, 60), (60, 170), (230, 170), *([extra] if extra else [])]:
        draw.ellipse((x - 18, y - 18, x + 18, y + 18), fill=(15, 15, 15))
    return image


def recompressed(image, quality=30):
    file = BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(BytesIO(file.getvalue()))


COPIES = {
    "same": lambda image: image,
    "recompressed": recompressed,
    "half": lambda image: image.resize((150, 120)),
    "grey": lambda image: image.convert("L").convert("RGB"),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "darker": lambda image: ImageEnhance.Brightness(image).enhance(0.6),
    "mirrored": ImageOps.mirror,
    "cropped": lambda image: image.crop((12, 9, 290, 232)),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("seed", range(3))
def test_a_copy_differs_in_no_part(kind, seed):
    image = scene(seed)
    assert local_difference(thumbnail(image), thumbnail(COPIES[kind](image))) < MAX


@pytest.mark.parametrize("seed", range(3))
def test_one_more_thing_is_a_difference(seed):
    one, more, elsewhere = (
        thumbnail(scene(seed, extra)) for extra in (None, (230, 60), (150, 170))
    )
    for first, second in ((one, more), (more, one), (more, elsewhere)):
        assert local_difference(first, second) > MAX


def test_pictures_that_cannot_be_aligned_differ_and_plain_ones_do_not_fail():
    plain = thumbnail(Image.new("RGB", (64, 48), "white"))
    assert local_difference(plain, plain) == 0
    noise = np.random.default_rng(1).integers(0, 256, (240, 300, 3), dtype=np.uint8)
    assert local_difference(thumbnail(scene()), thumbnail(Image.fromarray(noise))) > MAX
