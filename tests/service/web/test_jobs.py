"""Jobs: imports in slices, learning, stopping, turns, and telling of it."""

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial

import pytest

from lookalike.collection import Collection, Filter
from lookalike.core.errors import CollectionBusy, InvalidInput
from lookalike.images.xmp import EMPTY, FLAT, Packet
from lookalike.service.web.api.errors import TooMuch
from lookalike.service.web.fair_lock import MAX_WAITING, Turns
from lookalike.service.web.jobs.jobs import Job, Jobs
from lookalike.service.web.jobs.stream import stream
from lookalike.service.web.settings import JobLimits, Settings
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.gates import OPEN


@pytest.fixture
def photos(tmp_path):
    album(tmp_path / "photos", 4)
    return tmp_path / "photos"


class Meddled(Collection):
    """A collection whose ``learn`` and ``add`` can go through a function, for the worse."""

    learning = adding = None

    def learn(self, **options):
        learn = super().learn
        return self.learning(learn, **options) if self.learning else learn(**options)

    def add(self, sources, **options):
        add = super().add
        return self.adding(add, sources, **options) if self.adding else add(sources, **options)


@contextmanager
def written_by_another(path, new):
    """Hold the lock of a collection as another process does that adds a picture."""
    writing, over = threading.Event(), threading.Event()

    def wait(*_):
        writing.set()
        over.wait(300)

    def write():
        with Collection.open(path, features=[Colours()], gate=OPEN) as other:
            other.add([new], progress=wait)

    thread = threading.Thread(target=write)
    thread.start()
    assert writing.wait(300)
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def store(tmp_path):
    with Meddled.create(tmp_path / "store", features=[Colours()], gate=OPEN) as made:
        yield made


@pytest.fixture
def allowing(tmp_path):
    return Settings(allow=(tmp_path,))


@pytest.fixture
def work(store, allowing, request):
    made = Jobs(store, replace(allowing, job_limits=getattr(request, "param", JobLimits())))
    yield made
    made.close()


def ended(job, seconds=300):
    until = time.monotonic() + seconds
    while not job.over:
        assert time.monotonic() < until, job
        time.sleep(0.005)
    return job


@contextmanager
def held(work):
    """Hold the right to write, so that jobs wait."""
    with work.writing():
        yield


def begun(job):
    """Wait until a job is no longer in the queue; return it."""
    until = time.monotonic() + 300
    while job.state == "waiting":
        assert time.monotonic() < until
        time.sleep(0.005)
    return job


def test_an_import_brings_in_a_folder_and_notes_it_as_a_root(work, store, photos):
    job = ended(work.bring_in([str(photos)]))
    assert (job.state, job.done, job.total) == ("done", 12, 12)
    assert job.result["added"] == len(store) == 12
    assert job.started <= job.ended
    assert "12 added" in job.message
    assert store.pictures.roots() == [photos]


class Signs:
    """The text of pictures, where every picture says EXIT."""

    def __init__(self, texts):
        self.read = partial(texts.read, reader=lambda image: "EXIT")


def test_text_in_pictures_is_read(work, store, photos, allowing):
    ended(work.bring_in([str(photos)]))
    texts, store.texts = store.texts, Signs(store.texts)
    (photos / "rot" / "rot-1.png").unlink()
    job = ended(work.read_texts())
    assert (job.state, job.done, job.total) == ("done", 12, 12)
    assert job.result == {"read": 11, "written": 11, "left": 1}
    assert job.message == "11 pictures of 11 with text. 1 file could not be read."
    assert texts.counts().written == 11


def test_an_import_goes_on_where_it_was_and_counts_what_is_known(work, store, photos):
    ended(work.bring_in([str(photos / "rot")]))
    job = ended(work.bring_in([str(photos)]))
    assert (job.result["added"], job.result["known"]) == (8, 4)


@pytest.mark.parametrize("work", [JobLimits(refusals=3)], indirect=True)
def test_refused_files_are_listed_up_to_a_limit(work, photos):
    for number in range(5):
        (photos / f"broken {number}.jpg").write_bytes(b"no picture")
    job = ended(work.bring_in([str(photos)]))
    assert job.result["refused"] == 5
    assert len(job.result["refusals"]) == 3
    assert "not a picture" in job.result["refusals"][0]["reason"]


