import json
import os
import re
import threading
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.collection.store.schema import VERSION
from lookalike.core.errors import (
    CollectionBusy,
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    MissingPart,
    UnreadablePicture,
)
from lookalike.features import Embedding
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.gates import OPEN


def ids(matches):
    return [match.id for match in matches]


def snapshot(folder):
    """The bytes of every file but those SQLite keeps for readers."""
    return {
        file: file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith(("-shm", "-wal", "lock"))
    }


def test_search_ranks_like_cosine(collection, pictures):
    ranker = current_ranker(collection)
    scores = (ranker.plain.vectors @ ranker.vectors([1])[0]) * ranker.plain.scales
    expected = ranker.plain.ids[np.argsort(-scores, kind="stable")].tolist()
    expected.remove(1)
    assert ids(collection.search(1, 5)) == expected[:5]
    assert ids(collection.search(1, 99)) == expected


def test_every_way_to_name_a_query_gives_the_same(collection, pictures, tmp_path, monkeypatch):
    path = pictures / "grün" / "grün-3.png"
    by_id = collection.search(next(r.id for r in collection.pictures.all() if path in r.places), 4)
    copy = tmp_path / "copy.png"
    copy.write_bytes(path.read_bytes())
    monkeypatch.chdir(pictures)
    for query in (path, str(path), "grün/grün-3.png", path.read_bytes(), copy):
        assert collection.search(query, 4) == by_id
    assert all(path not in match.places for match in by_id)


def test_a_foreign_query_finds_its_kind(collection, tmp_path):
    path = picture(tmp_path / "fremd.png", PALETTE["blau"], 12345)
    for query in (path, path.read_bytes(), Image.open(path), Image.open(path).convert("RGBA")):
        found = collection.search(query, 8)
        assert {match.path.parent.name for match in found} == {"blau"}
        assert found[0].score <= 1.0001
        assert [match.score for match in found] == sorted((m.score for m in found), reverse=True)


@pytest.mark.parametrize("query", [0, 99, -1, 2**40])
def test_an_unknown_id_is_told(collection, query):
    with pytest.raises(CollectionError, match=f"no picture {query}"):
        collection.search(query)
    with pytest.raises(CollectionError, match=f"no picture {query}"):
        collection.pictures.get(query)
    with pytest.raises(CollectionError, match=f"no picture {query}"):
        collection.pictures.thumbnail(query)


@pytest.mark.parametrize("query", ["nowhere.png", b"", b"no picture", "."])
def test_what_is_no_picture_is_told(collection, query):
    named = f"^{re.escape(query)}: " if isinstance(query, str) else "."
    with pytest.raises(UnreadablePicture, match=named):
        collection.search(query)


@pytest.mark.parametrize("query", [True, 1.5, None, [1]])
def test_what_names_no_picture_is_told(collection, query):
    with pytest.raises(InvalidInput, match="id or path"):
        collection.search(query)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_is_checked(collection, k):
    with pytest.raises(InvalidInput, match="search: k must be"):
        collection.search(1, k)


def test_a_huge_k_costs_no_more_than_the_collection(collection):
    assert len(collection.search(1, 10**15)) == 23
    assert len(collection.search(1, np.int64(24))) == 23


def test_a_changed_file_is_searched_as_it_is_now(collection, pictures):
    path = pictures / "grün" / "grün-3.png"
    number = next(row.id for row in collection.pictures.all() if path in row.places)
    before = collection.search(path, 8)
    # New content is a foreign query, and the picture that lay there is among what is found.
    picture(path, PALETTE["blau"], 12345)
    os.utime(path, ns=(1, 1))
    assert {match.path.parent.name for match in collection.search(path, 8)} == {"blau"}
    assert number in ids(collection.search(path, 99))
    # The content of another picture is that picture.
    other = pictures / "rot" / "rot-1.png"
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(2, 2))
    assert collection.search(path, 8) == collection.search(other, 8)
    # What is no picture any more is told; what is gone is as it was.
    path.write_bytes(b"no picture")
    with pytest.raises(UnreadablePicture):
        collection.search(path)
    path.unlink()
    assert collection.search(path, 8) == before
    assert collection.search(number, 8) == before


