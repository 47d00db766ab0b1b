"""Removed pictures lie in the bin: out of sight, and back whole until they are erased."""

import os
import shutil

import pytest

from lookalike.collection import Ask, Collection, Filter
from lookalike.collection.log.duplicates import pictures_apart
from lookalike.collection.store import uploads
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput, NotFound
from tests.collection.beside import beside, stored_rows, write_rows
from tests.collection.colours import Colours, picture
from tests.collection.teaching import QUICK


def everything(collection):
    return (
        sorted(row.id for row in collection.pictures.all()),
        collection.labels.all(),
        collection.labels.used(),
        collection.pictures.count(Filter(tags=("katze",))),
        [match.id for match in collection.search(1, 8)],
        collection.pictures.folders(),
        collection.votes.verdicts(Ask((1,))),
        len(collection),
    )


@pytest.fixture
def said(collection):
    collection.label([2, 3, 4], "Katze")
    collection.label(3, "Hund", shows=False)
    collection.learn(folders=True, settings=QUICK)
    collection.vote(Ask((1,)), picked=[2], rejected=[20])
    return collection


def test_a_damaged_log_that_cannot_be_deleted_is_told(collection):
    collection.remove([1])
    (collection.path / "damaged-log" / "inside").mkdir(parents=True)
    with pytest.raises(CollectionError, match="delete it by hand"):
        collection.bin.empty()
    assert collection.bin.count() == 0


def test_what_is_removed_is_out_of_sight_and_comes_back_whole(said):
    before = everything(said)
    assert said.remove([2, 3]) == 2
    assert len(said) == 22
    assert not {2, 3} & {match.id for match in said.search(1, 30)}
    assert not {2, 3} & said.labels.all().keys()
    assert said.pictures.count(Filter(tags=("katze",))) == 1
    assert said.pictures.find(said.bin.browse()[0].places[0]) is None
    with pytest.raises(NotFound):
        said.pictures.get(2)
    assert sorted(row.id for row in said.bin.browse()) == [2, 3]
    assert said.pictures.thumbnail(2)
    with Collection.open(said.path, features=said.features.values()) as again:
        assert again.restore([3, again.bin.browse()[1].places[0]]) == 2
    assert everything(said) == before
    assert said.bin.browse() == []
    said.log.check()


def test_removing_and_restoring_are_undone(said):
    before = everything(said)
    said.remove(Filter(tags=("katze",)))
    assert len(said) == 21
    removal = said.log.history(1)[0]
    assert (removal.kind, removal.body["pictures"]) == ("removal", 3)
    said.undo(removal.number)
    assert everything(said) == before
    said.remove([2])
    said.restore()
    restoration = said.log.history(1)[0]
    said.undo(restoration.number)
    assert [row.id for row in said.bin.browse()] == [2]
    said.undo(said.log.history(1)[0].number)
    assert everything(said) == before


def test_it_stays_out_when_its_folder_is_added_again(said, pictures):
    place = said.pictures.get(2).places[0]
    said.remove([2])
    added = said.add([pictures])
    assert (added.added, added.known, added.removed, len(said)) == (0, 23, 1, 23)
    moved = place.with_name("anderswo.png")
    place.rename(moved)
    added = said.add([pictures])
    assert (added.added, added.removed, len(said)) == (0, 1, 23)
    os.utime(moved, ns=(1, 1))
    assert said.add([pictures]).added == 0
    said.restore([2])
    assert said.pictures.get(2).places == (moved,)
    said.remove([2])
    assert said.add([moved], removed=True).removed == 1
    assert said.labels.of([2])[2] == ["Katze", "blau"]
    assert said.log.history(1)[0].kind == "restoration"


