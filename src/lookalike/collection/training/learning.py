"""Learn a similarity, words and codes for a ranker, publish what passes the gate, and roll back."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lookalike.collection.log import examples
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.examples import Given
from lookalike.collection.log.labels import import_labels
from lookalike.collection.log.log import imported_for, new_words
from lookalike.collection.log.models import Learn, Rollback
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import labels, models
from lookalike.collection.store.database import Database
from lookalike.collection.store.models import Kind, NewModel
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.store.teachers import Teachers
from lookalike.collection.training import choosing
from lookalike.collection.training.codes import BITS, CodesWanted, measure_again, teach_codes
from lookalike.collection.training.comparing import beside_default
from lookalike.collection.training.judging import LEARN
from lookalike.collection.training.teaching import teach_similarity, teach_words
from lookalike.collection.training.trials import InUse, Learned
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.stored import parameters
from lookalike.core.threads import one_blas_thread
from lookalike.similarity.base import Similarity
from lookalike.similarity.registry import SIMILARITIES

METHOD = "oasis"
"""What learns what is alike where nothing else is asked for."""


def new_learner(
    method: str, settings: Mapping[str, Any] | None, random_state: int | None
) -> Similarity:
    """Return the learner that is asked for, or raise InvalidInput."""
    chosen = dict(settings or {})
    if "random_state" in parameters(SIMILARITIES.get(method)):
        chosen.setdefault("random_state", random_state)
    return SIMILARITIES.make(method, chosen)


def codes_wanted(
    codes: str | None, bits: int | None, candidates: int | None, random_state: int | None
) -> CodesWanted | None:
    """Return the codes that are asked for, None for none, or raise InvalidInput.

    ``bits`` is the length of a code, ``candidates`` how many pictures a search takes, and
    ``random_state`` makes a run repeatable.
    """
    if codes is None:
        for name, value in (("bits", bits), ("candidates", candidates)):
            if value is not None:
                raise InvalidInput(f"learn: {name} are those of codes; name the codes as well.")
        return None
    return CodesWanted(codes, BITS if bits is None else bits, candidates, random_state)


@one_blas_thread()
def learn(
    session: Session,
    given: Callable[[], Given],
    learner: Similarity | None,
    words: str,
    by: str | None,
    settings: Mapping[str, Any],
    hold_back: float,
    progress: Progress,
    codes: CodesWanted | None = None,
) -> Learned:
    """Learn what is alike, and words where some are given, and publish what passes the gate.

    Codes are learned where they are wanted, beside what searches use then; without a learner,
    nothing else is. ``settings`` are the learner's, with the random state.
    """
    if not 0 < hold_back < 1:
        raise InvalidInput(f"learn: hold_back must be above 0 and below 1; got {hold_back!r}.")
    database, gate = session.database, session.gate
    _check_settings(settings)
    random_state = settings["random_state"]
    annotators = choosing.new_annotators(words, random_state)
    with session.writing():
        if not database.count("pictures"):
            raise session.rankers.empty()
        # What a damaged model has learned is lost: the new one stands beside none.
        new, ranker = given(), session.rankers.get(by, learned=False)
        annotator = None
        teachers, alike_pictures = _labels_of_now(database, new)
        run: dict[Kind, NewModel] = {}
        if learner is not None:
            related = examples.alike(database, new, known=alike_pictures).among(ranker.plain.ids)
            run["similarity"] = teach_similarity(
                learner,
                related,
                ranker,
                models.sides(database, ranker.number),
                current=ranker.similarity,
                hold_back=hold_back,
                settings=settings,
                gate=gate,
                progress=progress,
            )
            default = session.rankers.row()
            if run["similarity"].trial.published and default.id != ranker.id and default.ready:
                other = session.rankers.get(default.name, learned=False)
                run["similarity"] = beside_default(
                    run["similarity"], ranker, other, related, database
                )
            named = examples.named(database, new, known=alike_pictures)
            if named is not None:
                annotator = session.rankers.sound_annotator(ranker)
                run["words"] = teach_words(
                    annotators,
                    named.among(ranker.plain.ids),
                    ranker,
                    models.sides(database, ranker.annotator),
                    current=annotator,
                    hold_back=hold_back,
                    settings={"random_state": random_state, "words": words},
                    gate=gate,
                    progress=progress,
                )
        serving = _serving(session, session.rankers.row(by), ranker, run.get("similarity"))
        if codes is not None:
            run["codes"] = teach_codes(codes, serving, alike_pictures, gate, progress)
        elif ranker.codes is not None and serving is not ranker:
            run["codes"] = measure_again(ranker.codes, serving, database)
        if all(one.model is None for one in run.values()):
            raise InvalidInput(next(iter(run.values())).trial.reason)
        run = save_models(session, run, ranker.space.fingerprint)
        # With codes, searches read vectors from the cache.
        session.rankers.save_cache(ranker)
        learned = Learned.of(run.values(), new.unmatched)
        previous = models.in_use(database, ranker.id)
        if ranker.damage:
            del previous["similarity"]
        if annotator is None:
            previous.pop("words", None)
        with session.entry() as entry:
            whole, imported = new.source == "folders", None
            if new.labels:
                imported = import_labels(entry, new.source, new.labels, whole=whole)
            labels.keep_clicks(entry.connection, new.clicks)
            models.keep_run(entry.connection, ranker.id, run.values(), previous, teachers)
            entry.append(
                Learn(
                    **learned.summary(),
                    words_since=new_words(database).count,
                    labels=None if imported is None else imported.number,
                )
            )
        if learned.codes is not None and learned.codes.published:
            session.rankers.save_cache(session.rankers.get(by))
    return replace(learned, labels=None if imported is None else Entry.of(imported))


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise InvalidInput if settings cannot be kept."""
    try:
        json.dumps(settings)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error