def test_a_file_touched_only_is_the_same(collection, pictures):
    path = pictures / "grün" / "grün-3.png"
    before = collection.search(path, 8)
    os.utime(path, ns=(1, 1))
    assert collection.search(path, 8) == before


def test_an_empty_collection_finds_nothing(tmp_path):
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        assert len(collection) == 0
        assert collection.search(Image.new("RGB", (9, 9))) == []
        assert collection.add([]).added == 0
        assert list(collection.pictures.all()) == []


def test_thumbnails_are_small_jpegs(collection):
    assert collection.pictures.thumbnail(1).startswith(b"\xff\xd8\xff")


def test_open_gives_what_was_kept(collection, pictures):
    expected = collection.search(5, 9)
    rows = list(collection.pictures.all())
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert again.search(5, 9) == expected
        assert list(again.pictures.all()) == rows


def test_a_reader_sees_what_a_writer_finished(collection, pictures):
    with Collection.open(collection.path, features=[Colours()]) as reader:
        assert len(reader.search(1, 99)) == 23
        picture(pictures / "neu.png", (5, 5, 5), 1)
        collection.add([pictures])
        assert ids(reader.search(1, 99)) == ids(collection.search(1, 99))
        assert len(reader.search(1, 99)) == 24
        learned = collection.learn(folders=True, settings={"steps": 50, "blend": 1.0})
        assert learned.similarity.published
        assert reader.search(1, 5) == collection.search(1, 5)
        assert reader.search(1, 5) != reader.search(1, 5, learned=False)
        collection.remove([2, 3])
        assert not {2, 3} & set(ids(reader.search(1, 99)))


def test_searches_in_threads_see_whole_states(collection, pictures):
    wrong = []
    stop = threading.Event()

    def search():
        while not stop.is_set():
            found = ids(collection.search(1, 99))
            if len(found) != len(set(found)) or not 19 <= len(found) <= 28:
                wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round_ in range(5):
        picture(pictures / f"neu-{round_}.png", (9, 9, 9), 50 + round_)
        collection.add([pictures])
    collection.learn(folders=True, settings={"steps": 50})
    collection.remove([4, 5])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(collection.search(1, 99)) == 26


def test_a_second_writer_is_sent_away(collection, pictures):
    with (
        Collection.open(collection.path, features=[Colours()]) as second,
        beside(collection).folder.writing(),
    ):
        for work in (
            lambda: second.add([pictures]),
            lambda: second.bin.empty(),
            lambda: second.learn(folders=True),
            second.rollback,
        ):
            with pytest.raises(CollectionBusy, match=f"process {os.getpid()}"):
                work()
        assert len(second.search(1)) == 10
    assert collection.remove([1]) == 1


def test_remove_is_all_or_nothing(collection, pictures):
    before = snapshot(collection.path)
    with pytest.raises(CollectionError, match="no picture 99"):
        collection.remove([1, 2, 99])
    with pytest.raises(CollectionError, match="nowhere"):
        collection.remove([pictures / "nowhere.png", 1])
    with pytest.raises(InvalidInput, match="list"):
        collection.remove(str(pictures))
    assert snapshot(collection.path) == before
    assert collection.remove([]) == 0
    assert collection.remove([1, np.int64(2), 1]) == 2
    assert len(collection) == 22


@pytest.mark.parametrize("stopped", [False, True])
def test_what_is_erased_leaves_no_trace(tmp_path, pictures, monkeypatch, set_limits, stopped):
    def stop(*_):
        raise KeyboardInterrupt

    set_limits(min_to_cache=0)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([pictures])
        collection.learn(folders=True, settings={"steps": 50})
        row = collection.pictures.get(3)
        raw = beside(collection).database.row("SELECT record FROM records_1 WHERE picture = 3")[0]
        traces = {
            "vector": raw,
            "cached vector": current_ranker(collection).vectors([3])[0].tobytes(),
            "thumbnail": collection.pictures.thumbnail(3)[200:],
            "hash": row.sha256.encode(),
            "name": row.places[0].name.encode(),
        }

        def found():
            everything = [f.read_bytes() for f in (tmp_path / "c").rglob("*") if f.is_file()]
            return {what for what, trace in traces.items() if any(trace in c for c in everything)}

        assert found() == set(traces)
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            if stopped:
                patch.setattr("lookalike.collection.vectors.space.Space.save_index", stop)
            collection.remove([3])
            collection.bin.empty()
        assert found() == set()
        assert any((tmp_path / "c" / "cache").iterdir()) != stopped
        assert 3 not in ids(collection.search(1, 99))
        assert 3 not in collection.labels.all()


