"""Keywords of files and sidecars are labels of their own source."""

import io
import struct

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import import_labels
from lookalike.collection.store.labels import labels as kept_labels
from lookalike.collection.store.labels import labels_with
from lookalike.images.metadata import Metadata, read_metadata
from lookalike.images.xmp import ALL, BY_BARS, EMPTY, FLAT, LEARNED, Packet
from tests.collection.beside import beside
from tests.collection.colours import Colours


def packet(*words, **lists):
    return Packet(EMPTY).with_subjects({FLAT: list(words), **lists})


def iptc(*words):
    """A JPEG with IPTC keywords, as bytes."""
    data = b"".join(b"\x1c\x02\x19" + struct.pack(">H", len(word)) + word for word in words)
    block = b"8BIM\x04\x04\x00\x00" + struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)
    head = b"Photoshop 3.0\x00" + block
    app13 = b"\xff\xed" + struct.pack(">H", len(head) + 2) + head
    plain = io.BytesIO()
    Image.new("RGB", (8, 8), (9, 120, len(words))).save(plain, "JPEG")
    return plain.getvalue()[:2] + app13 + plain.getvalue()[2:]


@pytest.fixture
def album(tmp_path):
    folder = tmp_path / "album"
    folder.mkdir()
    xmp = packet("Hund", "Köln")
    Image.new("RGB", (8, 8), (200, 1, 1)).save(folder / "a.jpg", xmp=xmp)
    (folder / "b.jpg").write_bytes(iptc("Küche".encode(), b"Hund"))
    Image.new("RGB", (8, 8), (1, 1, 200)).save(folder / "c.png")
    (folder / "c.png.xmp").write_bytes(packet("Katze"))
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([folder])
        yield collection, folder


def labels(collection):
    by_name = {row.id: row.places[0].name for row in collection.pictures.all()}
    return {by_name[number]: sorted(names) for number, names in collection.labels.all().items()}


def test_keywords_are_read_on_indexing_as_one_import(album):
    collection, folder = album
    found = {"a.jpg": ["Hund", "Köln"], "b.jpg": ["Hund", "Küche"], "c.png": ["Katze"]}
    assert labels(collection) == found
    sources = {it for some in collection.labels.sources().values() for _, it in some}
    assert sources == {"keywords"}
    (event,) = collection.log.history()
    assert (event.kind, event.body["source"], event.body["given"]) == ("import", "keywords", 5)
    assert collection.labels.to_learn().count == 5
    collection.add([folder])
    assert len(collection.log.history()) == 1
    collection.undo(event.number)
    assert collection.labels.all() == {}
    collection.add([folder])
    assert collection.labels.all() == {}, "what was undone is not read again"
    collection.log.check()


def test_a_changed_sidecar_replaces_keywords_and_nothing_said_by_hand(album):
    collection, folder = album
    number = collection.pictures.find(folder / "c.png")
    collection.label(number, "Maus")
    collection.label(number, "Tiger", shows=False)
    (folder / "c.png.xmp").write_bytes(packet("Tiger", "Löwe", "maus"))
    assert collection.add([folder]).unread == []
    assert collection.labels.of([number])[number] == ["Löwe", "Maus"]
    (folder / "c.png.xmp").unlink()
    collection.add([folder])
    assert collection.labels.of([number])[number] == ["Maus"]


def test_what_cannot_be_read_is_told_and_loses_nothing(album):
    collection, folder = album
    (folder / "c.png.xmp").write_bytes(b"no xml")
    (folder / "b.jpg").write_bytes(iptc("Grün".encode("latin-1"), b"x"))
    (folder / "a.jpg.xmp").write_bytes(
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        b'<x:xmpmeta xmlns:x="adobe:ns:meta/">&a;</x:xmpmeta>'
    )
    collection.label(collection.pictures.find(folder / "c.png"), "bleibt")
    added = collection.add([folder])
    assert not added.refused
    told = "\n".join(added.unread)
    assert "c.png.xmp: its keywords were not read: not XML" in told
    assert "b.jpg: its IPTC keywords that are not in UTF-8 were not read (1)" in told
    assert "a.jpg.xmp: its keywords were not read: not XMP: it declares a document type" in told
    assert labels(collection) == {
        "a.jpg": ["Hund", "Köln"],
        "b.jpg": ["x"],
        "c.png": ["Katze", "bleibt"],
    }


