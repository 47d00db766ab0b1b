"""What labels of trusted people teach: the owner judges it, and it goes when they are revoked."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.collection import Ask, Collection
from lookalike.collection.log.examples import MIN_OWN, Alike, Named, own_labels
from lookalike.collection.log.models import Learn
from lookalike.collection.store import models
from lookalike.collection.store.models import Figures, NewModel, Trial
from lookalike.collection.store.teachers import Teachers
from lookalike.collection.training.teaching import teach_similarity
from lookalike.collection.training.trials import Learned
from lookalike.core.progress import silent
from lookalike.similarity import OASIS
from lookalike.similarity.cosine import Cosine
from tests.collection.beside import beside
from tests.collection.colours import Colours
from tests.collection.teaching import QUICK, in_use
from tests.gates import EVERYTHING, NoWorse

NONE = Figures(0.0, 0.0, 0.0, 1)


@pytest.fixture
def taught(tmp_path, pictures):
    """A collection that publishes all it learns."""
    with Collection.create(tmp_path / "taught", features=[Colours()], gate=EVERYTHING) as made:
        made.add([pictures])
        yield made


def scores(collection):
    return [(one.id, one.score) for n in range(1, 25) for one in collection.search(Ask((n,)), 9)]


def colours(collection):
    named = {}
    for row in collection.pictures.all():
        named.setdefault(row.places[0].parent.name, []).append(row.id)
    return named


def label(collection, who, shift=0):
    """Tag the pictures of each colour, or every third from one on, whatever its colour."""
    groups = colours(collection)
    every = sorted(number for some in groups.values() for number in some)
    for number, (word, some) in enumerate(groups.items()):
        ids = every[number::3] if shift else some
        collection.label(ids, f"{word}{shift or ''}", who=who)


def learned(collection):
    """Learn; return what searches use then, and how they rank."""
    collection.learn(settings=QUICK)
    return in_use(collection), scores(collection), collection.suggest(3)


def state(collection):
    return in_use(collection), scores(collection), collection.suggest(3)


def test_what_only_a_revoked_person_taught_is_not_used(taught):
    before = state(taught)
    taught.people.trust("Ada")
    label(taught, "Ada")
    after = learned(taught)
    assert None not in (after[0].similarity, after[0].annotator)
    assert {model.people for model in taught.models.all()} == {("Ada",)}
    revoked = taught.people.revoke("Ada")
    assert state(taught) == before
    assert not any(model.current for model in taught.models.all())
    taught.undo(revoked.number)
    assert state(taught) == after
    undone = taught.people.undo("Ada")
    assert in_use(taught) == before[0]
    assert scores(taught) == before[1]
    assert taught.labels.to_learn().count > 0
    taught.undo(undone.number)
    assert state(taught) == after
    with Collection.open(taught.path, features=[Colours()]) as again:
        assert state(again) == after


def test_what_accepted_labels_taught_goes_with_the_acceptance(taught):
    before = scores(taught)
    label(taught, "Ada")
    accepted = taught.people.accept("Ada")
    after = learned(taught)
    assert after[1] != before
    taught.label(1, "later", who="Ada")
    assert state(taught)[:2] == after[:2]
    undone = taught.undo(accepted.number)
    assert scores(taught) == before
    taught.undo(undone.number)
    assert scores(taught) == after[1]


def test_the_last_model_of_the_owner_alone_is_used_again(taught):
    label(taught, "")
    own = learned(taught)
    taught.people.trust("Ada")
    for shift in (1, 2):
        label(taught, "Ada", shift)
        learned(taught)
    assert in_use(taught).similarity > own[0].similarity + 2
    taught.people.revoke("Ada")
    assert state(taught) == own
    # To go back goes back from what is used.
    assert taught.rollback().similarity is None
    taught.log.check()


def test_a_single_undo_and_other_people_leave_models_in_use(taught):
    taught.people.trust("Ada")
    taught.people.trust("Bea")
    label(taught, "Ada")
    one = taught.label(1, "more", who="Ada")
    after = learned(taught)[0]
    taught.undo(one.number)
    taught.people.revoke("Bea")
    taught.vote(Ask((1,)), picked=[2], who="Ada")
    taught.people.undo("Ada", ["votes"])
    assert in_use(taught) == after


def test_labels_of_the_owner_are_known_from_those_of_others(collection):
    database = beside(collection).database
    collection.label([1, 2, 3], "Hund")
    assert own_labels(database) is None
    collection.label([1, 2], "Hund", shows=False, who="Ada")
    collection.label([2, 4], "Katze", who="Ada")
    assert own_labels(database) is None
    collection.people.trust("Ada")
    assert dict(collection.labels.used()) == {"Hund": 1, "Katze": 2}
    assert own_labels(database) == {1: ["Hund"], 2: ["Hund"], 3: ["Hund"]}
    collection.label(4, "katze")
    assert own_labels(database) == {1: ["Hund"], 2: ["Hund"], 3: ["Hund"], 4: ["katze"]}


@pytest.mark.parametrize("kind", [Alike, Named])
def test_where_the_owner_labelled_enough_nobody_else_judges(kind):
    own = {n: [f"c{n % 4}"] for n in range(MIN_OWN)}
    every = {n: [f"x{n % 2}"] for n in range(3 * MIN_OWN)} | {0: []}
    every = {n: [*names, *own.get(n, ())] for n, names in every.items()}
    known = kind.of_labels(every, own)
    rng = np.random.default_rng(0)
    split = known.split(0.2, rng, None)
    assert not split.why
    further = [*known.more_splits(split, rng, 500)]
    held = np.concatenate([split.held, *(one.held for one in further)])
    assert len(held) > MIN_OWN // 2
    assert set(known.ids[held].tolist()) <= own.keys()
    assert set(known.judging.labels_) >= {"c0", "c1"}
    assert not any(name.startswith("x") for name in known.judging.subset(held).labels_)
    few = kind.of_labels(every, {n: own[n] for n in range(8)})
    assert few.judging is few.relevance


def test_who_refuses_all_words_of_the_owner_teaches_no_words():
    own = {n: [f"c{n % 4}"] for n in range(MIN_OWN)}
    known = Named.of_labels({n: [f"x{n % 2}"] for n in range(MIN_OWN)}, own)
    assert "refused them all" in known.split(0.2, np.random.default_rng(0), None).why


class Nothing(NoWorse):
    """Publishes no similarity."""

    def passes_similarity(self, gain, over_start):
        return False


class Upside(Cosine):
    """Ranks what is least alike first."""

    learned = True

    def query_vectors(self, Q):
        return -super().query_vectors(Q)


@pytest.mark.parametrize("current", [Upside(), Cosine()])
def test_what_ranks_worse_than_no_learning_by_the_labels_of_now_is_retired(current):
    rng = np.random.default_rng(0)
    X = (np.repeat(np.eye(8), 12, axis=0) + 0.1 * rng.normal(size=(96, 8))).astype(np.float32)
    feature = SimpleNamespace(blocks=None)
    new = teach_similarity(
        OASIS(steps=50, random_state=0),
        Alike.of_labels({n: [f"c{n // 12}"] for n in range(96)}),
        SimpleNamespace(vectors=lambda ids: X[ids], space=SimpleNamespace(feature=feature)),
        None,
        current=current,
        hold_back=0.2,
        settings={"random_state": 0},
        gate=Nothing(),
        progress=silent,
    )
    assert new.trial.retired == isinstance(current, Upside)
    assert ("searches go back to no learning" in new.trial.reason) == new.trial.retired


def test_where_what_is_used_is_retired_searches_are_as_without_learning(taught):
    start = scores(taught)
    label(taught, "")
    learned(taught)
    assert scores(taught) != start
    trial = replace(Trial.failed("worse"), retired=True, before=NONE, after=NONE, method="oasis")
    with taught._session.entry() as entry:
        run = [NewModel("similarity", trial, Cosine(), number=99)]
        models.keep_run(entry.connection, 1, run, {}, Teachers({}, 0))
        entry.append(Learn(**Learned.of(run).summary()))
    assert in_use(taught).similarity is None
    assert scores(taught) == start
    assert "not used any more" in taught.log.history(1)[0].sentence


def test_models_of_the_version_before_may_have_learned_from_all_who_ever_counted(taught):
    before = state(taught)
    label(taught, "Bea")
    taught.people.trust("Ada")
    label(taught, "Ada")
    after = learned(taught)
    taught.close()
    with closing(sqlite3.connect(taught.path / "collection.sqlite")) as connection:
        for column in ("people", "seen"):
            connection.execute(f"ALTER TABLE models DROP COLUMN {column}")
        connection.execute("PRAGMA user_version = 11")
    with Collection.open(taught.path, features=[Colours()]) as again:
        assert {model.people for model in again.models.all()} == {("Ada",)}
        assert state(again) == after
        again.people.revoke("Ada")
        assert state(again) == before