def test_emptied_it_is_erased_and_the_log_stays_true(said, pictures):
    place = said.pictures.get(2).places[0]
    said.remove([2, 3])
    assert said.bin.empty([2]) == 1
    said.log.check()
    assert [row.id for row in said.bin.browse()] == [3]
    assert place.exists()
    for table in ("given", "changes", "places", "thumbnails", "records_1"):
        rows = stored_rows(said, f"SELECT 1 FROM {table} WHERE picture = 2")
        assert rows == [], table
    assert said.add([pictures]).added == 0
    with pytest.raises(NotFound, match="in the bin"):
        said.restore([2])
    said.restore()
    assert said.labels.of([3])[3] == ["Katze", "blau"]
    assert said.bin.empty() == 0
    said.log.check()


def content(collection):
    """All bytes of the database, written out."""
    beside(collection).database.forget()
    return (collection.path / "collection.sqlite").read_bytes()


def test_what_was_said_of_an_erased_picture_leaves_the_log(said, pictures):
    said.label(5, "Geheimnis", who="ada", key="schluessel")
    said.label([5, 6], "Vertraulich")
    said.vote(Ask((5,)), picked=[6], rejected=[21], who="ada")
    both = said.vote(Ask((1,)), picked=[3], rejected=[5, 22], who="ada")
    before = said.log.history()
    assert b"Geheimnis" in content(said)
    said.remove([5])
    said.bin.empty()
    said.log.check()
    assert b"Geheimnis" not in content(said)
    assert b"schluessel" not in content(said)
    log = {event.number: event for event in said.log.history()}
    # That something was said, by whom and when, is kept.
    told = [(log[e.number].kind, log[e.number].who, log[e.number].at) for e in before[1:4:2]]
    assert told == [("erased", "ada", event.at) for event in before[1:4:2]]
    vote = log[both.number].body
    assert (vote["picked"], vote["rejected"]) == ([3], [22])
    assert said.votes.verdicts(Ask((1,)), who="ada")[22] == -1
    with pytest.raises(InvalidInput, match="cannot be undone"):
        said.undo(before[1].number)
    # What was said of others stays, and goes with the last of them.
    assert b"Vertraulich" in content(said)
    said.remove([6])
    said.bin.empty()
    assert b"Vertraulich" not in content(said)
    said.log.check()
    with Collection.open(said.path, features=[Colours()]) as again:
        assert again.votes.verdicts(Ask((1,)), who="ada")[22] == -1
        again.log.check()
        assert again.search(1)


def test_that_an_erased_picture_is_no_duplicate_leaves_the_log(said):
    three = said.duplicates.tell_apart([5, 6, 7])
    side = said.duplicates.tell_apart([5], of=[8, 9])
    pair = said.duplicates.tell_apart([5, 9])
    other = said.duplicates.tell_apart([10], of=[5, 11])
    last = said.duplicates.tell_apart([10, 11], of=[5])
    said.remove([5])
    said.bin.empty()
    said.log.check()
    log = {event.number: event for event in said.log.history()}
    assert log[three.number].body["pictures"] == [6, 7]
    assert (log[other.number].body["pictures"], log[other.number].body["of"]) == ([10], [11])
    assert [log[it.number].kind for it in (side, pair, last)] == ["erased"] * 3
    apart = pictures_apart(beside(said).database)
    assert 5 not in apart
    assert apart[6] == [frozenset({6, 7})]
    assert apart[10] == [frozenset({11})]
    rows = stored_rows(said, "SELECT body FROM events WHERE kind = 'distinct'")
    assert not any("5" in body for (body,) in rows)


def test_who_changes_what_is_left_of_an_erased_event_is_found(said):
    said.label(5, "Geheimnis")
    number = said.log.history(1)[0].number
    said.remove([5])
    said.bin.empty()
    write_rows(said, "UPDATE events SET body = '{}' WHERE number = ?", number)
    with pytest.raises(DamagedFile, match=f"from event {number} on"):
        said.log.check()