def test_words_that_were_learned_are_left_out_and_paths_give_their_last_level(tmp_path):
    image = tmp_path / "a.png"
    Image.new("RGB", (8, 8)).save(image)
    lists = {FLAT: ["Hund", "Katze"], BY_BARS: ["Tier|Hund", "Ort|Köln"], LEARNED: ["katze"]}
    (tmp_path / "a.xmp").write_bytes(Packet(EMPTY).with_subjects(lists))
    assert read_metadata(image).words == ("Hund", "Köln")
    assert LEARNED not in ALL


def test_an_empty_iptc_keyword_is_none(tmp_path):
    (tmp_path / "a.jpg").write_bytes(iptc(b""))
    assert read_metadata(tmp_path / "a.jpg") == Metadata()


def test_keywords_that_are_left_out_are_told(tmp_path):
    image = tmp_path / "a.png"
    Image.new("RGB", (8, 8)).save(image)
    sidecar = tmp_path / "a.png.xmp"
    many = [f"Wort {number}" for number in range(2001)]
    for given, kept, told in (
        (
            ["Hund", "w" * 1001],
            1,
            "a.png.xmp: 1 keyword left out; up to 2,000 are kept, each of up to",
        ),
        ([*many, many[0].upper()], 2000, "a.png.xmp: 1 keyword left out"),
        ([*many, "x" * 1001], 2000, "a.png.xmp: 2 keywords left out"),
    ):
        sidecar.write_bytes(packet(*given))
        found = read_metadata(image)
        assert len(found.words) == kept
        assert told in found.problems[0]
    sidecar.write_bytes(packet("Hund", "hund"))
    assert read_metadata(image).problems == ()


@pytest.mark.parametrize("source", ["keywords", "files", "folders"])
@pytest.mark.parametrize("whole", [False, True])
def test_what_will_be_learned_from_is_what_is_kept_then(album, source, whole):
    """Labels are merged in memory for learning and in the database; both come to the same."""
    collection, _ = album
    database = beside(collection).database
    collection.label(1, "HUND", shows=False)
    collection.label(2, "Maus")
    collection.remove([3])
    rng = np.random.default_rng(0)
    for _ in range(8):
        words = ["hund", "Hund", "KATZE", "maus", "Köln"]
        new = {n: rng.choice(words, 3).tolist() for n in (1, 2, 3) if rng.random() < 0.7}
        expected = labels_with(database, source, new, whole=whole)
        with database.transaction() as connection:
            import_labels(NewEntry(connection), source, new, whole=whole)
        kept = kept_labels(database)
        assert {n: sorted(it) for n, it in kept.items()} == {
            n: sorted(it) for n, it in expected.items()
        }


def test_killed_before_it_was_recorded_the_next_run_records_it(album, monkeypatch):
    collection, folder = album
    Image.new("RGB", (8, 8), (77, 1, 200)).save(folder / "d.png")
    (folder / "d.png.xmp").write_bytes(packet("Vogel"))
    with monkeypatch.context() as patch:
        patch.setattr("lookalike.collection.pictures.metadata.record", lambda connection: None)
        collection.add([folder])
    assert labels(collection)["d.png"] == ["Vogel"]
    assert len(collection.log.history()) == 1
    collection.log.check()
    collection.add([folder])
    assert collection.log.history(1)[0].body["given"] == 1
    collection.undo(collection.log.history(1)[0].number)
    assert "d.png" not in labels(collection)
    collection.log.check()
