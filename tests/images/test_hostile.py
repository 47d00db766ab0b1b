"""Broken and hostile files: a picture or UnreadablePicture comes out, and nothing else."""

import struct
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from lookalike import images
from lookalike.core.errors import DecoderFailed, UnreadablePicture
from lookalike.images import Limits
from lookalike.images.containers import MAX_PARTS
from tests.images.pictures import FORMATS, HEIC, png, png_chunk, saved, scene, tiff

SMALL = Limits(max_bytes=1 << 20, max_pixels=1_000_000)


def files():
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a description that lies out of line"
    block = exif.tobytes()
    noisy = Image.fromarray(np.random.default_rng(1).integers(0, 256, (24, 32, 3), np.uint8))
    made = {kind: saved(noisy, kind) for kind in FORMATS}
    made |= {f"{kind} exif": saved(noisy, kind, exif=block) for kind in ("JPEG", "WEBP", "AVIF")}
    made["JPEG progressive"] = saved(noisy, "JPEG", progressive=True)
    made["PNG palette"] = saved(noisy.quantize(16), "PNG", transparency=b"\0\x80")
    made["PNG grey"] = saved(
        Image.fromarray(np.arange(768, dtype=np.uint16).reshape(24, 32)), "PNG"
    )
    frames = [noisy.rotate(90), noisy.rotate(180)]
    made["PNG animated"] = saved(noisy, "PNG", save_all=True, append_images=frames)
    made["WEBP animated"] = saved(noisy, "WEBP", save_all=True, append_images=frames)
    made["WEBP lossless"] = saved(noisy, "WEBP", lossless=True)
    made["GIF animated"] = saved(noisy, "GIF", save_all=True, append_images=frames, comment=b"hi")
    for way in ("tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits"):
        made[f"TIFF {way}"] = saved(noisy, "TIFF", compression=way, exif=block)
    made["TIFF group4"] = saved(noisy.convert("1"), "TIFF", compression="group4")
    made["BMP palette"] = saved(noisy.quantize(16), "BMP")
    made["HEIC"] = HEIC
    return made


FILES = files()


def outcome(decode, data, limits=SMALL):
    """Decode; give the picture, or the reason why not."""
    try:
        picture = decode(data, limits)
    except UnreadablePicture as error:
        reason = str(error)
        assert reason
        assert len(reason) < 200
        assert "\n" not in reason
        assert "0x" not in reason
        assert "index out of range" not in reason
        assert not reason.removeprefix("damaged: ").isdigit()
        return reason
    assert picture.image.mode == "RGB"
    return picture


@pytest.mark.parametrize("name", FILES)
def test_truncated_anywhere_is_refused(decode, name):
    data = FILES[name]
    whole = np.asarray(decode(data).image)
    for length in sorted({*range(1, min(len(data), 60)), *range(60, len(data), 37), len(data) - 1}):
        result = outcome(decode, data[:length])
        if isinstance(result, str):
            assert result.startswith(
                ("truncated", "damaged", "not a picture", "empty", "too large")
            )
        else:
            # Only what came after the first picture may be missing.
            assert (np.asarray(result.image) == whole).all(), length


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF", "HEIC"])
def test_half_a_file_says_that_it_is_truncated(decode, name):
    data = FILES[name]
    reason = outcome(decode, data[: len(data) * 2 // 3])
    assert reason == "truncated: the file ends before the picture does"


@pytest.mark.parametrize("name", FILES)
def test_flipped_bytes_give_a_picture_or_a_reason(decode, name):
    rng = np.random.default_rng(sum(name.encode()))
    data = FILES[name]
    for turn in range(120):
        bad = bytearray(data)
        reach = len(bad) if turn % 2 else min(len(bad), 400)
        for place in rng.integers(0, reach, 1 + turn % 5):
            bad[place] = rng.integers(256)
        outcome(decode, bytes(bad))


@given(name=st.sampled_from(sorted(FILES)), data=st.data())
@settings(max_examples=150)
def test_cut_doubled_and_spliced_bytes(decode, name, data):
    body = FILES[name]
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, len(body)))
    middle = data.draw(st.one_of(st.binary(max_size=40), st.just(body[start:end] * 2)))
    outcome(decode, body[:start] + middle + body[end:])


