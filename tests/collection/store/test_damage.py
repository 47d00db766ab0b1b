"""Damage is noticed: flipped bits in models and the database, and a log that lost its end."""

import random
import re
import shutil
import sqlite3
from contextlib import closing
from operator import attrgetter

import pytest

from lookalike.collection import Ask, Collection, SavedSearch
from lookalike.collection.ranking.rankers import Rankers
from lookalike.core.errors import CollectionError, DamagedFile
from tests.collection.beside import beside
from tests.collection.colours import Colours
from tests.gates import OPEN


def again(collection):
    return Collection.open(collection.path, features=[Colours()], gate=OPEN)


def flip(file, place, bit=0):
    content = bytearray(file.read_bytes())
    content[place] ^= 1 << bit
    file.write_bytes(content)


def test_the_history_tells_that_pictures_of_an_event_are_lost(collection, caplog):
    """They were left out without a word."""
    number = collection.label([1, 2, 3], "Hund").number
    collection.remove([4, 5])
    collection.remove([1])
    collection.bin.empty([1, 4])
    assert len(collection.log.history(10)) == 4
    assert not caplog.text, "erased, and so not damaged"
    with beside(collection).database.transaction() as connection:
        connection.execute("DELETE FROM changes WHERE picture = 2")
    collection.log.history(10)
    assert caplog.text.count("is not as it was written") == 1
    assert f"what event {number} did to pictures" in caplog.text


def test_a_label_that_is_no_text_is_told(collection):
    collection.label(1, "Hund")
    with beside(collection).database.transaction() as connection:
        connection.execute("UPDATE given SET label = x'00' WHERE label = 'Hund'")
    with pytest.raises(DamagedFile, match="a label is not as it was written"):
        collection.labels.used()
    with pytest.raises(DamagedFile, match="a label is not as it was written"):
        collection.search_word("Katze", 5)


def test_votes_that_no_label_can_judge_any_more_are_told(taught, caplog):
    """They were judged by nothing, without a word."""
    collection, _ = taught
    collection.vote(Ask((1,)), picked=[2], rejected=[9])
    assert collection.votes.standing().labels_after is not None
    with beside(collection).database.transaction() as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("DELETE FROM models WHERE kind = 'similarity'")
    with again(collection) as other:
        assert other.votes.standing().labels_after is None
        assert "votes are not judged by labels" in caplog.text
        assert other.search(1, 5)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "2001-01-01T00:00:00Z"),
        ("kind", "removal"),
        ("who", "Bea"),
        ("body", '{"event":3,"undid":"vote"}'),
        ("about", "event 1"),
        *((column, bytes(16)) for column in ("salt", "seal", "digest")),
    ],
)
def test_the_history_shows_no_event_that_is_not_as_it_was_written(
    collection, column, value, caplog
):
    """It was shown as it is, where no vote had to be read from there on."""
    collection.label(1, "Hund", who="Ada")
    undone = collection.undo(collection.label(4, "Hund", who="Ada").number)
    collection.label(5, "Hund", who="Ada")
    with beside(collection).database.transaction() as connection:
        connection.execute(
            f"UPDATE events SET {column} = ? WHERE number = ?",
            (value, undone.number),
        )
    entries = collection.log.history(10)
    # The digest of an event is part of the next one's, too.
    wrong = {undone.number, undone.number + (column == "digest")}
    assert {one.number for one in entries if one.kind == "damaged"} == wrong
    assert not any(one.can_undo or one.body or one.who for one in entries if one.number in wrong)
    assert f"event {undone.number} of the log is not as it was written" in caplog.text


@pytest.fixture
def taught(collection):
    assert collection.learn(folders=True, settings={"steps": 300, "blend": 0.5}).similarity
    (file,) = (collection.path / "models").glob(f"{collection.models.all()[0].number}.safetensors")
    return collection, file


def test_every_flip_in_a_model_stops_what_was_learned_and_nothing_else(taught):
    collection, file = taught
    plain, whole = collection.search(1, 5, learned=False), file.read_bytes()
    rng = random.Random(0)
    collection.close()
    for _ in range(20):
        flip(file, rng.randrange(len(whole)), rng.randrange(8))
        with again(collection) as other:
            with pytest.raises(DamagedFile, match=r"models/.*--no-learning.*rollback"):
                other.search(1, 5)
            assert other.search(1, 5, learned=False) == plain
            (info,) = other.models.rankers()
            assert "damaged" in info.trouble or "does not exist" in info.trouble
        file.write_bytes(whole)
    with again(collection) as other:
        assert other.search(1, 5)


