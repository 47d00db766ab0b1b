"""Learn a similarity and words for a ranker, and judge both on pictures that were held out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lookalike.annotation.base import Annotator
from lookalike.collection.log import examples
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.examples import Alike, Named
from lookalike.collection.log.labels import import_labels
from lookalike.collection.log.log import imported_for, new_words
from lookalike.collection.log.models import Learn, Rollback
from lookalike.collection.ranking.opened import Opened
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import labels, models
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.models import Figures, Ids, Kind
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.training import choosing
from lookalike.collection.training.codes import BITS, CodesWanted, measure_again, teach_codes
from lookalike.collection.training.gate import Lesson, Result, Run
from lookalike.collection.training.given import Given
from lookalike.collection.training.judging import (
    LEARN,
    fit_and_judge,
    gained,
    judge_similarity,
    similarity_figures,
    word_figures,
)
from lookalike.collection.training.trials import InUse, Learned, Trial
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput
from lookalike.core.progress import Progress, part_of
from lookalike.core.seeds import generator
from lookalike.core.stored import parameters
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


def settings_text(settings: Mapping[str, Any] | None, random_state: int | None) -> str:
    """Return settings as JSON, or raise InvalidInput."""
    try:
        return json.dumps({"random_state": random_state, **(settings or {})}, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error


def codes_wanted(
    codes: str | None, bits: int | None, candidates: int | None, random_state: int | None
) -> CodesWanted | None:
    """Return the codes that are asked for, None for none, or raise InvalidInput."""
    if codes is None:
        for name, value in (("bits", bits), ("candidates", candidates)):
            if value is not None:
                raise InvalidInput(f"learn: {name} are those of codes; name the codes as well.")
        return None
    return CodesWanted(codes, BITS if bits is None else bits, candidates, random_state)


def learn(
    opened: Opened,
    given: Callable[[], Given],
    learner: Similarity | None,
    *,
    words: str,
    by: str | None,
    settings: str,
    hold_back: float,
    progress: Progress,
    codes: CodesWanted | None = None,
) -> Learned:
    """Learn what is alike, and words where some are given, and publish what passes the gate.

    Codes are learned where they are wanted, beside what searches use then; without a learner,
    nothing else is.
    """
    database = opened.database
    random_state = json.loads(settings)["random_state"]
    annotators = choosing.new_annotators(words, random_state)
    with opened.writing():
        if not database.count("pictures"):
            raise opened.rankers.empty()
        # What a damaged model has learned is lost: the new one stands beside none.
        new, ranker = given(), opened.rankers.get(by, learned=False)
        annotator = None
        known = examples.labels_given(database, new)
        results: dict[Kind, Result] = {}
        if learner is not None:
            results["similarity"] = teach_similarity(
                learner,
                examples.alike(database, new, known=known).among(ranker.plain.ids),
                ranker,
                models.sides(database, ranker.number),
                current=ranker.similarity,
                hold_back=hold_back,
                settings=settings,
                progress=progress,
            )
            named = examples.named(database, new, known=known)
            if named is not None:
                annotator = opened.rankers.sound_annotator(ranker)
                results["words"] = teach_words(
                    annotators,
                    named.among(ranker.plain.ids),
                    ranker,
                    models.sides(database, ranker.annotator),
                    current=annotator,
                    hold_back=hold_back,
                    settings=words_settings(words, random_state),
                    progress=progress,
                )
        row = opened.rankers.row(by)
        serving = _serving(opened, row, ranker, results.get("similarity"))
        if codes is not None:
            results["codes"] = teach_codes(codes, serving, known, progress)
        elif ranker.codes is not None and serving is not ranker:
            results["codes"] = measure_again(ranker.codes, serving, database)
        run = Run(results, models.next_model(database))
        if not run.lessons:
            raise InvalidInput(next(iter(results.values())).reason)
        save_models(opened.folder, run, ranker.space.fingerprint)
        # With codes, searches read vectors from the cache.
        opened.rankers.save_cache(ranker)
        learned = run.learned(new.unmatched)
        previous = models.in_use(database, ranker.id)
        if ranker.damage:
            del previous["similarity"]
        if annotator is None:
            previous.pop("words", None)
        with opened.entry() as entry:
            whole, imported = new.source == "folders", None
            if new.labels:
                imported = import_labels(entry, new.source, new.labels, whole=whole)
            labels.keep_clicks(entry.connection, new.clicks)
            models.keep_run(entry.connection, ranker.id, run.rows, previous)
            entry.append(
                Learn(
                    **learned.summary(),
                    words_since=new_words(database).count,
                    labels=None if imported is None else imported.number,
                )
            )
        if learned.codes is not None and learned.codes.published:
            opened.rankers.save_cache(opened.rankers.get(by))
    return replace(learned, labels=None if imported is None else Entry.of(imported))


def _serving(opened: Opened, row: RankerRow, ranker: Ranker, result: Result | None) -> Ranker:
    """Return the ranker with a similarity that was just learned, if that is to be used."""
    if not isinstance(result, Lesson) or not result.published:
        return ranker
    if not isinstance(result.model, Similarity):
        return ranker
    database = opened.database
    fresh = Ranker.of(row, ranker.space, ranker.plain, database, similarity=result.model)
    return fresh.following(database, opened.rankers.ledger)


def rollback(opened: Opened) -> InUse:
    """Undo the last learning that is in use, and return what its ranker uses then.

    Labels that were imported for it stay; the event of that is returned, to be undone.
    """
    database, rankers = opened.database, opened.rankers
    with opened.writing():
        back = models.before_the_last_run(database)
        if not back:
            raise CollectionError(f"{opened.path} has no model to roll back.")
        spaces = {row.id: str(row.space) for row in rankers.rows()}
        load: dict[Kind, Callable[[int, str], object]] = {
            "similarity": rankers.load_similarity,
            "words": rankers.load_annotator,
            "codes": rankers.load_codes,
        }
        for (ranker, kind), (previous, kept) in back.items():
            if not kept:
                raise CollectionError(
                    f"{opened.path} keeps the model in use and the one before; {previous} is "
                    f"older. Learn again {LEARN}."
                )
            if previous is not None:
                try:
                    load[kind](previous, spaces[ranker])
                except DamagedFile as error:
                    raise DamagedFile(
                        f"{error} It is the model to go back to, so nothing was changed. Learn "
                        f"again (lookalike learn), or restore a backup of {opened.path}."
                    ) from error
        used = [models.in_use(database, ranker).get(kind) for ranker, kind in back]
        imported = imported_for(database, used)
        with opened.entry() as entry:
            for (ranker, kind), (previous, _) in back.items():
                models.go_back(entry.connection, ranker, kind, previous)
            entry.append(Rollback({kind: previous for (_, kind), (previous, _) in back.items()}))
        current = models.in_use(database, next(iter(back))[0])
    return InUse(current.get("similarity"), current.get("words"), imported, current.get("codes"))


def save_models(folder: Folder, run: Run, fingerprint: str) -> None:
    """Write the models of a run that are to be published."""
    for number, lesson in run.lessons.items():
        if lesson.published:
            try:
                lesson.model.save(folder.model(number), fingerprint=fingerprint)
            except OSError as error:
                raise folder.not_written(error) from error


def teach_similarity(
    learner: Similarity,
    known: Alike,
    ranker: Ranker,
    earlier: tuple[Ids, Ids] | None,
    *,
    current: Similarity,
    hold_back: float,
    settings: str,
    progress: Progress,
) -> Lesson | Trial:
    """Train the learner on one side and judge it by the other, beside the current similarity.

    Where few pictures judge, it is also cross-validated beside the start. Where what is known
    does not allow that, the trial says why it failed.
    """
    known = known.for_learner(learner.learns_from)
    rng = generator(json.loads(settings)["random_state"])
    split = known.split(hold_back, rng, earlier)
    if split.why:
        return Trial.failed(split.why, len(known.ids), known.labels)
    X = ranker.vectors(known.ids)
    if "blocks" in parameters(type(learner)) and learner.get_params()["blocks"] is None:
        learner.set_params(blocks=ranker.space.feature.blocks)
    splits = [split, *known.more_splits(split, rng)]
    judged = fit_and_judge(learner, known, splits, X, progress)
    over_start = gained(judged, known.relevance, splits)
    before, after = judged[0]
    if current.learned:
        # It has seen the pictures that further splits judge by, so only the first one is fair.
        before = judge_similarity(current, X[split.held], known.relevance.subset(split.held))
        gain = gained([(before, after)], known.relevance, [split])
    else:
        gain = over_start
    return Lesson(
        kind="similarity",
        model=learner,
        source=known.source,
        threshold=known.threshold,
        labels=known.labels,
        before=similarity_figures(before),
        after=similarity_figures(after),
        held_back=known.ids[split.held],
        learned_from=known.ids[split.train],
        changes=current.learned or learner.learned,
        settings=settings,
        gain=gain,
        over_start=over_start,
    )


def words_settings(words: str, random_state: int | None) -> str:
    """Return as JSON what is kept of how words were learned, to learn them so again."""
    return json.dumps({"random_state": random_state, "words": words}, sort_keys=True)


def teach_words(
    annotators: Mapping[str, Annotator],
    words: Named,
    ranker: Ranker,
    earlier: tuple[Ids, Ids] | None,
    *,
    current: Annotator | None,
    hold_back: float,
    settings: str,
    progress: Progress,
) -> Lesson | Trial:
    """Train annotators on one side, and judge the best by the other, beside the current one.

    Without a current one, beside the commonest words, by mean average precision alone. Each is
    also tuned and learns its confidence on the side held out, and the best is chosen there: the
    annotator in use had the same advantage. What passes the gate is then fitted once more, from
    both sides with the same settings, and keeps the annotator that was judged, to be judged by.
    Where what is known does not allow that, the trial says why it failed.
    """
    split = words.split(hold_back, generator(json.loads(settings)["random_state"]), earlier)
    if split.why:
        return Trial.failed(split.why, len(words.ids), len(words.words))
    X = ranker.vectors(words.ids)
    taught = words.relevance.subset(split.train)
    held, judges = X[split.held], words.relevance.subset(split.held)
    tried: dict[str, Figures] = {}
    for place, (name, annotator) in enumerate(annotators.items()):
        part = part_of(progress, place, len(annotators))
        annotator.fit(X[split.train], taught, validation=(held, judges), progress=part)
        tried[name] = word_figures(annotator, held, judges)
    chosen = choosing.best_of(tried)
    before = words.commonest(split.train) if current is None else current.as_judged
    lesson = Lesson(
        kind="words",
        model=annotators[chosen],
        source="labels",
        threshold=0.0,
        labels=len(words.words),
        before=word_figures(before, held, judges),
        after=tried[chosen],
        held_back=words.ids[split.held],
        learned_from=words.ids[split.train],
        changes=True,
        beside_commonest=current is None,
        settings=settings,
        tried=tried,
    )
    model = annotators[chosen]
    if not lesson.published or not model.refits:
        return lesson
    return replace(lesson, model=model.refitted(X[split.train], taught, (held, judges)))
