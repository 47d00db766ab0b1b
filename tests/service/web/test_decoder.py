"""The processes that decode: what they give, and what they survive."""

import io
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import (
    CollectionError,
    DecoderFailed,
    InvalidInput,
    UnreadablePicture,
)
from lookalike.images import Limits, decode
from lookalike.images.parts import most_pixels, pixels_of
from lookalike.service.web.decoding import process as decoder_process
from lookalike.service.web.decoding.decoder import Decoder
from tests.images.pictures import FORMATS, HEIC, png, saved, scene
from tests.images.test_hostile import FILES, claims


def bomb(side):
    """A PNG of few bytes and many pixels."""
    return png(side, side, 1, 0, [bytes(-(-side // 8))] * side)


@pytest.fixture(scope="module")
def decoder():
    with Decoder() as made:
        yield made


def running(decoder):
    return [one._process for one in decoder._workers if one._process is not None]


@pytest.mark.parametrize("kind", [*FORMATS, "HEIC"])
def test_same_as_in_this_process(decoder, kind):
    data = HEIC if kind == "HEIC" else saved(scene(), kind)
    here, there = decode(data), decoder.decode(data)
    assert there.facts == here.facts
    assert (np.asarray(there.image) == np.asarray(here.image)).all()


def test_facts_of_a_turned_picture(decoder):
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(scene(), "JPEG", exif=exif)
    assert decoder.decode(data).image.size == (24, 32)
    assert decoder.decode(data, box=(0, 0, 1, 0.5)).image.size == (24, 16)


@pytest.mark.parametrize("kind", [*FORMATS, "HEIC"])
@pytest.mark.parametrize("box", [None, (0.2, 0.1, 0.9, 0.5)])
def test_a_side_and_a_box_give_the_same_as_in_this_process(decoder, kind, box):
    data = HEIC if kind == "HEIC" else saved(scene(300, 200), kind)
    here, there = decode(data, side=20, box=box), decoder.decode(data, side=20, box=box)
    assert (np.asarray(there.image) == np.asarray(here.image)).all()


@pytest.mark.parametrize("size", [(9000, 9000), (4_000_000, 20)])
def test_what_is_huge_comes_with_few_pixels(decoder, size):
    data = png(*size, 1, 0, [bytes(-(-size[0] // 8))] * size[1])
    small = decoder.decode(data, side=100)
    assert (small.facts.width, small.facts.height) == size
    assert np.prod(small.image.size) <= 1.01 * most_pixels(100)
    assert decode(data, side=100).image.size == small.image.size


def test_a_part_is_cut_out_before_it_is_made_smaller(decoder):
    data = saved(scene(1600, 1200), "JPEG")
    part = decoder.decode(data, side=100, box=(0.5, 0.5, 0.75, 0.75)).image
    assert min(part.size) >= 100
    assert np.abs(np.asarray(part).mean((0, 1)) - (230, 230, 60)).max() < 6
    one = decoder.decode(data, box=(0.999999, 0.999999, 1, 1)).image
    assert one.size[0] >= 1


def test_parts_have_at_least_a_pixel():
    rng = np.random.default_rng(0)
    for _ in range(300):
        size = tuple(int(length) for length in rng.integers(1, 50, 2))
        (left, right), (top, bottom) = np.sort(rng.random((2, 2)))
        box = pixels_of([left, top, right, bottom], size)
        assert 0 <= box[0] < box[2] <= size[0]
        assert 0 <= box[1] < box[3] <= size[1]


@pytest.mark.parametrize(
    "box",
    [(0, 0, 1), (0, 0, 1, 1.1), (-0.1, 0, 1, 1), (0.5, 0, 0.5, 1), (0, 1, 1, 0), (0, 0, 1, np.nan)],
)
def test_boxes_that_are_none(decoder, box):
    with pytest.raises(InvalidInput):
        decoder.decode(FILES["PNG"], box=box)


def test_jpegs(decoder):
    made = decode(decoder.jpeg(saved(scene(3000, 100), "TIFF"), 2048))
    assert (made.facts.format, made.facts.width) == ("JPEG", 2048)
    with pytest.raises(InvalidInput):
        decoder.jpeg(FILES["PNG"], 0)


def test_hostile_files_are_refused_with_their_reasons_by_one_process(decoder):
    decoder.decode(FILES["PNG"])
    before = {one.pid for one in running(decoder)}
    bodies = [data for _, _, data in claims()] + [b"x", b"<svg/>", bomb(12_000), FILES["PNG"][:60]]
    for data in bodies:
        try:
            decode(data)
            reason = None
        except UnreadablePicture as error:
            reason = str(error)
        assert reason is not None
        with pytest.raises(UnreadablePicture) as caught:
            decoder.decode(data)
        assert str(caught.value) == reason
    assert before <= {one.pid for one in running(decoder)}


def test_limits_by_the_call(decoder):
    with pytest.raises(UnreadablePicture, match="too large"):
        decoder.decode(FILES["PNG"], limits=Limits(max_pixels=10))
    with pytest.raises(UnreadablePicture, match="too large"):
        decoder.decode(FILES["PNG"], limits=Limits(max_bytes=10))
    with pytest.raises(UnreadablePicture, match="empty"):
        decoder.decode(b"")


def test_memory_is_limited():
    with Decoder(memory=96 << 20) as decoder:
        with pytest.raises(UnreadablePicture, match="too large: it does not fit in memory"):
            decoder.decode(bomb(8000))
        pid = running(decoder)[0].pid
        assert decoder.decode(FILES["PNG"]).image.size == (32, 24)
        assert running(decoder)[0].pid == pid
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    assert "Max cpu time              2" in limits
    assert "Max file size             0" in limits


def test_time_is_limited_and_what_takes_too_long_is_not_tried_again():
    with Decoder(seconds=3, processes=1) as decoder:
        decoder.decode(FILES["PNG"])
        os.kill(running(decoder)[0].pid, signal.SIGSTOP)  # for a picture that takes for ever
        with pytest.raises(UnreadablePicture, match=r"too slow: .* longer than 3 s"):
            decoder.decode(FILES["PNG"])
        assert running(decoder) == []
        assert decoder.decode(FILES["PNG"]).image.size == (32, 24)


def test_a_killed_process_is_replaced():
    with Decoder(processes=1) as decoder:
        for sign in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            decoder.decode(FILES["PNG"])
            process = running(decoder)[0]
            os.kill(process.pid, sign)
            process.wait()
            assert decoder.decode(FILES["JPEG"]).image.size == (32, 24)
            assert running(decoder)[0].pid != process.pid


def test_what_kills_twice_is_refused():
    with Decoder(processes=1) as decoder:
        done, killed = threading.Event(), set()

        def kill():
            while not done.is_set():
                for worker in decoder._workers:
                    process = worker._process
                    if worker.room and process is not None and process.poll() is None:
                        process.kill()
                        killed.add(process.pid)
                time.sleep(0.002)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with pytest.raises(UnreadablePicture, match="crashed the decoder"):
                decoder.decode(bomb(11_000))
        finally:
            done.set()
            killer.join()
        assert len(killed) == 2
        assert decoder.decode(FILES["JPEG"]).image.size == (32, 24)


@pytest.mark.parametrize(
    "says",
    [
        "printf nonsense-of-a-fair-length",
        "exit 3",
        "head -c 100000 /dev/zero",
        # A frame that announces more than was asked for, and one whose header is no header.
        r"printf '\0\0\0\2\177\0\0\0\0\0\0\0{}'",
        r"printf '\0\0\0\2\0\0\0\0\0\0\0\0[]'",
    ],
)
def test_a_process_that_ends_while_it_starts_is_no_fault_of_the_picture(says, tmp_path):
    python = script(says, tmp_path)
    with (
        Decoder(python=python) as decoder,
        pytest.raises(CollectionError, match="Cannot start") as caught,
    ):
        decoder.decode(FILES["PNG"])
    assert "python -m lookalike.service.web.decoding.process" in str(caught.value)


READY = r"printf '\0\0\0\2\0\0\0\0\0\0\0\0{}'"


@pytest.mark.parametrize(
    "says",
    [
        "printf nonsense-of-a-fair-length",
        "exit 3",
        r"printf '\0\0\0\2\0\0\0\0\0\0\0\0[]'",
        r"printf '\0\0\0\2\0\0\0\0\0\0\0\0{}'",
    ],
)
def test_what_a_lost_process_says_is_not_believed(says, tmp_path):
    python = script(f"{READY}\nhead -c 1 > {tmp_path}/asked\n{says}", tmp_path)
    with (
        Decoder(python=python) as decoder,
        pytest.raises(UnreadablePicture, match="crashed the decoder"),
    ):
        decoder.decode(FILES["PNG"])


def test_a_fault_inside_the_process_is_none_of_the_picture(tmp_path):
    fault = '{"fault": "No module named _strptime"}'
    reply = rf"printf '\0\0\0\{len(fault):o}\0\0\0\0\0\0\0\0%s' '{fault}'"
    python = script(f"{READY}\nhead -c 1 > {tmp_path}/asked\n{reply}", tmp_path)
    with (
        Decoder(python=python) as decoder,
        pytest.raises(DecoderFailed, match="a fault of lookalike") as caught,
    ):
        decoder.decode(FILES["PNG"])
    assert "damaged" not in str(caught.value)


def test_a_fault_is_reported_by_the_process_that_has_it(monkeypatch):
    sent, replies = io.BytesIO(), io.BytesIO()
    for _ in range(2):
        decoder_process.write_frame(sent, {"do": "pixels"})
    sent.seek(0)
    faults = iter([DecoderFailed(ImportError("no such module")), KeyError("limits")])
    monkeypatch.setattr(decoder_process, "answer", lambda *_: (_ for _ in ()).throw(next(faults)))
    monkeypatch.setattr(decoder_process.resource, "setrlimit", lambda *_: None)
    decoder_process._run(sent, replies, 1, [])
    replies.seek(0)
    told = [decoder_process.read_frame(replies, 0)[0] for _ in range(3)]
    assert told[1:] == [{"fault": "no such module"}, {"fault": "KeyError: 'limits'"}]


def script(says, tmp_path):
    """Write a script that takes the place of Python."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


def test_a_process_that_cannot_start_is_no_fault_of_the_picture():
    with (
        Decoder(python="/nowhere/python") as decoder,
        pytest.raises(CollectionError, match="Cannot start"),
    ):
        decoder.decode(FILES["PNG"])


def test_threads_share_it():
    with Decoder(processes=2) as decoder:
        bodies = {name: data for name, data in FILES.items() if name != "HEIC"}
        expected = {name: np.asarray(decode(data).image) for name, data in bodies.items()}
        wrong = []

        def work():
            for name, data in bodies.items():
                if not (np.asarray(decoder.decode(data).image) == expected[name]).all():
                    wrong.append(name)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(running(decoder)) == 2


def test_closing_ends_what_runs():
    decoder = Decoder(processes=2)
    decoder.decode(FILES["PNG"])
    processes = running(decoder)
    told = []

    def work():
        try:
            decoder.decode(bomb(11_000))
        except CollectionError as error:
            told.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    decoder.close()
    decoder.close()
    thread.join(300)
    assert not thread.is_alive()
    assert "shutting down" in told[0]
    assert all(process.returncode is not None for process in processes)
    with pytest.raises(CollectionError, match="shutting down"):
        decoder.decode(FILES["PNG"])


def test_the_process_is_told_no_key_and_imports_nothing_from_here(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_KEY", "k" * 24)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    with Decoder(processes=1) as decoder:
        assert decoder.decode(FILES["PNG"]).image.size == (32, 24)
        pid = running(decoder)[0].pid
        assert b"LOOKALIKE_KEY" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_it_ends_with_its_parent():
    with Decoder(processes=1) as decoder:
        decoder.decode(FILES["PNG"])
        process = running(decoder)[0]
        process.stdin.close()
        assert process.wait(300) == 0


ATTEMPTS = """
import os, socket, sys
from pathlib import Path
from lookalike.service.web.decoding import confinement as decoder_room
if sys.argv[2] == "limits":
    decoder_room._filter_calls = lambda: False
held, door = os.open(sys.argv[1], os.O_RDWR), os.open("/", os.O_RDONLY)
print(decoder_room.restrict(1 << 30))
def attempt(name, work):
    try:
        work()
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__)
    else:
        print(name, "done")
attempt("read", lambda: open("/etc/hostname"))
attempt("write", lambda: open(sys.argv[1] + "2", "w"))
attempt("grow", lambda: os.write(held, b"x" * 100))
attempt("network", lambda: socket.socket().connect(("127.0.0.1", 9)))
attempt("run", lambda: os.execv("/nowhere", ["nowhere"]))
attempt("memory", lambda: bytearray(2 << 30))
attempt("remove", lambda: os.unlink(sys.argv[1]))
attempt("kill", lambda: os.kill(os.getppid(), 0))
"""


@pytest.mark.parametrize("room", ["limits", "seccomp"])
def test_the_room_has_neither_files_nor_a_network(tmp_path, room):
    own = tmp_path / "own"
    own.write_bytes(b"")
    ran = subprocess.run(
        [sys.executable, "-c", ATTEMPTS, str(own), room],
        capture_output=True,
        text=True,
        timeout=300,
    )
    told = dict(line.split(" ", 1) for line in ran.stdout.splitlines()[1:])
    for name in ("read", "write", "network", "memory"):
        assert told.get(name, "").endswith("Error"), (name, ran)
    assert own.stat().st_size == 0 if own.exists() else room == "limits"
    if room == "seccomp" and platform.machine() in ("x86_64", "aarch64"):
        assert ran.stdout.startswith("['limits', 'seccomp']")
        for name in ("run", "remove", "kill"):
            assert told[name] == "PermissionError", ran


def test_the_processes_are_in_it(decoder):
    decoder.decode(FILES["PNG"])
    rooms = [worker.room for worker in decoder._workers if worker.room]
    assert rooms
    assert all("limits" in room for room in rooms)
    if platform.machine() in ("x86_64", "aarch64"):
        assert all("seccomp" in room for room in rooms)
        pid = running(decoder)[0].pid
        assert "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
