"""Judge similarities and annotators by pictures that were held out when they learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.base import Annotator
from lookalike.collection.log import examples
from lookalike.collection.log.examples import Alike, Commonest, Split
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.store.models import Figures, Gain
from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.evidence import paired_difference
from lookalike.core.progress import Progress, part_of
from lookalike.core.ranking import Judgement, judge_in_blocks
from lookalike.core.vectors import Vectors, dense
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine
from lookalike.supervision import Relevance

if TYPE_CHECKING:
    from lookalike.evaluate.annotation import AnnotationFigures

LEARN = "(lookalike learn, or Collection.learn)"


def fit_and_judge(
    learner: Similarity,
    alike_pictures: Alike,
    splits: Sequence[Split],
    X: Vectors,
    progress: Progress,
) -> list[tuple[Judgement, Judgement]]:
    """Fit a learner on the first split, and judge the start and what it learns by each split.

    For every further split a copy of the learner is fitted as the first one chose, and let go.
    Where the first one learned nothing, no other is fitted.
    """
    untaught = deepcopy(learner)
    judged = list[tuple[Judgement, Judgement]]()
    for place, split in enumerate(splits):
        taught = alike_pictures.relevance.subset(split.train)
        judges = alike_pictures.judging.subset(split.held)
        part = part_of(progress, place, len(splits))
        if not place:
            model = learner.fit(X[split.train], taught, progress=part)
        elif learner.learned:
            model = deepcopy(untaught).fit_as(learner, X[split.train], taught, progress=part)
        else:
            break
        held = X[split.held]
        judged.append(
            (judge_similarity(Cosine(), held, judges), judge_similarity(model, held, judges))
        )
    return judged


def judge_similarity(similarity: Similarity, X: Vectors, relevance: Relevance) -> Judgement:
    """Rank each picture's company by a similarity, and judge the order."""
    items: Any = similarity.item_vectors(X)

    def scores(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        products = (items @ similarity.query_vectors(X[rows]).T).T
        return np.ascontiguousarray(dense(products), dtype=np.float32)

    return judge_in_blocks(scores, relevance.rows, X.shape[0], cutoffs=(1, 10))


def paired_gain(
    judged: Sequence[tuple[Judgement, Judgement]], relevance: Relevance, splits: Sequence[Split]
) -> Gain:
    """Compare how two similarities rank the pictures held out, query by query over all splits."""
    before, after = (Judgement.joined(parts) for parts in zip(*judged, strict=True))
    rows = np.concatenate([split.held for split in splits[: len(judged)]])[before.judged]
    average, first = (
        paired_difference(one[before.judged], two[before.judged], relevance.groups[rows])
        for one, two in (
            (before.average_precision, after.average_precision),
            (before.precision[:, 0], after.precision[:, 0]),
        )
    )
    return Gain(average, first, len(rows))


def similarity_figures(judged: Judgement) -> Figures:
    """Return in short how a similarity ranks."""
    return Figures(
        judged.mean_average_precision,
        judged.precision_at(1),
        judged.precision_at(10),
        int(judged.judged.sum()),
    )


def judge_words(
    model: Annotator | Commonest, X: Vectors, relevance: Relevance
) -> AnnotationFigures:
    """Let a model rank the words it knows for pictures, and judge the order by their words."""
    # It draws figures too, and takes long to be imported.
    from lookalike.evaluate import evaluate_annotation

    return evaluate_annotation(model, X, relevance)


def word_figures(judged: AnnotationFigures) -> Figures:
    """Return in short how an annotator ranks words."""
    return Figures(
        judged.mean_average_precision, judged.precision[1], judged.precision[10], judged.pictures
    )


def paired_words_gain(judged: Iterable[tuple[AnnotationFigures, AnnotationFigures]]) -> Gain:
    """Compare how two annotators rank words, picture by picture over all splits.

    No picture is judged by another; but splits learn from much the same pictures, so the variance
    is taken twice here, too.
    """
    before, after = (
        np.concatenate([one.each for one in side]) for side in zip(*judged, strict=True)
    )
    alone = sp.identity(len(after), format="csr")
    average, first = (paired_difference(before[:, n], after[:, n], alone) for n in (0, 1))
    return Gain(average, first, len(after))


def evaluate_similarity(path: Path, database: Database, ranker: Ranker) -> tuple[Figures, Figures]:
    """Judge cosine, and what searches use, by the pictures that were last held out."""
    sides = models.sides(database, models.last_model(database, "similarity", ranker.id))
    if sides is None:
        raise _unlearned(path, "labels, folders or clicks")
    alike_pictures = examples.alike(database)
    held = np.flatnonzero(np.isin(alike_pictures.ids, np.intersect1d(sides[0], ranker.plain.ids)))
    judges = alike_pictures.judging.subset(held)
    if not judges.has_alike.any():
        raise _too_few(path)
    X = ranker.vectors(alike_pictures.ids[held])
    before, after = (
        similarity_figures(judge_similarity(it, X, judges)) for it in (Cosine(), ranker.similarity)
    )
    return before, after


def evaluate_words(
    path: Path, database: Database, ranker: Ranker, annotator: Annotator | None
) -> tuple[Figures, Figures]:
    """Judge the commonest words, and those in use, by the pictures that were last held out."""
    sides = models.sides(database, models.last_model(database, "words", ranker.id))
    words = examples.named(database)
    if sides is None or words is None:
        raise _unlearned(path, "labels or folders")
    held, learned = (
        np.flatnonzero(np.isin(words.ids, np.intersect1d(side, ranker.plain.ids))) for side in sides
    )
    if not held.size:
        raise _too_few(path)
    X, judges = ranker.vectors(words.ids[held]), words.judging.subset(held)
    before = words.commonest(learned)
    after = before if annotator is None else annotator.as_judged
    return word_figures(judge_words(before, X, judges)), word_figures(judge_words(after, X, judges))


def _unlearned(path: Path, source: str) -> InvalidInput:
    return InvalidInput(
        f"{path} has no trained model to evaluate. Learn from {source} first {LEARN}."
    )


def _too_few(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} has too few of its held-out pictures left. Learn again {LEARN}.")
