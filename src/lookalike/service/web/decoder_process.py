"""The process that decodes pictures; it may crash or hang without harming the server.

Run as ``python -m lookalike.service.web.decoder_process MEMORY SECONDS``. It reads requests from
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
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from PIL import Image

from lookalike.core.errors import UnreadablePicture
from lookalike.images import Limits, decode, thumbnail

_LENGTHS = struct.Struct(">IQ")
_MAX_HEADER = 1 << 16
_MAX_STRETCH = 16


def write_frame(stream: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write one frame."""
    about = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(about), len(body)) + about)
    stream.write(body)
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
    """Return the response to a request for the ``pixels`` of a picture or a ``jpeg`` of it."""
    limits = Limits(**header["limits"])
    side, box = header.get("side"), header.get("box")
    picture = decode(data, limits, side=_least_side(side, box))
    image = picture.image
    if box is not None:
        image = image.crop(pixels_of(box, image.size))
    if header["do"] == "jpeg":
        return {}, thumbnail(image, header["side"])
    if side is not None:
        image = _reduced(image, side)
    return {"size": image.size, "facts": asdict(picture.facts)}, image.tobytes()


def pixels_of(box: list[float], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a box of fractions in pixels, at least one pixel wide and high.

    Examples
    --------
    >>> pixels_of([0.25, 0.0, 0.5, 1.0], (100, 80)), pixels_of([1.0, 1.0, 1.0, 1.0], (100, 80))
    ((25, 0, 50, 80), (99, 79, 100, 80))
    """
    width, height = size
    left, top = min(int(box[0] * width), width - 1), min(int(box[1] * height), height - 1)
    right, bottom = round(box[2] * width), round(box[3] * height)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _least_side(side: int | None, box: list[float] | None) -> int | None:
    if side is None or box is None:
        return side
    share = max(min(box[2] - box[0], box[3] - box[1]), 0.01)
    return int(side / share) + 1


def _reduced(image: Image.Image, side: int) -> Image.Image:
    """Average blocks of pixels, keeping both sides at least as long as asked unless one is huge."""
    factor = max(min(image.size) // side, -(-max(image.size) // (_MAX_STRETCH * side)))
    return image.reduce(factor) if factor > 1 else image


def _restrict(memory: int) -> None:
    """Give up what decoding does not need: memory, writing files, core dumps."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(requests: IO[bytes], replies: IO[bytes], seconds: int) -> None:
    with suppress(EOFError, BrokenPipeError):
        write_frame(replies, {"ready": True})
        while True:
            header, data = read_frame(requests, sys.maxsize)
            used = int(time.process_time()) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))
            try:
                told, body = answer(header, data)
            except UnreadablePicture as error:
                told, body = {"error": str(error)}, b""
            except MemoryError:
                told, body = {"error": "too large: it does not fit in memory"}, b""
            write_frame(replies, told, body)


def main() -> None:
    """Decode pictures until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory, seconds = (int(argument) for argument in sys.argv[1:3])
    # Output of a library must not get between the frames.
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for optional in ("PIL._avif", "pi_heif"):
        with suppress(ImportError):
            import_module(optional)
    _restrict(memory)
    _run(sys.stdin.buffer, replies, seconds)


if __name__ == "__main__":
    main()
