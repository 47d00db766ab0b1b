"""IPTC keywords are those that Pillow finds, and cost little whatever the file claims."""

import struct
import tracemalloc
import warnings
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, IptcImagePlugin

from lookalike.images.iptc import MAX_BYTES, iptc_texts
from lookalike.images.metadata import embedded_packet, read_metadata
from lookalike.images.xmp import EMPTY, FLAT, Packet
from tests.images.pictures import saved, scene, tiff

PICTURE = saved(scene(), "JPEG")
MANY = 2000


def dataset(content, record=2, number=25):
    return struct.pack(">BBBH", 0x1C, record, number, len(content)) + content


def resource(content, code=0x0404, name=b""):
    named = bytes([len(name)]) + name
    named += b"\0" * (len(named) % 2)
    head = b"8BIM" + struct.pack(">H", code) + named + struct.pack(">I", len(content))
    return head + content + b"\0" * (len(content) % 2)


def segment(content, marker=0xED):
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def jpeg(*resources):
    app13 = segment(b"Photoshop 3.0\0" + b"".join(resources))
    return PICTURE[:2] + segment(b"a comment", 0xFE) + app13 + PICTURE[2:]


def tagged(content, *, kind=7, order="<", big=False):
    """A TIFF whose IPTC lies at its end."""
    field = "Q" if big else "I"
    count = len(content) // {4: 4, 7: 1}[kind]
    plain = tiff(2, 2, 8, b"abcd", order=order, big=big, extra=[(33723, kind, count, b"")])
    place = struct.pack(order + field, len(plain))
    entry = struct.pack(f"{order}HH{field}", 33723, kind, count)
    before, after = plain.split(entry)
    return before + entry + place + after[len(place) :] + content


def found(data):
    return list(iptc_texts(BytesIO(data), MANY).keywords)


