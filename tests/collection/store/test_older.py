"""Collections made by the code before: they open, nothing is lost, and they go on."""

import json
import lzma
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from lookalike.collection import Ask, Collection
from lookalike.collection.store import schema
from lookalike.collection.store.database import Database
from lookalike.core.errors import CollectionError, DamagedFile
from lookalike.core.text import word_key
from tests.gates import OPEN

OLDER = Path(__file__).parents[1] / "older"


@pytest.fixture(params=["visterms", "embedding"])
def older(request, tmp_path):
    """A collection of version 3, and what it answered then."""
    content = lzma.decompress((OLDER / f"version-3-{request.param}.tar.xz").read_bytes())
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        archive.extractall(tmp_path / "c", filter="data")
    expected = json.loads((tmp_path / "c" / "expected.json").read_text())
    (tmp_path / "c" / "expected.json").unlink()
    return tmp_path / "c", expected


def version(place):
    with sqlite3.connect(place / "collection.sqlite") as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def check(collection, expected):
    assert len(collection) == expected["pictures"]
    assert {str(k): v for k, v in collection.labels().items()} == expected["labels"]
    for query in ("1", "9", "17"):
        found = collection.search(int(query), 10)
        # What votes taught then counts by how near a query is now (decision 13), so that scores
        # differ a little, and pictures that look little alike may change places.
        assert {match.id for match in found[:7]} == {*expected["search"][query][:7]}
        assert [match.score for match in found[:6]] == pytest.approx(
            expected["scores"][query][:6], abs=0.1
        )
        plain = collection.search(int(query), 10, learned=False)
        assert [match.id for match in plain] == expected["plain"][query]
    asked = collection.search(Ask((1, 2), (9,)), 6)
    assert {match.id for match in asked} == {*expected["asked"][:6]}
    names = {"tags": "words"}
    assert [[m.number, m.kind, m.published, m.current] for m in collection.models()] == [
        [number, names.get(kind, kind), *rest] for number, kind, *rest in expected["models"]
    ]
    standing = collection.standing()
    assert [standing.votes, standing.judged, standing.strength] == expected["standing"]
    assert {str(k): v for k, v in collection.verdicts(Ask((1,))).items()} == expected["verdicts"]
    assert collection.words() == expected["words"]
    found = [match.id for match in collection.search_word("rot", 10)]
    assert found == expected["word"][: len(found)]
    assert len(found) == len([names for names in collection.labels().values() if "rot" in names])


def history(collection):
    return [[event.number, event.kind, event.undone] for event in collection.history(100)]


def test_it_opens_and_nothing_is_lost(older):
    place, expected = older
    assert version(place) == 3
    with Collection.open(place) as collection:
        check(collection, expected)
        assert history(collection) == expected["history"]
        collection.check_log()
        token = expected["token"]
        found = [match.id for match in collection.search(Ask((token,)), 10)]
        assert len({*found} & {*expected["token_search"]}) >= 8
        assert collection.query_thumbnail(token)
        votes = collection._opened.rankers.ledger.votes
        told = [
            [vote.number, vote.subject, list(vote.taught[1].pictures), vote.taught[1].steps]
            for vote in votes
        ]
        assert len(told) == len(expected["taught"])
        for (*names, steps), (*theirs, kept) in zip(told, expected["taught"], strict=True):
            assert names == theirs
            # A row for each part of the votes and one for all, which is the one that counts.
            assert np.array_equal(steps, np.array(kept).reshape(6, len(steps))[-1])
    assert version(place) == schema.VERSION
    with Collection.open(place) as again:
        check(again, expected)


def test_what_was_said_by_hand_is_told_from_what_was_imported(older):
    """Words that the log gave are of the source hand, all others of files."""
    place, expected = older
    with sqlite3.connect(place / "collection.sqlite") as connection:
        rows = connection.execute("SELECT number, kind, body FROM events ORDER BY number")
        log = [(number, kind, json.loads(body)) for number, kind, body in rows]
    undone = set()
    for number, kind, body in reversed(log):
        if kind == "undo" and number not in undone:
            undone.add(body["event"])
    said = {}
    for number, kind, body in log:
        if kind in ("tag", "correction") and number not in undone:
            said[body["picture"], word_key(body["word"])] = (kind, body["before"][0])
    with Collection.open(place) as collection:
        assert {str(k): v for k, v in collection.labels().items()} == expected["labels"]
        for number, labels in collection.label_sources().items():
            for label, source in labels:
                kind, before = said.get((number, word_key(label)), ("", [label]))
                assert source in (["hand"] if kind == "tag" else []) + ["files"] * bool(before)
        shown = {(n, word_key(it)) for n, names in collection.labels().items() for it in names}
        by_hand = {own for own, (kind, _) in said.items() if kind == "tag"} & shown
        found = {
            (number, word_key(label))
            for number, labels in collection.label_sources().items()
            for label, source in labels
            if source == "hand"
        }
        assert found == by_hand
        collection.learn(folders=True, settings={"steps": 50, "blend": 0.5})
        assert by_hand <= {
            (n, word_key(it)) for n, names in collection.labels().items() for it in names
        }


