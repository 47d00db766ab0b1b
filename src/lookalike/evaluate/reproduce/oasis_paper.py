"""The figures in Tables 4 and 5 and in the text of paper 1."""

from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Cell

FOLDS = 5
MEASURES = ("mAP", "P@1", "P@10", "P@50")


def _printed(text: str) -> tuple[Cell, ...]:
    return tuple(_cell(word) for word in text.split())


def _cell(word: str) -> Cell:
    if word.startswith("*"):
        return word
    if word == "-":
        return None
    mean, deviation = word.split("±")
    return Spread(float(mean), float(deviation), FOLDS)


TABLE_4 = {
    10: {
        "OASIS": _printed("33±1.6 43±4.0 38±1.3 23±1.5"),
        "MCML": _printed("29±1.7 39±5.1 33±1.8 22±1.3"),
        "LEGO": _printed("27±0.8 39±4.8 32±1.2 20±0.5"),
        "LMNN": _printed("24±1.6 38±5.4 29±2.1 18±1.5"),
        "Euclidean": _printed("23±0.9 37±4.1 27±1.5 18±0.7"),
    },
    20: {
        "OASIS": _printed("21±1.4 29±2.6 24±1.9 15±0.4"),
        "MCML": _printed("17±1.2 26±2.3 21±1.5 14±0.5"),
        "LEGO": _printed("16±1.2 26±2.7 20±1.4 13±0.6"),
        "LMNN": _printed("14±0.6 26±3.0 19±1.0 11±0.2"),
        "Euclidean": _printed("- 25±2.6 18±1.0 12±0.2"),
    },
    50: {
        "OASIS": _printed("12±0.4 21±1.6 16±0.4 10±0.3"),
        "MCML": _printed("* * * *"),
        "LEGO": _printed("9±0.4 18±0.7 13±0.6 8±0.3"),
        "LMNN": _printed("8±0.4 18±1.3 12±0.5 7±0.2"),
        "Euclidean": _printed("- 17±0.9 13±0.4 8±0.3"),
    },
}
"""Percent by classes and method, in the order of ``MEASURES``; "*": more than 5 days.

The available text lacks the mean average precision of Euclidean at 20 and 50 classes.
"""

TABLE_5 = {
    classes: dict(
        zip(("OASIS (Matlab)", "OASIS", "MCML", "LEGO", "LMNN (naive)", "LMNN"), row, strict=True)
    )
    for classes, row in {
        10: _printed("42±15 0.12±.03 1835±210 143±44 337±169 247±209"),
        20: _printed("45±8 0.15±.02 7425±106 533±49 631±40 365±62"),
        50: _printed("25±2 1.6±.04 * 711±28 960±80 2109±67"),
        249: _printed("485±113 1.13±.15 * ** ** **"),
    }.items()
}
"""Minutes of CPU by classes and method; "*": more than 5 days; "**": worse than Euclidean.

"OASIS" and "LMNN" are the paper's Matlab + C and its fast-LMNN, the ones comparable to ours.
"""

SATURATION = "30,000 to 35,000"
"""Steps after which 10 classes no longer improve (Figure 5 and section 5.3.3)."""

SYMMETRY = 0.94
"""How symmetric W becomes, |sym(W)| / |W| (section 6.1)."""