def found_by_pillow(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(BytesIO(data), formats=("JPEG", "TIFF")) as image:
                info = IptcImagePlugin.getiptcinfo(image) or {}
        except (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error):
            return []
    kept = info.get((2, 25), [])
    return [word for word in (kept if isinstance(kept, list) else [kept]) if word]


WORDS = b"".join(
    [
        dataset(b"\x1b%G", 1, 90),
        dataset("Küche".encode()),
        dataset(b"a headline", 2, 105),
        dataset(b"Hund"),
        dataset(b""),
        dataset(b"last"),
    ]
)
FILES = {
    "JPEG": jpeg(resource(WORDS)),
    "JPEG with other resources": jpeg(
        resource(b"other", 0x0BB7, b"named"), resource(WORDS), resource(b"abc", 0x0425)
    ),
    "JPEG with two": jpeg(resource(dataset(b"first")), resource(WORDS)),
    "JPEG with two segments": (
        jpeg(resource(dataset(b"first")))[: 2 - len(PICTURE)] + jpeg(resource(WORDS))[2:]
    ),
    "JPEG with padding": jpeg(resource(WORDS + b"\0" * 3)),
    "TIFF": tagged(WORDS),
    "TIFF in big-endian order": tagged(WORDS, order=">"),
    "TIFF as numbers": tagged(WORDS + b"\0" * (-len(WORDS) % 4), kind=4),
    "BigTIFF": tagged(WORDS, big=True),
    "TIFF of Pillow": saved(
        scene(), "TIFF", tiffinfo={33723: WORDS}, compression="tiff_adobe_deflate"
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_keywords_are_those_that_pillow_finds(name):
    assert found(FILES[name]) == ["Küche".encode(), b"Hund", b"last"]
    assert found_by_pillow(FILES[name]) == found(FILES[name])


def test_files_without_keywords_have_none():
    for kind in ("JPEG", "TIFF", "PNG", "WEBP"):
        assert found(saved(scene(), kind)) == []
    assert found(jpeg(resource(b""))) == []
    assert found(jpeg(resource(dataset(b"")))) == []
    assert found(b"") == []


def test_a_long_dataset_is_left_out_and_those_after_it_are_read():
    preview = struct.pack(">BBBHI", 0x1C, 2, 202, 0x8004, 40_000) + bytes(40_000)
    assert found(jpeg(resource(preview + WORDS))) == ["Küche".encode(), b"Hund", b"last"]


def test_only_so_many_are_returned():
    data = jpeg(resource(b"".join(dataset(b"%d" % number) for number in range(50))))
    assert iptc_texts(BytesIO(data), 3).keywords == (b"0", b"1", b"2")


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_gives_all_or_nothing(name):
    data, whole = FILES[name], found(FILES[name])
    for length in range(len(data)):
        cut = found(data[:length])
        assert cut in ([], whole), length
    assert found(data[: len(data) // 3]) == []


def test_datasets_that_are_none_give_no_keywords():
    for end in (b"garbage", b"\x1c\x0bxyz", struct.pack(">BBBHI", 0x1C, 2, 25, 0x8005, 1) + b"ab"):
        assert found(jpeg(resource(WORDS + end))) == []
    assert found(jpeg(resource(WORDS + dataset(b"cut off")[:-1])))[-1] == b"last"


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damage_gives_parts_of_the_file_or_nothing_and_no_error(name, data):
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    for word in found(bytes(content)):
        assert word
        assert word in bytes(content)


def test_what_a_directory_claims_is_not_believed():
    for count in (5, 2**31, 2**32 - 1):
        for place in (0, 8, 2**31, 2**32 - 1):
            for kind in (1, 4, 7, 12, 99):
                extra = [(33723, kind, count, struct.pack("<I", place))]
                assert found(tiff(2, 2, 8, b"abcd", extra=extra)) == []
    for place in (0, 7, 10**6, 2**63 - 1, 2**63, 2**64 - 1):
        assert found(b"II" + struct.pack("<HHHQ", 43, 8, 0, place) + b"\xff" * 64) == []
    assert found(b"II" + struct.pack("<HI", 42, 8) + b"\xff" * (1 << 20)) == []
    assert found(tagged(dataset(b"word") * (MAX_BYTES // 9 + 1))) == []


def test_segments_without_end_are_not_followed():
    for part in (b"\xff", segment(b"", 0xE0), segment(b"Photoshop 3.0\0" + resource(WORDS))):
        assert found(PICTURE[:2] + part * 20_000 + PICTURE[2:]) == []
    for part in (b"\xff\xed\0\0", b"\xff\xed\0\1", b"\xff\xd8", b"\0\0"):
        assert found(PICTURE[:2] + part + jpeg(resource(WORDS))[2:]) == []


def test_a_million_strips_cost_no_memory(tmp_path):
    rows = 1_000_000
    place = tmp_path / "a.tif"
    with place.open("wb") as file:
        file.write(b"II" + struct.pack("<HI", 42, 8))
        tags = [(256, 4, 1, 32), (257, 4, 1, rows), (258, 3, 1, 1), (259, 3, 1, 1)]
        tags += [(262, 3, 1, 1), (273, 3, rows, 512), (278, 4, 1, 1), (279, 3, rows, 512)]
        tags += [(33723, 7, len(WORDS), 256)]
        file.write(struct.pack("<H", len(tags)))
        file.write(b"".join(struct.pack("<HHII", *tag) for tag in tags))
        file.seek(256)
        file.write(WORDS)
        file.seek(512)
        file.write(b"\x04\0" * rows)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            words = read_metadata(place).words
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert words == ("Küche", "Hund", "last")
    assert peak < 10 << 20


@pytest.mark.parametrize("before", [0, 5, (1 << 20) - 5, (1 << 20) + 5])
def test_a_packet_is_found_across_blocks(before):
    packet = Packet(EMPTY).with_subjects({FLAT: ["word"]})
    start, end = packet.index(b"<x:xmpmeta"), packet.index(b"</x:xmpmeta>")
    whole = packet[start : end + len(b"</x:xmpmeta>")]
    assert embedded_packet(BytesIO(bytes(before) + packet + b"more")) == whole
    assert embedded_packet(BytesIO(bytes(before) + whole[:-1])) is None
    for room in ((1 << 20) - 5, (1 << 20) - len(whole)):
        longer = whole.replace(b"</x:xmpmeta>", b" " * room + b"</x:xmpmeta>")
        assert embedded_packet(BytesIO(longer + b"more")) == longer


def test_a_packet_that_is_too_large_is_told(tmp_path):
    place = tmp_path / "a.png"
    place.write_bytes(b"\x89PNG<x:xmpmeta" + b" " * (40 << 20))
    tracemalloc.start()
    try:
        (problem,) = read_metadata(place).problems
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "a.png: its keywords were not read: too large" in problem
    assert peak < 64 << 20
