import io

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageFile, TiffTags

from lookalike import images
from lookalike.core.errors import UnreadablePicture
from lookalike.images import Limits, content_hash
from lookalike.images.containers import _SINGLE_TAGS, TIFF_TAGS
from tests.images.pictures import (
    FORMATS,
    HEIC,
    camera_exif,
    heic,
    png,
    png_chunk,
    saved,
    scene,
    tiff,
)

LOSSY = {"JPEG": 12, "WEBP": 12, "AVIF": 14}
BEST = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"quality": 95}, "AVIF": {"quality": 95}}


def array(decode, data, **options):
    picture = decode(data, **options)
    assert picture.image.mode == "RGB"
    assert picture.image.info == {}
    return np.asarray(picture.image).astype(int)


def corners(pixels):
    """The colours in the middle of the four quarters."""
    height, width = pixels.shape[:2]
    return pixels[[height // 4, 3 * height // 4]][:, [width // 4, 3 * width // 4]]


def assert_same_scene(pixels, tolerance=0):
    assert np.abs(corners(pixels) - corners(np.asarray(scene()).astype(int))).max() <= tolerance


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_its_colours_and_facts(decode, kind):
    data = saved(scene(), kind, **BEST.get(kind, {}))
    picture = decode(data)
    assert_same_scene(np.asarray(picture.image).astype(int), LOSSY.get(kind, 0))
    facts = picture.facts
    assert (facts.format, facts.width, facts.height, facts.bytes) == (kind, 32, 24, len(data))
    assert facts.sha256 == content_hash(data)
    assert facts.taken is None


def test_heic(decode):
    picture = decode(HEIC)
    assert picture.facts.format == "HEIF"
    assert (picture.facts.width, picture.facts.height) == (24, 16)
    pixels = np.asarray(picture.image).astype(int)
    assert np.abs(pixels[3, 12] - (200, 40, 40)).max() < 25
    assert np.abs(pixels[12, 12] - (40, 40, 200)).max() < 25
    assert "HEIF" not in Image.OPEN


def test_heic_without_its_package_names_the_install_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pi_heif", None)
    with pytest.raises(UnreadablePicture, match="pip install pi-heif"):
        images.decode(HEIC)


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("0000:00:00 00:00:00", None),
        ("2999:01:01 00:00:00", "2999-01-01T00:00:00"),  # shown as the camera says
        ("1799:01:01 00:00:00", "1799-01-01T00:00:00"),
        ("٢٠٢١:٠٧:٠٤ ١٢:٣٠:٥٩", None),
        *[
            (text, None)
            for text in ("2021:13:45 99:99:99", "2021:02:30 10:00:00", "", "2021:07:04")
        ],
        *[(text, None) for text in ("a\0b", b"\xff\xfe\x00\xd8")],
    ],
)
def test_a_date_that_can_be_none_leaves_the_picture_without_one(decode, written, taken):
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = written
    # A place that is nowhere, beside it.
    place = exif.get_ifd(0x8825)
    place[1], place[2], place[3], place[4] = "N", (95.0, 0.0, 0.0), "?", (999.0, 0.0, 0.0)
    facts = decode(saved(scene(), "JPEG", exif=exif.tobytes())).facts
    assert facts.taken == taken
    assert (facts.width, facts.height) == (32, 24)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
