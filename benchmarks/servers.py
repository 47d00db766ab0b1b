"""A server of its own process, as the command starts it, and how much memory it takes."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HEADERS = {"X-Lookalike-Client": "1"}


class Server:
    """A server of its own process, its memory measured."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        line = (process.stdout or sys.stdin).readline()
        found = re.search(r":(\d+)/", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}")
        self.port = int(found[1])

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the status of an answer, and what it says."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = dict(HEADERS)
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        try:
            link.request(method, path, body, headers)
            answer = link.getresponse()
            content = answer.read()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, json.loads(content) if is_json else len(content)
        finally:
            link.close()

    def memory(self) -> float:
        """Return the memory in MB that it holds now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def peak(self) -> float:
        """Return the highest memory in MB since the last time, and begin anew."""
        folder = Path(f"/proc/{self._process.pid}")
        status = (folder / "status").read_text(encoding="ascii")
        (folder / "clear_refs").write_text("5", encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def serving(place: Path, *more: str) -> Iterator[Server]:
    """Serve a collection as the command does, with further options."""
    main = "from lookalike.service.command_line import main; main()"
    command = [sys.executable, "-c", main, "serve", str(place), "--port", "0", "--json", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.terminate()
