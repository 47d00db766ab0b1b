r"""What a file says of its picture besides keywords: a caption, the camera, its lens, the place.

Text may be in any encoding: what is not UTF-8 or UTF-16 with its mark is read as Windows-1252, and
a byte that is no character there is written as ``\x81``, so that nothing is lost.
"""

import codecs
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from lookalike.core.text import first_control, label_name, nfc

MAX_CAPTION, MAX_NAME = 10_000, 200
"""Characters of a caption, and of the name of a camera or lens, that are kept."""

for _name_of_codec in ("utf-16", "cp1252"):
    # Imported when they are first used: the decoder of the server cannot.
    codecs.lookup(_name_of_codec)

_DIGITS = 6
"""Of a degree of latitude: a tenth of a metre."""

_PLACEHOLDER = re.compile(
    r"([\w-]+ ){0,2}digital (still )?camera|sony dsc|samsung camera pictures"
    r"|exif_jpeg_picture|default"
)
"""What cameras write into every file where people may write a caption."""


@dataclass(frozen=True, slots=True)
class Details:
    """What a file says of its picture besides keywords; what it does not say is empty.

    Attributes
    ----------
    caption : str
        What people wrote about the picture, in lines.
    camera, lens : str
        Their names; a camera's has the maker before it, unless it begins with that.
    latitude, longitude : float or None
        Where it was taken, in degrees; both or none.
    """

    caption: str = ""
    camera: str = ""
    lens: str = ""
    latitude: float | None = None
    longitude: float | None = None

    @classmethod
    def of(
        cls,
        caption: str = "",
        camera: str = "",
        lens: str = "",
        latitude: Any = None,
        longitude: Any = None,
    ) -> Self:
        r"""Return details of what was read: no longer than is kept, and only a place that exists.

        Examples
        --------
        >>> details = Details.of("On the\r\nbeach", " Canon  EOS", "----", 48.2, 16.4)
        >>> details.caption, details.camera, details.lens, details.latitude
        ('On the\nbeach', 'Canon EOS', '', 48.2)
        >>> Details.of(latitude=91, longitude=16.4) == Details.of(latitude=0, longitude=0)
        True
        """
        place = _place(latitude, longitude)
        return cls(cleaned(caption)[:MAX_CAPTION].strip(), _name(camera), _name(lens), *place)

    def with_more(self, other: Self) -> "Details":
        """Return these details with what another file adds: its caption, and what is not known."""
        known = self if self.latitude is not None else other
        return Details(
            joined((self.caption, other.caption))[:MAX_CAPTION].strip(),
            self.camera or other.camera,
            self.lens or other.lens,
            known.latitude,
            known.longitude,
        )


NOTHING = Details()


def decoded(raw: bytes) -> str:
    r"""Return text in whatever encoding it is.

    Examples
    --------
    >>> decoded("Größe".encode()), decoded("Größe".encode("latin-1")), decoded(b"a\x81")
    ('Größe', 'Größe', 'a\\x81')
    """
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and len(raw) % 2 == 0:
        return raw.decode("utf-16", "replace")
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "backslashreplace")


def cleaned(text: str) -> str:
    r"""Return text in lines, each control character as a space.

    Examples
    --------
    >>> cleaned("a\x1b[2J \r\nb\0\0")
    'a [2J\nb'
    """
    lines = nfc(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(_printable, lines)).strip()


def joined(texts: Iterable[str]) -> str:
    r"""Return texts as lines of one, without those that another before them has.

    Examples
    --------
    >>> joined(["On the beach", "On the", "Ada"])
    'On the beach\nAda'
    """
    result = ""
    for text in texts:
        if text and text not in result:
            result = f"{result}\n{text}" if result else text
    return result


def camera_name(make: str, model: str) -> str:
    """Return the name of a camera, with its maker unless the name begins with a word of it.

    Examples
    --------
    >>> camera_name("NIKON CORPORATION", "NIKON D70"), camera_name("Apple", "iPhone 12")
    ('NIKON D70', 'Apple iPhone 12')
    >>> camera_name("EASTMAN KODAK COMPANY", "KODAK DX4530")
    'KODAK DX4530'
    """
    make, model = _name(make), _name(model)
    makers, first = make.lower().split(), model.lower().partition(" ")[0]
    has_maker = not make or first in makers or first.startswith(makers[0])
    return model if has_maker else f"{make} {model}".strip()


def is_placeholder(caption: str) -> bool:
    """Return whether a caption is what a camera writes into every file."""
    return _PLACEHOLDER.fullmatch(" ".join(caption.lower().split())) is not None


def _printable(line: str) -> str:
    if first_control(line) is None:
        return line.strip()
    return "".join(" " if first_control(sign) else sign for sign in line).strip()


def _name(text: str) -> str:
    name = label_name(re.sub(r"\s+", " ", cleaned(text)))[:MAX_NAME].strip()
    return name if any(map(str.isalnum, name)) else ""


def _place(latitude: Any, longitude: Any) -> tuple[float | None, float | None]:
    """Return a place on Earth, or none; 0, 0 is what a receiver writes that knows none."""
    numbers = (latitude, longitude)
    if not all(isinstance(it, int | float) and math.isfinite(it) for it in numbers):
        return None, None
    if abs(latitude) > 90 or abs(longitude) > 180 or not (latitude or longitude):
        return None, None
    return round(float(latitude), _DIGITS), round(float(longitude), _DIGITS)
