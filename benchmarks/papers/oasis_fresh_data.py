"""The default OASIS on pictures not used in designing how it chooses its blend.

The rule of decision 1 was designed with figures of objects (folds 0 to 2) and groceries. Here it is
tested on clipart, the validation pictures of groceries, and folds 3 and 4 of objects. The protocol
was fixed before the first run, and nothing is chosen by it.
"""

import numpy as np
from oasis import (  # the script beside this one
    OURS,
    REDUCED,
    Figure,
    Fold,
    Judgement,
    Options,
    embedded,
    figures,
    judged,
    lost,
    main,
    picture_sets,
    read_table,
)

MIN_IN_CLASS = 10
TAUGHT_SHARE = 0.6


def clipart(options: Options) -> dict[str, list[dict[str, Judgement]]]:
    """Train on three random parts, and on each half of the classes."""
    folder = options.data / "clipart"
    table = read_table(folder / "labels.csv")
    labels = np.array([row["file"].split("/")[0] for row in table])
    names, counts = np.unique(labels, return_counts=True)
    used = np.flatnonzero(np.isin(labels, names[counts >= MIN_IN_CLASS]))
    if options.quick:
        used = used[::2]
    vectors = embedded([folder / table[row]["file"] for row in used])
    labels = labels[used]
    parts = []
    for seed in range(1 if options.quick else 3):
        taught = np.random.default_rng(seed).random(len(labels)) < TAUGHT_SHARE
        parts.append(Fold(np.flatnonzero(taught), np.flatnonzero(~taught)))
    halves = []
    for half in (0, 1):
        taught = np.isin(labels, np.unique(labels)[half::2])
        halves.append(Fold(np.flatnonzero(taught), np.flatnonzero(~taught)))
    return {
        "clipart": [judged(options, vectors, labels, fold) for fold in parts],
        "clipart, unseen classes": [judged(options, vectors, labels, fold) for fold in halves],
    }


def groceries_validation(options: Options) -> list[dict[str, Judgement]]:
    folder = options.data / "groceries"
    table = [row for row in read_table(folder / "labels.csv") if row["split"] in ("train", "val")]
    labels = np.array([row["fine"] for row in table])
    learned = np.array([row["split"] == "train" for row in table])
    vectors = embedded([folder / row["file"] for row in table])
    return [
        judged(options, vectors, labels, Fold(np.flatnonzero(learned), np.flatnonzero(~learned)))
    ]


def last_folds(options: Options) -> list[dict[str, Judgement]]:
    sets = picture_sets(options.data / "objects", lambda names: {}, random_state=0)
    pictures = next(one for one in sets if one.name == "50")
    vectors = embedded(list(pictures.files))
    return [judged(options, vectors, pictures.labels, fold) for fold in pictures.folds[3:5]]


def measure(options: Options) -> list[Figure]:
    found = clipart(options)
    if not options.quick:
        found["groceries, validation"] = groceries_validation(options)
        found["objects-50, folds 3 and 4"] = last_folds(options)
    shown = []
    for what, folds in found.items():
        target = 0.32 if what == "clipart" and not options.quick else None
        shown += figures(what, folds, target, None)
        if "unseen" in what:
            shown += lost(what, folds, REDUCED)
            continue
        gains = [
            one[OURS].mean_average_precision - one[REDUCED].mean_average_precision for one in folds
        ]
        shown.append(
            Figure(f"{what}: least mAP gained over no learning", min(gains), ">=", 0.0, REDUCED)
        )
    return shown


if __name__ == "__main__":
    main("papers/oasis_fresh_data", measure)