def test_create_refuses_what_is_there(collection, tmp_path):
    before = snapshot(collection.path)
    with pytest.raises(CollectionError, match="already"):
        Collection.create(collection.path, features=[Colours()])
    assert snapshot(collection.path) == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(CollectionError, match="already"):
        Collection.create(tmp_path / "file", features=[Colours()])
    with pytest.raises(CollectionError, match="already"):
        Collection.create(tmp_path / "bilder", features=[Colours()])
    (tmp_path / "empty").mkdir()
    Collection.create(tmp_path / "empty", features=[Colours()]).close()
    with pytest.raises(CollectionError, match="cannot write"):
        Collection.create(tmp_path / "file" / "below", features=[Colours()])


def test_a_failed_create_leaves_nothing(tmp_path):
    class Broken(Colours):
        def save(self, path, **options):
            raise OSError(28, "No space left on device")

    with pytest.raises(CollectionError, match="No space left"):
        Collection.create(tmp_path / "c", features=[Broken()])
    assert list(tmp_path.iterdir()) == []


def test_open_refuses_what_is_none(tmp_path, collection):
    for path in (tmp_path / "nowhere", tmp_path / "bilder", tmp_path / "bilder" / "rot"):
        with pytest.raises(CollectionError, match="no collection here"):
            Collection.open(path)


def test_open_refuses_another_feature(collection):
    before = snapshot(collection.path)
    with pytest.raises(FingerprintMismatch, match="no ranker with the fingerprint"):
        Collection.open(collection.path, features=[Colours(5)])
    with (
        Collection.open(collection.path) as other,
        pytest.raises(MissingPart, match=r"the feature 'colours' .* is not installed"),
    ):
        other.search(1)
    assert snapshot(collection.path) == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "damaged"),
        (b"{}", "damaged"),
        (b"[1]", "damaged"),
        (b"\xff\xfe", "damaged"),
        (b"[" * 100_000, "damaged"),
        (json.dumps({"format": 3}).encode(), "Update lookalike"),
        (json.dumps({"format": "x"}).encode(), "Update lookalike"),
    ],
)
def test_a_damaged_manifest_is_told(collection, content, why):
    (collection.path / "manifest.json").write_bytes(content)
    with pytest.raises(DamagedFile, match=why):
        Collection.open(collection.path)


def test_a_damaged_database_is_told(collection):
    collection.close()
    database = collection.path / "collection.sqlite"
    content = database.read_bytes()
    for damage in (b"no database at all" * 100, b""):
        database.write_bytes(damage)
        with pytest.raises(DamagedFile):
            Collection.open(collection.path, features=[Colours()])
    # Newer than us: the user version of the header.
    database.write_bytes(content[:60] + (VERSION + 1).to_bytes(4, "big") + content[64:])
    with pytest.raises(DamagedFile, match="Update lookalike"):
        Collection.open(collection.path, features=[Colours()])
    database.unlink()
    with pytest.raises(DamagedFile, match="missing"):
        Collection.open(collection.path, features=[Colours()])


def test_a_closed_collection_says_so(collection):
    collection.close()
    with pytest.raises(CollectionError, match="closed"):
        collection.search(1)


def test_the_default_feature(tmp_path):
    pictures = album(tmp_path / "p", 2)
    with Collection.create(tmp_path / "c") as collection:
        collection.add([tmp_path / "p"])
        found = collection.search(pictures[0], 5)
    with Collection.open(tmp_path / "c") as again:
        assert isinstance(again.features["embedding"], Embedding)
        assert again.search(pictures[0], 5) == found
        assert current_ranker(again).plain.dimension == 1280
    feature = tmp_path / "c" / "features" / "1.safetensors"
    feature.write_bytes(feature.read_bytes()[:-3])
    with Collection.open(tmp_path / "c") as damaged, pytest.raises(DamagedFile):
        damaged.search(1)
