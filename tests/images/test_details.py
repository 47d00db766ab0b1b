"""Captions, cameras, lenses and places are read wherever files have them, whatever they hold."""

import struct
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.images.details import MAX_CAPTION, Details
from lookalike.images.metadata import metadata_in, read_metadata
from tests.images.pictures import camera_exif, heic, saved, scene

PLACE = (48.137308, 11.577775)
WHOLE = Details("A day out", "Maker Ltd. Model 7", "Lens 50mm F1.8", *PLACE)
FILES = {
    kind: saved(scene(), kind, exif=camera_exif())
    for kind in ("JPEG", "PNG", "WEBP", "AVIF", "TIFF", "MPO")
}
FILES["HEIF"] = heic(camera_exif())

LONG = "x" * MAX_CAPTION


def packet(inside="", **attributes):
    """An XMP packet with elements and attributes of a description."""
    given = " ".join(f'{name.replace("_", ":")}="{value}"' for name, value in attributes.items())
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" '
        'xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:exifEX="http://cipa.jp/exif/1.0/" '
        f'xmlns:aux="http://ns.adobe.com/exif/1.0/aux/" {given}>{inside}</rdf:Description>'
        "</rdf:RDF></x:xmpmeta>"
    ).encode()


def described(*texts):
    items = "".join(f'<rdf:li xml:lang="x-default">{text}</rdf:li>' for text in texts)
    return f"<dc:description><rdf:Alt>{items}</rdf:Alt></dc:description>"


def with_iptc(data, *captions):
    fields = b"".join(b"\x1c\x02\x78" + struct.pack(">H", len(it)) + it for it in captions)
    head = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", len(fields)) + fields
    head += b"\0" * (len(fields) % 2)
    return data[:2] + b"\xff\xed" + struct.pack(">H", len(head) + 2) + head + data[2:]


def of(metadata, data, *, sidecar=False):
    return metadata(BytesIO(data), sidecar=sidecar).details


@pytest.mark.parametrize("kind", FILES)
def test_every_format_is_read(metadata, kind):
    assert of(metadata, FILES[kind]) == WHOLE


def test_files_without_metadata_say_nothing(metadata):
    for kind in ("JPEG", "PNG", "WEBP", "AVIF", "TIFF", "GIF", "BMP"):
        assert of(metadata, saved(scene(), kind)) == Details()
    assert of(metadata, b"") == Details()
    assert of(metadata, b"GIF89a") == Details()


def test_xmp_is_read_as_elements_and_as_attributes(metadata):
    compact = packet(
        described("Am Strand", "On the beach"),
        tiff_Make="Canon",
        tiff_Model="Canon EOS 5D",
        aux_Lens="EF50mm f/1.8",
        exif_GPSLatitude="48,12.5N",
        exif_GPSLongitude="16,22,30W",
    )
    place = (48.208333, -16.375)
    expected = Details("Am Strand\nOn the beach", "Canon EOS 5D", "EF50mm f/1.8", *place)
    assert of(metadata, compact, sidecar=True) == expected
    inside = described("Am Strand", "On the beach") + (
        "<tiff:Make>Canon</tiff:Make><tiff:Model>Canon EOS 5D</tiff:Model>"
        "<exifEX:LensModel>EF50mm f/1.8</exifEX:LensModel>"
        "<exif:GPSLatitude>48,12.5N</exif:GPSLatitude>"
        "<exif:GPSLongitude>16,22,30W</exif:GPSLongitude>"
    )
    assert of(metadata, packet(inside), sidecar=True) == expected
    assert of(metadata, saved(scene(), "PNG") + packet(inside)) == expected


def test_all_captions_are_kept_each_once(metadata):
    picture = saved(scene(), "JPEG", exif=camera_exif(caption="A day"), xmp=packet(described("B")))
    assert of(metadata, with_iptc(picture, b"A day out", b"no more")).caption == "B\nA day out"


@pytest.mark.parametrize(
    ("written", "caption"),
    [
        ("Größe, 日本".encode(), "Größe, 日本"),
        ("Größe".encode("latin-1"), "Größe"),
        ("\ufeffGröße".encode("utf-16-le"), "Größe"),
        (b"\xef\xbb\xbfa", "a"),
        (b"a\x81b", r"a\x81b"),
        (b"one\r\ntwo\rthree\x1b[2J\0\0", "one\ntwo\nthree [2J"),
        (b" \0 ", ""),
        ("Gru\u0308n".encode(), "Grün"),
    ],
)
def test_a_caption_may_be_in_any_bytes(metadata, written, caption):
    assert of(metadata, with_iptc(saved(scene(), "JPEG"), written)).caption == caption


