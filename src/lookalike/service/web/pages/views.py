"""What the page shows: addresses, dates, sizes, filters as chips, tiles and examples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from lookalike.collection import Ask, PictureRow, Ref, read_near
from lookalike.core.errors import CollectionError
from lookalike.core.text import shown
from lookalike.service.web.api.answers import thumbnail_address
from lookalike.service.web.api.parameters import Filters

if TYPE_CHECKING:
    from lookalike.collection import Collection

CHUNK = 120  # divides by 3, 4, 5, 6, 8, 10 and 12, the numbers of columns in style.css

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]

Pairs = list[tuple[str, str]]


_RANKERS = {
    "embedding": "Content",
    "visterms": "Details",
    "views": "Several aspects",
    "regions": "Same thing",
    "together": "Content and same thing",
}
"""What rankers that bear the name of their feature are called on the page."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A picture in a grid.

    ``at`` is its position in the list, ``was`` its rank before a vote, and ``mark`` where a match
    by words comes from. ``sure`` is how probable it is that the words fit.
    """

    id: int
    alt: str
    at: int
    thumbnail: str
    score: float | None = None
    verdict: int = 0
    was: int = 0
    mark: str = ""
    sure: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The pictures of a month: a heading, and the part of the list below it."""

    key: str
    title: str
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter, and the address without it."""

    text: str
    without: str


@dataclass(frozen=True, slots=True)
class Example:
    """A picture of the query.

    ``picture`` is None for a stored query; ``without`` is the address of the search without it, and
    ``turned`` the one with like and unlike swapped, empty if no picture to be like would be left.
    """

    ref: Ref
    alt: str
    thumbnail: str
    picture: int | None
    unlike: bool
    without: str
    turned: str


def address(path: str, pairs: Iterable[tuple[str, object]]) -> str:
    """Return a path with query parameters.

    Examples
    --------
    >>> address("/search", [("like", 3), ("tag", "a&b")])
    '/search?like=3&tag=a%26b'
    """
    query = urlencode([(name, str(value)) for name, value in pairs], errors="replace")
    return f"{path}?{query}" if query else path


def filter_pairs(filters: Filters) -> Pairs:
    """Return the active filters as query parameters."""
    names = Filters.model_fields
    given = filters.model_dump(include=set(names), exclude_defaults=True)
    return [
        (names[name].alias or name, str(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
    ]


def chips(path: str, pairs: Pairs, kept: Pairs) -> list[Chip]:
    """Return a chip for each filter; ``kept`` is the rest of the address."""
    return [
        Chip(_filter_text(*pair), address(path, kept + pairs[:place] + pairs[place + 1 :]))
        for place, pair in enumerate(pairs)
    ]


def _filter_text(name: str, value: str) -> str:
    if name == "folder":
        return f"in {folder_name(value)}"
    if name == "near":
        return near_text(value)
    words = {
        "tag": f"tag: {value}",
        "without_tag": f"without tag: {value}",
        "untagged": "untagged" if value == "True" else "tagged",
        "from": f"from {value}",
        "to": f"until {value}",
        "format": value.upper(),
        "min_side": f"at least {value} px",
        "max_side": f"at most {value} px",
        "camera": f"camera: {value}",
        "lens": f"lens: {value}",
        "album": f"album: {value}",
        "without_album": f"not in album: {value}",
        "missing": "missing" if value == "True" else "not missing",
    }
    if name in words:
        return words[name]
    return f"{'at least' if name == 'min_bytes' else 'at most'} {size(int(value))}"


def crumbs(folders: Iterable[tuple[str, int]], folder: str) -> list[tuple[str, str]]:
    """Return the folders from the highest to one, each with its name.

    Examples
    --------
    >>> crumbs([("/srv/photos", 9), ("/srv/photos/2019", 4), ("/srv/x", 1)], "/srv/photos/2019")
    [('/srv/photos', 'photos'), ('/srv/photos/2019', '2019')]
    """
    above = [path for path, _ in folders if f"{folder}/".startswith(path.rstrip("/") + "/")]
    return [(path, path.rpartition("/")[2] or "/") for path in sorted(above, key=len)]


def sections(months: Sequence[tuple[str, int]]) -> list[Section]:
    """Split a list into months.

    Examples
    --------
    >>> [(part.title, part.start) for part in sections([("2024-05", 7), ("", 2)])]
    [('May 2024', 0), ('No date', 7)]
    """
    result, start = [], 0
    for key, count in months:
        result.append(Section(key, month(key), start, count))
        start += count
    return result


def month(key: str) -> str:
    """Return the name of a month such as ``2024-05``."""
    year, _, number = key.partition("-")
    if number.isdigit() and 1 <= int(number) <= 12:
        return f"{_MONTHS[int(number) - 1]} {year}"
    return key or "No date"


def moment(time: str | None) -> str:
    """Return a time of the log or of a camera in words.

    Examples
    --------
    >>> moment("2024-05-31T09:07:00Z"), moment("2024-05-31")
    ('31 May 2024, 09:07', '31 May 2024')
    """
    if not time:
        return "unknown"
    day, hour = time[:10].split("-"), time[11:16]
    if len(day) != 3 or not (day[1].isdigit() and day[2].isdigit() and 1 <= int(day[1]) <= 12):
        return time
    date = f"{int(day[2])} {_MONTHS[int(day[1]) - 1][:3]} {day[0]}"
    return f"{date}, {hour}" if hour else date


def distance_text(kilometres: float) -> str:
    """Return a distance in words.

    Examples
    --------
    >>> distance_text(0.0004), distance_text(0.25), distance_text(3.14), distance_text(1234.5)
    ('here', '250 m', '3.1 km', '1,234 km')
    """
    if kilometres < 1:
        metres = round(1000 * kilometres)
        return f"{metres} m" if metres else "here"
    return f"{kilometres:.1f} km" if kilometres < 10 else f"{kilometres:,.0f} km"


def near_text(near: str) -> str:
    """Return in words what is near a place.

    Examples
    --------
    >>> near_text("48.2,16.4")
    'within 10 km of 48.20000° N, 16.40000° E'
    """
    latitude, longitude, distance = read_near(near)
    return f"within {distance_text(distance)} of {place_text(latitude, longitude)}"


def place_text(latitude: float, longitude: float) -> str:
    """Return a place in degrees, to a metre.

    Examples
    --------
    >>> place_text(48.2, -16.366667)
    '48.20000° N, 16.36667° W'
    """
    sides = "S" if latitude < 0 else "N", "W" if longitude < 0 else "E"
    return f"{abs(latitude):.5f}° {sides[0]}, {abs(longitude):.5f}° {sides[1]}"


def size(count: int) -> str:
    """Return a file size in words.

    Examples
    --------
    >>> size(900), size(1_500_000)
    ('900 B', '1.5 MB')
    """
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"


def folder_name(path: str | Path) -> str:
    """Return the last two parts of a folder's path, enough to recognise it."""
    parts = [part for part in shown(path).split("/") if part]
    return "/".join(parts[-2:]) or "/"