@given(st.binary(max_size=200), st.sampled_from(sorted(FILES)))
@settings(max_examples=150)
def test_noise_after_a_true_start(decode, noise, name):
    for keep in (4, 12, 30):
        outcome(decode, FILES[name][:keep] + noise)


# --- one by one --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"This is a letter, not a picture.", "not a picture"),
        (b"%PDF-1.7 ...", "not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "not a picture"),
        (b"8BPS\0\1" + b"\0" * 40, "not a picture"),
        (b"SIMPLE  =                    T", "not a picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
        (b"\0\0\0\x18ftypisom\0\0\0\0isommp42", "not a picture"),
    ],
)
def test_what_is_no_picture(decode, data, reason):
    assert outcome(decode, data).startswith(reason)


def test_a_header_that_claims_a_hundred_thousand_squared(decode):
    data = bytearray(png(1, 1, 8, 2, [[0, 0, 0]]))
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    data[8:33] = png_chunk(b"IHDR", header)
    assert outcome(decode, bytes(data), Limits()).startswith("too large: 100000 × 100000 pixels")


def claims():
    """Every format, its header changed to claim a very large or an empty picture."""
    gif = bytearray(saved(scene(), "GIF"))
    bmp = bytearray(saved(scene(), "BMP"))
    jpeg = bytearray(saved(scene(), "JPEG"))
    frame = jpeg.index(b"\xff\xc0")
    webp = bytearray(saved(scene(), "WEBP", lossless=True))
    avif = bytearray(saved(scene(), "AVIF"))
    extent = avif.index(b"ispe")
    for size in (0, 30_000):
        two, four = struct.pack("<H", size), struct.pack("<I", size)
        gif[6:10] = two * 2
        place = gif.index(b",", 13)
        gif[place + 5 : place + 9] = two * 2
        yield "GIF", size, bytes(gif)
        bmp[18:26] = four * 2
        yield "BMP", size, bytes(bmp)
        jpeg[frame + 5 : frame + 9] = struct.pack(">H", size) * 2
        yield "JPEG", size, bytes(jpeg)
        yield "TIFF", size, tiff(size, size, 8, b"\0" * 16)
        yield "PNG", size, png(size, size, 8, 0, [[0]])
        avif[extent + 8 : extent + 16] = struct.pack(">I", size) * 2
        yield "AVIF", size, bytes(avif)
    webp[21:25] = b"\xff" * 4
    yield "WEBP", 16384, bytes(webp)


@pytest.mark.parametrize(
    ("kind", "size", "data"),
    [pytest.param(*claim, id=f"{claim[0]}-{claim[1]}") for claim in claims()],
)
def test_sizes_are_checked_before_pixels(decode, kind, size, data):
    reason = outcome(decode, data, Limits())
    assert isinstance(reason, str)
    if size and kind != "AVIF":
        assert reason.startswith("too large"), reason


def test_a_tiff_tile_larger_than_the_picture(decode):
    extra = [(322, 4, 1, 60_000), (323, 4, 1, 60_000), (324, 4, 1, 8), (325, 4, 1, 16)]
    data = tiff(4, 4, 8, b"\0" * 16, extra=extra)
    assert outcome(decode, data, Limits()).startswith("too large: 60000 × 60000")


