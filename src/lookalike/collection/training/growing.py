"""Fit the reduction, and what was learned in it, anew when a collection has grown enough."""

import json
import logging
from collections.abc import Callable
from typing import Any

from lookalike.collection.log import examples
from lookalike.collection.pictures.added import Added
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import labels, models, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.models import Kind
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.training import choosing, learning
from lookalike.collection.training.codes import CodesWanted, teach_codes
from lookalike.collection.training.gate import Lesson, Result, Run
from lookalike.collection.training.given import Given
from lookalike.collection.training.trials import CodesTrial, Trial
from lookalike.collection.vectors.space import Space, fit_reduction, reduction_is_due
from lookalike.core.errors import InvalidInput, MissingPart
from lookalike.core.progress import Progress
from lookalike.features import Feature
from lookalike.similarity.cosine import Cosine

_log = logging.getLogger(__name__)

HOLD_BACK = 0.2


def grow(
    folder: Folder,
    database: Database,
    row: RankerRow,
    feature: Feature,
    added: Added,
    progress: Progress,
) -> None:
    """Fit what is due of a ranker beside what is in use, then change over, and tell ``added``."""
    pictures = database.count("pictures") - len(rankers.undescribed(database, row.id))
    if not reduction_is_due(feature, pictures, row.reduced_at):
        return
    own = Space(row.id, feature, index_kind=row.index_kind)
    reduction = fit_reduction(own, database)
    space = Space(row.id, feature, reduction, row.index_kind)
    fingerprint = space.fingerprint
    try:
        reduction.save(folder.reduction(fingerprint))
    except OSError as error:
        raise folder.not_written(error) from error
    plain = space.load_index(database, folder.cache(fingerprint))
    space.save_index(plain, folder.cache(fingerprint))
    fresh = Ranker.of(row, space, plain, database)
    results: dict[Kind, Result] = {}
    for kind, current in models.in_use(database, row.id).items():
        found = results.get("similarity")
        if kind == "codes" and isinstance(found, Lesson) and found.published:
            # Codes are measured beside what searches use then.
            learned: Any = found.model
            fresh = Ranker.of(row, space, plain, database, similarity=learned)
        results[kind] = _learn_again(kind, current, fresh, database, progress)
    run = Run(results, models.next_model(database))
    learning.save_models(folder, run, fingerprint)
    with database.transaction() as connection:
        models.drop_models(connection, row.id)
        models.keep_run(connection, row.id, run.rows, previous={})
        rankers.set_reduction(connection, row.id, fingerprint, pictures)
    if run.lessons:
        added.learned_again = run.learned()
    why = {kind: result.reason for kind, result in results.items() if not result.published}
    added.unlearned = why.get("similarity", added.unlearned)
    added.unlearned_words = why.get("words", added.unlearned_words)
    for kind, reason in why.items():
        _log.warning("%s: the %s learned before is not used: %s", folder.path, kind, reason)


def _learn_again(
    kind: Kind, current: int, ranker: Ranker, database: Database, progress: Progress
) -> Result:
    """Learn in a new space what the model in use has learned in the old one."""
    again: dict[Kind, Callable[[int, Ranker, Database, Progress], Result]] = {
        "similarity": _similarity_again,
        "words": _words_again,
        "codes": _codes_again,
    }
    try:
        return again[kind](current, ranker, database, progress)
    except (InvalidInput, MissingPart) as error:
        if kind == "codes":
            return CodesTrial.failed(str(error))
        return Trial.failed(str(error), 0, 0)


def _codes_again(current: int, ranker: Ranker, database: Database, progress: Progress) -> Result:
    _, settings = models.settings_of(database, current)
    return teach_codes(CodesWanted.read(settings), ranker, labels.labels(database), progress)


def _similarity_again(
    current: int, ranker: Ranker, database: Database, progress: Progress
) -> Lesson | Trial:
    known = examples.alike(database, Given(), current).among(ranker.plain.ids)
    method, text = models.settings_of(database, current)
    settings = json.loads(text)
    random_state = settings.pop("random_state", 0)
    return learning.teach_similarity(
        learning.new_learner(method, settings, random_state),
        known,
        ranker,
        models.sides(database, current),
        current=Cosine(),
        hold_back=HOLD_BACK,
        settings=learning.settings_text(settings, random_state),
        progress=progress,
    )


def _words_again(
    current: int, ranker: Ranker, database: Database, progress: Progress
) -> Lesson | Trial:
    words = examples.named(database, Given())
    if words is None:
        raise InvalidInput("learn: the collection has no labels left. Add some.")
    _, text = models.settings_of(database, current)
    settings = json.loads(text)
    # Older models do not say what was to learn words: there was no choice.
    choice, random_state = settings.get("words", choosing.AUTO), settings["random_state"]
    return learning.teach_words(
        choosing.new_annotators(choice, random_state),
        words.among(ranker.plain.ids),
        ranker,
        models.sides(database, current),
        current=None,
        hold_back=HOLD_BACK,
        settings=learning.words_settings(choice, random_state),
        progress=progress,
    )
