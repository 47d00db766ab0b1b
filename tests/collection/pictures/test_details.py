"""What files say of pictures besides keywords is kept with them, and follows the files."""

import sqlite3
from contextlib import closing

import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.images.details import Details
from tests.collection.colours import Colours
from tests.images.pictures import camera_exif
from tests.images.test_details import WHOLE, described, packet


class Counting(Colours):
    """Colours, and how many pictures they described."""

    count = 0

    def record(self, image):
        Counting.count += 1
        return super().record(image)


@pytest.fixture
def album(tmp_path):
    folder = tmp_path / "album"
    folder.mkdir()
    Image.new("RGB", (8, 8), (200, 1, 1)).save(folder / "a.jpg", exif=camera_exif())
    Image.new("RGB", (8, 8), (1, 1, 200)).save(folder / "b.png")
    (folder / "b.png.xmp").write_bytes(packet(described("Am Strand")))
    Image.new("RGB", (8, 8), (1, 200, 1)).save(folder / "c.png")
    with Collection.create(tmp_path / "c", features=[Counting()]) as collection:
        collection.add([folder])
        yield collection, folder


def details(collection):
    return {
        row.places[0].name: Details(row.caption, row.camera, row.lens, row.latitude, row.longitude)
        for row in collection.pictures.all()
    }


EXPECTED = {"a.jpg": WHOLE, "b.png": Details("Am Strand"), "c.png": Details()}


def test_they_are_kept_on_indexing_and_in_every_list(album):
    collection, _ = album
    assert details(collection) == EXPECTED
    number = next(row.id for row in collection.pictures.all() if row.camera)
    assert collection.pictures.get(number).caption == "A day out"
    assert {row.caption for row in collection.pictures.browse()} == {"A day out", "Am Strand", ""}
    rows = [row for _, row, _ in collection.pictures.facts_of(collection.search(number + 1))]
    assert {row.lens for row in rows} == {"Lens 50mm F1.8", ""}
    collection.remove([number])
    assert collection.bin.browse()[0].latitude == WHOLE.latitude


def test_a_changed_sidecar_replaces_them(album):
    collection, folder = album
    (folder / "b.png.xmp").write_bytes(packet(described("Im Schnee"), tiff_Model="X100"))
    collection.add([folder])
    assert details(collection)["b.png"] == Details("Im Schnee", "X100")
    (folder / "b.png.xmp").write_bytes(b"no XML")
    assert collection.add([folder]).unread
    assert details(collection)["b.png"] == Details("Im Schnee", "X100"), "nothing is lost"
    (folder / "b.png.xmp").unlink()
    collection.add([folder])
    assert details(collection)["b.png"] == Details()


def test_sidecars_of_copies_count_together(album):
    collection, folder = album
    (folder / "b copy.png").write_bytes((folder / "b.png").read_bytes())
    (folder / "b copy.png.xmp").write_bytes(packet(described("Kopie"), tiff_Model="X100"))
    collection.add([folder])
    assert details(collection)["b.png"] == Details("Am Strand\nKopie", "X100")


def test_what_is_indexed_already_gets_them_without_being_described_again(album):
    collection, folder = album
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "b.png").write_bytes((folder / "b.png").read_bytes())
    (folder.parent / "other" / "b.png.xmp").write_bytes(packet(described("Dort")))
    collection.add([folder.parent / "other"])
    with closing(sqlite3.connect(folder.parent / "c" / "collection.sqlite")) as connection:
        # As a collection of an earlier version comes out of its migration.
        connection.execute("DELETE FROM details")
        connection.execute("UPDATE places SET sidecar = NULL")
        connection.commit()
    assert set(details(collection).values()) == {Details()}
    before, progress = Counting.count, []
    added = collection.add([folder], progress=lambda done, total: progress.append((done, total)))
    assert (added.added, added.known, Counting.count) == (0, 3, before)
    assert details(collection) == {**EXPECTED, "b.png": Details("Dort\nAm Strand")}
    assert (progress[0], progress[-1]) == ((0, 3), (3, 3))


def test_a_damaged_row_is_told(album):
    collection, folder = album
    with closing(sqlite3.connect(folder.parent / "c" / "collection.sqlite")) as connection:
        connection.execute("UPDATE details SET caption = 'other' WHERE camera != ''")
        connection.commit()
    (finding,) = collection.upkeep.check().findings
    assert finding.damage
    assert "1 damaged: caption, camera or place of 1" in finding.problem


def test_they_go_with_their_picture(album):
    collection, folder = album
    collection.remove([1, 2])
    collection.bin.empty()
    with closing(sqlite3.connect(folder.parent / "c" / "collection.sqlite")) as connection:
        (left,) = connection.execute("SELECT count(*) FROM details").fetchone()
    assert left == 0
