"""Lists of files that could go: read by people and spreadsheets, and run by a shell."""

import csv
import io
import os
import subprocess
from pathlib import Path

import pytest

from lookalike import Collection
from lookalike.service.file_lists import Spare, file_list, spare_files
from tests.collection.colours import Colours
from tests.collection.search.test_duplicates import scene

NAMES = ["a 'quoted' $HOME `id`.png", "two\nlines.png", "-rf.png", "Größe;x.png", "caf\udce9.png"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "my pictures"
    (place / "again").mkdir(parents=True)
    for seed, name in enumerate(NAMES):
        scene(seed).save(place / f"{seed}.png")
        data = (place / f"{seed}.png").read_bytes()
        (place / "again" / name).write_bytes(data)
    scene(0).save(place / "0 small.jpg", quality=60)
    (place / "link.png").symlink_to(place / "0.png")
    return place


@pytest.fixture
def store(tmp_path, folder):
    with Collection.create(tmp_path / "store", features=[Colours()]) as made:
        made.add(sorted(folder.glob("*.*")))
        made.add([folder])
        yield made


def test_files_of_the_same_content_come_first_and_links_are_no_copies(store, folder):
    copies = store.duplicates.copies()
    assert len(copies) == len(NAMES)
    assert {one.paths[0] for one in copies} <= {*folder.glob("?.png"), folder / "link.png"}
    spare = spare_files(store, store.duplicates.find())
    exact = [one for one in spare if one.likeness is None]
    assert spare[: len(exact)] == exact
    assert {one.path.name for one in exact} == {*NAMES}
    (near,) = spare[len(exact) :]
    assert near.path == folder / "0 small.jpg"
    assert near.likeness > 0.9
    store.remove([store.pictures.find(folder / "1.png")])
    assert len(store.duplicates.copies()) == len(NAMES) - 1
    (folder / "again" / NAMES[0]).unlink()
    assert all(NAMES[0] != one.path.name for one in spare_files(store, []))


def test_of_exact_copies_the_oldest_file_is_kept(store, folder):
    """Also where its path is longer; of files of the same age that with the shortest path."""
    old, new = folder / "again" / NAMES[0], folder / "0.png"
    os.utime(old, (1e9, 1e9))
    for path in (folder / "1.png", folder / "again" / NAMES[1]):
        os.utime(path, (1.2e9, 1.2e9))
    keeps = {one.path: one.keep for one in spare_files(store, [])}
    assert keeps[new] == old
    assert keeps[folder / "again" / NAMES[1]] == folder / "1.png"


def test_the_script_deletes_copies_and_nothing_else(store, folder, tmp_path):
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    script = tmp_path / "delete.sh"
    spare = spare_files(store, store.duplicates.find())
    changed = next(one for one in spare if one.path.name == NAMES[2])
    script.write_bytes(file_list(spare, "sh"))
    changed.path.write_bytes(b"something else by now")
    subprocess.run(["/bin/sh", str(script)], check=False, cwd=folder / "again")
    left = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    gone = {one.path for one in spare} - {changed.path}
    assert left == {
        path: b"something else by now" if path == changed.path else data
        for path, data in before.items()
        if path not in gone
    }


def test_a_script_keeps_what_has_lost_the_file_to_keep(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("")
    spare = [
        Spare(1, tmp_path / "gone", tmp_path / "a", None),
        Spare(2, tmp_path / "gone", tmp_path / "b", 0.99),
    ]
    (tmp_path / "it.sh").write_bytes(file_list(spare, "sh"))
    subprocess.run(["/bin/sh", "it.sh"], check=False, cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


def test_text_and_tables_name_each_file_beside_the_one_to_keep(store):
    spare = spare_files(store, store.duplicates.find())
    text = file_list(spare, "txt").decode()
    assert text.count("keep  ") == len({one.group for one in spare})
    assert "two lines.png" in text
    rows = list(csv.DictReader(io.StringIO(file_list(spare, "csv").decode(), newline="")))
    assert [row["group"] for row in rows] == [str(one.group) for one in spare]
    assert {row["likeness"] for row in rows[: len(NAMES)]} == {"same content"}
    assert [Path(row["keep"]) for row in rows] == [one.keep for one in spare]
    assert os.fsdecode(b"caf\xe9.png") not in file_list(spare, "csv").decode()