def test_a_name_that_is_no_utf8_can_be_told(work, photos):
    (photos / "caf\udce9.jpg").write_bytes(b"no picture")
    job = ended(work.bring_in([str(photos)]))
    json.dumps(asdict(job.snapshot()), ensure_ascii=False).encode()
    assert job.result["refusals"][0]["path"].endswith("caf\N{REPLACEMENT CHARACTER}.jpg")


def test_only_folders_of_the_collection_or_allowed_ones_are_imported(store, photos, tmp_path):
    elsewhere = picture(tmp_path / "elsewhere" / "1.png", PALETTE["rot"], 901).parent
    store.add([photos])
    work = Jobs(store, Settings())
    try:
        ended(work.bring_in([str(photos / "rot")]))
        (photos / "link").symlink_to(elsewhere)
        for name in (elsewhere, photos / "link", photos / ".." / "elsewhere", "/", "/etc/passwd"):
            with pytest.raises(InvalidInput, match="--allow"):
                work.bring_in([str(name)])
        # The name of an allowed folder is not the start of another's.
        (tmp_path / "photos2").mkdir()
        with pytest.raises(InvalidInput, match="--allow"):
            work.bring_in([str(tmp_path / "photos2")])
        # A link inside a folder that is imported leads nowhere, either.
        job = ended(work.bring_in([str(photos)]))
        assert job.result["added"] == 0
        assert len(store) == 12
    finally:
        work.close()