def ranker_name(name: str) -> str:
    """Return what the page calls a ranker: in plain words, or by the name it was given.

    Examples
    --------
    >>> ranker_name("visterms"), ranker_name("clip")
    ('Details', 'clip')
    """
    return _RANKERS.get(name, shown(name))


def alt_text(labels: Sequence[str], place: Path | None) -> str:
    """Return a description of a picture: its tags, or else its file name."""
    if labels:
        return ", ".join(shown(label) for label in labels)
    return shown(place.name) if place is not None else "a picture"


def tiles(collection: "Collection", rows: Sequence[PictureRow], start: int) -> list[Tile]:
    """Return the tiles for a part of the list of all pictures."""
    labels = collection.labels.of([row.id for row in rows])
    return [
        Tile(
            row.id,
            alt_text(labels.get(row.id, ()), row.places[0] if row.places else None),
            at,
            thumbnail_address(row.id, row.sha256),
        )
        for at, row in enumerate(rows, start)
    ]


def examples(collection: "Collection", ask: Ask, kept: Pairs) -> list[Example]:
    """Return the pictures of a query; one that is gone is shown without a thumbnail."""
    refs = [(ref, False) for ref in ask.like] + [(ref, True) for ref in ask.unlike]
    pairs = [("unlike" if unlike else "like", str(ref)) for ref, unlike in refs]
    labels = collection.labels.of([ref for ref, _ in refs if isinstance(ref, int)])

    def link(parts: Pairs) -> str:
        likes = [pair for pair in parts if pair[0] == "like"]
        return (
            address("/search", likes + [p for p in parts if p not in likes] + kept) if likes else ""
        )

    result = []
    for place, (ref, unlike) in enumerate(refs):
        others = pairs[:place] + pairs[place + 1 :]
        without = link(others) or address("/", kept)
        turned = link([*others, ("like" if unlike else "unlike", str(ref))])
        alt, thumbnail, number = "your picture", f"/query/{ref}.jpg", None
        if isinstance(ref, int):
            try:
                row = collection.pictures.get(ref)
                alt = alt_text(labels.get(ref, ()), row.places[0] if row.places else None)
                thumbnail, number = thumbnail_address(ref, row.sha256), ref
            except CollectionError:
                alt, thumbnail = "a removed picture", ""
        result.append(Example(ref, alt, thumbnail, number, unlike, without, turned))
    return result
