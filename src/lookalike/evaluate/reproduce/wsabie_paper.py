"""The figures in Tables 1 to 7 and in section 6.4 of paper 2."""

from lookalike.evaluate.tables import Cell

SETS = ("ImageNet", "Web-data")
MEASURES = ("p@1", "p@10", "p_sib@10", "MAP")

Printed = tuple[float, ...]

TABLE_1: tuple[tuple[str, Cell, Cell], ...] = (
    ("training pictures", 2_518_604, 9_861_293),
    ("test pictures", 839_310, 3_286_450),
    ("validation pictures", 837_612, 3_287_280),
    ("words", 15_952, 109_444),
    ("median siblings per word", 12, 143),
    ("pictures of the most frequent word, %", 0.04, 0.01),
)
"""What is counted, on ImageNet and on Web-data."""

TABLE_2: dict[str, tuple[Printed, Printed]] = {
    "approximate k-NN": ((1.55, 0.41, 1.69, 2.32), (0.30, 0.34, 5.97, 1.52)),
    "One-vs-Rest": ((2.27, 1.02, 3.71, 5.17), (0.52, 0.29, 4.61, 1.45)),
    "PAMIR^IA": ((3.14, 1.26, 4.39, 6.43), (0.32, 0.16, 2.94, 0.83)),
    "WSABIE": ((4.03, 1.48, 5.18, 7.75), (1.03, 0.44, 9.84, 2.27)),
}
"""Percent by algorithm, on ImageNet and on Web-data, in the order of ``MEASURES``."""

TABLE_3 = (
    "santa: *santa claus*, papa noel, pere noel, *santa clause*, joyeux noel, tomte",
    "dolphin: delphin, dauphin, *whale*, delfin, delfini, baleine, *blue whale*, walvis",
)
"""Two of its eleven words."""

TABLE_4: dict[int, Printed] = {
    100: (3.48, 1.39, 5.19, 7.12),
    200: (3.91, 1.47, 5.23, 7.66),
    300: (4.03, 1.48, 5.19, 7.75),
    500: (3.95, 1.44, 5.07, 7.58),
}
"""Percent by D, on ImageNet."""

TABLE_5: dict[tuple[str, str], tuple[Printed, Printed]] = {
    ("embedding", "auc"): ((1.65, 0.91), (0.19, 0.13)),
    ("embedding", "warp"): ((4.03, 1.48), (1.03, 0.44)),
    ("linear", "auc"): ((3.14, 1.26), (0.32, 0.16)),
    ("linear", "warp"): ((4.25, 1.48), (0.94, 0.39)),
}
"""p@1 and p@10 in percent by model and loss, on ImageNet and on Web-data."""

TABLE_6: dict[str, tuple[str, str, tuple[str, str], tuple[str, str]]] = {
    "k-NN": ("O(n·d_ø)", "O(n·d_ø)", ("255 d", "6.9 GB"), ("3913 d", "27 GB")),
    "approximate k-NN": (
        "O((p + n/2^p)·d_ø)",
        "O(n·d)",
        ("variable", "7 GB"),
        ("variable", "27 GB"),
    ),
    "One-vs-Rest": ("O(Y·d_ø)", "O(Y·d)", ("17 h", "1.2 GB"), ("19 d", "8.2 GB")),
    "PAMIR^IA": ("O(Y·d_ø)", "O(Y·d)", ("17 h", "1.2 GB"), ("19 d", "8.2 GB")),
    "WSABIE": ("O((Y + d_ø)·D)", "O((Y + d)·D)", ("5.6 h", "12 MB"), ("6.5 d", "82 MB")),
}
"""Time and space complexity, and both as measured on ImageNet and on Web-data."""

TABLE_7: dict[tuple[int, ...], Printed] = {
    (300,): (4.03, 1.48, 5.18, 7.75),
    (100, 200): (5.74, 1.97, 6.29, 10.17),
    (100, 300): (5.38, 1.99, 6.27, 10.36),
    (100, 200, 300): (6.14, 2.09, 6.42, 11.23),
}
"""Percent by the D of the models in an ensemble, on ImageNet."""

LEAVES: dict[int, float] = {2_500: 0.89, 20_000: 1.55, 40_000: 1.94}
"""p@1 in percent of approximate k-NN by the pictures in a leaf, on ImageNet (section 6.4)."""

EXACT = (4.5, 0.3)
"""p@1 in percent of exact k-NN, on ImageNet and on Web-data (section 6.4)."""

MISSED: dict[tuple[str, int], float] = {
    ("first", 100): 4.5,
    ("first", 50): 3.4,
    ("first", 25): 2.8,
    ("each", 25): 2.0,
    ("each", 10): 1.4,
}
"""p@1 in percent of k-NN on ImageNet that catches the first, or each, neighbour so often in %."""