def test_a_path_may_begin_at_home(work, store, photos, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    inside = photos.relative_to(tmp_path)
    assert ended(work.bring_in([f" ~/{inside} "])).result["added"] == 12
    monkeypatch.setenv("HOME", "/etc")
    with pytest.raises(InvalidInput, match="--allow"):
        work.bring_in(["~/x"])


@pytest.mark.parametrize("name", ["photos", "", "/tmp/\0x", "relative/../x"])
def test_a_path_that_is_none_is_refused(work, name):
    with pytest.raises(InvalidInput, match="whole path"):
        work.bring_in([name])


def test_a_path_that_is_not_there_is_refused_and_no_pattern(work, photos):
    for name in ("nothing", "*", "x" * 300):
        with pytest.raises(InvalidInput, match="does not exist"):
            work.bring_in([str(photos / name)])


def test_a_rescan_finds_new_changed_and_deleted_files(work, store, photos):
    ended(work.bring_in([str(photos)]))
    before = {row.places[0].name: row.id for row in store.pictures.all()}
    picture(photos / "rot" / "new.png", PALETTE["rot"], 77)
    picture(photos / "rot" / "rot-0.png", PALETTE["blau"], 78)
    (photos / "rot" / "rot-1.png").unlink()
    (photos / "rot" / "rot-2.png").rename(photos / "rot" / "moved.png")
    job = ended(work.rescan())
    after = {row.places[0].name: row.id for row in store.pictures.all()}
    assert {"new.png", "moved.png"} <= after.keys()
    assert "rot-2.png" not in after
    assert store.pictures.get(before["rot-1.png"]).missing, "a picture stays when its file goes"
    assert after["moved.png"] == before["rot-2.png"]
    assert after["rot-0.png"] != before["rot-0.png"]
    assert (job.result["added"], job.result["moved"], job.result["missing"]) == (2, 1, 1)


def test_a_picture_with_another_place_left_stays(work, store, photos):
    (photos / "copy.png").write_bytes((photos / "rot" / "rot-1.png").read_bytes())
    ended(work.bring_in([str(photos)]))
    (photos / "rot" / "rot-1.png").unlink()
    ended(work.rescan())
    assert store.pictures.count(Filter(missing=True)) == 0
    assert len(store) == 12


def test_a_root_that_is_away_takes_no_pictures_along(work, store, photos, tmp_path):
    for number in range(3):
        picture(tmp_path / "drive" / f"{number}.png", PALETTE["rot"], 900 + number)
    store.add([photos, tmp_path / "drive"])
    (tmp_path / "drive").rename(tmp_path / "unplugged")
    assert ended(work.rescan()).result["missing"] == 3
    # Where it was mounted an empty folder stays.
    (tmp_path / "drive").mkdir()
    assert ended(work.rescan()).result["missing"] == 0
    assert len(store) == 15
    assert store.pictures.count(Filter(missing=True)) == 3
    (tmp_path / "drive").rmdir()
    (tmp_path / "unplugged").rename(tmp_path / "drive")
    (tmp_path / "drive" / "0.png").unlink()
    assert ended(work.rescan()).result["missing"] == 0
    assert [row.places[0].name for row in store.pictures.browse(where=Filter(missing=True))] == [
        "0.png"
    ]
    assert len(store) == 15


@pytest.mark.parametrize("work", [JobLimits(missing=3)], indirect=True)
def test_when_most_files_are_missing_it_is_said(work, store, photos):
    ended(work.bring_in([str(photos)]))
    files = sorted(photos.rglob("*.png"))
    for file in files[:7]:
        file.unlink()
    assert ended(work.rescan()).result["missing"] == 7
    assert len(store) == 12
    assert "7 of 12" in work.trouble
    for number, file in enumerate(files[:4]):
        picture(file, PALETTE["blau"], number)
    assert ended(work.rescan()).result["added"] == 4
    assert work.trouble == ""


def test_files_of_the_collection_itself_are_not_imported(store, tmp_path, photos):
    uploads = store.path / "uploads"
    picture(uploads / "1.png", PALETTE["rot"], 5)
    store.add([tmp_path])
    store.remove([row.id for row in store.pictures.all() if "uploads" in row.places[0].parts])
    work = Jobs(store, Settings())
    try:
        ended(work.rescan())
        assert len(store) == 12
    finally:
        work.close()


def test_learning_tells_what_came_of_it(work, store, photos):
    store.add([photos])
    job = ended(work.learn(folders=True), 120)
    assert job.state == "done", job.message
    assert "Similarity: " in job.message
    json.dumps(job.result)


def test_learning_stops_at_its_next_step(work, store, photos):
    store.add([photos])
    started = threading.Event()

    def slow(learn, progress, **options):
        def told(done, total):
            progress(done, total)
            started.set()
            time.sleep(0.01)

        return learn(progress=told, **options)

    store.learning = slow
    job = work.learn(folders=True)
    assert started.wait(300)
    work.stop(job)
    assert ended(job).state == "stopped"
    assert store.models.all() == []
    assert store.labels.all() == {}
    with work.writing():
        pass


def test_a_job_that_fails_says_why_and_the_next_one_runs(work, store, photos):
    store.add([photos])
    failed, next_one = work.learn(), work.bring_in([str(photos)])
    assert ended(failed).state == "failed"
    assert failed.message
    assert ended(next_one).state == "done"


def test_a_mistake_of_the_program_shows_no_trace_and_the_next_job_runs(work, store, photos, caplog):
    def broken(*_, **__):
        raise KeyError("secret")

    store.learning = broken
    job = ended(work.learn())
    assert job.state == "failed"
    assert "secret" not in job.message
    assert "secret" in caplog.text
    assert ended(work.bring_in([str(photos)])).state == "done"


def test_a_job_that_waits_is_stopped_at_once_and_never_runs(work, photos, store):
    with held(work):
        running, waiting = work.bring_in([str(photos)]), work.rescan()
        work.stop(waiting)
        assert waiting.state == "stopped"
        assert waiting.ended
        assert not running.over
    ended(running)
    assert waiting.started is None
    work.stop(running)
    assert running.state == "done"


@pytest.mark.parametrize("work", [JobLimits(first_slice=3, largest_slice=3)], indirect=True)
def test_a_running_import_stops_and_goes_on_when_started_again(work, store, photos):
    def stop_at_the_second(add, sources, **options):
        added = add(sources, **options)
        if len(store) == 6:
            work.stop(work.all()[0])
        return added

    store.adding = stop_at_the_second
    job = ended(work.bring_in([str(photos)]))
    store.adding = None
    assert job.state == "stopped"
    assert len(store) == 6
    assert job.result["added"] == 6
    again = ended(work.bring_in([str(photos)]))
    assert (again.state, again.result["known"], again.result["added"]) == ("done", 6, 6)


@pytest.mark.parametrize("work", [JobLimits(first_slice=2, largest_slice=2)], indirect=True)
def test_others_write_between_the_slices_of_an_import(work, store, photos):
    seen, started = set(), threading.Event()

    def slow(add, sources, **options):
        started.set()
        time.sleep(0.03)
        return add(sources, **options)

    store.adding = slow
    job = work.bring_in([str(photos)])
    started.wait(300)
    while not job.over:
        with work.writing():
            seen.add(job.done)
        time.sleep(0.005)
    # A lock that is not fair lets nobody in before the end.
    assert len(seen - {0, 12}) >= 3


def test_an_import_waits_for_another_process_that_writes(work, store, photos, tmp_path):
    with written_by_another(store.path, picture(tmp_path / "new.png", PALETTE["rot"], 77)):
        job = work.bring_in([str(photos)])
        until = time.monotonic() + 3000
        while "is writing to" not in job.message and time.monotonic() < until:
            time.sleep(0.005)
        assert "is writing to" in job.message
        assert job.state == "running"
    ended(job)
    assert (job.state, len(store)) == ("done", 13)
    assert "is writing to" not in job.message


def test_who_waits_too_long_to_write_is_told(work):
    work.patience = 0.02
    with work.writing():
        told = []

        def other():
            try:
                with work.writing():
                    told.append("wrote")
            except CollectionBusy as error:
                told.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "A job is writing" in told[0]
    with work.writing():
        pass


def test_only_a_few_wait_to_write():
    turns, told, threads = Turns(), [], []

    def take():
        try:
            with turns.turn(10):
                told.append("wrote")
        except CollectionBusy:
            told.append("busy")

    with turns.turn():
        for _ in range(MAX_WAITING):
            threads.append(threading.Thread(target=take))
            threads[-1].start()
        while len(turns._queue) <= MAX_WAITING:
            time.sleep(0.001)
        take()
        assert told == ["busy"]
    for thread in threads:
        thread.join()
    assert told == ["busy", *["wrote"] * MAX_WAITING]


def test_turns_are_taken_in_the_order_asked_for():
    turns, order, threads = Turns(), [], []
    with turns.turn():
        for number in range(5):

            def take(number=number):
                with turns.turn():
                    order.append(number)

            threads.append(threading.Thread(target=take))
            threads[-1].start()
            while len(turns._queue) < number + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_the_same_job_that_waits_already_is_not_queued_twice(work, photos):
    with held(work):
        begun(work.bring_in([str(photos)]))
        first = work.rescan()
        assert work.rescan() is first
        assert work.learn() is not work.learn(folders=True)


@pytest.mark.parametrize("work", [JobLimits(waiting=3, kept=4)], indirect=True)
def test_too_many_jobs_are_refused_and_the_oldest_are_forgotten(work, store, photos):
    with held(work):
        first = begun(work.bring_in([str(photos)]))
        for name in PALETTE:
            work.bring_in([str(photos / name)])
        with pytest.raises(TooMuch, match="stop some"):
            work.bring_in([str(photos / "rot" / "rot-0.png")])
    for job in work.all():
        ended(job)
    ended(work.rescan())
    assert len(work.all()) == 4
    assert first not in work.all()
    assert work.get(first.id) is None
    assert work.get(work.all()[1].id) is work.all()[1]


@pytest.mark.parametrize("work", [JobLimits(kept=6)], indirect=True)
def test_as_many_jobs_are_remembered_as_said(work):
    started = [ended(work.rescan()) for _ in range(8)]
    assert work.all() == started[:1:-1]


def test_closing_stops_what_runs_and_starts_nothing_more(store, allowing, photos):
    work = Jobs(store, replace(allowing, job_limits=JobLimits(first_slice=1, largest_slice=1)))
    job, waiting = work.bring_in([str(photos)]), work.rescan()
    work.close()
    assert job.over
    assert waiting.state == "stopped"
    with pytest.raises(CollectionBusy, match="stopping"):
        work.rescan()
    work.close()


def events_of(text):
    """Parse server-sent events."""
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    return [dict(line.split(": ", 1) for line in block) for block in blocks]


def collect(job, closing, during=lambda: None, pause=0.01, heartbeat=15.0):
    async def read():
        told = []
        async for part in stream(job, closing, pause, heartbeat):
            told.append(part)
            during()
        return "".join(told)

    return asyncio.run(asyncio.wait_for(read(), 20))


def test_a_stream_tells_progress_and_the_end(work, store, photos):
    holding = work.writing()
    holding.__enter__()
    job = work.bring_in([str(photos)])
    released = []

    def let_go():
        if not released:
            released.append(holding.__exit__(None, None, None))

    found = events_of(collect(job, work.closing, let_go))
    named = [(event["event"], json.loads(event["data"])) for event in found if "event" in event]
    assert named[0][0] == "progress"
    assert named[-1][0] == "end"
    assert [name for name, _ in named[:-1]] == ["progress"] * (len(named) - 1)
    assert named[-1][1]["state"] == "done"
    assert named[-1][1]["id"] == job.id
    # Whoever comes back later is told at once.
    again = events_of(collect(job, work.closing))
    assert [event.get("event") for event in again] == [None, "end"]


def test_a_stream_beats_while_nothing_changes_and_ends_with_the_server():
    job, closing, parts = Job(kind="learn", work=lambda job: None), threading.Event(), []

    def count():
        parts.append(1)
        if len(parts) == 5:
            closing.set()

    text = collect(job, closing, count, pause=0.001, heartbeat=0.005)
    assert text.count("event: progress") == 1
    assert text.count(": still running") == 3
    assert "event: end" not in text


def tag_by_colour(store):
    for row in store.pictures.all():
        store.label(row.id, row.places[0].parent.name)


def learned_by_itself(work, count=1):
    until = time.monotonic() + 300
    while sum(job.over for job in work.all()) < count:
        assert time.monotonic() < until, work.all()
        time.sleep(0.02)
    return work.all()[0]


def test_tags_are_learned_from_once_nobody_gives_more(store, photos, work):
    store.add([photos])
    # Before it watches: on a busy machine a pause between two tags may be long.
    tag_by_colour(store)
    work.quiet = 0.2
    work.learn_by_itself()
    job = learned_by_itself(work)
    assert (job.kind, job.state) == ("learn", "done")
    assert "in use" in job.message
    assert sorted(store.words.learned()) == sorted(PALETTE)
    assert store.labels.to_learn().count == 0
    told = store.log.history(1)[0]
    assert (told.kind, told.body["words_since"]) == ("learn", 12)
    store.rollback()
    time.sleep(0.5)
    assert len(work.all()) == 1, "what was rolled back is not learned again by itself"
    store.label(1, "neu")
    learned_by_itself(work, 2)
    assert store.log.history(1)[0].body["words_since"] == 1


def test_imported_keywords_are_learned_from_as_well(store, photos, work):
    for file in photos.rglob("*.png"):
        keywords = Packet(EMPTY).with_subjects({FLAT: [file.parent.name]})
        file.with_name(f"{file.name}.xmp").write_bytes(keywords)
    store.add([photos])
    work.quiet = 0.2
    work.learn_by_itself()
    assert "in use" in learned_by_itself(work).message
    assert sorted(store.words.learned()) == sorted(PALETTE)
    assert store.log.history(1)[0].body["words_since"] == 12
    assert store.labels.to_learn().count == 0


def test_too_few_tags_are_tried_once_and_nothing_is_said_unasked(store, photos, work):
    store.add([photos])
    store.label(1, "rot")
    work.quiet = 0.1
    work.learn_by_itself()
    job = learned_by_itself(work)
    assert job.state == "done"
    assert job.by_itself
    assert not job.message
    time.sleep(0.4)
    assert len(work.all()) == 1
    assert store.labels.to_learn().count == 1
    assert store.labels.all() == {1: ["rot"]}
