"""The figures in Tables 1 to 3 of paper 5 that are for pictures of Caltech-256."""

from lookalike.evaluate.spread import Spread

FOLDS = 5
MEASURES = ("mAP", "P@1", "P@10", "P@50")


def _spreads(names: tuple[str, ...], text: str) -> dict[str, Spread]:
    cells = [word.split("±") for word in text.split()]
    return {
        name: Spread(float(mean), float(deviation), FOLDS)
        for name, (mean, deviation) in zip(names, cells, strict=True)
    }


METHODS = (
    "Eucl.-Best",
    "RCA-Best",
    "LMNN-Best",
    "OASIS-Best",
    "KRCA-Best",
    "KITML-Best",
    "KITML-Avg",
    "Eucl.-Con",
    "RCA-Con",
    "LMNN-Con",
    "OASIS-Con",
    "KRCA-Con",
    "KITML-Con",
    "OKS-Best",
    "OKS-Avg",
    "OMKS-U",
    "OMKS-W",
    "OMKS",
)
"""The methods of section 6.4, in the order of Table 1."""

TABLE_1 = {
    10: _spreads(
        METHODS,
        "22.20±.68 22.03±.85 22.81±.40 23.65±.61 24.51±.52 25.13±.47 25.01±.96 20.52±.93 21.37±.88 "
        "22.65±1.03 22.49±.88 24.1±1.53 24.68±1.64 26.53±.88 26.01±1.60 25.2±.88 25.59±.84 "
        "32.53±.35",
    ),
    20: _spreads(
        METHODS,
        "16.68±.17 16.56±.11 16.39±.85 17.77±.62 18.55±.38 17.74±.79 22.91±1.45 15.62±.38 "
        "17.27±.46 17.09±.48 16.59±.55 19.71±.55 18.91±.96 19.72±.99 23.35±.41 22.4±.56 22.55±.56 "
        "26.90±.89",
    ),
    50: _spreads(
        METHODS,
        "9.82±.28 9.95±.31 10.21±.29 9.97±.23 11.14±.16 9.93±.30 12.98±.40 10.13±.32 10.61±.29 "
        "11.14±.34 10.23±.31 12.26±.21 10.44±.34 11.92±.58 14.33±.49 13.82±.35 13.89±.35 15.92±.45",
    ),
}
"""Mean average precision in percent by classes and method."""

FULL_RANK = {10: 27.54, 20: 19.89}
"""Mean average precision in percent of KITMLFR-Best by classes (section 6.5, text)."""

TABLE_2 = {
    10: {"KITMLFR-Best": 63.54, "KITML-Best": 2.34, "OKS-Best": 0.09},
    20: {"KITMLFR-Best": 888.80, "KITML-Best": 15.16, "OKS-Best": 0.43},
}
"""Seconds of training by classes and method."""

TABLE_3 = {
    10: {
        "OMKS": _spreads(MEASURES, "40±1.7 59±1.8 49±2.5 27±1.3"),
        "OKS-Best": _spreads(MEASURES, "35±1.3 49±3.3 41±1.2 25±1.0"),
        "OASIS-Best": _spreads(MEASURES, "24±1.1 35±3.4 29±1.4 20±0.5"),
        "OASIS-Ori": _spreads(MEASURES, "31±1.1 45±2.1 38±1.8 23±0.3"),
    },
    20: {
        "OMKS": _spreads(MEASURES, "31±0.6 49±2.1 39±0.8 22±0.3"),
        "OKS-Best": _spreads(MEASURES, "25±0.7 39±0.9 31±1.0 18±0.6"),
        "OASIS-Best": _spreads(MEASURES, "20±0.5 29±1.1 24±0.9 16±0.4"),
        "OASIS-Ori": _spreads(MEASURES, "19±0.7 28±2.5 23±1.1 15±0.7"),
    },
    50: {
        "OMKS": _spreads(MEASURES, "20±0.5 36±1.5 27±0.7 15±0.2"),
        "OKS-Best": _spreads(MEASURES, "15±0.6 26±1.5 20±0.9 12±0.3"),
        "OASIS-Best": _spreads(MEASURES, "10±0.3 16±1.5 13±0.5 9±0.1"),
        "OASIS-Ori": _spreads(MEASURES, "12±0.4 20±0.6 16±0.5 10±0.3"),
    },
}
"""Percent by classes and method, with the settings of paper 1."""
