"""The classes of Caltech-256 in paper 1 (Appendix B)."""

import re
from collections.abc import Iterable

TEN = (
    "bear",
    "skyscraper",
    "billiards",
    "yo-yo",
    "minotaur",
    "roulette-wheel",
    "hamburger",
    "laptop-101",
    "hummingbird",
    "blimp",
)

TWENTY = (
    "airplanes-101",
    "mars",
    "homer-simpson",
    "hourglass",
    "waterfall",
    "helicopter-101",
    "mountain-bike",
    "starfish-101",
    "teapot",
    "pyramid",
    "refrigerator",
    "cowboy-hat",
    "giraffe",
    "joy-stick",
    "crab-101",
    "birdbath",
    "fighter-jet",
    "tuning-fork",
    "iguana",
    "dog",
)

FIFTY = (
    "car-side-101",
    "tower-pisa",
    "hibiscus",
    "saturn",
    "menorah-101",
    "rainbow",
    "cart-man",
    "chandelier-101",
    "backpack",
    "grapes",
    "laptop-101",
    "telephone-box",
    "binoculars",
    "helicopter-101",
    "paper-shredder",
    "eiffel-tower",
    "top-hat",
    "tomato",
    "star-fish-101",
    "hot-air-balloon",
    "tweezers",
    "picnic-table",
    "elk",
    "kangaroo-101",
    "mattress",
    "toaster",
    "electric-guitar-101",
    "bathtub",
    "gorilla",
    "jesus-christ",
    "cormorant",
    "mandolin",
    "light-house",
    "cake",
    "tricycle",
    "speed-boat",
    "computer-mouse",
    "superman",
    "chimp",
    "pram",
    "fried-egg",
    "fighter-jet",
    "unicorn",
    "greyhound",
    "grasshopper",
    "goose",
    "iguana",
    "drinking-straw",
    "snake",
    "hot-dog",
)

NUMBERS = tuple(number for number in range(1, 251) if number != 129)
"""The 249 classes: 1 to 250 without leopards-101, which has too few large pictures."""


def class_sets(folders: Iterable[str]) -> dict[int, list[str]]:
    """Return those of the paper's sets of 10, 20, 50 and 249 classes that are complete.

    The folders of Caltech-256 are called ``132.light-house``; names are compared by their letters
    and digits, without the number, the ending ``-101`` and a plural s, since the paper spells some
    differently from the folders (``cart-man``, ``tweezers``).

    Examples
    --------
    >>> class_sets(["032.cartman"])
    {}
    """
    names = list(folders)
    by_name = {bare(name): name for name in names}
    by_number = {number_of(name): name for name in names if number_of(name)}
    sets = {
        len(classes): [by_name.get(bare(name)) for name in classes]
        for classes in (TEN, TWENTY, FIFTY)
    }
    sets[len(NUMBERS)] = [by_number.get(number) for number in NUMBERS]
    return {
        size: [name for name in members if name is not None]
        for size, members in sets.items()
        if None not in members
    }


def bare(name: str) -> str:
    """Return the letters and digits that distinguish a class.

    Examples
    --------
    >>> bare("201.starfish-101"), bare("star-fish-101"), bare("tweezers")
    ('starfish', 'starfish', 'tweezer')
    """
    words = re.sub(r"^\d{3}\.", "", name.strip().lower())
    letters = re.sub(r"[^a-z0-9]", "", re.sub(r"[-_ ]101$", "", words))
    return letters.removesuffix("s")


def number_of(name: str) -> int | None:
    """Return the number at the start of a folder's name, or None."""
    pattern = re.match(r"(\d{3})\.", name)
    return int(pattern.group(1)) if pattern else None