def test_every_orientation_is_displayed_alike(decode, kind, orientation):
    undo = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = scene() if undo is None else scene().transpose(undo)
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = decode(saved(stored, kind, exif=exif, **BEST.get(kind, {})))
    assert (picture.facts.width, picture.facts.height) == picture.image.size == (32, 24)
    assert_same_scene(np.asarray(picture.image).astype(int), LOSSY.get(kind, 0))


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("2021:07:04 12:30:59", "2021-07-04T12:30:59"),
        ("0000:00:00 00:00:00", None),
        ("2021:02:30 00:00:00", None),
        ("2021:07:04 24:00:00", None),
        ("2021:7:4  1:30:59", "2021-07-04T01:30:59"),
        ("2021: 7: 4  1:30:59", "2021-07-04T01:30:59"),
        ("2999:12:31 23:59:59", "2999-12-31T23:59:59"),
        ("    :  :     :  :  ", None),
        ("yesterday", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
def test_when_it_was_taken(decode, kind, written, taken):
    exif = Image.Exif()
    exif[0x010F] = "maker"  # Pillow takes a block without top-level tags for an empty one
    exif.get_ifd(0x8769)[0x9003] = written
    assert decode(saved(scene(), kind, exif=exif.tobytes())).facts.taken == taken


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF", "HEIC"])
def test_a_file_as_a_camera_writes_it(decode, kind):
    exif = camera_exif(orientation=1)
    data = heic(exif) if kind == "HEIC" else saved(scene(), kind, exif=exif)
    facts = decode(data).facts
    assert facts.taken == "2021-07-04T12:30:59"
    assert (facts.width, facts.height) == ((24, 16) if kind == "HEIC" else (32, 24))


@pytest.mark.parametrize("digits", ["٢٠٢١:٠٧:٠٤ ١٢:٣٠:٥٩", "２０２１:０７:０４ １２:３０:５９"])
def test_digits_of_other_scripts_are_no_date(decode, digits):
    exif = camera_exif().replace(b"2021:07:04 12:30:59", digits.encode()[:19])
    assert decode(saved(scene(), "JPEG", exif=exif)).facts.taken is None


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_a_hostile_exif_block_costs_nothing_but_itself(decode, kind):
    rng = np.random.default_rng(0)
    exif = Image.Exif()
    exif[0x0112] = 1
    exif[0x010E] = "a description long enough to lie out of line"
    exif.get_ifd(0x8769)[0x9003] = "2021:07:04 12:30:59"
    good = exif.tobytes()
    for _ in range(60):
        bad = bytearray(good)
        for place in rng.integers(6, len(bad), 4):
            bad[place] = rng.integers(256)
        try:
            data = saved(scene(), kind, exif=bytes(bad))
        except (Warning, Exception):  # Pillow's writers read the block too
            continue
        assert decode(data).image.size in {(32, 24), (24, 32)}


def test_exif_orientation_of_a_broken_value_is_upright(decode):
    exif = Image.Exif()
    exif[0x0112] = 9
    assert_same_scene(array(decode, saved(scene(), "PNG", exif=exif)))


# --- colours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "PA"])
@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG", "GIF", "BMP", "WEBP", "AVIF"])
def test_every_mode_a_format_can_hold(decode, kind, mode):
    grey = Image.new("L", (16, 16), 255)
    source = (
        grey.convert("RGB").convert("P").convert("PA")
        if mode == "PA"
        else (
            grey.convert("RGB").convert(mode)
            if mode in {"P", "CMYK", "YCbCr"}
            else grey.convert(mode)
        )
    )
    try:
        data = saved(source, kind)
    except (OSError, ValueError):
        pytest.skip(f"Pillow writes no {mode} into {kind}")
    assert array(decode, data).min() >= 254


def test_lab_shows_its_colour(decode):
    lab = ImageCms.applyTransform(
        scene(),
        ImageCms.buildTransform(
            ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB"
        ),
    )
    assert_same_scene(array(decode, saved(lab, "TIFF")), 12)


def test_cmyk_jpeg_shows_its_colour(decode):
    data = saved(scene().convert("CMYK"), "JPEG", quality=95, subsampling=0)
    assert_same_scene(array(decode, data), 14)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "AVIF"])
def test_alpha_is_laid_on_white(decode, kind):
    image = Image.new("RGBA", (16, 16), (200, 0, 0, 0))
    image.paste((0, 0, 200, 255), (8, 0, 16, 16))
    image.paste((0, 0, 0, 128), (0, 8, 8, 16))
    options = {"WEBP": {"lossless": True}, "AVIF": {"quality": 100}}.get(kind, {})
    pixels = array(decode, saved(image, kind, **options))
    for (row, column), expected in {(3, 3): 255, (12, 3): 127}.items():
        assert np.abs(pixels[row, column] - expected).max() <= 3
    assert np.abs(pixels[3, 12] - (0, 0, 200)).max() <= 4


def test_grey_alpha_is_laid_on_white(decode):
    assert (array(decode, saved(Image.new("LA", (4, 4), (10, 0)), "PNG")) == 255).all()
    assert (array(decode, saved(Image.new("LA", (4, 4), (10, 255)), "PNG")) == 10).all()


@pytest.mark.parametrize("alphas", [bytes([0, 255]), bytes([0, 128])])
def test_palette_with_transparency_is_laid_on_white(decode, alphas):
    image = Image.new("P", (4, 4), 0)
    image.putpalette([200, 0, 0, 0, 0, 100])
    image.paste(1, (2, 0, 4, 4))
    pixels = array(decode, saved(image, "PNG", transparency=alphas))
    assert (pixels[0, 0] == 255).all()
    expected = (0, 0, 100) if alphas[1] == 255 else (127, 127, 177)
    assert np.abs(pixels[0, 3] - expected).max() <= 1


