"""Fit the reduction, and what was learned in it, anew when a collection has grown enough."""

import json
import logging

from lookalike.collection import learning, rows
from lookalike.collection.database import Database
from lookalike.collection.folder import Folder
from lookalike.collection.hearing import Heard, knowledge
from lookalike.collection.learning import Lesson
from lookalike.collection.records import Learned
from lookalike.collection.serving import Serving, save_model
from lookalike.collection.vectors import (
    Space,
    fit_reduction,
    load_index,
    reduction_is_due,
    save_index,
)
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.features import Feature

_log = logging.getLogger(__name__)


def grow(
    folder: Folder, database: Database, feature: Feature, progress: Progress
) -> tuple[Learned | None, str]:
    """Fit what is due beside what is in use, then change over.

    Returns what learning again came to, None where it did not happen, and why searches do without
    what was learned before, empty where they do not.
    """
    state = database.state()
    pictures = int(database.rows("SELECT count(*) FROM pictures")[0][0])
    if not reduction_is_due(feature, pictures, state.get("reduced_at")):
        return None, ""
    space = Space(feature, fit_reduction(feature, database))
    fingerprint = space.fingerprint
    try:
        space.save(folder.reduction(fingerprint))
    except OSError as error:
        raise folder.not_written(error) from error
    plain = load_index(space, database, folder.cache(fingerprint))
    save_index(plain, space, folder.cache(fingerprint))
    lesson, number, why = None, rows.next_model(database), ""
    settings = "{}"
    if "model" in state:
        settings = rows.settings_of(database, state["model"])
        try:
            serving = Serving.of(space, plain, None, None)
            lesson = _learn_again(serving, database, state["model"], settings, progress)
        except InvalidInput as error:
            why = str(error)
        else:
            save_model(folder, number, lesson, space)
            why = "" if lesson.published else lesson.reason
    with database.transaction() as connection:
        rows.use_model(connection, None)
        if lesson is not None:
            rows.keep_lesson(connection, number, lesson, previous=None, settings=settings)
        connection.executemany(
            "INSERT OR REPLACE INTO state VALUES (?, ?)",
            [("reduction", fingerprint), ("reduced_at", pictures)],
        )
    if why:
        _log.warning("%s: searches do without what was learned before: %s", folder.path, why)
    return None if lesson is None else lesson.told(number), why


def _learn_again(
    serving: Serving, database: Database, current: int, settings: str, progress: Progress
) -> Lesson:
    """Learn in a new space what the model in use has learned in the old one."""
    known = knowledge(database, Heard(), current)
    split = known.split(0.2, generator(0), rows.sides(database, current))
    learner = learning.new_learner(json.loads(settings), 0)
    X = serving.vectors(known.ids)
    return learning.teach(learner, known, X, split, current=None, progress=progress)
