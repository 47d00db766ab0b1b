"""What only a process of its own can show: signals, terminals, pipes, odd encodings."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from tests.service.pictures import draw

from lookalike import Collection

LOOKALIKE = [sys.executable, "-c", "from lookalike.service.command_line import main; main()"]


def start(*args, **options):
    command = [*LOOKALIKE, *map(os.fspath, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})


def wait_for(condition, process):
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("as_json", [False, True])
def test_interrupted_index_leaves_a_usable_collection(run, tmp_path, as_json):
    for number in range(1200):
        draw(tmp_path / "many" / f"{number}.png", (90, 90, 90), number)
    place = tmp_path / "store"
    process = start("index", tmp_path / "many", "-c", place, *(["--json"] if as_json else []))
    wait_for((place / "manifest.json").exists, process)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    if as_json:
        assert json.loads(out)["exit_code"] == 130
        assert err == ""
    else:
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


def test_exit_codes(photos, tmp_path):
    (tmp_path / "empty.png").touch()
    place = tmp_path / "store"
    expected = {
        ("index", photos / "red", "-c", place): 0,
        ("index", photos / "red", tmp_path / "empty.png", "-c", place): 3,
        ("search", tmp_path / "empty.png", "-c", place): 1,
        ("search",): 2,
    }
    for arguments, code in expected.items():
        process = start(*arguments)
        _, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert "Traceback" not in err


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
    out, _ = process.communicate(timeout=60)
    os.close(screen)
    assert process.returncode == 0
    assert b"Reading pictures" in seen
    assert "27 added" in out
    assert "Reading" not in out
    assert "\x1b" not in out


def test_odd_names_and_encodings(photos, tmp_path):
    name = os.fsdecode(b"caf\xe9 \xc3\xa9.png")
    draw(tmp_path / "in" / "x.png", (5, 5, 5), 1)
    (tmp_path / "in" / "x.png").rename(tmp_path / "in" / name)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = start("index", tmp_path / "in", "-c", tmp_path / "store", env=ascii_only)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    process = start("search", tmp_path / "in" / name, "-c", tmp_path / "store", env=ascii_only)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert r"caf\xe9 \xe9.png" in out


def test_closed_pipe_is_no_disaster(learned, photos):
    process = start("search", photos / "red" / "0.png", "-c", learned)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert "Traceback" not in err
