"""Every kind of event keeps the same promises."""

import json
from contextlib import closing

import pytest

from lookalike.collection import Ask, Collection
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.event import KINDS, Unknown, read_event
from lookalike.collection.log.undo import Undo
from lookalike.collection.log.votes import Lessons
from lookalike.collection.store import log as rows
from lookalike.core.errors import InvalidInput
from tests.collection.beside import beside, counted_votes, stored_rows
from tests.collection.colours import Colours


def first(pictures, count=2):
    return [picture.id for picture in pictures][:count]


def kept_duplicate(collection, one, other):
    collection.label(other, "Hut")
    return collection.duplicates.keep_one(one, [other]).number


SCENES = {
    "label": lambda c, a, b: c.label([a, b], "Hund").number,
    "vote": lambda c, a, b: c.vote(Ask((a,)), picked=[b]).number,
    "reset": lambda c, a, b: c.votes.reset().number,
    "distinct": lambda c, a, b: c.duplicates.tell_apart([a, b]).number,
    "rating": lambda c, a, b: c.ratings.rate("Ada", a, []).number,
    "removal": kept_duplicate,
    "restoration": lambda c, a, b: (c.remove([a]), c.restore([a]), c.log.history(1)[0].number)[2],
    "import": lambda c, a, b: (c.learn(folders=True), c.log.history(2)[1].number)[1],
    "undo": lambda c, a, b: c.undo(c.label(a, "Hund").number).number,
    "album": lambda c, a, b: (c.albums.save("See", pictures=[a]), c.log.history(1)[0].number)[1],
    "trust": lambda c, a, b: (c.label(a, "Hut", who="Ada"), c.people.trust("Ada").number)[1],
    "acceptance": lambda c, a, b: (c.label(a, "Hut", who="Ada"), c.people.accept("Ada").number)[1],
    "default_ranker": lambda c, a, b: c.models.set_default("colours").number,
    "undo_person": lambda c, a, b: (c.label(a, "Hut"), c.people.undo("").number)[1],
}
"""How an event of each kind that can be undone comes about, with two pictures."""

OTHERS = {"learn", "rollback", "feature", "erasure", "lessons", "undo_part", "ranker_removal"}


@pytest.fixture(autouse=True)
def voted(collection):
    collection.vote(Ask((1,)), picked=[2], rejected=[9], shown=[2, 9])


def test_there_is_a_scene_for_every_kind_that_can_be_undone():
    assert set(SCENES) == {kind for kind, cls in KINDS.items() if cls.undoable}
    assert {kind for kind, cls in KINDS.items() if not cls.undoable} == OTHERS


def tables(collection):
    """Return what the store holds that follows from the log."""
    return [
        stored_rows(collection, f"SELECT * FROM {table} ORDER BY 1, 2")
        for table in ("given", "refusals")
    ] + [
        stored_rows(collection, "SELECT picture FROM bin ORDER BY 1"),
        stored_rows(collection, "SELECT id, pictures FROM albums ORDER BY 1"),
        [(vote.subject, vote.picked) for vote in counted_votes(collection)],
    ]


@pytest.mark.parametrize("kind", SCENES)
def test_apply_and_revert_are_inverse(collection, kind):
    a, b = first(collection.pictures.all())
    collection.albums.save("Urlaub", pictures=[b])
    number = SCENES[kind](collection, a, b)
    assert collection.log.history(1, before=number + 1)[0].kind == kind
    after = tables(collection)
    undo = collection.undo(number)
    before = tables(collection)
    assert (before != after) == (kind not in ("distinct", "rating", "default_ranker"))
    redo = collection.undo(undo.number)
    assert tables(collection) == after
    collection.undo(redo.number)
    assert tables(collection) == before
    collection.log.check()


@pytest.mark.parametrize("kind", [kind for kind in SCENES if kind not in ("reset", "import")])
def test_nothing_of_erased_pictures_is_left(collection, kind):
    a, b = first(collection.pictures.all())
    number = SCENES[kind](collection, a, b)
    collection.remove(
        [
            n
            for n in (a, b)
            if beside(collection).database.row("SELECT 1 FROM pictures WHERE id = ?", n)
        ]
    )
    collection.bin.empty()
    row = rows.row(beside(collection).database, number)
    assert not row.body or not {"word", "picked", "of", "like"} & json.loads(row.body).keys()
    assert beside(collection).database.row("SELECT 1 FROM changes WHERE event = ?", number) is None
    collection.log.check()


@pytest.mark.parametrize("kind", SCENES)
def test_an_event_is_the_same_after_json(collection, kind):
    a, b = first(collection.pictures.all())
    row = rows.row(beside(collection).database, SCENES[kind](collection, a, b))
    event = read_event(row)
    assert type(event) is KINDS[kind]
    assert json.loads(json.dumps(event.body())) == json.loads(row.body)
    assert type(event).read(event.body()).body() == event.body()


@pytest.mark.parametrize("kind", SCENES)
def test_a_sentence_is_a_sentence(collection, kind):
    a, b = first(collection.pictures.all())
    entry = Entry.of(rows.row(beside(collection).database, SCENES[kind](collection, a, b)))
    assert entry.sentence[0].isupper()
    assert not entry.sentence.endswith(".")
    assert entry.can_undo


def test_lessons_are_read_as_they_were_written(collection):
    (vote,) = counted_votes(collection)
    lessons = Lessons(7, {vote.number: vote.taught[1]})
    again = Lessons.read(json.loads(json.dumps(lessons.body())))
    assert again.body() == lessons.body()


def test_an_event_of_a_later_version_is_named_and_nothing_is_lost(collection):
    first_search = collection.search(1, 5)
    with beside(collection).database.transaction() as connection:
        rows.insert(connection, "thought", {"about": "hats"}, who="", key=None, about=None)
    entry = collection.log.history(1)[0]
    assert entry.sentence == "An event of a later version (thought)"
    assert (entry.body, entry.can_undo) == ({"about": "hats"}, False)
    # What it did is not known here, so it can be neither undone nor done again.
    with beside(collection).database.transaction() as connection:
        undone = Undo(entry.number, "thought")
        row = rows.insert(connection, "undo", undone.body(), who="", key=None, about=undone.about)
    for number in (entry.number, row.number):
        with pytest.raises(InvalidInput, match=r"does not know \(thought\)"):
            collection.undo(number)
    assert collection.search(1, 5) == first_search
    collection.vote(Ask((3,)), picked=[4], rejected=[10])
    collection.log.check()
    with closing(Collection.open(collection.path, features=[Colours()])) as again:
        assert again.votes.standing().votes == 2
        assert isinstance(read_event(rows.row(beside(again).database, entry.number)), Unknown)
