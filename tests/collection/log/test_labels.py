import pytest

from lookalike.collection.log.examples import NOTHING, given_labels
from lookalike.core.errors import InvalidInput
from tests.collection.beside import beside, stored_rows
from tests.collection.teaching import QUICK, learn


@pytest.fixture
def labels(collection):
    """Labels for all pictures, the first of which has x."""
    return {row.places[0]: ["x" if row.id % 2 else "y"] for row in collection.pictures.all()}


def has(collection, picture=1):
    return collection.labels.of([picture])[picture]


def test_learning_does_not_take_away_what_was_said(collection, labels):
    said = collection.label(1, "katze")
    learn(collection, labels)
    assert has(collection) == ["katze", "x"]
    assert collection.label(1, "katze").number == said.number
    collection.learn(folders=True, settings=QUICK)
    assert has(collection) == ["blau", "katze", "x"]


def test_learning_does_not_bring_back_what_was_refused(collection, labels):
    refusal = collection.label(1, "X", shows=False)
    learn(collection, labels)
    assert has(collection) == []
    collection.undo(refusal.number)
    assert has(collection) == ["x"]


def test_undoing_a_refusal_gives_back_what_was_learned_from_since(collection, labels):
    collection.undo(collection.label(1, "x").number)
    learn(collection, labels)
    refusal = collection.label(1, "x", shows=False)
    assert has(collection) == []
    collection.undo(refusal.number)
    assert has(collection) == ["x"]


def test_undoing_all_that_was_said_goes_back_to_before_the_first(collection):
    said = collection.label(1, "katze"), collection.label(1, "katze", shows=False)
    for event in said:
        collection.undo(event.number)
    assert has(collection) == []
    assert stored_rows(collection, "SELECT * FROM refusals") == []


def test_a_word_undone_twice_stays_undone_when_one_of_these_is_undone(collection):
    said = collection.label(1, "katze").number
    first = collection.undo(said).number
    back = collection.undo(first).number
    collection.undo(said)
    away = collection.undo(back).number
    assert has(collection) == []
    collection.undo(away)
    assert has(collection) == []
    assert {event.number for event in collection.log.history() if event.undone} == {
        said,
        first,
        away,
    }


def test_favourites_teach_nothing_and_set_off_no_learning(collection):
    for number in (1, 2, 3):
        collection.label(number, "Favourite")
    assert has(collection) == ["Favourite"]
    assert collection.labels.to_learn().count == 0
    with pytest.raises(InvalidInput, match="no labels or clicks to learn from"):
        collection.learn(settings=QUICK)
    collection.label(1, "katze")
    assert collection.labels.to_learn().count == 1
    assert given_labels(beside(collection).database, NOTHING) == {1: ["katze"]}