@pytest.mark.parametrize(
    "text",
    ["OLYMPUS DIGITAL CAMERA         ", "SANYO DIGITAL CAMERA", "KODAK Digital Still Camera"],
)
def test_what_cameras_write_everywhere_is_no_caption(metadata, text):
    block = camera_exif(caption=text)
    assert of(metadata, saved(scene(), "JPEG", exif=block)).caption == ""
    assert metadata(BytesIO(packet(described(text))), sidecar=True).details.caption == ""
    told = metadata(BytesIO(packet(described("My digital camera is new"))), sidecar=True)
    assert told.details.caption == "My digital camera is new"


def test_a_long_caption_is_cut_and_said(metadata, tmp_path):
    result = metadata(BytesIO(packet(described(LONG + "y"))), sidecar=True)
    assert result.details.caption == LONG
    assert result.problems == (f"of its caption, the first {MAX_CAPTION:,} characters were read",)
    place = tmp_path / "a.png"
    place.write_bytes(saved(scene(), "PNG"))
    (tmp_path / "a.png.xmp").write_bytes(packet(described(LONG)))
    assert read_metadata(place).problems == ()


def test_a_sidecar_counts_before_its_picture(tmp_path):
    place = tmp_path / "a.jpg"
    place.write_bytes(FILES["JPEG"])
    more = packet(described("Later"), exif_GPSLatitude="1,0N", exif_GPSLongitude="2,0E")
    (tmp_path / "a.xmp").write_bytes(more)
    details = read_metadata(place).details
    assert details == Details("Later\nA day out", WHOLE.camera, WHOLE.lens, 1.0, 2.0)


def located(*values, signs=("N", "E"), exif=b""):
    """A JPEG with numbers for degrees, minutes and seconds, each over a number."""
    tags = [(1, 2, 2, signs[0].encode() + b"\0\0\0"), (3, 2, 2, signs[1].encode() + b"\0\0\0")]
    data = b""
    base = 8 + 2 + 12 + 4
    directory = base + 2 + 12 * 4 + 4
    for tag, parts in ((2, values[:3]), (4, values[3:])):
        tags.append((tag, 5, 3, struct.pack("<I", directory + len(data))))
        data += b"".join(struct.pack("<II", *part) for part in parts)
    block = b"II*\0" + struct.pack("<I", 8) + struct.pack("<HHHII", 1, 34853, 4, 1, base)
    block += b"\0" * 4 + struct.pack("<H", 4)
    block += b"".join(struct.pack("<HHI", *tag[:3]) + tag[3] for tag in sorted(tags)) + b"\0" * 4
    return saved(scene(), "JPEG", exif=b"Exif\0\0" + block + data)


def degrees(*numbers):
    return [(number, 1) for number in numbers]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (located(*degrees(48, 12, 30, 16, 22, 0)), (48.208333, 16.366667)),
        (located(*degrees(48, 12, 30, 16, 22, 0), signs=("S", "W")), (-48.208333, -16.366667)),
        (located(*degrees(90, 0, 0, 180, 0, 0)), (90.0, 180.0)),
        (located(*degrees(90, 0, 1, 16, 22, 0)), (None, None)),
        (located(*degrees(48, 12, 30, 180, 0, 1)), (None, None)),
        (located(*degrees(48, 61, 0, 16, 22, 0)), (None, None)),
        (located(*degrees(0, 0, 0, 0, 0, 0)), (None, None)),
        (located((48, 1), (12, 0), (0, 1), *degrees(16, 22, 0)), (None, None)),
        (located((4_000_000_000, 1), (0, 1), (0, 1), *degrees(16, 22, 0)), (None, None)),
        (located(*degrees(48, 12, 30, 16, 22, 0), signs=("X", "E")), (None, None)),
    ],
)
def test_a_place_that_does_not_exist_is_none(metadata, data, place):
    details = of(metadata, data)
    assert (details.latitude, details.longitude) == place


def test_damage_takes_along_no_more_than_itself(metadata):
    block = bytearray(camera_exif())
    assert block.startswith(b"Exif\0\0MM")
    offset = struct.pack(">I", block.index(b"Model 7") - 6)
    block[block.index(offset) : block.index(offset) + 4] = b"\xff" * 4
    whole = saved(scene(), "JPEG", exif=camera_exif())
    assert of(metadata, whole) == WHOLE
    broken = of(metadata, saved(scene(), "JPEG", exif=bytes(block)))
    assert broken == Details("A day out", "Maker Ltd.", WHOLE.lens, *PLACE)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_give_details_or_none_and_no_error(kind, data):
    content = bytearray(FILES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    details = metadata_in(BytesIO(bytes(content[:cut]))).details
    assert details == Details.of(
        *(details.caption, details.camera, details.lens, details.latitude, details.longitude)
    )
