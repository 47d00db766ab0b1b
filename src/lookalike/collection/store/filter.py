"""Which pictures to look among: the parts of a filter, and whether they make sense."""

import math
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lookalike.collection.store.database import stored
from lookalike.core.checks import check_whole, is_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name

END = "~"
"""What, put behind a date, sorts after every time of that date and before all later ones."""

NEAR_KILOMETRES = 10.0
"""How far from a place pictures are near it, unless that is given."""

_TIME = re.compile("[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)?)?")
_START = "0001-01-01T00:00:00"
_MAX_NUMBER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: every part that is given must hold.

    Attributes
    ----------
    folder : str or None
        The absolute path of a folder that the picture lies in or below.
    tags : tuple of str
        Labels the picture has, all of them; case and Unicode form do not count.
    without_tags : tuple of str
        Labels it must not have, none of them.
    untagged : bool or None
        Whether it has no label at all.
    taken_from, taken_to : str or None
        When it was taken, both ends included: ``2024``, ``2024-05``, ``2024-05-31`` or
        ``2024-05-31T18:30``, so that ``taken_to="2024"`` is to the end of that year. A picture
        whose date is not known is left out.
    formats : tuple of str
        ``JPEG``, ``PNG`` and so on; one of them.
    min_side, max_side : int or None
        The longer side in pixels.
    min_bytes, max_bytes : int or None
        The size of the file.
    missing : bool or None
        Whether all its files were missing when they were last looked for.
    pictures : tuple of int or None
        Ids that the picture's is one of.
    album, without_album : str or None
        The name of an album that the picture is in, and of one that it is not in.
    cameras, lenses : tuple of str
        Names as the files of pictures have them; one of them.
    near : tuple of three floats or None
        Latitude and longitude in degrees, and at most how many kilometres from there it was taken.
        A picture whose place is not known is left out.

    Examples
    --------
    >>> Filter(taken_from="2024-05", taken_to="2024").check()
    >>> Filter(min_side=300, max_side=200).check()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lookalike.core.errors.InvalidInput: Filter: min_side must not be above max_side; got 300 ...
    """

    folder: str | None = None
    tags: tuple[str, ...] = ()
    taken_from: str | None = None
    taken_to: str | None = None
    formats: tuple[str, ...] = ()
    min_side: int | None = None
    max_side: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    missing: bool | None = None
    pictures: tuple[int, ...] | None = None
    album: str | None = None
    without_album: str | None = None
    without_tags: tuple[str, ...] = ()
    untagged: bool | None = None
    cameras: tuple[str, ...] = ()
    lenses: tuple[str, ...] = ()
    near: tuple[float, float, float] | None = None

    @property
    def albums(self) -> tuple[str | None, str | None]:
        """The albums that pictures are and are not in."""
        return self.album, self.without_album

    def check(self) -> None:
        """Refuse, with InvalidInput, what can mean no picture."""
        if self.folder is not None:
            _check_folder(self.folder)
        _check_names("tags", self.tags)
        _check_names("without_tags", self.without_tags)
        for name in ("formats", "cameras", "lenses"):
            _check_names(name, getattr(self, name))
        if self.near is not None:
            _check_near(self.near)
        _check_names("album", tuple(it for it in self.albums if it is not None))
        if self.pictures is not None and not (
            isinstance(self.pictures, tuple) and all(map(is_whole, self.pictures))
        ):
            raise InvalidInput(
                f"Filter: pictures must be a tuple of ids; got {self.pictures!r:.200}."
            )
        _check_numbers("side", self.min_side, self.max_side)
        _check_numbers("bytes", self.min_bytes, self.max_bytes)
        for name, choice in (("missing", self.missing), ("untagged", self.untagged)):
            if choice not in (None, True, False):
                raise InvalidInput(f"Filter: {name} must be true or false; got {choice!r:.80}.")
        for name, time in (("taken_from", self.taken_from), ("taken_to", self.taken_to)):
            if time is not None:
                _check_time(name, time)
        if self.taken_from and self.taken_to and self.taken_from > self.taken_to + END:
            raise InvalidInput(
                f"Filter: taken_from must not be after taken_to; got {self.taken_from} and "
                f"{self.taken_to}."
            )


def _check_folder(folder: object) -> None:
    try:
        usable = isinstance(folder, str) and Path(folder).is_absolute() and bool(stored(folder))
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise InvalidInput(
            f"Filter: folder must be the absolute path of a folder; got {folder!r:.200}."
        )


def _check_names(what: str, names: object) -> None:
    if not isinstance(names, tuple) or not all(
        isinstance(name, str) and label_name(name) for name in names
    ):
        raise InvalidInput(
            f"Filter: {what} must be a tuple of texts that are not empty; got {names!r:.200}."
        )


def read_near(text: str) -> tuple[float, float, float]:
    """Return latitude, longitude and kilometres of a text, or raise InvalidInput.

    Examples
    --------
    >>> read_near("48.2,16.4"), read_near("-33.9, 18.4, 2.5")
    ((48.2, 16.4, 10.0), (-33.9, 18.4, 2.5))
    """
    try:
        latitude, longitude, *rest = map(float, text.split(","))
        (distance,) = rest or (NEAR_KILOMETRES,)
    except ValueError as error:
        raise InvalidInput(
            f"Filter: near must be latitude and longitude in degrees, and perhaps kilometres, such "
            f"as 48.2,16.4,5; got {text!r:.80}."
        ) from error
    _check_near((latitude, longitude, distance))
    return latitude, longitude, distance


def _check_near(near: object) -> None:
    parts = near if isinstance(near, tuple) and len(near) == 3 else (math.nan,) * 3
    if not all(isinstance(it, int | float) and math.isfinite(it) for it in parts) or not (
        abs(parts[0]) <= 90 and abs(parts[1]) <= 180 and parts[2] > 0
    ):
        raise InvalidInput(
            f"Filter: near must be latitude (-90 to 90), longitude (-180 to 180) and kilometres "
            f"(above 0); got {near!r:.80}."
        )


def _check_time(name: str, time: object) -> None:
    try:
        if not isinstance(time, str) or not _TIME.fullmatch(time):
            raise ValueError("it has another form")
        datetime.fromisoformat(time + _START[len(time) :])
    except ValueError as error:
        raise InvalidInput(
            f"Filter: {name} must be a date or time such as 2024, 2024-05, 2024-05-31 or "
            f"2024-05-31T18:30, without a time zone; got {time!r:.80}."
        ) from error


def _check_numbers(what: str, least: Any, most: Any) -> None:
    for name, number in ((f"min_{what}", least), (f"max_{what}", most)):
        if number is not None:
            check_whole("Filter", name, number, 0, _MAX_NUMBER)
    if None not in (least, most) and least > most:
        raise InvalidInput(
            f"Filter: min_{what} must not be above max_{what}; got {least} and {most}."
        )
