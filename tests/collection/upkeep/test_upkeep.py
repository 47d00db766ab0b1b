"""A collection is checked, backed up while it changes, and restored."""

import fcntl
import json
import os
import shutil
import sqlite3
import threading
from contextlib import closing, nullcontext

import pytest

from lookalike.collection import Ask, Collection, restore_backup
from lookalike.collection.upkeep import backup
from lookalike.core.errors import CollectionBusy, CollectionError, DamagedFile
from tests.collection.beside import beside
from tests.collection.colours import Colours, picture


@pytest.fixture
def store(collection):
    file = collection.path / "uploads" / "käfer.png"
    picture(file, (9, 8, 7), 5)
    collection.add([file])
    collection.learn(folders=True, settings={"steps": 300, "blend": 0.5})
    collection.vote(Ask((1,)), picked=[2], rejected=[20])
    collection.label(3, "Straße")
    return collection


def opened(path):
    return Collection.open(path, features=[Colours()])


def everything(store):
    return (
        store.search(1, 30),
        store.labels.all(),
        [e.number for e in store.log.history()],
        len(store),
    )


def changed(store, statement):
    with closing(sqlite3.connect(store.path / "collection.sqlite")) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement)
        connection.commit()


def test_a_sound_collection_has_no_findings(store):
    found = store.upkeep.check()
    assert found.sound
    assert found.findings == []
    assert (found.pictures, found.files > 2) == (25, True)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE thumbnails SET jpeg = x'ff' WHERE picture = 7", "thumbnail of 7"),
        ("UPDATE records_1 SET record = x'00' || record WHERE picture IN (7, 8)", "of 7, 8"),
        ("DELETE FROM records_1 WHERE picture = 9", "no record of 9"),
        ("DELETE FROM thumbnails WHERE picture = 9", "no thumbnail of 9"),
        ("UPDATE given SET label = 'Gasse' WHERE label = 'Straße'", "label of 3"),
        ("UPDATE all_pictures SET width = 1 WHERE id = 4", "damaged: picture"),
        ("UPDATE events SET body = replace(body, 'Straße', 'Gasse')", "log is damaged"),
        ("DELETE FROM events WHERE number = (SELECT max(number) FROM events)", "ends at event"),
        ("DELETE FROM all_pictures WHERE id = 5", "not there"),
    ],
)
def test_what_is_damaged_is_listed_with_what_to_do(store, statement, told):
    changed(store, statement)
    with opened(store.path) as other:
        found = other.upkeep.check()
    assert not found.sound
    assert any(told in finding.problem for finding in found.findings), found.findings
    assert all(finding.remedy.endswith(".") for finding in found.findings)


def test_damaged_and_missing_files_are_listed(store, pictures):
    model = next((store.path / "models").iterdir())
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (store.path / "uploads" / "käfer.png").unlink()
    (store.path / "uploads" / "stray.png").write_bytes(b"of nobody")
    (pictures / "rot" / "rot-1.png").unlink()
    with opened(store.path) as other:
        found = other.upkeep.check()
    told = {finding.problem.split(":")[0]: finding.damage for finding in found.findings}
    (damaged,) = [problem for problem in told if problem.startswith(str(model))]
    assert told.pop(damaged) is True
    assert told == {
        "1 uploaded file without a picture": False,
        "1 uploaded file missing": True,
        "1 picture files are not where they were": False,
    }


def test_a_backup_comes_back_whole(store, tmp_path):
    before = everything(store)
    made = store.upkeep.backup(tmp_path / "backup")
    assert (made.pictures, made.events) == (25, store.log.history(1)[0].number)
    store.label(4, "later")
    store.remove([7])
    path = store.path
    store.close()
    done = restore_backup(tmp_path / "backup", path)
    with opened(path) as other:
        assert everything(other) == before
        assert other.upkeep.check().sound
        other.label(4, "again")
    with opened(done.aside) as old:
        assert "later" in old.labels.all()[4]
    assert restore_backup(tmp_path / "backup", path, replace=True).aside is None
    assert not [file for file in path.parent.iterdir() if file.name.startswith(".")]


def test_a_backup_of_damaged_rows_says_so(store, tmp_path):
    assert store.upkeep.backup(tmp_path / "one").damaged == 0
    changed(store, "UPDATE thumbnails SET jpeg = x'00' WHERE picture = 3")
    with opened(store.path) as other:
        assert other.upkeep.backup(tmp_path / "two").damaged == 1


def test_a_backup_may_go_elsewhere(store, tmp_path):
    store.upkeep.backup(tmp_path / "backup")
    shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)
    restore_backup(tmp_path / "backup", tmp_path / "elsewhere")
    with opened(tmp_path / "elsewhere") as other:
        assert other.pictures.find(tmp_path / "elsewhere" / "uploads" / "käfer.png")
        assert other.upkeep.check().sound


