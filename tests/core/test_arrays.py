import json
import os
import stat
import struct
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64

from lookalike.core import arrays as module
from lookalike.core.arrays import (
    check_file,
    load_arrays,
    map_arrays,
    map_file,
    save_arrays,
    stored_manifest,
    write_whole,
)
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.json_files import load_json

ARRAYS = {
    "W": np.arange(12, dtype=np.float32).reshape(3, 4),
    "ids": np.array([7, -1], np.int64),
    "mask": np.array([True, False]),
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    path = tmp_path_factory.mktemp("valid") / "a.safetensors"
    save_arrays(path, ARRAYS, kind="thing/1", manifest={"C": 0.1, "name": "ü"})
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "file.safetensors"


def packed(header, data=b""):
    """Return a file with a header, and the right checksum where it has a place for one."""
    text = header
    if not isinstance(header, bytes):
        text = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack("<Q", len(text)) + text + data
    own = f'"xxh3":"{xxh3_64(content).hexdigest()}"'.encode()
    return content.replace(b'"xxh3":"0000000000000000"', own)


def metadata(manifest):
    return {"__metadata__": {"xxh3": "0" * 16, "manifest": manifest}}


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_round_trip(tmp_path):
    path = tmp_path / "new" / "a.safetensors"
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    given = {**ARRAYS, "fortran": fortran, "scalar": np.array(3.5), "none": np.zeros((0, 5))}
    save_arrays(path, given, kind="thing/1", manifest={"C": 0.1, "list": [1, None]})
    found, manifest = load_arrays(path, kind="thing/1")
    assert manifest == {"C": 0.1, "list": [1, None]}
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("length", range(0, 64, 8))
def test_the_largest_array_begins_with_a_line_of_the_cache(tmp_path, length):
    path = tmp_path / "a.safetensors"
    large = np.arange(60, dtype=np.float32).reshape(4, 15)
    given = {"a": np.zeros(3, np.float32), "ids": np.arange(5), "z": large}
    save_arrays(path, given, kind="thing/1", manifest={"text": "x" * length})
    for found in (load_arrays(path, kind="thing/1")[0], map_arrays(path, kind="thing/1")[0]):
        assert found["z"].ctypes.data % 64 == 0
        assert found["ids"].ctypes.data % 8 == 0
        np.testing.assert_array_equal(found["z"], large)


def test_arrays_of_the_other_byte_order_keep_their_values(tmp_path):
    path = tmp_path / "a.safetensors"
    save_arrays(path, {"a": np.array([1.5, 2.0], ">f4")}, kind="thing/1", manifest={})
    np.testing.assert_array_equal(load_arrays(path, kind="thing/1")[0]["a"], [1.5, 2.0])


def test_a_manifest_cannot_name_another_kind(tmp_path):
    path = tmp_path / "a.safetensors"
    save_arrays(path, {}, kind="thing/1", manifest={"kind": "other/1"})
    assert load_arrays(path, kind="thing/1") == ({}, {})


def test_another_kind_is_refused(valid, scratch):
    scratch.write_bytes(valid)
    with pytest.raises(DamagedFile, match="'thing/1'; expected 'thing/2'"):
        load_arrays(scratch, kind="thing/2")


def test_the_kind_is_told_without_the_arrays(valid, scratch):
    scratch.write_bytes(valid)
    assert stored_manifest(scratch)["kind"] == "thing/1"
    scratch.write_bytes(packed(metadata('{"kind": ["thing/1"]}')))
    with pytest.raises(DamagedFile, match="has no kind"):
        stored_manifest(scratch)


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(InvalidInput, match="Store long lists as arrays"):
        save_arrays(path, {}, kind="thing/1", manifest={"text": '"' * 500_000})
    with pytest.raises(InvalidInput, match="at most 256 arrays"):
        save_arrays(path, {f"a{i}": np.zeros(1) for i in range(257)}, kind="thing/1", manifest={})
    assert not list(tmp_path.iterdir())
    save_arrays(path, {f"a{i}": np.zeros(1) for i in range(256)}, kind="thing/1", manifest={})
    assert len(load_arrays(path, kind="thing/1")[0]) == 256


def load_or_refuse(content, scratch):
    """Only DamagedFile may come out, and nothing large be allocated on the way."""
    scratch.write_bytes(content)
    loaded = True
    messages = [str(scratch)]
    tracemalloc.start()
    try:
        load_arrays(scratch, kind="thing/1")
    except DamagedFile as error:
        loaded = False
        messages.append(str(error))
    try:
        assert stored_manifest(scratch)["kind"] == "thing/1" or not loaded
    except DamagedFile as error:
        assert not loaded
        messages.append(str(error))
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 64 * len(content) + (1 << 20)
    assert all(str(scratch) in message for message in messages)
    return loaded


@settings(max_examples=150)
@given(data=st.data())
def test_flipped_bytes(valid, scratch, data):
    content = bytearray(valid)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    load_or_refuse(bytes(content), scratch)


def test_every_flipped_bit_is_noticed(valid, scratch):
    for place in range(len(valid)):
        content = bytearray(valid)
        content[place] ^= 1 << place % 8
        assert not load_or_refuse(bytes(content), scratch), place


def test_mapped_arrays_are_checked_too(valid, scratch):
    scratch.write_bytes(valid)
    arrays, _ = map_arrays(scratch, kind="thing/1")
    np.testing.assert_array_equal(arrays["W"], ARRAYS["W"])
    scratch.write_bytes(valid[:-1] + bytes([valid[-1] ^ 4]))
    for read in (lambda: map_arrays(scratch, kind="thing/1"), lambda: check_file(scratch)):
        with pytest.raises(DamagedFile, match="not as it was written"):
            read()
    # A part alone is not checked: that would take all of the file.
    assert load_arrays(scratch, kind="thing/1", names=["W"])[0].keys() == {"W"}


def test_only_a_file_with_a_checksum_is_read(scratch):
    content = packed({**OURS, "a": entry()}, b"\0\0\x80\x3f")
    assert load_or_refuse(content, scratch)
    header = {"__metadata__": {"manifest": '{"kind": "thing/1"}'}, "a": entry()}
    assert not load_or_refuse(packed(header, b"\0\0\x80\x3f"), scratch)


@pytest.mark.parametrize("place", [0, module._BLOCK - 1, module._BLOCK, -1])
def test_files_of_several_blocks_are_checked_whole(scratch, place):
    array = np.random.default_rng(0).integers(0, 256, 2 * module._BLOCK + 5000, dtype=np.uint8)
    save_arrays(scratch, {"a": array}, kind="thing/1", manifest={})
    np.testing.assert_array_equal(load_arrays(scratch, kind="thing/1")[0]["a"], array)
    content = bytearray(scratch.read_bytes())
    begin = len(content) - len(array)
    content[begin + place if place >= 0 else place] ^= 1
    scratch.write_bytes(content)
    with pytest.raises(DamagedFile, match="not as it was written"):
        load_arrays(scratch, kind="thing/1")


def test_an_array_that_does_not_belong_is_told(valid, scratch):
    scratch.write_bytes(valid)
    arrays, _ = load_arrays(scratch, kind="thing/1")
    assert arrays.get("none") is None
    assert arrays["W"].size
    arrays.pop("ids")
    with pytest.raises(ValueError, match="'mask' does not belong"):
        arrays.check_all_used()
    assert len(dict(arrays.items())) == 2
    arrays.check_all_used()


def test_a_file_of_holes_is_refused(tmp_path):
    path, size = tmp_path / "holes", 3 << 30
    header = packed({**OURS, "a": entry("U8", (size,), (0, size))})
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + size)
    for read in (load_arrays, map_arrays):
        with pytest.raises(DamagedFile, match="are on the disk"):
            read(path, kind="thing/1")


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from lookalike.core import arrays
from lookalike.core.errors import DamagedFile

