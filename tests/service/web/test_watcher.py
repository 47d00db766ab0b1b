"""Watching folders: what happens in them happens in the collection, but no drive takes it along."""

import os
import threading
import time

import pytest
from watchfiles import watch

from lookalike.collection import Collection
from lookalike.core.errors import CollectionError
from lookalike.service.web.jobs.jobs import Jobs
from lookalike.service.web.jobs.watcher import Watcher
from lookalike.service.web.settings import JobLimits, Pace, Settings
from tests.collection.colours import PALETTE, Colours, album, picture

SETTINGS = Settings(
    watch=True,
    pace=Pace(quiet=0.1, look=0.05, again=0.2, poll=0.1),
    job_limits=JobLimits(missing=3),
)


class Failing(Collection):
    """A collection to which nothing can be added while it fails."""

    fails = False

    def add(self, *args, **options):
        if self.fails:
            raise CollectionError("gone")
        return super().add(*args, **options)


@pytest.fixture
def photos(tmp_path):
    album(tmp_path / "photos", 4)
    return tmp_path / "photos"


@pytest.fixture
def store(tmp_path, photos):
    with Failing.create(tmp_path / "store", features=[Colours()]) as made:
        made.add([photos])
        yield made


@pytest.fixture
def work(store):
    made = Jobs(store, SETTINGS)
    yield made
    made.close()


@pytest.fixture
def watcher(store, work):
    made = Watcher(store, work, SETTINGS)
    made.start()
    eventually(lambda: made.folders)
    quiet(work)
    yield made
    made.close()


def eventually(condition, seconds=300):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def quiet(work):
    eventually(lambda: work.all() and all(job.over for job in work.all()))


def names(store):
    return {place.name for row in store.pictures.all() if not row.missing for place in row.places}


def test_what_a_failed_job_left_is_taken_later(store, work, watcher, photos):
    store.fails = True
    picture(photos / "new.png", PALETTE["rot"], 51)
    eventually(lambda: "failed" in [job.state for job in work.all()])
    store.fails = False
    eventually(lambda: "new.png" in names(store))


def fail(*_):
    raise CollectionError("Cannot start the process that decodes pictures.")


def test_it_starts_with_a_rescan(store, work, photos):
    picture(photos / "before.png", PALETTE["rot"], 50)
    made = Watcher(store, work, SETTINGS)
    made.start()
    try:
        eventually(lambda: "before.png" in names(store))
        assert [job.kind for job in work.all()] == ["rescan"]
        assert made.folders == [photos]
    finally:
        made.close()
    assert made.folders == []


def test_new_changed_moved_and_deleted_files_are_followed(store, watcher, photos):
    picture(photos / "new.png", PALETTE["rot"], 51)
    eventually(lambda: "new.png" in names(store))
    before = {row.places[0].name: row.id for row in store.pictures.all()}
    picture(photos / "new.png", PALETTE["blau"], 52)
    eventually(lambda: before["new.png"] not in {row.id for row in store.pictures.all()})
    (photos / "rot" / "rot-0.png").rename(photos / "moved.png")
    eventually(lambda: "moved.png" in names(store))
    assert "rot-0.png" not in names(store)
    moved = next(row for row in store.pictures.all() if row.places[0].name == "moved.png")
    assert moved.id == before["rot-0.png"]
    (photos / "moved.png").unlink()
    eventually(lambda: "moved.png" not in names(store))
    assert store.pictures.get(moved.id).missing


def test_whole_folders_that_come_and_go_are_followed(store, watcher, photos, tmp_path):
    album(tmp_path / "elsewhere", 1)
    (tmp_path / "elsewhere").rename(photos / "come.in")
    eventually(lambda: len(store) == 12 and len(names(store)) == 12)
    picture(tmp_path / "other" / "deep" / "x.png", PALETTE["rot"], 53)
    (tmp_path / "other").rename(photos / "other")
    eventually(lambda: "x.png" in names(store))
    (photos / "other").rename(tmp_path / "gone")
    eventually(lambda: "x.png" not in names(store))