def _labels_of_now(database: Database, given: Given) -> tuple[Teachers, labels.Labels]:
    """Return the labels of all pictures, with what is given, and who gave them."""
    with database.snapshot():
        return Teachers.of(database), examples.given_labels(database, given)


def _serving(session: Session, row: RankerRow, ranker: Ranker, new: NewModel | None) -> Ranker:
    """Return the ranker with what was just learned, if that is used, or with none if that is."""
    if new is None or not (new.trial.retired or new.trial.published):
        return ranker
    database = session.database
    used = new.model if new.trial.published and isinstance(new.model, Similarity) else None
    fresh = Ranker.of(row, ranker.space, ranker.plain, database, similarity=used)
    return fresh.following(database, session.rankers.layer())


def rollback(session: Session) -> InUse:
    """Undo the last learning that is in use, and return what its ranker uses then.

    Labels that were imported for it stay; the event of that is returned, to be undone.
    """
    database, rankers = session.database, session.rankers
    with session.writing():
        back = models.before_the_last_run(database)
        if not back:
            raise CollectionError(f"{session.path} has no model to roll back.")
        spaces = {row.id: str(row.space) for row in rankers.rows()}
        load: dict[Kind, Callable[[int, str], object]] = {
            "similarity": rankers.parts.similarity,
            "words": rankers.parts.annotator,
            "codes": rankers.parts.codes,
        }
        for (ranker, kind), (previous, kept) in back.items():
            if not kept:
                raise CollectionError(
                    f"{session.path} keeps the model in use and the one before; {previous} is "
                    f"older. Learn again {LEARN}."
                )
            if previous is not None:
                try:
                    load[kind](previous, spaces[ranker])
                except DamagedFile as error:
                    raise DamagedFile(
                        f"{error} It is the model to go back to, so nothing was changed. Learn "
                        f"again (lookalike learn), or restore a backup of {session.path}."
                    ) from error
        used = [models.in_use(database, ranker).get(kind) for ranker, kind in back]
        imported = imported_for(database, used)
        with session.entry() as entry:
            for (ranker, kind), (previous, _) in back.items():
                models.go_back(entry.connection, ranker, kind, previous)
            entry.append(Rollback({kind: previous for (_, kind), (previous, _) in back.items()}))
        current = models.in_use(database, next(iter(back))[0])
    return InUse(current.get("similarity"), current.get("words"), imported, current.get("codes"))


def save_models(
    session: Session, run: Mapping[Kind, NewModel], fingerprint: str
) -> dict[Kind, NewModel]:
    """Write the models of a run that are to be published, and return all with their numbers."""
    number = models.next_model(session.database)
    numbered = dict(run)
    for kind, new in run.items():
        if new.model is None:
            continue
        numbered[kind] = new.numbered(number)
        if new.trial.published:
            try:
                new.model.save(session.folder.model(number), fingerprint=fingerprint)
            except OSError as error:
                raise session.folder.not_written(error) from error
        number += 1
    return numbered
