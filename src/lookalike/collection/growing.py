"""Fit the reduction, and what was learned in it, anew when a collection has grown enough."""

import json
import logging

from lookalike.collection import learning, naming, rows
from lookalike.collection.database import Database
from lookalike.collection.folder import Folder
from lookalike.collection.hearing import Heard, knowledge, vocabulary
from lookalike.collection.lessons import Kind, Lesson, Run
from lookalike.collection.records import Added, Trial
from lookalike.collection.serving import Serving, save_models
from lookalike.collection.vectors import (
    Space,
    fit_reduction,
    load_index,
    reduction_is_due,
    save_index,
)
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.features import Feature

_log = logging.getLogger(__name__)

HOLD_BACK = 0.2


def grow(
    folder: Folder, database: Database, feature: Feature, added: Added, progress: Progress
) -> None:
    """Fit what is due beside what is in use, then change over, and tell ``added`` of it."""
    reduced_at = database.state().get("reduced_at")
    pictures = int(database.rows("SELECT count(*) FROM pictures")[0][0])
    if not reduction_is_due(feature, pictures, reduced_at):
        return
    space = Space(feature, fit_reduction(feature, database))
    fingerprint = space.fingerprint
    try:
        space.save(folder.reduction(fingerprint))
    except OSError as error:
        raise folder.not_written(error) from error
    plain = load_index(space, database, folder.cache(fingerprint))
    save_index(plain, space, folder.cache(fingerprint))
    fresh = Serving.of(space, plain, None, None)
    results = {
        kind: _learn_again(kind, current, fresh, database, progress)
        for kind, current in rows.in_use(database).items()
    }
    run = Run(results, rows.next_model(database))
    save_models(folder, run, space)
    with database.transaction() as connection:
        rows.drop_models(connection)
        rows.keep_run(connection, run, previous={})
        connection.executemany(
            "INSERT OR REPLACE INTO state VALUES (?, ?)",
            [("reduction", fingerprint), ("reduced_at", pictures)],
        )
    if run.lessons:
        added.learned_again = run.told()
    why = {kind: result.reason for kind, result in results.items() if not result.published}
    added.unlearned, added.unlearned_words = why.get("similarity", ""), why.get("tags", "")
    for kind, reason in why.items():
        _log.warning("%s: the %s learned before is not used: %s", folder.path, kind, reason)


def _learn_again(
    kind: Kind, current: int, serving: Serving, database: Database, progress: Progress
) -> Lesson | Trial:
    """Learn in a new space what the model in use has learned in the old one."""
    work = {"similarity": _similarity_again, "tags": _words_again}[kind]
    try:
        return work(current, serving, database, progress)
    except InvalidInput as error:
        return Trial.failed(str(error), 0, 0)


def _similarity_again(
    current: int, serving: Serving, database: Database, progress: Progress
) -> Lesson | Trial:
    known = knowledge(database, Heard(), current)
    settings = rows.settings_of(database, current)
    return learning.teach(
        learning.new_learner(json.loads(settings), 0),
        known,
        serving.vectors(known.ids),
        rows.sides(database, current),
        current=None,
        hold_back=HOLD_BACK,
        settings=settings,
        progress=progress,
    )


def _words_again(
    current: int, serving: Serving, database: Database, progress: Progress
) -> Lesson | Trial:
    named = vocabulary(database, Heard())
    if named is None:
        raise InvalidInput("learn: the collection knows no words any more. Give it labels.")
    return naming.teach(
        named,
        serving.vectors(named.ids),
        rows.sides(database, current),
        current=None,
        hold_back=HOLD_BACK,
        random_state=json.loads(rows.settings_of(database, current))["random_state"],
        progress=progress,
    )