def test_a_damaged_model_can_be_left_or_learned_anew(taught):
    collection, file = taught
    collection.close()
    flip(file, file.stat().st_size - 5)
    with again(collection) as other:
        with pytest.raises(DamagedFile):
            other.vote(Ask((1,)), picked=[2], rejected=[9])
        assert other.add([]).added == 0
        assert other.learn(folders=True, settings={"steps": 300, "blend": 0.5}).similarity
        assert other.search(1, 5)
    # Before the new one stands none, rather than the damaged one.
    with again(collection) as other:
        assert other.rollback().similarity is None
        assert other.search(1, 5)


@pytest.fixture
def misspelled(collection):
    """A collection whose annotator is damaged, opened anew."""
    assert collection.learn(folders=True, settings={"steps": 300, "blend": 0.5}).words.published
    collection.label([1, 2, 3, 4, 5], "Straße")
    (words,) = [row.number for row in collection.models.all() if row.kind == "words"]
    file = collection.path / "models" / f"{words}.safetensors"
    collection.close()
    flip(file, file.stat().st_size // 2)
    with again(collection) as other:
        yield other, file


REMEDY = r"models/.* out of use.*lookalike learn.*rollback.*backup"


def test_a_damaged_annotator_stops_learned_words_and_nothing_else(misspelled):
    store, _ = misspelled
    (info,) = store.models.rankers()
    assert info.ready
    assert "out of use" in info.trouble
    found = store.search_word("rot", 99)
    assert [match.source for match in found[:8]] == ["given"] * 8
    assert store.words.count("rot").tagged == 8
    assert {match.id for match in store.search_word("Straße", 5)} == {1, 2, 3, 4, 5}
    assert store.search_word("nothing") == []
    assert re.search(REMEDY, store.words.damage())
    assert {one.word for one in store.suggest(6)} == {"Straße"}
    assert store.queries.reasons(Ask((2,)), 3)
    assert store.search(1, 5)
    for ask in (
        store.words.learned,
        store.models.evaluate_words,
        lambda: store.words.tag([store.pictures.get(1).places[0]]),
    ):
        with pytest.raises(DamagedFile, match=REMEDY):
            ask()


def test_words_without_learning_are_labels_and_names(collection):
    collection.learn(folders=True)
    collection.label(1, "neu")
    assert collection.words.count("neu").probable
    assert [match.id for match in collection.search_word("neu", 99, learned=False)] == [1]
    assert collection.words.count("rot", learned=False).tagged == 8
    assert collection.words.count("neu", learned=False).probable == 0
    collection.albums.save("Neu", SavedSearch(word="neu", learned=False))
    assert collection.albums.get("Neu").members == (1,)


def test_an_album_of_a_word_tells_of_a_damaged_annotator(misspelled):
    store, _ = misspelled
    album = store.albums.save("Rot", SavedSearch(word="rot"), most=20)
    assert len(album.members) >= 8
    assert re.search(REMEDY, album.trouble)


def test_damage_to_a_similarity_leaves_words(taught):
    collection, file = taught
    found = {match.id for match in collection.search_word("rot", 99)}
    collection.close()
    flip(file, file.stat().st_size - 5)
    with again(collection) as other:
        assert {match.id for match in other.search_word("rot", 99)} == found
        assert "rollback" in other.words.damage()
        assert other.suggest(1) is not None
        assert other.words.like("r")
        assert other.words.tag([other.pictures.get(1).places[0]]).pictures[0].tags


@pytest.mark.parametrize("remedy", ["rollback", "learn"])
def test_what_is_advised_gets_rid_of_a_damaged_annotator(misspelled, remedy):
    store, file = misspelled
    (finding,) = store.upkeep.check().findings
    assert finding.damage
    if remedy == "rollback":
        store.rollback()
        assert store.upkeep.check().findings == []
    store.learn()
    assert store.words.damage() == store.models.rankers()[0].trouble == ""
    assert store.search_word("rot")
    assert store.upkeep.check().findings == []
    store.add([])
    assert not file.exists()
    assert store.upkeep.backup(store.path.parent / "backup")


def test_a_damaged_model_that_no_search_uses_is_a_note(collection):
    collection.learn(folders=True)
    old = [row.number for row in collection.models.all()]
    collection.learn(folders=True)
    for number in old:
        file = collection.path / "models" / f"{number}.safetensors"
        if file.exists():
            flip(file, file.stat().st_size // 2)
    checked = collection.upkeep.check()
    assert checked.sound
    assert checked.findings
    assert all("learned the next time" in finding.remedy for finding in checked.findings)
    with pytest.raises(DamagedFile, match=r"damaged.*nothing was changed.*lookalike learn"):
        collection.rollback()


TABLES = {
    "records_1": ("record", lambda store: store.search(1, 99, learned=False)),
    "thumbnails": ("jpeg", lambda store: store.pictures.thumbnail(5)),
    "all_pictures": ("sha256", lambda store: store.pictures.get(5)),
    "given": ("label", lambda store: store.labels.all()),
    "places": ("path", lambda store: store.search(1, 99)),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_flipped_bit_in_a_row_is_noticed(collection, table, caplog):
    column, read = TABLES[table]
    collection.label(5, "Straße")
    collection.close()
    shutil.rmtree(collection.path / "cache", ignore_errors=True)
    key = "id" if table == "all_pictures" else "picture"
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        (value,) = connection.execute(
            f"SELECT CAST({column} AS BLOB) FROM {table} WHERE {key} = 5"
        ).fetchone()
        value = bytes([*value[:-1], value[-1] ^ 1])
        kind = "BLOB" if column in ("record", "jpeg") else "TEXT"
        connection.execute(
            f"UPDATE {table} SET {column} = CAST(? AS {kind}) WHERE {key} = 5", [value]
        )
        connection.commit()
    with again(collection) as other:
        if table == "records_1":
            # One damaged record must not stop all searches: its picture is left out.
            assert 5 not in {match.id for match in read(other)}
            assert len(read(other)) == 22
            assert "1 picture are missing or damaged" in caplog.text
        else:
            with pytest.raises(DamagedFile, match="checksum differs"):
                read(other)
            assert not other.upkeep.check().sound
        assert other.pictures.thumbnail(6)


# What a page of zeros leaves of rows, and what must tell of it.
LOST = {
    "picture of a place": ("UPDATE places SET picture = 0 WHERE picture = 5", "search"),
    "places": ("UPDATE places SET path = '' || 0, picture = 0", "pictures.all"),
    "roots": ("UPDATE roots SET path = NULL", "search_word"),
    "paths": ("UPDATE places SET path = NULL WHERE picture = 5", "search_word"),
}


@pytest.mark.parametrize("lost", LOST)
def test_rows_that_lost_their_content_are_noticed(collection, lost):
    statement, method = LOST[lost]
    collection.close()
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') "
            "WHERE name IN ('places', 'roots')"
        )
        connection.commit()
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        connection.execute(statement)
        connection.commit()
    asked = {"search": (1, 99), "pictures.all": (), "search_word": ("colour",)}[method]
    with again(collection) as other, pytest.raises(DamagedFile, match="damaged"):
        list(attrgetter(method)(other)(*asked))


@pytest.mark.parametrize("part", ["annotated", "starting", "get"])
def test_what_a_search_by_word_goes_without_is_told(taught, monkeypatch, caplog, part):
    def damaged(*_, **__):
        raise DamagedFile("the database is damaged")

    collection, _ = taught
    monkeypatch.setattr(Rankers, part, damaged)
    collection.search_word("rot", 5)
    assert "the database is damaged" in caplog.text


def test_a_schema_that_is_no_text_is_told(collection):
    path = collection.path
    collection.close()
    file = path / "collection.sqlite"
    flip(file, file.read_bytes().find(b"REFERENCES") + 6, 7)
    with pytest.raises(DamagedFile, match="Restore a backup"):
        Collection.open(path, features=[Colours()])


def test_a_damaged_bin_is_told(collection, caplog):
    collection.remove([5])
    collection.close()
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        connection.execute("UPDATE bin SET picture = 0")
        connection.commit()
    with again(collection) as other:
        assert "the bin names pictures that are not there" in caplog.text
        assert not other.upkeep.check().sound


def test_a_damaged_write_ahead_log_is_noticed(collection, tmp_path):
    keep = tmp_path / "kept"
    for number in range(2, 8):
        collection.vote(Ask((1,)), picked=[number], rejected=[20])
    # As a killed server leaves it: the log is not in the database yet.
    shutil.copytree(collection.path, keep)
    rng = random.Random(1)
    noticed = 0
    for place in range(8):
        broken = tmp_path / f"broken-{place}"
        shutil.copytree(keep, broken)
        wal = broken / "collection.sqlite-wal"
        (broken / "collection.sqlite-shm").unlink(missing_ok=True)
        flip(wal, rng.randrange(wal.stat().st_size // 2, wal.stat().st_size))
        bad = wal.read_bytes()
        aside = broken / "damaged-log"
        with Collection.open(broken, features=[Colours()]) as other:
            if len(other.log.history(99)) < 6:
                noticed += 1
                with pytest.raises(DamagedFile, match=r"ends at event \d, but event 6"):
                    other.log.check()
                with pytest.raises(DamagedFile, match="nothing more is recorded"):
                    other.label(1, "word")
                assert other.search(1)
                # The bad file is set aside, before SQLite deletes it.
                assert aside.read_bytes() == bad
                for end in broken.glob("log-end*"):
                    end.unlink()
                other.label(1, "word")
                other.log.check()
                other.remove([1])
                other.bin.empty()
                assert not aside.exists()  # it still held what was erased
            else:
                assert not aside.exists()
    assert noticed >= 4


def test_a_deleted_write_ahead_log_is_noticed(collection, tmp_path):
    shutil.copytree(collection.path, tmp_path / "c")
    for file in (tmp_path / "c").glob("*.sqlite-*"):
        file.unlink()
    with pytest.raises(DamagedFile):
        Collection.open(tmp_path / "c", features=[Colours()]).log.check()


def test_the_end_of_the_log_may_lag_and_be_missing(collection):
    file = collection.path / "log-end"
    collection.label(1, "one")
    early = file.read_bytes()
    collection.label(1, "two")
    # Killed between the commit and the file, or the power went off.
    for content in (early, b"", b"\0" * 96, early.replace(b" ", b"  ", 1)):
        file.write_bytes(content)
        with again(collection) as other:
            other.log.check()
            other.label(2, "three")
            other.log.check()
    file.unlink()
    with again(collection) as other:
        other.log.check()
    assert file.exists()


def test_one_of_two_ends_of_the_log_is_enough(collection, tmp_path):
    """Where one is damaged, check says so, a lost log is still noticed, and it is written again."""
    damages = {
        "flipped": lambda content: bytes([content[0] ^ 1]) + content[1:],
        "cut": lambda content: content[:7],
        "empty": lambda content: b"",
        "zeros": lambda content: bytes(len(content)),
        "other": lambda content: content.replace(b" ", b"  ", 1),
    }
    shutil.copytree(collection.path, tmp_path / "before")
    collection.label(1, "one")
    for name in ("log-end", "log-end.copy"):
        for how, damage in damages.items():
            place = tmp_path / f"{name} {how}"
            shutil.copytree(collection.path, place)
            file = place / name
            file.write_bytes(damage(file.read_bytes()))
            with Collection.open(place, features=[Colours()]) as other:
                (finding,) = other.upkeep.check().findings
                assert (finding.where, finding.damage) == (str(file), True)
                other.label(2, "two")
                assert other.upkeep.check().sound
            for lost in place.glob("*.sqlite*"):
                lost.unlink()
            shutil.copyfile(tmp_path / "before/collection.sqlite", place / "collection.sqlite")
            file.write_bytes(damage(file.read_bytes()))
            with Collection.open(place, features=[Colours()]) as other:
                assert not other.upkeep.check().sound
                with pytest.raises(DamagedFile, match="was acknowledged"):
                    other.log.check()


def test_two_damaged_ends_of_the_log_let_nothing_be_recorded(collection, caplog):
    collection.label(1, "one")
    files = sorted(collection.path.glob("log-end*"))
    for file in files:
        file.write_bytes(b"")
    with again(collection) as other:
        assert "cannot be read" in caplog.text
        assert not other.upkeep.check().sound
        with pytest.raises(DamagedFile, match="nothing more is recorded"):
            other.label(1, "two")
        assert other.search(1)
        for file in files:
            file.unlink()
        other.label(1, "two")
    assert len(list(collection.path.glob("log-end*"))) == len(files) == 2


def test_a_collection_replaced_under_an_open_one_is_not_written_to(collection, tmp_path):
    shutil.copytree(collection.path, tmp_path / "copy")
    collection.path.rename(tmp_path / "aside")
    (tmp_path / "copy").rename(collection.path)
    with pytest.raises(CollectionError, match="replaced, moved or deleted"):
        collection.label(1, "word")
    with again(collection) as other:
        assert not other.labels.all()
        other.label(1, "word")
