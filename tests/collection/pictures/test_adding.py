import os
import shutil

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.collection.pictures import features
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.features import Visterms
from lookalike.images import Limits
from tests.collection.beside import beside, current_ranker, stored_rows
from tests.collection.colours import Colours, picture


def counts(added):
    return added.added, added.known, added.copies, added.moved, len(added.refused)


def consistent(collection):
    """Every picture has its parts and a place, and the index holds the same vectors."""
    rows = beside(collection).database.rows
    ids = [number for (number,) in rows("SELECT id FROM pictures ORDER BY id")]
    every = [number for (number,) in rows("SELECT id FROM all_pictures ORDER BY id")]
    for table in ("records_1", "thumbnails"):
        assert [n for (n,) in rows(f"SELECT picture FROM {table} ORDER BY 1")] == every
    assert [n for (n,) in rows("SELECT DISTINCT picture FROM places ORDER BY 1")] == every
    assert len(collection) == len(ids) == len(list(collection.pictures.all()))
    ranker = current_ranker(collection)
    assert sorted(ranker.plain.ids.tolist()) == ids
    for number, blob in rows("SELECT picture, record FROM records_1 JOIN pictures ON id = picture"):
        stored = np.frombuffer(blob, "<f2").astype(np.float32)
        np.testing.assert_array_equal(ranker.vectors([number])[0], stored)
    return ids


def test_adds_everything_once(collection, pictures):
    assert len(collection) == 24
    assert counts(collection.add([pictures])) == (0, 24, 0, 0, 0)
    consistent(collection)


def test_an_unchanged_file_is_not_read_again(collection, pictures):
    path = pictures / "rot" / "rot-0.png"
    facts = path.stat()
    path.write_bytes(b"x" * facts.st_size)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert counts(collection.add([pictures])) == (0, 24, 0, 0, 0)


def test_a_touched_file_is_the_same_picture(collection, pictures):
    os.utime(pictures / "rot" / "rot-0.png", ns=(1, 1))
    assert counts(collection.add([pictures])) == (0, 24, 0, 0, 0)
    assert counts(collection.add([pictures])) == (0, 24, 0, 0, 0)


def test_a_copy_is_a_second_place(collection, pictures):
    first = pictures / "rot" / "rot-0.png"
    shutil.copy(first, pictures / "zweite.png")
    assert counts(collection.add([pictures])) == (0, 24, 1, 0, 0)
    number = collection.search(pictures / "rot" / "rot-1.png", 1)[0].id
    same = next(row for row in collection.pictures.all() if first in row.places)
    assert same.places == (first, pictures / "zweite.png")
    assert collection.pictures.get(same.id) == same
    assert number in consistent(collection)


def test_copies_within_one_run_are_one_picture(tmp_path):
    for name in "abc":
        picture(tmp_path / "p" / f"{name}.png", (9, 9, 9), 1)
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        assert counts(collection.add([tmp_path / "p"])) == (1, 0, 2, 0, 0)
        assert len(next(collection.pictures.all()).places) == 3


def test_a_moved_file_is_the_same_picture(collection, pictures):
    before = {row.id for row in collection.pictures.all()}
    (pictures / "rot").rename(pictures / "röter")
    assert counts(collection.add([pictures])) == (0, 16, 0, 8, 0)
    assert {row.id for row in collection.pictures.all()} == before
    assert not any(
        "rot" in place.parts for row in collection.pictures.all() for place in row.places
    )


def test_changed_content_is_another_picture(collection, pictures):
    path = pictures / "rot" / "rot-0.png"
    old = next(row.id for row in collection.pictures.all() if path in row.places)
    picture(path, (1, 2, 3), 999)
    assert counts(collection.add([pictures])) == (1, 23, 0, 0, 0)
    assert old not in consistent(collection)
    assert len(collection) == 24
    new = next(row.id for row in collection.pictures.all() if path in row.places)
    assert new > 24


@pytest.mark.parametrize("shift", [1, -1])
@pytest.mark.parametrize("batch", [1, 2, 256])
def test_files_that_trade_names_are_kept(collection, pictures, batch, shift, set_limits):
    set_limits(batch=batch)
    paths = sorted((pictures / "rot").iterdir())
    contents = [path.read_bytes() for path in paths]
    for place, path in enumerate(paths):
        path.write_bytes(contents[(place + shift) % len(paths)])
    added = collection.add([pictures], threads=1)
    assert not added.refused
    assert len(consistent(collection)) == 24
    assert counts(collection.add([pictures])) == (0, 24, 0, 0, 0)


def test_ids_are_never_used_again(collection, pictures):
    last = max(row.id for row in collection.pictures.all())
    collection.remove([last])
    collection.bin.empty()
    collection.add([pictures], removed=True)
    assert max(row.id for row in collection.pictures.all()) == last + 1
    consistent(collection)


