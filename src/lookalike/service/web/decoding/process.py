"""The process that decodes pictures; it may crash or hang without harming the server.

Run as ``python -m lookalike.service.web.decoding.process MEMORY SECONDS``. It reads requests from
standard input and writes replies to standard output. Each is a frame: the lengths of a header and
a body, then the header as JSON, then the body. The process ends when its input ends.
"""

import json
import os
import resource
import signal
import struct
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from typing import IO, Any, BinaryIO

from PIL import Image, ImageCms

from lookalike.core.errors import DecoderFailed, UnreadablePicture
from lookalike.images import Limits, decode, thumbnail
from lookalike.images.metadata import metadata_in
from lookalike.images.xmp import EMPTY
from lookalike.service.web.decoding.confinement import restrict

_LENGTHS = struct.Struct(">IQ")
_MAX_HEADER = 1 << 16
_BLOCK = 1 << 20

HEIF = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"
"""The start of a HEIC file, at which its reader is loaded."""


def write_frame(stream: IO[bytes], header: dict[str, Any], body: bytes | BinaryIO = b"") -> None:
    """Write one frame; of a body that is a file, a block at a time is in memory."""
    file = BytesIO(body) if isinstance(body, bytes) else body
    about, left = json.dumps(header).encode(), file.seek(0, os.SEEK_END)
    stream.write(_LENGTHS.pack(len(about), left) + about)
    file.seek(0)
    while left:
        block = file.read(min(left, _BLOCK))
        if not block:
            raise EOFError
        stream.write(block)
        left -= len(block)
    stream.flush()


def read_frame(stream: IO[bytes], most: int) -> tuple[dict[str, Any], bytes]:
    """Read one frame whose body has at most ``most`` bytes.

    Raises
    ------
    EOFError
        If the stream ends.
    ValueError
        If the data is not a frame.
    """
    lengths = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if lengths[0] > _MAX_HEADER or lengths[1] > most:
        raise ValueError(f"a frame of {lengths[0]} and {lengths[1]} bytes")
    header = json.loads(_exactly(stream, lengths[0]))
    if not isinstance(header, dict):
        raise ValueError("a frame without a header")
    return header, _exactly(stream, lengths[1])


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError
    return data


def answer(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the response to a request for ``pixels`` or a ``jpeg`` of a picture, or metadata."""
    if header["do"] == "metadata":
        result = metadata_in(BytesIO(data), sidecar=header["sidecar"])
        return {}, json.dumps(asdict(result), ensure_ascii=False).encode()
    limits = Limits(**header["limits"])
    picture = decode(data, limits, side=header["side"], box=header["box"])
    if header["do"] == "jpeg":
        return {}, thumbnail(picture.image, header["side"])
    facts = asdict(picture.facts)
    return {"size": picture.image.size, "facts": facts}, picture.image.tobytes()


def _warm_up() -> None:
    """Import all that decoding may need: later no file can be opened."""
    small = Image.new("RGB", (2, 2))
    ImageCms.createProfile("LAB")  # which Pillow imports when it first converts from LAB
    for kind in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "AVIF"):
        file = BytesIO()
        with suppress(OSError, KeyError, UnreadablePicture):
            small.save(file, kind)
            decode(file.getvalue(), side=1)
            metadata_in(file)
    for content in (b"", b"no picture", HEIF):
        with suppress(UnreadablePicture):
            decode(content)
        metadata_in(BytesIO(content))
    thumbnail(small, 1)
    for packet in (EMPTY, b"<no packet"):
        metadata_in(BytesIO(packet), sidecar=True)


def _run(requests: IO[bytes], replies: IO[bytes], seconds: int, room: list[str]) -> None:
    with suppress(EOFError, BrokenPipeError):
        write_frame(replies, {"room": room})
        while True:
            header, data = read_frame(requests, sys.maxsize)
            used = int(time.process_time()) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))
            try:
                outcome, body = answer(header, data)
            except UnreadablePicture as error:
                outcome, body = {"error": str(error)}, b""
            except MemoryError:
                outcome, body = {"error": "too large: it does not fit in memory"}, b""
            except DecoderFailed as error:
                outcome, body = {"fault": error.fault}, b""
            except Exception as error:
                outcome, body = {"fault": f"{type(error).__name__}: {error}"}, b""
            write_frame(replies, outcome, body)


def main() -> None:
    """Decode pictures until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory, seconds = (int(argument) for argument in sys.argv[1:3])
    # Output of a library must not get between the frames.
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    _warm_up()
    _run(sys.stdin.buffer, replies, seconds, restrict(memory))


if __name__ == "__main__":
    main()