def test_more_scans_chunks_and_blocks_than_anyone_writes(decode):
    jpeg = saved(scene(), "JPEG", progressive=True)
    scan = jpeg.rindex(b"\xff\xda")
    assert "500 scans" in outcome(decode, jpeg[:-2] + jpeg[scan:-2] * 600 + b"\xff\xd9")
    chunks = png_chunk(b"IDAT", b"") * (MAX_PARTS + 1)
    assert "parts" in outcome(decode, png(1, 1, 8, 0, [[0]], chunks), Limits())
    gif = saved(scene(), "GIF")
    place = gif.index(b",", 13)
    extension = b"!\xfe" + b"\1a" * (MAX_PARTS + 1) + b"\0"
    assert "parts" in outcome(decode, gif[:place] + extension + gif[place:], Limits())
    assert outcome(decode, gif[:place] + b"!\xfe\1a\0" * 9 + gif[place:]).facts.width == 32


def test_a_directory_that_points_at_itself_or_past_the_end(decode):
    good = tiff(4, 4, 8, b"\0" * 16)
    for place in (0, 4, 2**31, 2**32 - 1):
        assert isinstance(outcome(decode, good[:4] + struct.pack("<I", place) + good[8:]), str)


def test_bytes_over_the_limit(decode):
    data = FILES["PNG"]
    assert outcome(decode, data, Limits(max_bytes=len(data))).facts.bytes == len(data)
    assert outcome(decode, data, Limits(max_bytes=len(data) - 1)).startswith("too large")


def test_out_of_memory_is_a_reason(stand_in):
    def full(self):
        raise MemoryError

    stand_in(JpegImageFile, load=full)
    assert outcome(images.decode, FILES["JPEG"]) == "too large: it does not fit in memory"


def raise_import_error():
    raise ModuleNotFoundError("No module named '_strptime'")


def raise_system_error():
    raise PermissionError(1, "Operation not permitted")


def raise_something_else_for_it():
    try:
        raise_import_error()
    except ImportError as error:
        raise OSError("cannot decode") from error


@pytest.mark.parametrize(
    "fault", [raise_import_error, raise_system_error, raise_something_else_for_it]
)
def test_a_fault_of_the_decoder_is_none_of_the_picture(monkeypatch, fault):
    module = sys.modules["lookalike.images.decode"]
    monkeypatch.setattr(module, "read_exif", lambda _: fault())
    with pytest.raises(DecoderFailed, match="a fault of lookalike, not of the file") as caught:
        images.decode(FILES["JPEG"])
    assert "damaged" not in str(caught.value)


def test_what_failed_before_is_no_fault_of_the_decoder():
    try:
        raise_system_error()
    except OSError:
        with pytest.raises(UnreadablePicture):
            images.decode(FILES["JPEG"][:-300])


def test_interruption_passes_through(stand_in):
    def stop(self):
        raise KeyboardInterrupt

    stand_in(JpegImageFile, load=stop)
    with pytest.raises(KeyboardInterrupt):
        images.decode(FILES["JPEG"])


def test_threads_decoding_hostile_files_leak_no_warning(capfd, caplog, set_limits):
    """The filters say "always" and every warning is recorded, from whichever thread it comes."""
    set_limits(warned_pixels=400)
    rng = np.random.default_rng(5)
    bodies = list(FILES.values())
    for data in FILES.values():
        for _ in range(12):
            bad = bytearray(data)
            for place in rng.integers(0, min(len(bad), 400), 3):
                bad[place] = rng.integers(256)
            bodies.append(bytes(bad))
    extra = [(266, 3, 2, b"\1\0\1\0"), (305, 2, 2**31, b"\xff\xff\xff\x7f")]
    bodies.append(tiff(4, 4, 8, bytes(16), extra=extra))
    bodies.append(png(2, 1, 8, 0, [[7, 9]], png_chunk(b"acTL", b"\0" * 8)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(partial(outcome, images.decode), bodies))
        assert warnings.filters == filters
    assert [str(warning.message) for warning in caught] == []
    assert sum(not isinstance(result, str) for result in results) >= len(FILES)
    # libtiff itself writes its errors there and Pillow gives no way to stop it.
    assert caplog.messages == []
    assert "Warning" not in capfd.readouterr().err