@pytest.mark.parametrize("way", ["moved", "copied", "copied, the first one gone", "renamed"])
def test_uploads_are_found_again_where_a_collection_was_moved_to(store, tmp_path, way):
    number = store.pictures.find(store.path / "uploads" / "käfer.png")
    before, after = store.path, tmp_path / "elsewhere"
    store.close()
    if way == "renamed":
        after = before
        file = before / "uploads" / "käfer.png"
        file.rename(file.with_name("other.png"))
    elif way == "moved":
        before.rename(after)
    else:
        shutil.copytree(before, after)
    if way == "copied, the first one gone":
        shutil.rmtree(before)
    name = "other.png" if way == "renamed" else "käfer.png"
    file = after / "uploads" / name
    os.utime(file, (1, 1))
    with opened(after) as other:
        assert other.upkeep.check().sound
        assert any("another place" in it.problem for it in other.upkeep.check().findings)
        if way == "moved":
            assert (other.upkeep.backup(tmp_path / "copy").path / "uploads" / name).exists()
        other.upkeep.tidy()
        assert file.exists()
        assert other.pictures.find(file) == number
        assert not [it for it in other.upkeep.check().findings if "uploaded" in it.problem]
        other.remove([number])
        other.bin.empty()
    assert not file.exists()
    if way == "copied":
        assert (before / "uploads" / "käfer.png").exists()


def test_a_backup_while_others_write_is_of_one_moment(store, tmp_path):
    stop, said = threading.Event(), []

    def write():
        with opened(store.path) as other:
            while not stop.is_set():
                said.append(other.label(1 + len(said) % 20, f"wort {len(said)}").number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [store.upkeep.backup(tmp_path / f"backup-{number}") for number in range(3)]
    finally:
        stop.set()
        writer.join()
    store.log.check()
    for number, one in enumerate(made):
        restore_backup(one.path, tmp_path / f"c-{number}")
        with opened(tmp_path / f"c-{number}") as other:
            other.log.check()
            assert other.upkeep.check().sound


def test_a_damaged_backup_changes_nothing(store, tmp_path):
    before = everything(store)
    store.upkeep.backup(tmp_path / "backup")
    database = tmp_path / "backup" / "collection.sqlite"
    content = bytearray(database.read_bytes())
    content[len(content) // 2] ^= 1
    database.write_bytes(content)
    with pytest.raises(DamagedFile, match="Nothing was changed"):
        restore_backup(tmp_path / "backup", store.path)
    manifest = tmp_path / "backup" / "backup.json"
    told = json.loads(manifest.read_text())
    for bad in ({"../evil": {}}, {"/evil": {}}, 3):
        manifest.write_text(json.dumps({**told, "files": bad}))
        with pytest.raises(DamagedFile):
            restore_backup(tmp_path / "backup", store.path)
    with pytest.raises(CollectionError, match="not a backup"):
        restore_backup(tmp_path, store.path)
    assert everything(store) == before


def test_what_killed_backups_and_restores_left_is_swept(store, tmp_path):
    def left(name):
        folder = tmp_path / name
        (folder / "models").mkdir(parents=True)
        (folder / "models" / "1.safetensors").write_bytes(b"half")
        return folder

    names = (".monday.unfinished-0123456789abcdef", ".c.unfinished-00000000000000ff")
    foreign = left(".monday.unfinished-of-mine")
    held = left(".sunday.unfinished-fedcba9876543210")
    handle = os.open(held, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    gone = [left(name) for name in names]
    store.upkeep.backup(tmp_path / "tuesday")
    assert not any(folder.exists() for folder in gone)
    assert foreign.exists()
    assert held.exists(), "somebody works there"
    os.close(handle)
    assert store.path.parent == tmp_path
    store.upkeep.tidy()
    assert not held.exists()
    left(names[0])
    restore_backup(tmp_path / "tuesday", tmp_path / "new")
    assert not (tmp_path / names[0]).exists()


@pytest.mark.parametrize("step", ["rename", "exchange"])
def test_a_restore_stopped_at_the_last_step_keeps_both(store, tmp_path, monkeypatch, step):
    """The old collection is never where left-overs are swept."""
    store.upkeep.backup(tmp_path / "b")
    store.label(1, "später")
    store.close()
    stopped = []

    def stop(one, other):
        stopped.append([one, other])
        assert not any("unfinished" in str(path) for path in (one, other))
        if step == "exchange":
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(backup, "_exchanged", stop)
    with pytest.raises(KeyboardInterrupt) if step == "exchange" else nullcontext():
        restore_backup(tmp_path / "b", store.path)
    assert stopped
    kept = next(tmp_path.glob(f"{store.path.name}.before-*"))
    with opened(store.path) as now, opened(kept) as other:
        found = ["später" in it.labels.all().get(1, []) for it in (now, other)]
    assert found == ([True, False] if step == "exchange" else [False, True])
    assert not list(tmp_path.glob(".*unfinished*"))


def test_nothing_is_replaced_under_a_server_or_writer(store, tmp_path):
    store.upkeep.backup(tmp_path / "backup")
    with pytest.raises(CollectionError, match="already exists"):
        store.upkeep.backup(tmp_path / "backup")
    with store.upkeep.serving(), pytest.raises(CollectionBusy, match="a server serves"):
        restore_backup(tmp_path / "backup", store.path)
    with beside(store).folder.writing(), pytest.raises(CollectionBusy):
        restore_backup(tmp_path / "backup", store.path)
    assert not list(store.path.parent.glob("*before*"))
    # One that is open all the same notices it, and writes into no other collection.
    restore_backup(tmp_path / "backup", store.path)
    for work in (lambda: store.label(1, "word"), lambda: store.search(1)):
        with pytest.raises(CollectionError, match="replaced, moved or deleted"):
            work()


def test_a_disk_that_fails_during_a_backup_is_told(collection, tmp_path, monkeypatch):
    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(backup, "_copy_files", fail)
    with pytest.raises(
        CollectionError, match=r"cannot write .*disk I/O error.*Nothing was changed"
    ):
        collection.upkeep.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob(".*unfinished*"))