def test_what_is_hidden_no_picture_or_our_own_is_left_alone(tmp_path, photos):
    with Collection.create(photos / "store", features=[Colours()]) as store:
        store.add([photos])
        work = Jobs(store, SETTINGS)
        watcher = Watcher(store, work, Settings(watch=True))
        watcher.start()
        try:
            eventually(lambda: watcher.folders)
            quiet(work)
            picture(photos / "sign.png", PALETTE["rot"], 57)
            eventually(lambda: "sign.png" in names(store))
            quiet(work)
            before = len(work.all())
            (photos / "notes.txt").write_text("no picture")
            (photos / "notes.txt").unlink()
            picture(photos / ".hidden.png", PALETTE["rot"], 54)
            picture(photos / ".cache" / "1.png", PALETTE["rot"], 55)
            picture(photos / "store" / "uploads" / "1.png", PALETTE["rot"], 56)
            old = (photos / "rot" / "rot-1.png").stat()
            (photos / "rot" / "rot-1.png").write_bytes((photos / "rot" / "rot-1.png").read_bytes())
            os.utime(photos / "rot" / "rot-1.png", ns=(old.st_atime_ns, old.st_mtime_ns))
            time.sleep(0.6)
            assert len(work.all()) == before
            assert len(store) == 13
        finally:
            watcher.close()
            work.close()


def test_a_drive_that_goes_and_comes_back_loses_nothing(store, work, watcher, photos, tmp_path):
    photos.rename(tmp_path / "unplugged")
    eventually(lambda: not watcher.folders)
    quiet(work)
    assert len(store) == 12
    photos.mkdir()
    eventually(lambda: watcher.folders)
    quiet(work)
    assert len(store) == 12
    photos.rmdir()
    eventually(lambda: not watcher.folders)
    picture(tmp_path / "unplugged" / "since.png", PALETTE["rot"], 58)
    (tmp_path / "unplugged").rename(photos)
    eventually(lambda: "since.png" in names(store))
    assert len(store) == 13


def test_when_most_pictures_go_at_once_none_is_removed(store, work, watcher, photos):
    for file in sorted(photos.rglob("*.png"))[:8]:
        file.unlink()
    eventually(lambda: work.trouble)
    assert "8 of 12" in work.trouble
    assert len(store) == 12


def test_a_root_added_later_is_watched(store, watcher, tmp_path):
    (tmp_path / "more").mkdir()
    store.add([tmp_path / "more"])
    eventually(lambda: tmp_path / "more" in watcher.folders)
    picture(tmp_path / "more" / "late.png", PALETTE["rot"], 59)
    eventually(lambda: "late.png" in names(store))


def test_trouble_is_told_and_tried_again(store, work):
    limited = threading.Event()
    limited.set()

    def watch_or_refuse(*folders, **options):
        if limited.is_set():
            raise OSError(28, "inotify limit reached")
        return watch(*folders, **options)

    made = Watcher(store, work, SETTINGS, watch_or_refuse)
    made.start()
    try:
        eventually(lambda: "inotify limit reached" in made.trouble)
        assert "max_user_watches" in made.trouble
        limited.clear()
        eventually(lambda: made.folders and not made.trouble)
    finally:
        made.close()


def test_without_the_setting_nothing_is_watched(store, work):
    made = Watcher(store, work, Settings())
    made.start()
    assert not made.on
    assert not any(thread.name == "lookalike-watcher" for thread in threading.enumerate())
    made.close()


def test_a_link_out_of_the_roots_is_followed_neither_by_a_rescan_nor_by_the_watcher(
    store, work, watcher, photos, tmp_path
):
    private = picture(tmp_path / "private" / "secret.png", PALETTE["rot"], 60).parent
    alone = picture(tmp_path / "private2" / "alone.png", PALETTE["rot"], 61)
    (photos / "x").symlink_to(private)
    (photos / "y.png").symlink_to(alone)
    picture(photos / "sign.png", PALETTE["rot"], 62)
    eventually(lambda: "sign.png" in names(store))
    quiet(work)
    job = work.rescan()
    eventually(lambda: job.over)
    assert names(store).isdisjoint({"secret.png", "alone.png", "y.png"})
    assert len(store) == 13
    assert {one["path"] for one in job.result["refusals"]} == {
        str(photos / "x"),
        str(photos / "y.png"),
    }


def test_a_folder_whose_name_is_not_utf8_does_not_stop_watching(store, work, watcher, photos):
    odd = photos / os.fsdecode(b"f\xff")
    odd.mkdir()
    picture(odd / "inside.png", PALETTE["rot"], 63)
    eventually(lambda: "inside.png" in names(store))
    picture(photos / "beside.png", PALETTE["rot"], 64)
    eventually(lambda: "beside.png" in names(store))
    assert watcher.folders == [photos]
    assert watcher.trouble == ""


def test_a_root_whose_name_is_not_utf8_is_rescanned(store, watcher, tmp_path):
    odd = tmp_path / os.fsdecode(b"r\xff")
    odd.mkdir()
    store.add([odd])
    eventually(lambda: odd in watcher.folders)
    picture(odd / "inside.png", PALETTE["rot"], 65)
    eventually(lambda: "inside.png" in names(store))
    picture(odd / "later.png", PALETTE["rot"], 66)
    eventually(lambda: "later.png" in names(store))
