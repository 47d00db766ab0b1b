"""Decode a picture's bytes to RGB, upright and on white, or raise UnreadablePicture."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Protocol

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from lookalike.core.errors import DecoderFailed, InvalidInput, UnreadablePicture
from lookalike.images.colours import to_rgb
from lookalike.images.containers import (
    check_boxes,
    strip_gif,
    strip_jpeg,
    strip_png,
    strip_tiff,
    webp_canvas,
)
from lookalike.images.directories import TRUNCATED, read_exif
from lookalike.images.parts import pixels_of, reduced, whole_side
from lookalike.images.read import Limits, content_hash

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a picture besides its pixels.

    Attributes
    ----------
    sha256 : str
        The hash of the file's content: the picture's identity.
    format : str
        JPEG, PNG, WEBP, AVIF, GIF, BMP, TIFF or HEIF, by content, not by the file's name.
    width, height : int
        As displayed, at full size.
    bytes : int
        The size of the file.
    taken : str or None
        When it was taken according to the camera, in ISO format, without a time zone.
    """

    sha256: str
    format: str
    width: int
    height: int
    bytes: int
    taken: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture: a Pillow image in RGB, upright, without metadata, and its facts."""

    image: Image.Image
    facts: Facts


@dataclass(slots=True)
class _Opened:
    """A picture whose header was read; its pixels may not be decoded yet."""

    image: Image.Image
    exif: bytes = b""
    orientation: int | None = None
    grey: dict[str, Any] = field(default_factory=dict)


class Decode(Protocol):
    """A function that decodes pictures as :func:`decode` does, perhaps in another process."""

    def __call__(
        self,
        data: bytes,
        limits: Limits | None = None,
        *,
        side: int | None = None,
        box: Sequence[float] | None = None,
    ) -> Picture:
        """Decode a picture."""
        ...


def decode(
    data: bytes,
    limits: Limits | None = None,
    *,
    side: int | None = None,
    box: Sequence[float] | None = None,
) -> Picture:
    """Decode a picture, or raise UnreadablePicture if it is damaged, hostile or not a picture.

    The format is detected from the content. The size in the header is checked before any pixel is
    decoded. Only the first frame or page is decoded. Colour profiles are not applied. Several
    threads may decode at once: warnings are neither raised nor filtered.

    Parameters
    ----------
    data : bytes
        The content of the file.
    limits : Limits, optional
    side : int, optional
        Decode a JPEG at a half, a quarter or an eighth of its size if that leaves both sides at
        least this long, and average blocks of pixels if more are left than
        :func:`~lookalike.images.parts.most_pixels`; by default at full size.
    box : four floats, optional
        The part to return: left, top, right, bottom of the upright picture, as fractions.

    Returns
    -------
    Picture

    Raises
    ------
    UnreadablePicture
        With a short reason.
    DecoderFailed
        If it is not the picture that cannot be read, but this program that fails.

    Examples
    --------
    >>> decode(b"hello").image
    Traceback (most recent call last):
    lookalike.core.errors.UnreadablePicture: not a picture: unsupported format
    """
    allowed = limits or Limits()
    allowed.check_bytes(len(data))
    name = format_of(data)
    try:
        opened = _OPENERS[name](data, allowed)
        image = opened.image
        width, height = image.size
        allowed.check_pixels(width, height)
        whole = side if side is None or box is None else whole_side(side, box)
        if whole is not None:
            image.draft(None, (whole, whole))
        image.load()
        rgb = to_rgb(image, **opened.grey)
        orientation, taken = read_exif(opened.exif)
        if opened.orientation is not None:
            orientation = opened.orientation
        if orientation in _TURNS:
            rgb = rgb.transpose(_TURNS[orientation])
        if box is not None:
            rgb = rgb.crop(pixels_of(box, rgb.size))
        if side is not None:
            rgb = reduced(rgb, side)
    except (UnreadablePicture, InvalidInput):
        raise
    except Exception as error:
        if (fault := fault_of(error)) is not None:
            raise DecoderFailed(fault) from error
        raise UnreadablePicture(_reason(error)) from error
    rgb.info = {}
    if orientation >= 5:
        width, height = height, width
    return Picture(rgb, Facts(content_hash(data), name, width, height, len(data), taken))


def format_of(data: bytes) -> str:
    """Return the format of a file by how it begins, or raise UnreadablePicture."""
    for name, starts in _STARTS.items():
        if data.startswith(starts):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp":
        length = min(int.from_bytes(data[:4], "big"), 256)
        brands = {data[place : place + 4] for place in range(8, length, 4)}
        if brands & {b"avif", b"avis"}:
            return "AVIF"
        if brands & {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}:
            return "HEIF"
    raise UnreadablePicture("not a picture: unsupported format")


def _open_jpeg(data: bytes, _: Limits) -> _Opened:
    stripped, exif = strip_jpeg(data)
    return _Opened(JpegImagePlugin.JpegImageFile(BytesIO(stripped)), exif)


def _open_png(data: bytes, _: Limits) -> _Opened:
    stripped, exif = strip_png(data)
    return _Opened(PngImagePlugin.PngImageFile(BytesIO(stripped)), exif)


def _open_gif(data: bytes, _: Limits) -> _Opened:
    return _Opened(GifImagePlugin.GifImageFile(BytesIO(strip_gif(data))))


def _open_bmp(data: bytes, _: Limits) -> _Opened:
    return _Opened(BmpImagePlugin.BmpImageFile(BytesIO(data)))


def _open_tiff(data: bytes, limits: Limits) -> _Opened:
    image = _QuietTiff(BytesIO(strip_tiff(data)))
    tags = image.tag_v2
    limits.check_pixels(tags.get(322, 1), tags.get(323, 1))
    grey = {
        "depth": tags.get(258, (1,))[0],
        "unsigned": tags.get(339, (1,))[0] == 1,
        "inverted": tags.get(262, 0) == 0,
    }
    return _Opened(image, exif=data, grey=grey)


def _open_webp(data: bytes, limits: Limits) -> _Opened:
    limits.check_pixels(*webp_canvas(data))
    image = WebPImagePlugin.WebPImageFile(BytesIO(data))
    return _Opened(image, image.info.get("exif", b""))


def _open_avif(data: bytes, limits: Limits) -> _Opened:
    # Pillow's own opener parses the EXIF block immediately, with warnings.
    try:
        from PIL import _avif
    except ImportError as error:
        raise UnreadablePicture("AVIF is not supported by the installed Pillow") from error
    check_boxes(data)
    decoder = _avif.AvifDecoder(data, "auto", 1)
    size, _, mode, _, exif, orientation, _ = decoder.get_info()
    limits.check_pixels(*size)
    pixels = decoder.get_frame(0)[0]
    return _Opened(Image.frombytes(mode, size, pixels), exif or b"", orientation)


def _open_heif(data: bytes, limits: Limits) -> _Opened:
    try:
        import pi_heif
    except ImportError:
        raise UnreadablePicture(
            "HEIC needs the package pi-heif, which is not installed. Install it with: pip install "
            "pi-heif"
        ) from None
    check_boxes(data)
    file = pi_heif.open_heif(data)
    limits.check_pixels(*file.size)
    pixels = file.data
    image = Image.frombytes(file.mode, file.size, pixels, "raw", file.mode, file.stride)
    # The decoder rotates the picture itself.
    return _Opened(image, file.info.get("exif") or b"", orientation=1)


class _QuietTiff(TiffImagePlugin.TiffImageFile):
    def load_prepare(self) -> None:
        # The size was checked against our own limit; Pillow would warn at a lower one.
        if self._im is None:
            self.im = Image.new(self.mode, self.size, None).im
        super().load_prepare()


_STARTS = {
    "JPEG": (b"\xff\xd8\xff",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "GIF": (b"GIF87a", b"GIF89a"),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "BMP": (b"BM",),
}
_OPENERS: dict[str, Callable[[bytes, Limits], _Opened]] = {
    "JPEG": _open_jpeg,
    "PNG": _open_png,
    "GIF": _open_gif,
    "TIFF": _open_tiff,
    "BMP": _open_bmp,
    "WEBP": _open_webp,
    "AVIF": _open_avif,
    "HEIF": _open_heif,
}


def fault_of(error: BaseException) -> BaseException | None:
    """Return what no content of a picture can cause: a failed import, or a system call's error."""
    if isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno is not None):
        return error
    return None if error.__cause__ is None else fault_of(error.__cause__)


# Errors inside a reader on invalid data; their texts are about its code, not the picture.
_MEANINGLESS = (LookupError, TypeError, AttributeError, ArithmeticError, UnicodeError, struct.error)


def _reason(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    if isinstance(error, MemoryError):
        return "too large: it does not fit in memory"
    if isinstance(error, EOFError) or "truncated" in text.lower():
        return TRUNCATED
    if isinstance(error.__cause__ or error, _MEANINGLESS):
        return "damaged: invalid content"
    return f"damaged: {text[:120]}" if text else f"damaged: {type(error).__name__}"
