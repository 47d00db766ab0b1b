"""Teach a similarity and words: train on one side, judge by the other, and let the gate decide."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.annotation.base import Annotator
from lookalike.annotation.chances import MAX_OTHERS
from lookalike.collection.log.examples import Alike, Named, Split
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store.models import Figures, Gain, Ids, NewModel, Trial
from lookalike.collection.training import choosing
from lookalike.collection.training.judging import (
    fit_and_judge,
    judge_similarity,
    judge_words,
    paired_gain,
    paired_words_gain,
    similarity_figures,
    word_figures,
)
from lookalike.collection.vectors.queries import spread
from lookalike.core.progress import Progress, part_of
from lookalike.core.seeds import generator
from lookalike.core.stored import parameters
from lookalike.core.vectors import Vectors
from lookalike.similarity.base import Similarity
from lookalike.similarity.sparse import SparseSimilarity

if TYPE_CHECKING:
    from lookalike.evaluate.annotation import AnnotationFigures

_WORDS = (
    "The new annotator ranks words no worse and is now in use.",
    "The new annotator ranks words worse than the one in use, so nothing changed.",
)

_FIRST_WORDS = (
    "The annotator ranks words better than by frequency and is now in use.",
    "The annotator is not clearly better than ranking words by frequency, so nothing changed.",
)


def teach_similarity(
    learner: Similarity,
    examples: Alike,
    ranker: Ranker,
    earlier: tuple[Ids, Ids] | None,
    *,
    current: Similarity,
    hold_back: float,
    settings: Mapping[str, Any],
    gate: Gate,
    progress: Progress,
) -> NewModel:
    """Train the learner on one side and judge it by the other, beside the current similarity.

    Where few pictures judge, it is also cross-validated beside the start. Where what is known
    does not allow that, the trial says why it failed. ``settings`` have the random state.
    """
    examples = examples.for_learner(learner.learns_from)
    rng = generator(settings["random_state"])
    split = examples.split(hold_back, rng, earlier)
    if split.why:
        return NewModel("similarity", Trial.failed(split.why, len(examples.ids), examples.labels))
    X = ranker.vectors(examples.ids)
    if "blocks" in parameters(type(learner)) and learner.get_params()["blocks"] is None:
        learner.set_params(blocks=ranker.space.feature.blocks)
    if isinstance(learner, SparseSimilarity) and learner.neighbours:
        # Only a collection that learns so needs what finds regions.
        from lookalike.features.regions import Regions

        feature = ranker.space.feature
        if isinstance(feature, Regions):
            learner.set_neighbours(feature.word_neighbours(learner.neighbours))
    splits = [split, *examples.more_splits(split, rng, gate.min_judges)]
    judged = fit_and_judge(learner, examples, splits, X, progress)
    over_start = paired_gain(judged, examples.judging, splits)
    before, after = start, _ = judged[0]
    gain, kept = over_start, None
    if current.learned:
        # It has seen the pictures that further splits judge by, so only the first one is fair.
        before = judge_similarity(current, X[split.held], examples.judging.subset(split.held))
        gain = paired_gain([(before, after)], examples.judging, [split])
        kept = paired_gain([(start, before)], examples.judging, [split])
    changes = current.learned or learner.learned
    published, reason, deciding = decide_similarity(gate, gain, over_start, changes=changes)
    retired = not published and kept is not None and kept.mean_average_precision.is_loss
    if retired:
        reason = (
            f"The new similarity {_fault(deciding)}, and by the labels of now the one in use ranks "
            f"worse than no learning: {kept}. So searches go back to no learning."
        )
    trial = Trial(
        before=similarity_figures(before),
        after=similarity_figures(after),
        published=published,
        reason=reason,
        pictures=len(examples.ids),
        labels=examples.labels,
        held_back=len(split.held),
        method=learner.name,
        gain=deciding,
        retired=retired,
    )
    return NewModel(
        kind="similarity",
        trial=trial,
        model=learner,
        settings=settings,
        source=examples.source,
        threshold=examples.threshold,
        held_back=examples.ids[split.held],
        learned_from=examples.ids[split.train],
    )


def teach_words(
    annotators: Mapping[str, Annotator],
    words: Named,
    ranker: Ranker,
    earlier: tuple[Ids, Ids] | None,
    *,
    current: Annotator | None,
    hold_back: float,
    settings: Mapping[str, Any],
    gate: Gate,
    progress: Progress,
) -> NewModel:
    """Train annotators on one side, and judge the best by the other, beside the current one.

    And beside the commonest words, by mean average precision alone; where few pictures judge, the
    best is also cross-validated beside them. Each is tuned and learns its confidence on the side
    held out, and the best is chosen there: the annotator in use had the same advantage. What passes
    the gate is then fitted once more, from both sides with the same settings, and keeps the
    annotator that was judged, to be judged by. How sure it is is learned among all pictures.
    Where what is known does not allow that, the trial says why it failed.
    """
    rng = generator(settings["random_state"])
    split = words.split(hold_back, rng, earlier)
    if split.why:
        return NewModel("words", Trial.failed(split.why, len(words.ids), len(words.words)))
    X = ranker.vectors(words.ids)
    taught = words.relevance.subset(split.train)
    held, judges = X[split.held], words.judging.subset(split.held)
    judged: dict[str, AnnotationFigures] = {}
    untaught = deepcopy(annotators)
    for place, (name, annotator) in enumerate(annotators.items()):
        part = part_of(progress, place, len(annotators))
        annotator.fit(X[split.train], taught, validation=(held, judges), progress=part)
        judged[name] = judge_words(annotator, held, judges)
    tried = {name: word_figures(figures) for name, figures in judged.items()}
    chosen = choosing.best_of(tried)
    before = judge_words(words.commonest(split.train), held, judges)
    more = words.more_splits(split, rng, gate.min_judges)
    turns = [_words_in_turn(deepcopy(untaught[chosen]), words, one, X) for one in more]
    over_commonest, gain = paired_words_gain([(before, judged[chosen]), *turns]), None
    if current is not None:
        # It has seen the pictures that further splits judge by, so only the first one is fair.
        before = judge_words(current.as_judged, held, judges)
        gain = paired_words_gain([(before, judged[chosen])])
    published, reason = decide_words(gate, over_commonest, gain, tried, chosen)
    trial = Trial(
        before=word_figures(before),
        after=tried[chosen],
        published=published,
        reason=reason,
        pictures=len(words.ids),
        labels=len(words.words),
        held_back=len(split.held),
        method=chosen,
        gain=gain or over_commonest,
        tried=tried,
    )
    model = annotators[chosen]
    if published and model.refits:
        model = model.refitted(X[split.train], taught, (held, judges))
    if published:
        others = spread(np.setdiff1d(ranker.plain.ids, words.ids).tolist(), MAX_OTHERS)
        model.learn_chances(X, words.relevance, ranker.vectors(np.array(others, np.int64)))
    return NewModel(
        kind="words",
        trial=trial,
        model=model,
        settings=settings,
        source="labels",
        held_back=words.ids[split.held],
        learned_from=words.ids[split.train],
    )


def _words_in_turn(
    annotator: Annotator, words: Named, split: Split, X: Vectors
) -> tuple[AnnotationFigures, AnnotationFigures]:
    """Judge the commonest words, and what an annotator learns, by a further split."""
    taught, judges = words.relevance.subset(split.train), words.judging.subset(split.held)
    annotator.fit(X[split.train], taught, validation=(X[split.held], judges))
    return (
        judge_words(words.commonest(split.train), X[split.held], judges),
        judge_words(annotator, X[split.held], judges),
    )


def decide_similarity(
    gate: Gate, gain: Gain, over_start: Gain, *, changes: bool
) -> tuple[bool, str, Gain]:
    """Return whether a similarity is published, why in a sentence, and the gain that decided.

    ``changes`` says whether it differs from what it would replace, and is not the start over the
    start. The ``gain`` over the one in use decides, or that over the start where that is in doubt.
    """
    published = changes and gate.passes_similarity(gain, over_start)
    deciding = over_start if gain.is_better and not published else gain
    if not changes:
        return False, "Learning did not improve the ranking, so nothing changed.", deciding
    if published:
        reason = f"The new similarity ranks better and is now in use: {gain}."
    else:
        reason = f"The new similarity {_fault(gain)}, so nothing changed: {deciding}."
    return published, reason, deciding


def _fault(gain: Gain) -> str:
    """Return what keeps a similarity from being used, as a verb phrase."""
    if gain.is_better:
        return "is not clearly better than no learning"
    if gain.mean_average_precision.is_loss:
        return "ranks worse than the one in use"
    if gain.mean_average_precision.mean > 0:
        return "loses too many first matches"
    return "is not clearly better than the one in use"


def decide_words(
    gate: Gate,
    over_commonest: Gain,
    gain: Gain | None,
    tried: Mapping[str, Figures],
    chosen: str,
) -> tuple[bool, str]:
    """Return whether the chosen one of the annotators tried is published, and why in sentences.

    ``gain`` is that over the annotator in use, None where there is none.
    """
    published = gate.passes_words(over_commonest, gain)
    worse = gain is not None and not gain.is_no_worse
    good, bad = _WORDS if worse or (published and gain is not None) else _FIRST_WORDS
    means = {name: figures.mean_average_precision for name, figures in tried.items()}
    own = means.pop(chosen)
    choice = ""
    if means:
        others = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        close = "; less than a standard error apart" if own < max(means.values()) else ""
        choice = f" Chosen: {chosen}, mean average precision {own:.3f} ({others}{close})."
    return published, (good if published else bad) + choice
