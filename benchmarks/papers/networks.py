"""How well pictures rank each other by each network's vectors, plain and learned, and its cost.

On objects every picture ranks all others by cosine; on groceries the test part ranks itself.
Learned is OASIS with its default settings on fold 0 of objects, whose test part ranks itself. Times
are CPU time of one thread, on pictures that are decoded already.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oasis import embedded, read_table

from bench import Figure, Options, main
from lookalike.core.errors import MissingPart
from lookalike.evaluate import Fold, evaluate_similarity
from lookalike.evaluate.reproduce.picture_sets import picture_sets
from lookalike.features import Embedding, Reduction
from lookalike.images import decode, read_bytes
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.oasis import OASIS

TIMED = 60


def sets(options: Options) -> dict[str, tuple[list[Path], NDArray[np.str_]]]:
    files = sorted((options.data / "objects" / "images").glob("*/*"))
    found = {"objects": (files, np.array([file.parent.name for file in files]))}
    if not options.quick:
        folder = options.data / "groceries"
        rows = [row for row in read_table(folder / "labels.csv") if row["split"] == "test"]
        labels = np.array([row["fine"] for row in rows])
        found["groceries"] = ([folder / row["file"] for row in rows], labels)
    return found


def networks(options: Options) -> dict[str, Embedding]:
    found = {"lite0": Embedding()}
    more = {} if options.quick else {"lite2": None, "lite2 at 224": 224, "v2b0": None}
    for name, side in more.items():
        try:
            found[name] = Embedding(name.partition(" ")[0], side=side)
        except MissingPart as error:
            options.settings[name] = str(error)
    return found


def learned(
    name: str, vectors: NDArray[np.float32], fold: Fold, labels: NDArray[np.str_]
) -> list[Figure]:
    """Return what the test part of a fold comes to by cosine and with learning on top."""
    train, test = fold.train_rows, fold.test_rows
    reduction = Reduction(dimension=256).fit(vectors[train], parent="benchmark")
    figures = []
    for what, method, X in (
        ("cosine", Cosine(), vectors),
        ("OASIS", OASIS(random_state=0), reduction.apply(vectors)),
    ):
        run = evaluate_similarity(method.fit(X[train], labels[train]), X[test], labels[test])
        for kind, value in (("mAP", run.mean_average_precision), ("P@1", run.precision_at(1))):
            figures.append(Figure(f"objects-50, fold 0, {what}, {kind}: {name}", value))
    return figures


def milliseconds(files: list[Path], models: dict[str, Embedding]) -> dict[str, list[float]]:
    """Return the CPU time of each picture by each model, in turn."""
    images = [decode(read_bytes(file), side=520).image for file in files[:: len(files) // TIMED]]
    times: dict[str, list[float]] = {name: [] for name in models}
    for number, image in enumerate(images):
        for name, model in models.items():
            begin = time.thread_time()
            model.describe([image])
            if number:
                times[name].append(1000 * (time.thread_time() - begin))
    return times


def measure(options: Options) -> list[Figure]:
    models, pictures = networks(options), sets(options)
    fifty = next(
        one
        for one in picture_sets(options.data / "objects", lambda names: {}, random_state=0)
        if one.name == "50"
    )
    place = {file: row for row, file in enumerate(pictures["objects"][0])}
    rows = [place[file] for file in fifty.files]
    figures, first = [], {}
    for name, model in models.items():
        for called, (files, labels) in pictures.items():
            if name == "lite2 at 224" and called != "objects":
                continue
            vectors = embedded(files, model)
            if called == "objects":
                figures += learned(name, vectors[rows], fifty.folds[0], fifty.labels)
            run = evaluate_similarity(Cosine(), vectors, labels)
            for kind, value in (
                ("mAP", run.mean_average_precision),
                ("P@1", run.precision_at(1)),
            ):
                base = first.setdefault((called, kind), value)
                against = "" if name == "lite0" else f"{value - base:+.3f} over lite0"
                figures.append(Figure(f"{called}, cosine, {kind}: {name}", value, against=against))
    times = milliseconds(pictures["objects"][0], models)
    base = float(np.median(times["lite0"]))
    for name, each in times.items():
        cost = float(np.median(each))
        figures.append(
            Figure(f"CPU ms a picture: {name}", cost, "<=", None, f"{cost / base:.2f} times lite0")
        )
    return figures


if __name__ == "__main__":
    main("papers/networks", measure)
