"""Say a word of many pictures at once: one event, which one undoing takes back."""

import sqlite3

import pytest

from lookalike.collection import Collection, Filter
from lookalike.core.errors import DamagedFile, InvalidInput, NotFound


def having(collection, word):
    found = collection.pictures.browse(1000, where=Filter(tags=(word,)), order="added")
    return [row.id for row in found][::-1]


def test_one_event_tags_many_and_one_undoing_takes_it_back(collection):
    collection.people.trust("Ada")
    before, waiting = len(collection.log.history(100)), collection.labels.to_learn().count
    event = collection.label([3, 1, 2, 3], "Küche", who="Ada")
    assert (event.kind, event.who) == ("label", "Ada")
    assert (event.body["pictures"], event.body["word"]) == (3, "Küche")
    assert len(collection.log.history(100)) == before + 1
    assert having(collection, "küche") == [1, 2, 3]
    assert collection.labels.used() == [("Küche", 3)]
    assert collection.labels.to_learn().count == waiting + 1
    back = collection.undo(event.number)
    assert having(collection, "küche") == []
    collection.undo(back.number)
    assert having(collection, "küche") == [1, 2, 3]
    collection.log.check()


def test_all_that_pass_a_filter_are_tagged(collection, pictures):
    event = collection.label(Filter(folder=str(pictures / "rot")), "warm")
    assert event.body["pictures"] == 8
    assert collection.pictures.count(Filter(tags=("warm",))) == 8
    assert collection.label(Filter(), "alles").body["pictures"] == len(collection)


def test_what_was_said_of_one_stays_when_that_of_many_is_undone(collection):
    collection.label(1, "katze")
    collection.label(2, "katze", shows=False)
    many = collection.label([1, 2, 3], "Katze")
    assert having(collection, "katze") == [1, 2, 3]
    collection.label(3, "katze", shows=False)
    collection.undo(many.number)
    assert having(collection, "katze") == [1]
    assert collection.labels.refused("katze", [1, 2, 3]) == {2, 3}


def test_many_are_untagged_and_get_it_back(collection):
    collection.label([1, 2, 3, 4], "hund")
    no = collection.label([2, 3], "hund", shows=False)
    assert (no.kind, no.body["shows"]) == ("label", False)
    assert having(collection, "hund") == [1, 4]
    collection.undo(no.number)
    assert having(collection, "hund") == [1, 2, 3, 4]


def test_said_twice_it_is_one_event(collection):
    first = collection.label([1, 2], "hund")
    assert collection.label([2, 1], "HUND").number == first.number
    other = collection.label([1, 3], "hund", key="a")
    assert collection.label([4], "maus", key="a").number == other.number
    assert having(collection, "maus") == []


def test_two_people_undo_the_same_event(collection):
    many = collection.label([1, 2, 3], "hund", who="Ada")
    with Collection.open(collection.path, features=collection.features.values()) as second:
        collection.undo(many.number, who="Ada")
        with pytest.raises(InvalidInput, match=f"event {many.number} is already undone by Ada"):
            second.undo(many.number, who="Bob")
        assert second.labels.all() == {}
    collection.log.check()


@pytest.mark.parametrize(
    ("named", "word", "error", "words"),
    [
        ([1, 99], "hund", NotFound, "has no picture 99"),
        ([], "hund", InvalidInput, "no pictures to label"),
        (Filter(tags=("nirgends",)), "hund", InvalidInput, "no pictures to label"),
        ("1", "hund", InvalidInput, "must be a list"),
        ([1.5], "hund", InvalidInput, "by its id or path"),
        ([1], " ", InvalidInput, "non-empty text"),
        ([1], "a\0b", InvalidInput, "control characters"),
    ],
)
def test_what_makes_no_sense_changes_nothing(collection, named, word, error, words):
    collection.label(1, "katze")
    with pytest.raises(error, match=words):
        collection.label(named, word)
    assert collection.labels.all() == {1: ["katze"]}
    assert len(collection.log.history()) == 1


def test_a_line_break_in_a_word_is_a_space_and_markup_is_text(collection):
    collection.label([1, 2], "ein\n<b>Haus</b>")
    assert collection.labels.of([1]) == {1: ["ein <b>Haus</b>"]}


def test_a_thousand_tags_on_a_picture(collection):
    for number in range(1000):
        collection.label([1, 2], f"wort {number}")
    assert len(collection.labels.of([1])[1]) == 1000
    assert len(collection.labels.used()) == 1000


def test_changed_rows_are_noticed(collection):
    many = collection.label([1, 2, 3], "hund")
    collection.log.check()
    with sqlite3.connect(collection.path / "collection.sqlite") as connection:
        connection.execute("DELETE FROM changes WHERE picture = 2")
    with pytest.raises(DamagedFile, match=f"from event {many.number} on"):
        collection.log.check()
