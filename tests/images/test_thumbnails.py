from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.images import thumbnail
from tests.images.pictures import scene


@pytest.mark.parametrize(
    ("size", "expected"),
    [((640, 480), (64, 48)), ((480, 640), (48, 64)), ((40, 30), (40, 30)), ((5000, 1), (64, 1))],
)
def test_size_and_shape(size, expected):
    image = Image.new("RGB", size, "teal")
    small = Image.open(BytesIO(thumbnail(image, 64)))
    assert small.size == expected
    assert small.format == "JPEG"


def test_colours_stay_and_metadata_goes():
    image = scene(800, 600)
    image.info = {"comment": b"secret", "exif": b"Exif\0\0secret", "icc_profile": b"secret"}
    data = thumbnail(image)
    assert b"secret" not in data
    assert image.info["comment"] == b"secret"
    pixels = np.asarray(Image.open(BytesIO(data))).astype(int)
    assert np.abs(pixels[48, 64] - (220, 30, 30)).max() < 10
    for name in ("comment", "exif", "icc_profile"):
        assert b"secret" not in thumbnail(image, 4000), name


def test_other_modes_are_shown_on_white():
    data = thumbnail(Image.new("RGBA", (8, 8), (0, 0, 0, 0)))
    assert np.asarray(Image.open(BytesIO(data))).min() > 250


def test_side_is_checked():
    with pytest.raises(InvalidInput, match="side must be a whole number from 1; got 0"):
        thumbnail(scene(), 0)
