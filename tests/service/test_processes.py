"""What only a process of its own can show: signals, terminals, pipes, odd encodings."""

import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

from lookalike import Collection
from tests.service.pictures import draw

# A shell's job in the background ignores the signal, and so would what it starts.
HEEDFUL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
MAIN = "from lookalike.service.command_line import main; main()"
LOOKALIKE = [sys.executable, "-c", f"{HEEDFUL}; {MAIN}"]


def start(*args, **options):
    command = [*LOOKALIKE, *map(os.fspath, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})


def wait_for(condition, process):
    end = time.monotonic() + 300
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def stored(place):
    """Count the pictures that a collection holds while another process adds to it."""
    database = place / "collection.sqlite"
    if not (place / "manifest.json").exists():
        return 0
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute("SELECT count(*) FROM pictures").fetchone()[0]
        except sqlite3.OperationalError:
            return 0  # no table yet


def test_interrupted_index_leaves_a_usable_collection(run, tmp_path):
    for number in range(1200):
        draw(tmp_path / "many" / f"{number}.png", (90, 90, 90), number)
    place = tmp_path / "store"
    process = start("index", tmp_path / "many", "-c", place)
    wait_for(lambda: stored(place), process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert out == ""
    assert err.startswith("Interrupted.")
    assert "kept" in err
    assert "again" in err
    assert err.count("\n") == 1
    with Collection.open(place) as store:
        assert 0 < len(store) < 1200
    first = [tmp_path / "many" / f"{number}.png" for number in (0, 1, 10, 100)]
    assert run("index", *first, "-c", place, "--json").json["known"] == 4
    assert run("search", first[0], "-c", place).code == 0


def test_bar_on_a_terminal_only_on_stderr(photos, tmp_path):
    screen, terminal = pty.openpty()
    process = start("index", photos, "-c", tmp_path / "store", stderr=terminal)
    os.close(terminal)
    seen = b""
    try:
        while block := os.read(screen, 4096):
            seen += block
    except OSError:
        pass  # how Linux says that the other end is closed
    out, _ = process.communicate(timeout=300)
    os.close(screen)
    assert process.returncode == 0
    assert b"Reading pictures" in seen
    assert "27 added" in out
    assert "Reading" not in out
    assert "\x1b" not in out


def test_odd_names_and_encodings(tmp_path):
    name = os.fsdecode(b"caf\xe9 \xc3\xa9.png")
    for seed, file in enumerate(("x.png", "other.png")):
        draw(tmp_path / "in" / file, (5, 5, 5), seed)
    (tmp_path / "in" / "x.png").rename(tmp_path / "in" / name)
    (tmp_path / "in" / "empty.png").touch()
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = start("index", tmp_path / "in", "-c", tmp_path / "store", env=ascii_only)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 3, err
    query = ("search", tmp_path / "in" / "other.png", "-c", tmp_path / "store")
    process = start(*query, env=ascii_only)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert r"caf\xe9 \xe9.png" in out


def test_closed_pipe_is_no_disaster(learned, photos):
    process = start("search", photos / "red" / "0.png", "-c", learned)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(300)
    assert "Traceback" not in err


def test_two_that_start_at_once_never_undo_each_other(photos, model, tmp_path):
    place = tmp_path / "store"
    both = [start("index", photos, "-c", place, "--model", model) for _ in range(2)]
    told = [process.communicate(timeout=300)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 1]), told
    with Collection.open(place) as store:
        assert len(store) == 27
    assert list(tmp_path.iterdir()) == [place]
