import numpy as np
import pytest

from lookalike.collection import Ask, Collection
from lookalike.collection.store import models
from lookalike.collection.votes.gate import HeldLabels
from lookalike.similarity import Cosine
from lookalike.supervision import Relevance
from tests.collection.beside import beside
from tests.collection.colours import PALETTE, Colours, picture
from tests.collection.teaching import learn
from tests.collection.votes.inside import ranker_of


def test_words_said_since_are_judged_by_at_once(collection):
    learn(collection)
    collection.vote(Ask((1,)), picked=[20], rejected=[2])
    first = collection.votes.standing()
    said = []
    for row in list(collection.pictures.all()):
        words = collection.labels.of([row.id])[row.id]
        said += [collection.label(row.id, word, shows=False) for word in words]
        said.append(collection.label(row.id, "a" if row.id % 2 else "b"))
    now = collection.votes.standing()
    assert now.labels_before != first.labels_before
    with Collection.open(collection.path, features=[Colours()]) as other:
        assert other.votes.standing() == now
    for event in said:
        collection.undo(event.number)
    assert collection.votes.standing() == first


def test_a_word_for_a_picture_not_judged_by_costs_nothing(collection):
    learn(collection)
    collection.vote(Ask((1,)), picked=[20], rejected=[2])
    held = ranker_of(collection).votes.judgement.held
    number = models.last_model(beside(collection).database, "similarity")
    judges, taught = models.sides(beside(collection).database, number)
    collection.label(int(taught[0]), "neu")
    assert ranker_of(collection).votes.judgement.held is held
    collection.label(int(judges[0]), "neu")
    assert ranker_of(collection).votes.judgement.held is not held


def test_votes_go_as_far_as_labels_let_them():
    vectors = np.eye(4, dtype=np.float32)
    vectors[0, 1] = vectors[1, 0] = 0.5
    held = HeldLabels(vectors, Cosine(), Relevance.of(["a", "a", "b", "c"], n=4))

    def harm(weight):
        # Items 2 and 3 rise by so much, and only in searches by what they are not like.
        return lambda X: np.array([[0.0, 0.0, weight, weight]] * len(X))

    before, after, strength = held.judge(harm(0.0))
    assert (before, strength) == (after, 1.0)
    assert held.judge(harm(1.2))[2] == 0.5
    assert held.judge(harm(100.0))[2] == 0.0


def test_labels_are_read_for_votes_alone_and_not_at_every_import(collection, pictures, monkeypatch):
    learn(collection)
    read = []
    of = HeldLabels.of
    monkeypatch.setattr(HeldLabels, "of", lambda *given: read.append(1) or of(*given))
    collection.search(1)
    assert not read
    collection.vote(Ask((1,)), picked=[20], rejected=[2])
    standing = collection.votes.standing()
    assert standing.labels_before is not None
    assert len(read) == 1
    picture(pictures / "neu.png", PALETTE["rot"], 4711)
    collection.add([pictures])
    assert collection.votes.standing() == standing
    collection.vote(Ask((25,)), picked=[20], rejected=[3])
    assert len(read) == 1
    with Collection.open(collection.path, features=[Colours()]) as other:
        assert other.votes.standing() == collection.votes.standing()
        assert other.search(1, 30) == collection.search(1, 30)


@pytest.mark.parametrize(("lost", "strength"), [(0.005, 1.0), (0.2, 0.0)])
def test_a_loss_that_nobody_sees_is_no_harm(lost, strength):
    class Prepared(HeldLabels):
        def __init__(self):
            self._vectors = self._items = self._scores = np.zeros((1, 1))
            self._before = np.full(100, 0.5)

        def _precision(self, scores):
            return self._before - lost * (np.arange(100) < 4)

    assert Prepared().judge(lambda vectors: vectors).strength == strength
