"""Compare what a ranker has learned with the ranker that searches take where they name none."""

import time
from dataclasses import replace

import numpy as np

from lookalike.collection.log.examples import Alike, Split
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import pictures
from lookalike.collection.store.database import Database
from lookalike.collection.store.models import NewModel
from lookalike.collection.training.judging import judge_similarity, paired_gain
from lookalike.images import decode
from lookalike.similarity.base import Similarity

TIMED = 4
"""Pictures whose description is timed, by their thumbnails: what it costs, roughly."""


def beside_default(
    new: NewModel, ranker: Ranker, default: Ranker, examples: Alike, database: Database
) -> NewModel:
    """Return a similarity with a reason that says how it ranks beside the default ranker.

    Both rank the pictures held out from the new one; the default one may have learned from some of
    them, so it is not judged too harshly.
    """
    part = examples.among(np.intersect1d(new.held_back, default.plain.ids))
    if not isinstance(new.model, Similarity) or not part.judging.has_alike.any():
        return new
    after, before = (
        judge_similarity(similarity, one.vectors(part.ids), part.judging)
        for similarity, one in ((new.model, ranker), (default.similarity, default))
    )
    every = Split(np.zeros(0, np.intp), np.arange(len(part.ids)))
    gain = paired_gain([(before, after)], part.judging, [every])
    verb, advice = "is not clearly better", ""
    if gain.is_certain:
        verb = "ranks them better"
        advice = f" To use it for all searches: lookalike rankers --default {ranker.name}."
    times = [_description_ms(one, part, database) for one in (ranker, default)]
    cost = (
        f" Describing a picture takes {times[0]:.0f} ms of computing, by {default.name} "
        f"{times[1]:.0f} ms."
        if all(times)
        else ""
    )
    reason = (
        f"For searches by {ranker.name}: {new.trial.reason} Other searches stay with "
        f"{default.name}; beside it {ranker.name} {verb}: {gain}.{cost}{advice}"
    )
    return replace(new, trial=replace(new.trial, reason=reason))


def _description_ms(ranker: Ranker, examples: Alike, database: Database) -> float:
    """Return the computing time of describing a picture, 0 where no picture has a thumbnail."""
    thumbnails = pictures.thumbnails(database, examples.ids[:TIMED].tolist())
    images = [decode(one).image for one in thumbnails.values()]
    if not images:
        return 0.0
    feature = ranker.space.feature
    feature.record(images[0])
    start = time.process_time()
    for image in images:
        feature.record(image)
    return 1000 * (time.process_time() - start) / len(images)
