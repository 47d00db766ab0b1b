"""The figures in Tables II, III and IV of paper 4."""

TABLE_2: dict[tuple[str, str, bool], tuple[float, float, float, float]] = {
    ("Oxford5K", "S", False): (0.637, 0.713, 0.003, 11.9),
    ("Oxford5K", "S", True): (0.837, 0.867, 0.005, 3.6),
    ("Oxford5K", "R", False): (0.680, 0.786, 0.006, 15.6),
    ("Oxford5K", "R", True): (0.846, 0.888, 0.006, 5.0),
    ("Paris6K", "S", False): (0.657, 0.790, 0.013, 20.2),
    ("Paris6K", "S", True): (0.783, 0.882, 0.019, 12.6),
    ("Paris6K", "R", False): (0.693, 0.823, 0.010, 18.8),
    ("Paris6K", "R", True): (0.816, 0.908, 0.006, 11.2),
}
"""mAP of tf-idf, of the learned similarity and its deviation, and the gain in per cent; by set,
descriptor (SIFT or RootSIFT), and whether hits were re-ranked and queries expanded."""

TABLE_3: tuple[tuple[str, str, str, bool, float | None, float | None], ...] = (
    ("Philbin et al. (2008)", "S", "D", True, 0.825, None),
    ("Qin et al. (2011)", "S", "D", False, 0.814, 0.803),
    ("paper 4", "S", "D", False, 0.867, 0.882),
    ("Arandjelović and Zisserman (2012)", "R", "D", False, 0.881, 0.850),
    ("paper 4", "R", "D", False, 0.888, 0.908),
)
"""Approach, descriptor, vocabulary (of the same pictures), soft assignment, and mAP on Oxford5K and
Paris6K, with re-ranking and expansion. Rows with another set's vocabulary are left out."""

TABLE_4: dict[int, tuple[int, float]] = {
    0: (500_000, 2.2),
    1: (934_000, 4.5),
    2: (1_308_000, 7.0),
    3: (1_687_000, 9.1),
}
"""Unknowns and hours of learning by k, on Oxford5K."""
