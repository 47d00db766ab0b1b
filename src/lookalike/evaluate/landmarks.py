"""Read the ground truth of sights as Oxford5K and Paris6K are published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lookalike.core.errors import InvalidInput
from lookalike.evaluate.objects import Truth
from lookalike.images import ENDINGS

LISTS = ("good", "ok", "junk")
ENDING = "_query.txt"
PREFIX = "oxc1_"
"""Oxford's query files have it before the names of pictures."""


@dataclass(frozen=True)
class LandmarkQuery:
    """A query: a box in a picture, and what it should find.

    Attributes
    ----------
    name : str
        As its files are called, such as ``all_souls_1``.
    landmark : str
        The name without its number.
    picture : int
    box : tuple of float
        Left, top, right and bottom in pixels.
    truth : Truth
    """

    name: str
    landmark: str
    picture: int
    box: tuple[float, float, float, float]
    truth: Truth


@dataclass(frozen=True)
class Landmarks:
    """Pictures of sights and queries for them.

    Attributes
    ----------
    files : list of Path
        The pictures, sorted by name; others refer to them by number.
    queries : list of LandmarkQuery
    missing : tuple of str
        Names in lists of which there is no picture; they were left out.
    """

    files: list[Path]
    queries: list[LandmarkQuery]
    missing: tuple[str, ...] = ()

    def part(self, pictures: Sequence[int]) -> "Landmarks":
        """Return the set of some of the pictures, which must have those of all queries."""
        numbers = {picture: place for place, picture in enumerate(pictures)}

        def those(some: frozenset[int]) -> frozenset[int]:
            return frozenset(numbers[picture] for picture in some if picture in numbers)

        queries = [
            replace(
                query,
                picture=numbers[query.picture],
                truth=Truth(*(those(getattr(query.truth, kind)) for kind in LISTS)),
            )
            for query in self.queries
        ]
        return Landmarks([self.files[picture] for picture in pictures], queries, self.missing)

    def labels(self) -> list[str | None]:
        """Return the sight of each picture: None for junk and a name of its own for background.

        Positive pictures are those good or ok for a query of the sight (paper 4, section IV-A).
        """
        result: list[str | None] = [f"background {place}" for place in range(len(self.files))]
        for query in self.queries:
            for picture in query.truth.junk:
                result[picture] = None
        for query in self.queries:
            for picture in query.truth.positive():
                result[picture] = query.landmark
        return result


def read_landmarks(folder: Path, *, strict: bool = False) -> Landmarks:
    """Read pictures and ``NAME_query.txt``, ``NAME_good.txt``, ``_ok.txt`` and ``_junk.txt``.

    Both may be anywhere below the folder. A query file has the name of a picture and a box: left,
    top, right, bottom. The lists have one name a line.

    Parameters
    ----------
    folder : Path
    strict : bool
        Whether a name of which there is no picture is an error. By default it is left out and
        listed, since a few files of the published sets are damaged and often removed; but a query
        needs its picture, and a positive one besides.

    Raises
    ------
    InvalidInput
        If a file is missing or is not as described, a picture is in two lists of a query, or two
        pictures have the same name.
    """
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder of pictures and ground truth.")
    every = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [path for path in every if path.suffix.lower() in ENDINGS]
    numbers: dict[str, int] = {}
    for place, path in enumerate(files):
        if path.stem in numbers:
            raise InvalidInput(
                f"{folder} has two pictures called {path.stem}: {files[numbers[path.stem]]} and "
                f"{path}. Remove one."
            )
        numbers[path.stem] = place
    texts = [path for path in every if path.name.endswith(ENDING)]
    if not texts:
        raise InvalidInput(
            f"{folder} has no ground truth: no file is called NAME{ENDING}. Give the folder with "
            f"the pictures and the lists of Oxford5K or Paris6K."
        )
    missing: list[str] = []
    queries = [_query(path, numbers, missing) for path in texts]
    if strict and missing:
        raise InvalidInput(
            f"{folder}: the lists name {len(missing)} pictures that are not there, such as "
            f"{missing[0]}."
        )
    return Landmarks(files, queries, tuple(dict.fromkeys(missing)))


def _query(path: Path, numbers: Mapping[str, int], missing: list[str]) -> LandmarkQuery:
    name = path.name.removesuffix(ENDING)
    words = _text(path).split()
    if len(words) != 5:
        raise InvalidInput(
            f"{path} must have the name of a picture and four numbers; got {len(words)} words."
        )
    picture = _number(words[0], numbers)
    if picture is None:
        raise InvalidInput(f"{path} names the picture {words[0]:.80}, which is not there.")
    try:
        left, top, right, bottom = (float(word) for word in words[1:])
    except ValueError as error:
        raise InvalidInput(f"{path}: a box must be four numbers; {error}.") from error
    if not (right > left and bottom > top):
        raise InvalidInput(
            f"{path}: a box must be left, top, right and bottom, right above left and bottom above "
            f"top; got {' '.join(words[1:])}."
        )
    lists = {kind: _list(path, name, kind, numbers, missing) for kind in LISTS}
    for one, two in (("good", "ok"), ("good", "junk"), ("ok", "junk")):
        both = lists[one] & lists[two]
        if both:
            shared = next(stem for stem, place in numbers.items() if place in both)
            raise InvalidInput(
                f"{path.parent}: {shared} is both {one} and {two} for the query {name}. Remove it "
                f"from one of the lists."
            )
    if not lists["good"] | lists["ok"]:
        raise InvalidInput(f"{path}: the query {name} has no good or ok picture that is there.")
    landmark = name.rstrip("0123456789").rstrip("_") or name
    return LandmarkQuery(name, landmark, picture, (left, top, right, bottom), Truth(**lists))


def _list(
    path: Path, name: str, kind: str, numbers: Mapping[str, int], missing: list[str]
) -> frozenset[int]:
    file = path.with_name(f"{name}_{kind}.txt")
    if not file.is_file():
        raise InvalidInput(f"{file} is missing beside {path.name}.")
    result = []
    for line in _text(file).split():
        number = _number(line, numbers)
        if number is None:
            missing.append(line)
        else:
            result.append(number)
    return frozenset(result)


def _number(word: str, numbers: Mapping[str, int]) -> int | None:
    for stem in _stems(word):
        if stem in numbers:
            return numbers[stem]
    return None


def _stems(word: str) -> Sequence[str]:
    plain = word.removesuffix(".jpg")
    return plain, plain.removeprefix(PREFIX)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not text in UTF-8.") from error
