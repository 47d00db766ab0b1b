"""How well OMKS ranks with the embedding, and with the nine classic views of the paper.

Settings were chosen by cross-validation inside training parts; test parts only measure them.
"""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oasis import PEER, RAW, REDUCED, embedded, read_table

from bench import Figure, Options, main
from lookalike.core.settings import cache_folder
from lookalike.core.vectors import unit_rows
from lookalike.evaluate import Fold, Judgement, evaluate_similarity
from lookalike.evaluate.reproduce.omks_tables import ORDER, WHOLE, as_in_paper_1, run_methods
from lookalike.evaluate.reproduce.omks_views import NamedViews, ViewSet, described
from lookalike.evaluate.reproduce.picture_sets import PictureSet, picture_sets
from lookalike.features import Reduction
from lookalike.similarity import KernelSimilarity, MultiKernelSimilarity
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.lda import LDA

OURS, ONE = "OMKS, default settings", "OKS, default settings"
TEN, THEOREM, TEN_COSINE = (
    "OMKS, ten views: the embedding and nine classic ones, β chosen",
    "OMKS, ten views, β of Theorem 2",
    "cosine, ten views",
)
CACHE = cache_folder() / "benchmarks"
BUDGETS = (512, 256, 128)
GAIN = 1.25
"""OMKS over OASIS-Best in mean average precision, with the nine classic views."""


def judged(
    options: Options,
    vectors: NDArray[np.float32],
    labels: NDArray[np.str_],
    fold: Fold,
    views: NamedViews | None = None,
) -> dict[str, Judgement]:
    """Train each method on the training rows and rank the test rows among themselves.

    With ``views``, the embedding is learned together with them, too, each as ``Views`` joins them.
    """
    train, test = fold.train_rows, fold.test_rows
    reduction = Reduction(dimension=min(256, len(train) - 1))
    reduced = reduction.fit(vectors[train], parent="benchmark").apply(vectors)
    methods: dict[str, tuple[Any, NDArray[np.float32]]] = {
        OURS: (MultiKernelSimilarity(random_state=0), reduced),
        RAW: (Cosine(), vectors),
        REDUCED: (Cosine(), reduced),
    }
    if not options.quick:
        methods |= {
            PEER: (LDA(), reduced),
            ONE: (KernelSimilarity(random_state=0), reduced),
        }
    if views is not None:
        every = {"embedding": unit_rows(reduced) * np.float32(np.sqrt(len(views))), **views}
        joined = np.hstack(list(every.values()))
        blocks = {name: part.shape[1] for name, part in every.items()}
        methods[TEN] = (MultiKernelSimilarity(blocks=blocks, random_state=0), joined)
        methods[TEN_COSINE] = (Cosine(), joined)
        if not options.quick:
            theorem = MultiKernelSimilarity(blocks=blocks, discount=None, random_state=0)
            methods[THEOREM] = (theorem, joined)
    return {
        name: evaluate_similarity(model.fit(X[train], labels[train]), X[test], labels[test])
        for name, (model, X) in methods.items()
    }


def figures(
    what: str, folds: list[dict[str, Judgement]], target: float | None, first: float | None
) -> list[Figure]:
    """Return mean average precision and precision at 1 of every method."""
    found = []
    for name in folds[0]:
        for measure, goal in (("mAP", target), ("P@1", first)):
            values = [
                fold[name].mean_average_precision
                if measure == "mAP"
                else fold[name].precision_at(1)
                for fold in folds
            ]
            found.append(
                Figure(
                    f"{what}, {measure}: {name}",
                    float(np.mean(values)),
                    ">=",
                    goal if name == (TEN if TEN in folds[0] else OURS) else None,
                    f"{len(folds)} of 5 folds" if "objects" in what else "",
                    float(np.std(values, ddof=1)) if len(folds) > 1 else None,
                )
            )
    return found


def below_embedding(what: str, folds: list[dict[str, Judgement]]) -> Figure:
    """Return what ten views lose to the embedding alone, by the same learner, at the worst."""
    lost = max(one[OURS].mean_average_precision - one[TEN].mean_average_precision for one in folds)
    return Figure(f"{what}, mAP lost by nine further views", lost, "<=", 0.003, "the worst fold")


def objects(options: Options, pictures: PictureSet) -> list[Figure]:
    folds = list(pictures.folds[:1] if options.quick else pictures.folds)
    rows = np.unique(np.concatenate([np.r_[one.train_rows, one.test_rows] for one in folds]))
    files = [pictures.files[row] for row in rows]
    vectors, views = embedded(files), described(files, CACHE, random_state=0)
    judgements = [
        judged(
            options,
            vectors,
            pictures.labels[rows],
            Fold(np.searchsorted(rows, one.train_rows), np.searchsorted(rows, one.test_rows)),
            views,
        )
        for one in folds
    ]
    what = "objects-50"
    return [*figures(what, judgements, 0.92, 0.945), below_embedding(what, judgements)]


