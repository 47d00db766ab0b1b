"""Judge what is in use by the pictures that were last held back."""

from pathlib import Path

import numpy as np

from lookalike.annotation import WSABIE
from lookalike.collection import learning, naming, rows
from lookalike.collection.database import Database
from lookalike.collection.hearing import Heard, knowledge, vocabulary
from lookalike.collection.records import Figures
from lookalike.collection.serving import Serving
from lookalike.core.errors import InvalidInput

LEARN = "(lookalike learn, or Collection.learn)"


def judge_similarity(path: Path, database: Database, serving: Serving) -> tuple[Figures, Figures]:
    """Judge plain cosine, and what searches use."""
    sides = rows.sides(database, rows.last_model(database, "similarity"))
    if sides is None:
        raise _unlearned(path, "labels, folders or clicks")
    known = knowledge(database, Heard())
    last = np.intersect1d(sides[0], serving.plain.ids)
    held = np.flatnonzero(np.isin(known.ids, last))
    judges = known.relevance.subset(held)
    if not judges.has_alike.any():
        raise _too_few(path)
    X = serving.vectors(known.ids[held])
    return learning.figures(None, X, judges), learning.figures(serving.model, X, judges)


def judge_words(
    path: Path, database: Database, serving: Serving, tagger: WSABIE | None
) -> tuple[Figures, Figures]:
    """Judge the words that most pictures have, and what pictures are tagged with."""
    sides = rows.sides(database, rows.last_model(database, "tags"))
    named = vocabulary(database, Heard())
    if sides is None or named is None:
        raise _unlearned(path, "labels or folders")
    held, learned = (
        np.flatnonzero(np.isin(named.ids, np.intersect1d(side, serving.plain.ids)))
        for side in sides
    )
    if not held.size:
        raise _too_few(path)
    X, judges = serving.vectors(named.ids[held]), named.relevance.subset(held)
    before = named.commonest(learned)
    return naming.figures(before, X, judges), naming.figures(tagger or before, X, judges)


def _unlearned(path: Path, source: str) -> InvalidInput:
    return InvalidInput(
        f"{path} has learned nothing yet, so there is nothing to judge by. Learn from {source} "
        f"first {LEARN}."
    )


def _too_few(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} holds too few of the pictures it was judged by. Learn again {LEARN}."
    )
