"""Learn a similarity and words for a ranker, and judge both on pictures that were held out."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.base import Annotator
from lookalike.collection.answers import Figures, InUse, Learned, Trial
from lookalike.collection.opened import Opened
from lookalike.collection.pictures.imports import import_labels
from lookalike.collection.search.ranker import Ranker
from lookalike.collection.store import events, labels, models
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.models import Ids, Kind
from lookalike.collection.training import choosing, examples
from lookalike.collection.training.examples import Alike, Commonest, Named
from lookalike.collection.training.gate import Gain, Lesson, Run
from lookalike.collection.training.given import Given
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.core.evidence import paired_difference
from lookalike.core.progress import Progress
from lookalike.core.ranking import Judgement, judge_in_blocks
from lookalike.core.seeds import generator
from lookalike.core.stored import parameters
from lookalike.core.vectors import Vectors, dense
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.registry import SIMILARITIES
from lookalike.supervision import Relevance

LEARN = "(lookalike learn, or Collection.learn)"

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


def learn(
    opened: Opened,
    given: Callable[[], Given],
    learner: Similarity,
    *,
    words: str,
    by: str | None,
    settings: str,
    hold_back: float,
    progress: Progress,
) -> Learned:
    """Learn what is alike, and words where some are given, and publish what passes the gate."""
    database = opened.database
    random_state = json.loads(settings)["random_state"]
    annotators = choosing.new_annotators(words, random_state)
    with opened.writing():
        if not database.count("pictures"):
            raise opened.rankers.empty()
        new, ranker = given(), opened.rankers.get(by)
        known = examples.labels_given(database, new)
        results: dict[Kind, Lesson | Trial] = {
            "similarity": teach_similarity(
                learner,
                examples.alike(database, new, known=known).among(ranker.plain.ids),
                ranker,
                models.sides(database, ranker.number),
                current=ranker.similarity,
                hold_back=hold_back,
                settings=settings,
                progress=progress,
            )
        }
        named = examples.named(database, new, known=known)
        if named is not None:
            results["words"] = teach_words(
                annotators,
                named.among(ranker.plain.ids),
                ranker,
                models.sides(database, ranker.annotator),
                current=opened.rankers.annotator(ranker),
                hold_back=hold_back,
                settings=words_settings(words, random_state),
                progress=progress,
            )
        run = Run(results, models.next_model(database))
        if not run.lessons:
            raise InvalidInput(results["similarity"].reason)
        save_models(opened.folder, run, ranker.space.fingerprint)
        learned = run.learned(new.unmatched)
        with database.transaction() as connection:
            whole, imported = new.source == "folders", None
            if new.labels:
                imported = import_labels(connection, new.source, new.labels, whole=whole)
            labels.keep_clicks(connection, new.clicks)
            models.keep_run(connection, ranker.id, run.rows, models.in_use(database, ranker.id))
            said, _, _ = events.words_since_learning(database)
            body = {**learned.summary(), "words_since": said}
            if imported is not None:
                body["import"] = imported.number
            events.append(connection, "learn", body)
    return replace(learned, labels=imported)


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
        load = {"similarity": rankers.load_similarity, "words": rankers.load_annotator}
        for (ranker, kind), (previous, kept) in back.items():
            if not kept:
                raise CollectionError(
                    f"{opened.path} keeps the model in use and the one before; {previous} is "
                    f"older. Learn again {LEARN}."
                )
            if previous is not None:
                load[kind](previous, spaces[ranker])
        imported = _imported_for(database, back)
        with database.transaction() as connection:
            for (ranker, kind), (previous, _) in back.items():
                models.use_model(connection, ranker, kind, previous)
            body: dict[str, Any] = {kind: previous for (_, kind), (previous, _) in back.items()}
            events.append(connection, "rollback", body)
        current = models.in_use(database, next(iter(back))[0])
    return InUse(current.get("similarity"), current.get("words"), imported)


def _imported_for(database: Database, back: Iterable[tuple[int, Kind]]) -> int | None:
    """Return the event that imported the labels of what is in use, if that still counts."""
    used = {models.in_use(database, ranker).get(kind) for ranker, kind in back}
    for body in events.bodies(database, "learn"):
        made = {(body.get(part) or {}).get("model") for part in ("similarity", "words")}
        if made & used - {None}:
            number = body.get("import")
            return None if number is None or events.is_undone(database, number) else int(number)
    return None


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

    Where what is known does not allow that, the trial says why it failed.
    """
    known = known.for_learner(learner.learns_from)
    split = known.split(hold_back, generator(json.loads(settings)["random_state"]), earlier)
    if split.why:
        return Trial.failed(split.why, len(known.ids), known.labels)
    X = ranker.vectors(known.ids)
    learner.fit(X[split.train], known.relevance.subset(split.train), progress=progress)
    judges = known.relevance.subset(split.held)
    before, after = (judge_similarity(it, X[split.held], judges) for it in (current, learner))
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
        gain=gained(before, after, judges),
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
    annotator in use had the same advantage. Where what is known does not allow that, the trial
    says why it failed.
    """
    split = words.split(hold_back, generator(json.loads(settings)["random_state"]), earlier)
    if split.why:
        return Trial.failed(split.why, len(words.ids), len(words.words))
    X = ranker.vectors(words.ids)
    taught = words.relevance.subset(split.train)
    held, judges = X[split.held], words.relevance.subset(split.held)
    tried: dict[str, Figures] = {}
    for place, (name, annotator) in enumerate(annotators.items()):
        part = _part(progress, place, len(annotators))
        annotator.fit(X[split.train], taught, validation=(held, judges), progress=part)
        tried[name] = word_figures(annotator, held, judges)
    chosen = choosing.best_of(tried)
    before = words.commonest(split.train) if current is None else current
    return Lesson(
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


def _part(progress: Progress, place: int, parts: int) -> Progress:
    """Return a callable that reports one of several parts of the work, all the same size."""
    return lambda done, total: progress(place * total + done, parts * total)


def judge_similarity(similarity: Similarity, X: Vectors, relevance: Relevance) -> Judgement:
    """Rank each picture's company by a similarity, and judge the order."""
    items: Any = similarity.item_vectors(X)

    def scores(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        products = (items @ similarity.query_vectors(X[rows]).T).T
        return np.ascontiguousarray(dense(products), dtype=np.float32)

    return judge_in_blocks(scores, relevance.rows, X.shape[0], cutoffs=(1, 10))


def gained(before: Judgement, after: Judgement, relevance: Relevance) -> Gain:
    """Compare how two similarities rank the same pictures, query by query."""
    judged, groups = before.judged, relevance.groups[before.judged]
    pairs = (
        (before.average_precision, after.average_precision),
        (before.precision[:, 0], after.precision[:, 0]),
    )
    return Gain(*(paired_difference(one[judged], two[judged], groups) for one, two in pairs))


def similarity_figures(judged: Judgement) -> Figures:
    """Return in short how a similarity ranks."""
    return Figures(
        judged.mean_average_precision,
        judged.precision_at(1),
        judged.precision_at(10),
        int(judged.judged.sum()),
    )


def word_figures(model: Annotator | Commonest, X: Vectors, relevance: Relevance) -> Figures:
    """Let a model rank the words it knows for pictures, and judge the order by their words."""
    # It draws figures too, and takes long to be imported.
    from lookalike.evaluate import evaluate_annotation

    judged = evaluate_annotation(model, X, relevance)
    return Figures(
        judged.mean_average_precision, judged.precision[1], judged.precision[10], judged.pictures
    )


def evaluate_similarity(path: Path, database: Database, ranker: Ranker) -> tuple[Figures, Figures]:
    """Judge cosine, and what searches use, by the pictures that were last held out."""
    sides = models.sides(database, models.last_model(database, "similarity", ranker.id))
    if sides is None:
        raise _unlearned(path, "labels, folders or clicks")
    known = examples.alike(database, Given())
    held = np.flatnonzero(np.isin(known.ids, np.intersect1d(sides[0], ranker.plain.ids)))
    judges = known.relevance.subset(held)
    if not judges.has_alike.any():
        raise _too_few(path)
    X = ranker.vectors(known.ids[held])
    before, after = (
        similarity_figures(judge_similarity(it, X, judges)) for it in (Cosine(), ranker.similarity)
    )
    return before, after


def evaluate_words(
    path: Path, database: Database, ranker: Ranker, annotator: Annotator | None
) -> tuple[Figures, Figures]:
    """Judge the commonest words, and those in use, by the pictures that were last held out."""
    sides = models.sides(database, models.last_model(database, "words", ranker.id))
    words = examples.named(database, Given())
    if sides is None or words is None:
        raise _unlearned(path, "labels or folders")
    held, learned = (
        np.flatnonzero(np.isin(words.ids, np.intersect1d(side, ranker.plain.ids))) for side in sides
    )
    if not held.size:
        raise _too_few(path)
    X, judges = ranker.vectors(words.ids[held]), words.relevance.subset(held)
    before = words.commonest(learned)
    return word_figures(before, X, judges), word_figures(annotator or before, X, judges)


def _unlearned(path: Path, source: str) -> InvalidInput:
    return InvalidInput(
        f"{path} has no trained model to evaluate. Learn from {source} first {LEARN}."
    )


def _too_few(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} has too few of its held-out pictures left. Learn again {LEARN}.")