def groceries(options: Options) -> list[Figure]:
    folder = options.data / "groceries"
    table = [row for row in read_table(folder / "labels.csv") if row["split"] in ("train", "test")]
    labels = np.array([row["fine"] for row in table])
    parts = np.array([row["split"] for row in table])
    files = [folder / row["file"] for row in table]
    vectors = embedded(files)
    views = None if options.quick else described(files, CACHE, random_state=0)
    whole = Fold(np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test"))
    seen = judged(options, vectors, labels, whole, views)
    halves = []
    for half in (0, 1):
        taught = np.isin(labels, np.unique(labels)[half::2])
        train, test = (parts == "train") & taught, (parts == "test") & ~taught
        fold = Fold(np.flatnonzero(train), np.flatnonzero(test))
        halves.append(judged(options, vectors, labels, fold, views))
    unseen = float(np.mean([one[RAW].precision_at(1) for one in halves]))
    return [
        *figures("groceries", [seen], 0.60, 0.955),
        *figures("groceries, unseen classes", halves, 0.60, unseen - 0.01),
        *([] if options.quick else [below_embedding("groceries", [seen])]),
        *([] if options.quick else [below_embedding("groceries, unseen classes", halves)]),
        *([] if options.quick else budgets(vectors, labels, whole)),
    ]


def budgets(vectors: NDArray[np.float32], labels: NDArray[np.str_], fold: Fold) -> list[Figure]:
    """Return what fewer landmarks lose, against every training picture and all its numbers."""
    train, test = fold.train_rows, fold.test_rows
    reduction = Reduction(dimension=256).fit(vectors[train], parent="benchmark")
    reduced = reduction.apply(vectors)

    def precision(**settings: int) -> float:
        model = MultiKernelSimilarity(random_state=0, **settings)
        model.fit(reduced[train], labels[train])
        found = evaluate_similarity(model, reduced[test], labels[test], cutoffs=())
        return found.mean_average_precision

    exact = precision(landmarks=len(train), dimension=2 * len(train))
    found = [Figure("groceries, mAP: exact, every picture a landmark", exact)]
    default = MultiKernelSimilarity().landmarks
    for count in (default, *BUDGETS):
        lost = exact - precision(landmarks=count)
        against = f"exact, {len(train):,} landmarks; at most 512 numbers stored"
        found.append(
            Figure(f"groceries, mAP lost by {count:,} landmarks", lost, "<=", None, against)
        )
    return found


def classic(
    options: Options, pictures: PictureSet, files: list[Path], views: NamedViews
) -> list[Figure]:
    """Return the mean average precision of the paper's methods on its nine views."""
    folds = pictures.folds[: 1 if options.quick else None]
    splits = as_in_paper_1(pictures.labels, folds, random_state=0)
    data = ViewSet.of(pictures, files, views)
    methods = (*ORDER, "OMKS-U", "OMKS-W")
    results = run_methods(data, splits, methods=methods, ratio=WHOLE, random_state=0)
    what, against = f"classic views, objects-{pictures.name}", f"{len(folds)} folds"
    done = {name: found for name, found in results.items() if found is not None}
    spreads = {name: found.mean_average_precision for name, found in done.items()}
    options.settings[f"OMKS on objects-{pictures.name}"] = done["OMKS"].each[0].chosen
    found = []
    for name, one in spreads.items():
        each = " ".join(f"{fold.mean_average_precision:.3f}" for fold in done[name].judgements)
        told = f"folds: {each}"
        found.append(Figure(f"{what}, mAP: {name}", one.mean, ">=", None, told, one.deviation))
    for better, worse in pairwise(ORDER):
        gain = spreads[better].mean - spreads[worse].mean
        found.append(Figure(f"{what}, mAP of {better} above {worse}", gain, ">=", 0.0, against))
    ratio = spreads["OMKS"].mean / spreads["OASIS-Best"].mean
    found.append(Figure(f"{what}, mAP of OMKS over OASIS-Best", ratio, ">=", GAIN, against))
    return found


def measure(options: Options) -> list[Figure]:
    sets = {
        one.name: one
        for one in picture_sets(options.data / "objects", lambda names: {}, random_state=0)
    }
    options.settings["vectors"] = "EfficientNet-Lite0 reduced to 256; nine classic views of 50"
    found = [*objects(options, sets["50"]), *groceries(options)]
    files = sorted({file for one in sets.values() for file in one.files})
    views = described(files, CACHE, random_state=0)
    for name in ("10",) if options.quick else ("10", "all65", "50"):
        found += classic(options, sets[name], files, views)
    return found


if __name__ == "__main__":
    main("papers/omks", measure)
