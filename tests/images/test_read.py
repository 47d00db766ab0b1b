import hashlib
import os
import socket
from pathlib import Path

import pytest

from lookalike.core.errors import InvalidInput, UnreadablePicture
from lookalike.images import Limits, content_hash, read_bytes


def test_bytes_and_their_hash(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"content" * 1000)
    assert read_bytes(path) == read_bytes(str(path), Limits()) == b"content" * 1000
    assert content_hash(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_size_is_checked_before_reading(tmp_path):
    path = tmp_path / "huge.jpg"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadablePicture, match="too large: 1,099,511,627,776 bytes"):
        read_bytes(path)
    path.write_bytes(b"x" * 11)
    assert read_bytes(path, Limits(max_bytes=11)) == b"x" * 11
    with pytest.raises(UnreadablePicture, match="too large: 11 bytes; the limit is 10"):
        read_bytes(path, Limits(max_bytes=10))


def test_empty_missing_and_unreadable(tmp_path):
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(UnreadablePicture, match="empty"):
        read_bytes(tmp_path / "empty.jpg")
    with pytest.raises(UnreadablePicture, match="cannot read it: no such file or directory"):
        read_bytes(tmp_path / "missing.jpg")
    with pytest.raises(UnreadablePicture, match="cannot read it"):
        read_bytes("nul\0byte")


def test_special_files_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)
        server.bind("socket.jpg")
        os.chdir(here)
        for special in (tmp_path / "pipe.jpg", tmp_path / "socket.jpg", Path(os.devnull)):
            with pytest.raises(UnreadablePicture, match="device, pipe or socket"):
                read_bytes(special)
    with pytest.raises(UnreadablePicture, match="it is a folder"):
        read_bytes(tmp_path)


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"x" * 10)
    look = os.fstat

    def grow(handle):
        facts = look(handle)
        with path.open("ab") as file:
            file.write(b"more")
        return facts

    monkeypatch.setattr(os, "fstat", grow)
    with pytest.raises(UnreadablePicture, match="changed while being read"):
        read_bytes(path)


@pytest.mark.parametrize("name", ["max_bytes", "max_pixels"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True, None])
def test_limits_are_checked(name, value):
    with pytest.raises(InvalidInput, match=f"Limits: {name} must be a whole number from 1"):
        Limits(**{name: value})


def test_a_file_must_lie_within_the_folders_after_links_are_resolved(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "in2"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.png").write_bytes(b"content")
    (inside / "link.png").symlink_to(outside / "a.png")
    (inside / "folder").symlink_to(outside)
    limits = Limits(within=(str(inside),))
    assert read_bytes(inside / "a.png", limits) == b"content"
    for path in (outside / "a.png", inside / "link.png", inside / "folder" / "a.png"):
        with pytest.raises(UnreadablePicture, match="outside the folders"):
            read_bytes(path, limits)


def test_what_was_opened_counts_not_what_the_path_was(tmp_path, monkeypatch):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.png").write_bytes(b"content")
    opening = os.open

    def swapped(path, *flags):
        (inside / "a.png").unlink()
        (inside / "a.png").symlink_to(outside / "a.png")
        return opening(path, *flags)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(UnreadablePicture, match="outside the folders"):
        read_bytes(inside / "a.png", Limits(within=(str(inside),)))
