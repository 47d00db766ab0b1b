"""Decode untrusted pictures in separate processes that may crash."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from queue import LifoQueue
from threading import Lock, Timer
from typing import Any, BinaryIO

from PIL import Image

from lookalike.core.errors import (
    CollectionError,
    DecoderFailed,
    InvalidInput,
    UnreadablePicture,
)
from lookalike.images import Facts, Limits, Picture
from lookalike.images.details import MAX_CAPTION, Details
from lookalike.images.metadata import MAX_CHARACTERS, MAX_KEYWORDS, Metadata
from lookalike.images.parts import check_box, most_pixels
from lookalike.service.web.decoding.process import read_frame, write_frame

_START_SECONDS = 60.0
_SPARE = 1 << 16
MAX_METADATA = 4 * MAX_CHARACTERS * MAX_KEYWORDS + 4 * MAX_CAPTION + _SPARE
"""Bytes of the metadata of a file."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_MODULE = "lookalike.service.web.decoding.process"
_LOST = (EOFError, OSError, ValueError, RecursionError)
"""What comes of a process that has ended, or whose replies are not to be understood."""


class Decoder:
    """Decodes pictures in separate processes, within limits of memory and time.

    They can open neither files nor connections
    (:mod:`lookalike.service.web.decoding.confinement`). A
    process starts when it is first needed, and again if it dies. A picture that crashes two of
    them, or takes too long, is refused as unreadable. Threads may share a decoder.

    Parameters
    ----------
    limits : Limits, optional
        Limits beyond which a picture is refused.
    seconds : float
        Time limit for one picture.
    memory : int
        Bytes that a process may allocate after it has started.
    processes : int
        Number of processes; by default one per core, and at least two.

    Examples
    --------
    >>> from lookalike.images import emoji_samples
    >>> with Decoder() as decoder:
    ...     decoder.decode(emoji_samples()[0].path.read_bytes()).image.size
    (72, 72)
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        seconds: float = 20.0,
        memory: int = 2 << 30,
        processes: int = max(2, os.cpu_count() or 2),
        python: str = sys.executable,
    ) -> None:
        self._limits = limits or Limits()
        self._seconds, self._memory = seconds, memory
        self._workers = [_Worker(memory, seconds, python) for _ in range(processes)]
        self._free: LifoQueue[_Worker] = LifoQueue()
        for worker in self._workers:
            self._free.put(worker)

    def __enter__(self) -> "Decoder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; pictures being decoded are refused."""
        for worker in self._workers:
            worker.close()

    def decode(
        self,
        data: bytes,
        limits: Limits | None = None,
        *,
        side: int | None = None,
        box: Sequence[float] | None = None,
    ) -> Picture:
        """Decode a picture, exactly as :func:`lookalike.images.decode` does.

        Parameters
        ----------
        data : bytes
            The content of the file.
        limits : Limits, optional
            Used instead of the decoder's.
        side, box
            As there; with a side, few pixels come into this process.

        Raises
        ------
        UnreadablePicture
            With a short reason.
        DecoderFailed
            If the fault is the decoder's, not the picture's.
        DecoderNotStarted
            If the decoder does not start.
        CollectionError
            If it was closed.
        """
        answer, pixels = self._ask("pixels", data, side, box, limits)
        try:
            width, height = answer["size"]
            image = Image.frombytes("RGB", (width, height), pixels)
            return Picture(image, Facts(**answer["facts"]))
        except (KeyError, ValueError, TypeError) as error:
            raise _broke_down() from error

    def jpeg(self, data: bytes, side: int, limits: Limits | None = None) -> bytes:
        """Return a JPEG of a picture without metadata, its longer side at most ``side``."""
        return self._ask("jpeg", data, side, None, limits)[1]

    def metadata(self, file: BinaryIO, *, sidecar: bool = False) -> Metadata:
        """Return the metadata in a file, as :func:`lookalike.images.metadata.metadata_in` does."""
        header = {"do": "metadata", "sidecar": sidecar}
        content = self._send(header, file, MAX_METADATA)[1]
        try:
            answer = json.loads(content)
            words, problems = (tuple(map(str, answer[part])) for part in ("words", "problems"))
            details = Details.of(**answer["details"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise _broke_down() from error
        problems = tuple(problem[:1000] for problem in problems[:10])
        return Metadata(words[:MAX_KEYWORDS], problems, details)

    def _ask(
        self,
        what: str,
        data: bytes,
        side: int | None,
        box: Sequence[float] | None,
        limits: Limits | None,
    ) -> tuple[dict[str, Any], bytes]:
        if side is not None and side < 1:
            raise InvalidInput(f"Decoder: side must be above 0; got {side}.")
        allowed = limits or self._limits
        allowed.check_bytes(len(data))
        header = {
            "do": what,
            "side": side,
            "box": None if box is None else check_box(box),
            "limits": {"max_bytes": allowed.max_bytes, "max_pixels": allowed.max_pixels},
        }
        most = allowed.max_pixels
        if side is not None:
            most = min(most, side * side if what == "jpeg" else most_pixels(side))
        return self._send(header, data, 3 * most + _SPARE)

    def _send(
        self, header: dict[str, Any], data: bytes | BinaryIO, most: int
    ) -> tuple[dict[str, Any], bytes]:
        worker = self._free.get()
        try:
            answer, body = self._twice(worker, header, data, most)
        finally:
            self._free.put(worker)
        if "error" in answer:
            raise UnreadablePicture(str(answer["error"])[:300])
        if "fault" in answer:
            raise DecoderFailed(str(answer["fault"])[:300])
        return answer, body

    def _twice(
        self, worker: "_Worker", header: dict[str, Any], data: bytes | BinaryIO, most: int
    ) -> tuple[dict[str, Any], bytes]:
        for _ in range(2):
            try:
                return worker.ask(header, data, most)
            except DecoderNotStarted as error:
                failed: Exception = error
            except _LOST:
                if worker.late:
                    raise UnreadablePicture(
                        f"too slow: decoding it took longer than {self._seconds:g} s"
                    ) from None
                failed = _broke_down()
        raise failed


class DecoderNotStarted(CollectionError):
    """The process that decodes pictures could not be started; no file was read."""


class _Worker:
    """One process, started when it is needed; used by one thread at a time."""

    def __init__(self, memory: int, seconds: float, python: str) -> None:
        self._memory, self._seconds, self._python = memory, seconds, python
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._closed = False
        self.late = False
        self.room: list[str] = []

    def ask(
        self, header: dict[str, Any], data: bytes | BinaryIO, most: int
    ) -> tuple[dict[str, Any], bytes]:
        """Return the reply to a request, or end the process."""
        self.late = False
        process = self.start()
        try:
            return self._exchange(process, self._seconds, header, data, most)
        except BaseException:
            self.end()
            # The kernel kills a process that has used up its time.
            self.late = self.late or process.returncode == -signal.SIGXCPU
            raise

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process unless it is running."""
        with self._lock:
            if self._process is not None:
                return self._process
            if self._closed:
                raise CollectionError("The server is shutting down; nothing more is decoded.")
            # Our own settings, including keys, are kept from it.
            known = {name: v for name, v in os.environ.items() if not name.startswith("LOOKALIKE_")}
            seconds = max(1, round(self._seconds))
            command = [self._python, "-P", "-m", _MODULE]
            try:
                process = subprocess.Popen(  # noqa: S603
                    [*command, str(self._memory), str(seconds)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**known, **_ONE_THREAD},
                    start_new_session=True,
                )
            except OSError as error:
                raise DecoderNotStarted(
                    f"Cannot start the process that decodes pictures: {error}. Free some memory "
                    f"and try again."
                ) from error
            self._process = process
        try:
            answer, _ = self._exchange(process, _START_SECONDS, None, b"", 0)
            self.room = [str(part) for part in answer.get("room", [])]
        except BaseException as error:
            self.end()
            if isinstance(error, _LOST):
                raise DecoderNotStarted(
                    f"Cannot start the process that decodes pictures; no file was read. To see "
                    f"why, run: python -m {_MODULE} {1 << 30} 20 < /dev/null"
                ) from error
            raise
        return process

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._closed = True
        self.end()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            process, self._process = self._process, None
            self.room = []
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                # Unread data no longer matters.
                with suppress(OSError):
                    stream.close()

    def _exchange(
        self,
        process: "subprocess.Popen[bytes]",
        seconds: float,
        header: dict[str, Any] | None,
        data: bytes | BinaryIO,
        most: int,
    ) -> tuple[dict[str, Any], bytes]:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        timer = Timer(seconds, self._too_late, [process])
        timer.daemon = True
        timer.start()
        try:
            if header is not None:
                write_frame(process.stdin, header, data)
            return read_frame(process.stdout, most)
        finally:
            timer.cancel()

    def _too_late(self, process: "subprocess.Popen[bytes]") -> None:
        self.late = True
        process.kill()


def _broke_down() -> UnreadablePicture:
    return UnreadablePicture("it crashed the decoder")
