"""Fit the reduction, and what was learned in it, anew when a collection has grown enough."""

import logging
from collections.abc import Callable

from lookalike.collection.log import examples
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import labels, models, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.models import Kind, NewModel, Trial
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.store.teachers import Teachers
from lookalike.collection.training import choosing, learning
from lookalike.collection.training.codes import CodesWanted, teach_codes
from lookalike.collection.training.teaching import teach_similarity, teach_words
from lookalike.collection.training.trials import Learned
from lookalike.collection.vectors.space import Space, fit_reduction, reduction_is_due
from lookalike.core.errors import InvalidInput, MissingPart
from lookalike.core.progress import Progress
from lookalike.features import Feature
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine

_log = logging.getLogger(__name__)

HOLD_BACK = 0.2


def grow(session: Session, row: RankerRow, feature: Feature, progress: Progress) -> Learned:
    """Fit what is due of a ranker beside what is in use, then change over.

    Return what learning again came to: nothing where it was not due, or nothing was learned before.
    """
    folder, database = session.folder, session.database
    pictures = database.count("pictures") - len(rankers.undescribed(database, row.id))
    if not reduction_is_due(feature, pictures, row.reduced_at):
        return Learned()
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
    run: dict[Kind, NewModel] = {}
    teachers = Teachers.of(database)
    for kind, current in models.in_use(database, row.id).items():
        new = run.get("similarity")
        if kind == "codes" and new and new.trial.published and isinstance(new.model, Similarity):
            # Codes are measured beside what searches use then.
            fresh = Ranker.of(row, space, plain, database, similarity=new.model)
        try:
            run[kind] = _AGAIN[kind](current, fresh, database, session.gate, progress)
        except (InvalidInput, MissingPart) as error:
            run[kind] = NewModel(kind, Trial.failed(str(error)))
    run = learning.save_models(session, run, fingerprint)
    with database.transaction() as connection:
        models.drop_models(connection, row.id)
        models.keep_run(connection, row.id, run.values(), {}, teachers)
        rankers.set_reduction(connection, row.id, fingerprint, pictures)
    for kind, new in run.items():
        if not new.trial.published:
            why = new.trial.reason
            _log.warning("%s: the %s learned before is not used: %s", folder.path, kind, why)
    return Learned.of(run.values())


def _similarity_again(
    current: int, ranker: Ranker, database: Database, gate: Gate, progress: Progress
) -> NewModel:
    """Learn in a new space what the model in use has learned in the old one."""
    examples_now = examples.alike(database, number=current).among(ranker.plain.ids)
    method, settings = models.settings_of(database, current)
    random_state = settings.pop("random_state", 0)
    return teach_similarity(
        learning.new_learner(method, settings, random_state),
        examples_now,
        ranker,
        models.sides(database, current),
        current=Cosine(),
        hold_back=HOLD_BACK,
        settings={"random_state": random_state, **settings},
        gate=gate,
        progress=progress,
    )


def _words_again(
    current: int, ranker: Ranker, database: Database, gate: Gate, progress: Progress
) -> NewModel:
    words = examples.named(database)
    if words is None:
        raise InvalidInput("learn: the collection has no labels left. Add some.")
    _, settings = models.settings_of(database, current)
    # Older models do not say what was to learn words: there was no choice.
    choice, random_state = settings.get("words", choosing.AUTO), settings["random_state"]
    return teach_words(
        choosing.new_annotators(choice, random_state),
        words.among(ranker.plain.ids),
        ranker,
        models.sides(database, current),
        current=None,
        hold_back=HOLD_BACK,
        settings={"random_state": random_state, "words": choice},
        gate=gate,
        progress=progress,
    )


def _codes_again(
    current: int, ranker: Ranker, database: Database, gate: Gate, progress: Progress
) -> NewModel:
    wanted = CodesWanted(**models.settings_of(database, current)[1])
    return teach_codes(wanted, ranker, labels.labels(database), gate, progress)


_AGAIN: dict[Kind, Callable[[int, Ranker, Database, Gate, Progress], NewModel]] = {
    "similarity": _similarity_again,
    "words": _words_again,
    "codes": _codes_again,
}