arrays.MAX_EMPTY_BYTES = 1 << 40
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    arrays.load_arrays(Path(sys.argv[1]), kind="thing/1")
except DamagedFile as error:
    print(error)
"""


def test_a_file_larger_than_memory_is_told(tmp_path):
    path, size = tmp_path / "large", 8 << 30
    header = packed({**OURS, "a": entry("U8", (size,), (0, size))})
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + size)
    told = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, str(path)], capture_output=True, check=True
    )
    assert b"bytes of memory, which are not available" in told.stdout


def test_what_is_not_finite_is_not_written(tmp_path):
    with pytest.raises(InvalidInput, match="not finite"):
        save_arrays(tmp_path / "a", {}, kind="thing/1", manifest={"steps": float("inf")})


@settings(max_examples=60)
@given(data=st.data())
def test_truncated_and_extended(valid, scratch, data):
    cut = data.draw(st.integers(0, len(valid) - 1))
    assert not load_or_refuse(valid[:cut], scratch)
    assert not load_or_refuse(valid + b"\0" * data.draw(st.integers(1, 9)), scratch)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_noise(scratch, content):
    assert not load_or_refuse(content, scratch)


OURS = metadata('{"kind": "thing/1"}')


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(struct.pack("<Q", 2**63), id="header of 2**63 bytes"),
        pytest.param(struct.pack("<Q", (1 << 20) + 1) + b" " * 100, id="header above the limit"),
        pytest.param(packed(b"[]"), id="a list"),
        pytest.param(packed(b"[" * 100_000), id="deep nesting"),
        pytest.param(packed(b'{"a":' * 100_000), id="deep nesting of objects"),
        pytest.param(packed(b"\xff\xfe"), id="not UTF-8"),
        pytest.param(packed(b"1" * 10_000), id="a huge number"),
        pytest.param(packed({"a": entry()}, b"\0" * 4), id="no manifest"),
        pytest.param(packed({"__metadata__": 3}), id="metadata a number"),
        pytest.param(packed(metadata(3)), id="manifest a number"),
        pytest.param(packed(metadata("3")), id="manifest text of a number"),
        pytest.param(packed(metadata("[]")), id="manifest a list"),
        pytest.param(packed(metadata('["kind"]')), id="manifest of kind"),
        pytest.param(packed(metadata("{}")), id="no kind"),
        pytest.param(packed(metadata("[" * 90_000)), id="deep manifest"),
        pytest.param(packed(metadata('{"kind": ' + "1" * 9000 + "}")), id="huge kind"),
        pytest.param(
            packed(metadata('{"kind": "thing/1", "n": Infinity}')),
            id="infinite",
        ),
        pytest.param(
            packed(metadata('{"kind": "thing/1", "n": "\\ud800"}')),
            id="half a character",
        ),
        pytest.param(
            packed({"__metadata__": {**OURS["__metadata__"], "crc32": "00000000"}}),
            id="unknown metadata",
        ),
        pytest.param(
            packed({"__metadata__": {**OURS["__metadata__"], "xxh3": "0"}}),
            id="half a checksum",
        ),
        pytest.param(packed({**OURS, "a": entry(offsets=(4, 8))}, b"\0" * 8), id="a gap before"),
        pytest.param(packed({**OURS, "a": 5}), id="entry a number"),
        pytest.param(packed({**OURS, "a": entry(offsets=(0, -4))}, b"\0" * 4), id="negative"),
        pytest.param(packed({**OURS, "a": entry(offsets=(4, 0))}), id="backwards"),
        pytest.param(packed({**OURS, "a": entry(offsets=(0, 2**70))}), id="beyond 64 bits"),
        pytest.param(
            packed({**OURS, "a": entry(shape=(2**40,), offsets=(0, 4))}, b"\0" * 4), id="tera"
        ),
        pytest.param(packed({**OURS, "a": entry(shape=(2**62, 4), offsets=(0, 0))}), id="overflow"),
        pytest.param(
            packed({**OURS, "a": entry(shape=(2**62, 2**62, 0), offsets=(0, 0))}), id="no size"
        ),
        pytest.param(packed({**OURS, "a": entry(shape=(1,) * 70)}, b"\0" * 4), id="70 dimensions"),
        pytest.param(packed({**OURS, "a": entry(shape=(-1,))}, b"\0" * 4), id="negative shape"),
        pytest.param(packed({**OURS, "a": entry("BF16", (2,))}, b"\0" * 4), id="bfloat16"),
        pytest.param(packed({**OURS, "a": entry("F8_E4M3", (4,))}, b"\0" * 4), id="8-bit floats"),
        pytest.param(packed({**OURS, "a": entry("F4", (8,))}, b"\0" * 4), id="4-bit floats"),
        pytest.param(packed({**OURS, "a": entry("O")}, b"\0" * 4), id="unknown type"),
        pytest.param(packed({**OURS, "a": entry(["F32"])}, b"\0" * 4), id="type a list"),
        pytest.param(packed({**OURS, "a": entry(), "b": entry()}, b"\0" * 4), id="overlapping"),
        pytest.param(
            packed({**OURS, **{f"a{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(300)}}),
            id="too many arrays",
        ),
    ],
)
def test_hostile_headers(content, scratch):
    assert not load_or_refuse(content, scratch)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(DamagedFile, match="does not exist"):
        load_arrays(tmp_path / "none", kind="thing/1")
    with pytest.raises(DamagedFile, match="does not exist"):
        stored_manifest(tmp_path / "none")
    with pytest.raises(DamagedFile, match="it is a folder"):
        load_arrays(tmp_path, kind="thing/1")


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for load in (
        lambda: load_arrays(pipe, kind="thing/1"),
        lambda: map_arrays(pipe, kind="thing/1"),
        lambda: map_file(pipe),
        lambda: stored_manifest(pipe),
        lambda: check_file(pipe),
        lambda: load_json(pipe, {"kind"}),
    ):
        with pytest.raises(DamagedFile, match="pipe is not a lookalike file: it is a device, pipe"):
            load()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "a"
    write_whole(path, b"old")

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.os if step == "fsync" else module.Path, step, crash)
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new, and longer")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    write_whole(path, b"old")
    child = os.fork()
    if child == 0:
        module.os.fsync = lambda _: os._exit(9)
        try:
            write_whole(path, b"new")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert path.read_bytes() == b"old"


def test_a_file_is_as_readable_as_any_other(tmp_path):
    write_whole(tmp_path / "ours", b"")
    (tmp_path / "plain").touch()
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert len(modes) == 1