def test_rollback_works_afterwards(older):
    place, expected = older
    with Collection.open(place) as collection:
        collection.rollback()
        check(collection, expected["after_rollback"])
        collection.rollback()
        with pytest.raises(CollectionError, match="no model"):
            collection.rollback()


def test_votes_words_and_learning_go_on(older):
    place, _ = older
    with Collection.open(place, gate=OPEN) as collection:
        before = collection.standing().votes
        collection.vote(Ask((2,)), picked=[4], rejected=[11])
        assert collection.standing().votes == before + 1
        collection.say(7, "Köln")
        collection.undo(collection.history(1)[0].number)
        learned = collection.learn(settings={"steps": 50, "blend": 0.5})
        assert learned.similarity.before is not None
        collection.check_log()
    with Collection.open(place) as again:
        assert again.standing().votes == before + 1
        assert [info.name for info in again.rankers()] == [again.rankers()[0].feature]


def test_a_second_feature_can_be_added_to_it(older, tmp_path):
    from tests.collection.colours import Colours

    place, _ = older
    with Collection.open(place) as collection:
        info = collection.add_feature(Colours())
        # Its pictures lie nowhere: the archive holds none.
        assert (info.pictures, info.undescribed) == (0, len(collection))
        assert info.ready
        assert "no such file" in collection.undescribed("colours")[0].reason


@pytest.mark.parametrize("step", [2, 9, 16, 23, 30, 40, 50])
def test_killed_in_the_middle_of_the_update_it_starts_again(older, step):
    """A process that dies at the n-th statement of the update leaves one version, whole."""
    place, expected = older
    code = (
        "import os, signal, sqlite3, sys\n"
        "from pathlib import Path\n"
        "connect, left = sqlite3.connect, [int(sys.argv[2])]\n"
        "class Counting(sqlite3.Connection):\n"
        "    writing = False\n"
        "    def execute(self, sql, *values):\n"
        "        self.writing |= sql.startswith('BEGIN IMMEDIATE')\n"
        "        left[0] -= self.writing\n"
        "        if left[0] == 0:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return super().execute(sql, *values)\n"
        "sqlite3.connect = lambda *a, **k: connect(*a, factory=Counting, **k)\n"
        "from lookalike.collection.store.database import Database\n"
        "from lookalike.collection.store.folder import Folder\n"
        "folder = Folder(Path(sys.argv[1]))\n"
        "Database(folder.database, folder.read_manifest()).close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place), str(step)], check=False)
    assert done.returncode in (0, -signal.SIGKILL)
    assert version(place) in (3, schema.VERSION)
    if done.returncode == 0:
        assert version(place) == schema.VERSION
    with Collection.open(place) as collection:
        check(collection, expected)


def test_an_update_that_fails_leaves_the_older_version(older, monkeypatch):
    place, expected = older
    update = schema.UPDATES[3]

    def fail(connection, feature):
        update(connection, feature)
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setitem(schema.UPDATES, 3, fail)
    with pytest.raises(CollectionError, match="disk is full"):
        Collection.open(place)
    assert version(place) == 3
    monkeypatch.undo()
    with Collection.open(place) as collection:
        check(collection, expected)


def test_two_processes_that_update_at_once(older):
    place, expected = older
    with Collection.open(place) as first:
        # The second waited for the first and finds nothing to do.
        Database(place / "collection.sqlite", first._opened.folder.read_manifest()).close()
        check(first, expected)


def test_a_newer_version_is_refused(older):
    place, _ = older
    Collection.open(place).close()
    with sqlite3.connect(place / "collection.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(DamagedFile, match="Update lookalike"):
        Collection.open(place)
    manifest = place / "manifest.json"
    manifest.write_text(json.dumps({"format": 3}))
    with pytest.raises(DamagedFile, match="Update lookalike"):
        Collection.open(place)


def test_a_manifest_that_names_no_feature(older):
    place, _ = older
    (place / "manifest.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(DamagedFile, match="names no feature"):
        Collection.open(place)
    assert version(place) == 3


def test_unnamed_files_of_before_are_cleaned_up(older, tmp_path):
    place, expected = older
    cache = place / "cache"
    cache.mkdir(exist_ok=True)
    shutil.copy(place / "manifest.json", cache / f"index-{'0' * 32}.safetensors")
    with Collection.open(place) as collection:
        collection.empty_bin()
        assert not list(cache.glob("index-*"))
        assert (place / "feature.safetensors").exists()
        check(collection, expected)
    assert list((place / "models").iterdir())