def test_an_upload_left_by_a_killed_eraser_is_swept(said, monkeypatch):
    file = said.path / "uploads" / "ei ge n.png"
    picture(file, (9, 8, 7), 5)
    said.add([file])
    new = file.with_name("just coming.png")
    new.write_bytes(b"to be added in a moment")
    old = file.with_name("left over.png")
    old.write_bytes(b"written, and then killed")
    os.utime(old, (1, 1))
    said.remove([said.pictures.find(file)])

    sweep, calls = uploads.sweep, []

    def killed(*given):
        calls.append(given)
        if len(calls) == 2:  # the first one is of the lock, before anything is erased
            raise KeyboardInterrupt
        return sweep(*given)

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "sweep", killed)
        with pytest.raises(KeyboardInterrupt):
            said.bin.empty()
    assert file.exists()
    said.upkeep.tidy()
    assert [one.name for one in file.parent.iterdir()] == [new.name]
    assert stored_rows(said, "SELECT * FROM leftovers") == []


def test_what_was_erased_is_not_there_for_an_undoing(said):
    removal = said.remove([2, 3]) and said.log.history(1)[0].number
    said.bin.empty([2])
    said.undo(removal)
    assert 3 in {row.id for row in said.pictures.all()}
    with pytest.raises(InvalidInput, match="cannot be undone"):
        said.undo(next(event.number for event in said.log.history() if event.kind == "erasure"))


def test_a_missing_file_keeps_all_that_was_said_of_it(said, pictures, tmp_path):
    before = everything(said)
    place = said.pictures.get(2).places[0]
    away = tmp_path / "away.png"
    shutil.move(place, away)
    assert said.pictures.find_missing() == 1
    row = said.pictures.get(2)
    assert row.missing
    assert row.places == (place,)
    assert [it.id for it in said.pictures.browse(where=Filter(missing=True))] == [2]
    assert said.pictures.count(Filter(missing=False)) == 23
    assert everything(said) == before
    assert said.pictures.find_missing() == 0
    shutil.move(away, place)
    assert said.pictures.find_missing() == 0
    assert said.pictures.get(2).missing is None
    shutil.move(place, pictures / "neu.png")
    said.pictures.find_missing()
    assert said.add([pictures]).moved == 1
    assert said.pictures.get(2).places == (pictures / "neu.png",)
    assert said.pictures.get(2).missing is None
    assert said.labels.of([2])[2] == ["Katze", "blau"]


def test_missing_pictures_are_counted_not_files(said, pictures):
    for number in (2, 3):
        shutil.copy(said.pictures.get(number).places[0], pictures / f"copy {number}.png")
    said.add([pictures])
    for place in (
        *said.pictures.get(2).places,
        said.pictures.get(3).places[0],
        said.pictures.get(4).places[0],
    ):
        place.unlink()
    said.remove([4])
    assert said.pictures.find_missing() == said.pictures.count(Filter(missing=True)) == 1


def test_missing_is_looked_for_only_where_asked(said, pictures):
    for number in (2, 20):
        said.pictures.get(number).places[0].unlink()
    assert said.pictures.find_missing([said.pictures.get(20).places[0].parent]) == 1
    assert [row.id for row in said.pictures.browse(where=Filter(missing=True))] == [20]


def test_a_tagged_picture_whose_file_is_overwritten_is_missing(said, pictures):
    place, content = said.pictures.get(2).places[0], said.pictures.get(2).places[0].read_bytes()
    picture(place, (1, 2, 3), 999)
    assert said.add([pictures]).added == 1
    row = said.pictures.get(2)
    assert (row.places, bool(row.missing)) == ((place,), True)
    assert "Katze" in said.labels.of([2])[2]
    assert said.pictures.find(place) != 2
    (pictures / "zurueck.png").write_bytes(content)
    said.add([pictures])
    assert said.pictures.get(2).missing is None
    assert said.pictures.get(2).places == (pictures / "zurueck.png",)
    said.log.check()