def test_gif_transparency_and_first_frame(decode):
    first = Image.new("P", (6, 6), 0)
    first.putpalette([9, 9, 9, 200, 0, 0])
    first.paste(1, (3, 0, 6, 6))
    second = Image.new("P", (6, 6), 0)
    second.putpalette([0, 255, 0, 0, 255, 0])
    data = saved(
        first, "GIF", save_all=True, append_images=[second], transparency=0, comment=b"hello"
    )
    pixels = array(decode, data)
    assert (pixels[0, 0] == 255).all()
    assert (pixels[0, 5] == (200, 0, 0)).all()


def test_gif_frame_outside_its_canvas_widens_it(decode):
    data = bytearray(saved(Image.new("L", (6, 4), 7).convert("P"), "GIF"))
    data[6:10] = b"\1\0\1\0"
    assert decode(bytes(data)).image.size == (6, 4)


@pytest.mark.parametrize(("kind", "key"), [("L", 40), ("RGB", (1, 2, 3))])
def test_a_transparent_colour_is_white(decode, kind, key):
    image = Image.new(kind, (4, 4), key)
    other = 90 if kind == "L" else (90, 90, 90)
    image.paste(other, (2, 0, 4, 4))
    pixels = array(decode, saved(image, "PNG", transparency=key))
    assert (pixels[0, 0] == 255).all()
    assert (pixels[0, 3] == 90).all()


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
def test_a_transparent_grey_of_every_depth(decode, depth):
    row = {1: [0b10000000], 2: [0b01100000], 4: [0x36, 0x00], 8: [3, 6, 0], 16: [3, 1, 6, 2, 0, 0]}
    key = {1: 1, 2: 1, 4: 3, 8: 3, 16: 0x301}[depth]
    width = 2
    rows = [row[depth][: (width * depth + 7) // 8]]
    chunk = png_chunk(b"tRNS", key.to_bytes(2, "big"))
    pixels = array(decode, png(width, 1, depth, 0, rows, chunk))
    expected = {1: 0, 2: 170, 4: 102, 8: 6, 16: 6}[depth]
    assert (pixels[0, 0] == 255).all()
    assert (pixels[0, 1] == expected).all()


def test_a_transparent_16_bit_colour(decode):
    row = [9, 1, 9, 1, 9, 1, 8, 1, 8, 1, 8, 1]
    data = png(2, 1, 16, 2, [row], png_chunk(b"tRNS", bytes(row[:6])))
    assert array(decode, data)[0].tolist() == [[255] * 3, [8] * 3]


def test_16_bit_grey_keeps_its_mean(decode):
    ramp = np.linspace(0, 65535, 64 * 64).astype(np.uint16).reshape(64, 64)
    for kind in ("PNG", "TIFF"):
        for options in ({}, {"compression": "tiff_lzw"}) if kind == "TIFF" else ({},):
            pixels = array(decode, saved(Image.fromarray(ramp), kind, **options))
            assert pixels.mean() == pytest.approx(127.5, abs=0.1)
            assert (pixels.min(), pixels.max()) == (0, 255)


@pytest.mark.parametrize(("order", "big"), [("<", False), (">", False), ("<", True)])
def test_16_bit_tiff_in_both_byte_orders_and_sizes(decode, order, big):
    ramp = np.array([[0, 25700, 65535]], np.uint16)
    data = tiff(3, 1, 16, ramp.astype(f"{order}u2").tobytes(), order=order, big=big)
    assert array(decode, data)[0, :, 0].tolist() == [0, 100, 255]


def test_big_endian_bigtiff_is_refused_since_pillow_cannot_read_it(decode):
    with pytest.raises(UnreadablePicture, match="BigTIFF in big-endian"):
        decode(tiff(1, 1, 8, b"\0", order=">", big=True))


def test_16_bit_tiff_whose_zero_is_white(decode):
    ramp = np.array([[0, 25700, 65535]], "<u2")
    assert array(decode, tiff(3, 1, 16, ramp.tobytes(), photometric=0))[0, :, 0].tolist() == [
        255,
        155,
        0,
    ]


def test_12_bit_tiff_fills_its_range(decode):
    # 0x000, 0x800, 0xFFF, 0x000 packed in 12 bits each
    data = tiff(4, 1, 12, bytes([0x00, 0x08, 0x00, 0xFF, 0xF0, 0x00]))
    assert array(decode, data)[0, :, 0].tolist() == [0, 128, 255, 0]


@pytest.mark.parametrize(
    ("values", "dtype", "form", "expected"),
    [
        ([0, 2**31, 2**32 - 1], "<u4", 1, [0, 128, 255]),
        ([0, 100, 255], "<u4", 1, [0, 100, 255]),
        ([0, 25700, 65535], "<i4", 2, [0, 100, 255]),
        ([-100, 0, 100], "<i4", 2, [0, 128, 255]),
        ([-(2**15), 0, 2**15 - 1], "<i2", 2, [0, 128, 255]),
        ([0.0, 0.2, 1.0], "<f4", 3, [0, 51, 255]),
        ([0.0, 100.0, 255.0], "<f4", 3, [0, 100, 255]),
        ([0.0, np.nan, 1e30], "<f4", 3, [0, 0, 255]),
        ([-np.inf, 0.5, np.inf], "<f4", 3, [0, 128, 0]),
        ([0.0, 0.0, 0.0], "<f4", 3, [0, 0, 0]),
        ([-3.0, -3.0, -3.0], "<f4", 3, [0, 0, 0]),
    ],
)
def test_wide_grey_is_scaled_not_saturated(decode, values, dtype, form, expected):
    samples = np.array(values, dtype)
    data = tiff(3, 1, 8 * samples.itemsize, samples.tobytes(), form=form)
    assert np.abs(array(decode, data)[0, :, 0] - expected).max() <= 1


# --- reduced decoding --------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "size"), [(256, (300, 256)), (64, (75, 64)), (513, (1200, 1024))])
def test_a_jpeg_is_decoded_smaller_but_never_under_the_side(decode, side, size):
    data = saved(scene(1200, 1024), "JPEG", quality=95)
    picture = decode(data, side=side)
    expected = {256: (300, 256), 64: (150, 128), 513: (1200, 1024)}[side]
    assert min(picture.image.size) >= min(side, 1024)
    assert picture.image.size == expected
    assert (picture.facts.width, picture.facts.height) == (1200, 1024)
    assert picture.facts == decode(data).facts
    assert_same_scene(np.asarray(picture.image).astype(int), 12)


def test_a_turned_jpeg_decoded_smaller(decode):
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(scene(1200, 800), "JPEG", exif=exif)
    picture = decode(data, side=100)
    assert picture.image.size == (100, 150)
    assert (picture.facts.width, picture.facts.height) == (800, 1200)


@pytest.mark.parametrize("side", [1, 16, 10_000])
def test_side_is_harmless_elsewhere(decode, side):
    for kind in FORMATS:
        assert min(decode(saved(scene(), kind), side=side).image.size) >= min(side, 4)


# --- what Pillow would warn of -----------------------------------------------------------------


def test_kept_tiff_tags_of_one_value_are_known():
    ones = {tag for tag in TIFF_TAGS if TiffTags.lookup(tag).length == 1}
    assert ones <= _SINGLE_TAGS | {347}  # bytes, always one value


def test_a_tiff_tag_with_too_many_values_does_not_warn(decode):
    samples = bytes(range(12))
    extra = [(266, 3, 2, b"\1\0\1\0"), (305, 2, 2**31, b"\xff\xff\xff\x7f")]
    assert array(decode, tiff(4, 3, 8, samples, extra=extra)).shape == (3, 4, 3)


def test_broken_animated_png_is_read_as_a_still_one(decode):
    control = png_chunk(b"acTL", b"\0" * 8)
    data = png(2, 1, 8, 0, [[7, 9]], control, control, png_chunk(b"fcTL", b"\xff" * 26))
    assert array(decode, data)[0, :, 0].tolist() == [7, 9]


def test_a_compressed_text_bomb_is_never_unpacked(decode):
    import zlib

    bomb = png_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 50_000_000))
    assert array(decode, png(2, 1, 8, 0, [[7, 9]], bomb))[0, :, 0].tolist() == [7, 9]


def test_truncated_pictures_stay_refused_by_pillow():
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_more_pixels_than_pillow_warns_at(set_limits):
    set_limits(warned_pixels=500)
    for kind in FORMATS:
        assert images.decode(saved(scene(), kind)).facts.width == 32


def test_pixel_limit_is_ours(decode):
    for kind in FORMATS:
        data = saved(scene(), kind)
        assert decode(data, Limits(max_pixels=32 * 24)).facts.width == 32
        with pytest.raises(UnreadablePicture, match="too large: 32 × 24 pixels; the limit is 767"):
            decode(data, Limits(max_pixels=32 * 24 - 1))


def test_the_jpeg_in_a_stereo_file_is_the_first(decode):
    first, second = scene(), Image.new("RGB", (32, 24), "white")
    buffer = io.BytesIO()
    first.save(buffer, "MPO", save_all=True, append_images=[second], quality=95, subsampling=0)
    picture = decode(buffer.getvalue())
    assert picture.facts.format == "JPEG"
    assert_same_scene(np.asarray(picture.image).astype(int), 12)