def test_broken_files_are_listed_and_the_run_goes_on(collection, pictures):
    (pictures / "kaputt.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (pictures / "leer.jpg").write_bytes(b"")
    (pictures / "text.txt").write_text("no picture")
    picture(pictures / "neu.png", (7, 7, 7), 1)
    added = collection.add([pictures, pictures / "nowhere"])
    assert counts(added) == (1, 24, 0, 0, 3)
    assert added.ignored == 1
    assert [one.path.name for one in added.refused] == ["nowhere", "kaputt.png", "leer.jpg"]
    assert [one.path.name for one in collection.pictures.refused()] == ["kaputt.png", "leer.jpg"]
    picture(pictures / "kaputt.png", (7, 8, 7), 1)
    assert counts(collection.add([pictures])) == (1, 25, 0, 0, 1)
    assert [one.path.name for one in collection.pictures.refused()] == ["leer.jpg"]


def test_limits_refuse(tmp_path, pictures):
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        added = collection.add([pictures], limits=Limits(max_pixels=10))
        assert counts(added) == (0, 0, 0, 0, 24)
        assert collection.search(pictures / "rot" / "rot-0.png") == []


def test_names_that_are_not_text(collection, pictures):
    name = os.fsdecode(b"nicht-\xff-utf8.png")
    picture(pictures / name, (7, 8, 9), 4)
    decomposed = "u\u0308ber.png"
    picture(pictures / decomposed, (7, 8, 9), 5)
    assert counts(collection.add([pictures])) == (2, 24, 0, 0, 0)
    assert counts(collection.add([pictures])) == (0, 26, 0, 0, 0)
    names = {row.places[0].name for row in collection.pictures.all()}
    assert {name, decomposed} <= names
    assert collection.search(pictures / name, 1)
    assert collection.remove([pictures / name]) == 1


def test_progress_ends_at_the_total(tmp_path, pictures):
    told = []
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([pictures], progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 24)
    assert told[-1] == (24, 24)
    assert told == sorted(told)


def test_an_interrupt_keeps_what_is_done(tmp_path, pictures):
    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        with pytest.raises(KeyboardInterrupt):
            collection.add([pictures], progress=stop)
        assert len(consistent(collection)) == 10
        assert counts(collection.add([pictures])) == (14, 10, 0, 0, 0)


def test_a_feature_that_fails_ends_the_run_and_keeps_the_collection(collection, pictures):
    picture(pictures / "neu.png", (7, 7, 7), 1)
    record = collection.features["colours"].record
    collection.features["colours"].record = lambda image: 1 / 0
    with pytest.raises(ZeroDivisionError):
        collection.add([pictures])
    collection.features["colours"].record = record
    assert len(consistent(collection)) == 24
    assert counts(collection.add([pictures])) == (1, 24, 0, 0, 0)


def test_a_single_path_is_refused(collection, pictures):
    with pytest.raises(InvalidInput, match="list"):
        collection.add(str(pictures))


def test_visterms_are_fitted_on_the_first_pictures(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(6):
        pixels = rng.integers(0, 256, (96, 192, 3), dtype=np.uint8)
        (tmp_path / "p").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "p" / f"{number}.png")
    (tmp_path / "p" / "a-broken.png").write_bytes(b"broken")
    with (
        Collection.create(tmp_path / "c", features=[Visterms(dimension=16, colours=4)]) as made,
        pytest.raises(CollectionError, match="Add some first"),
    ):
        made.search(tmp_path / "p" / "0.png")
    with Collection.open(tmp_path / "c") as reader, Collection.open(tmp_path / "c") as writer:
        assert counts(writer.add([tmp_path / "p"])) == (6, 0, 0, 0, 1)
        found = reader.search(tmp_path / "p" / "0.png", 3)
        assert len(found) == 3
        assert found == writer.search(1, 3)
        assert [f.fingerprint for f in writer.features.values()] == [
            f.fingerprint for f in reader.features.values()
        ]
        before = [row.id for row in reader.pictures.all()]
    with Collection.open(tmp_path / "c") as again:
        labels = {tmp_path / "p" / f"{n}.png": [str(n)] for n in range(6)}
        with pytest.raises(InvalidInput, match="four pictures"):
            again.learn(labels, settings={"steps": 50})
        assert again.labels.all() == {}
        again.remove([1])
        assert [row.id for row in again.pictures.all()] == before[1:]
        assert len(again.search(2, 10)) == 4


def test_searches_during_the_first_import_leave_its_feature_alone(tmp_path, monkeypatch):
    for number in range(6):
        pixels = np.random.default_rng(number).integers(0, 256, (96, 192, 3), dtype=np.uint8)
        (tmp_path / "p").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "p" / f"{number}.png")
    fit = features.fit_feature
    with Collection.create(tmp_path / "c", features=[Visterms(dimension=16, colours=4)]) as made:

        def fit_while_searched(*arguments):
            with pytest.raises(CollectionError, match="Add some first"):
                made.search(tmp_path / "p" / "0.png")
            fit(*arguments)

        monkeypatch.setattr(features, "fit_feature", fit_while_searched)
        assert made.add([tmp_path / "p"]).added == 6
        assert len(made.search(1, 3)) == 3


def test_what_was_removed_stays_out_while_its_file_is_as_it_was(collection, pictures):
    row = collection.pictures.get(5)
    collection.remove([5])
    collection.bin.empty()
    assert collection.add([pictures]).added == 0
    assert len(collection) == 23
    picture(row.places[0], (1, 2, 3), 77)
    assert collection.add([pictures]).added == 1
    collection.remove([row.places[0]])
    collection.bin.empty()
    assert collection.add([pictures], removed=True).added == 1
    kept = stored_rows(collection, "SELECT * FROM left_out")
    assert len(kept) == 1, "only of the file that is no more"
