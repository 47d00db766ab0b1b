"""How often the publish gate lets shuffled labels pass, and how often real gains.

A similarity is taught as a collection teaches it, with a fifth of the labelled pictures held out
to judge it by, on random parts of each picture set: once with the labels as they are, once with
labels shuffled among the pictures. Shuffled labels may be published once in 50 runs. Of the runs
with real labels those count whose true gain, on pictures that had no part in it, is at least .02
in mean average precision and no loss in precision at 1: nine in ten must be published. LDA learns,
which has no caution of its own; OASIS blends what it learned with its start, and takes eight times
as long. Words are learned of the same parts as a collection learns them, the best of all annotators
it tries, and their true gain is that over ranking words by how common they are; and of small
parts, where few pictures judge.
"""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from oasis import embedded, picture_sets, read_table

from bench import Figure, Options, main
from lookalike.collection import Gate
from lookalike.collection.log.examples import Alike, Named
from lookalike.collection.training.choosing import new_annotators
from lookalike.collection.training.teaching import teach_similarity, teach_words
from lookalike.core.evidence import paired_difference
from lookalike.evaluate import evaluate_annotation, evaluate_similarity
from lookalike.features import Reduction
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.lda import LDA
from lookalike.supervision import Relevance

REAL_GAIN = 0.02
CLASSES, PICTURES = 30, 600
"""The classes, and the pictures of them, of a run; as many pictures judge it afterwards."""
FEW = (5, 60)
"""The same of small parts."""


@dataclass(frozen=True)
class Held:
    """The part of a ranker that teaching needs: the vectors of pictures by their ids."""

    X: NDArray[np.float32]
    ids: NDArray[np.int64]

    @property
    def plain(self) -> "Held":
        """What has the ids of all pictures."""
        return self

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of pictures."""
        return self.X[ids]


def sets(options: Options) -> dict[str, tuple[NDArray[np.float32], NDArray[np.str_]]]:
    """Return vectors and labels of the picture sets."""
    found = {}
    objects = next(
        one
        for one in picture_sets(options.data / "objects", lambda names: {}, random_state=0)
        if one.name == "50"
    )
    rows = np.unique(np.concatenate([np.r_[it.train_rows, it.test_rows] for it in objects.folds]))
    found["objects"] = embedded([objects.files[row] for row in rows]), objects.labels[rows]
    if options.quick:
        return found
    folder = options.data / "groceries"
    table = [row for row in read_table(folder / "labels.csv") if row["split"] in ("train", "test")]
    labels = np.array([row["fine"] for row in table])
    found["groceries"] = embedded([folder / row["file"] for row in table]), labels
    folder = options.data / "clipart"
    table = read_table(folder / "labels.csv")
    labels = np.array([row["file"].split("/")[0] for row in table])
    names, counts = np.unique(labels, return_counts=True)
    used = np.flatnonzero(np.isin(labels, names[counts >= 10]))
    found["clipart"] = embedded([folder / table[row]["file"] for row in used]), labels[used]
    return found


def drawn(
    X: NDArray[np.float32],
    y: NDArray[np.str_],
    seed: int,
    size: tuple[int, int],
    *,
    shuffled: bool,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.str_]]:
    """Return vectors, the rows of a random part and of as many others, and labels of the part."""
    rng, (classes, pictures) = np.random.default_rng(seed), size
    names = rng.permutation(np.unique(y))[:classes]
    rows = rng.permutation(np.flatnonzero(np.isin(y, names)))[: 2 * pictures]
    part, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    reduction = Reduction(dimension=min(256, len(part) - 1)).fit(X[part], parent="benchmark")
    labels = rng.permutation(y[part]) if shuffled else y[part]
    return reduction.apply(X), part, rest, labels


def words_run(
    X: NDArray[np.float32],
    y: NDArray[np.str_],
    seed: int,
    size: tuple[int, int],
    *,
    shuffled: bool,
) -> tuple[bool, bool]:
    """Teach words on a random part; return if they are published, and if others show a gain."""
    reduced, part, rest, labels = drawn(X, y, seed, size, shuffled=shuffled)
    known = Named.of_labels({int(n): [str(word)] for n, word in zip(part, labels, strict=True)})
    new = teach_words(
        new_annotators("auto", seed),
        known,
        Held(reduced, part),  # type: ignore[arg-type]
        None,
        current=None,
        hold_back=0.2,
        settings={"random_state": seed},
        gate=Gate(),
        progress=lambda done, total: None,
    )
    if new.model is None:
        return False, False
    plain = known.commonest(np.arange(len(part)))
    before, after = (
        evaluate_annotation(one, reduced[rest], y[rest]).mean_average_precision
        for one in (plain, new.model)
    )
    return new.trial.published, after - before >= REAL_GAIN


def run(
    X: NDArray[np.float32], y: NDArray[np.str_], seed: int, *, shuffled: bool
) -> tuple[bool, bool]:
    """Teach on a random part; return if it is published, and if others show a real gain."""
    size = CLASSES, PICTURES
    reduced, part, rest, labels = drawn(X, y, seed, size, shuffled=shuffled)
    known = Alike(part, Relevance.of(labels), "labels", len(np.unique(labels)))
    learner = LDA()
    new = teach_similarity(
        learner,
        known,
        Held(reduced, part),  # type: ignore[arg-type]
        None,
        current=Cosine(),
        hold_back=0.2,
        settings={"random_state": seed},
        gate=Gate(),
        progress=lambda done, total: None,
    )
    if new.model is None:
        return False, False
    before, after = (evaluate_similarity(it, reduced[rest], y[rest]) for it in (Cosine(), learner))
    judged, groups = before.judged, Relevance.of(y[rest]).groups
    first = paired_difference(
        before.precision[judged, 0], after.precision[judged, 0], groups[judged]
    )
    gain = after.mean_average_precision - before.mean_average_precision
    return new.trial.published, gain >= REAL_GAIN and not first.is_loss


def measure(options: Options) -> list[Figure]:
    runs = 5 if options.quick else 50
    found = []
    cases = {
        f"{name}{kind}": partial(work, X, y)
        for name, (X, y) in sets(options).items()
        for kind, work in (
            ("", run),
            (", words", partial(words_run, size=(CLASSES, PICTURES))),
            (", words of few pictures", partial(words_run, size=FEW)),
        )
    }
    for what, work in cases.items():
        told = {
            shuffled: [work(seed=seed, shuffled=shuffled) for seed in range(runs)]
            for shuffled in (True, False)
        }
        wrong = sum(published for published, _ in told[True])
        found.append(
            Figure(
                f"{what}: shuffled labels published, of 50",
                50 * wrong / runs,
                "<=",
                1,
                f"{wrong} of {runs} runs",
            )
        )
        real = [published for published, gained in told[False] if gained]
        if real:
            found.append(
                Figure(
                    f"{what}: real gains of {REAL_GAIN} published, of 50",
                    50 * sum(real) / len(real),
                    ">=",
                    45,
                    f"{sum(real)} of {len(real)} runs with such a gain",
                )
            )
        print(*found[-2:], file=sys.stderr, flush=True)
    options.settings |= {"pictures taught": PICTURES, "classes": CLASSES, "runs": runs}
    return found


if __name__ == "__main__":
    main("trust/gate", measure)
