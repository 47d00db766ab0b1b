"""FAISS in a process of its own, on one thread, that takes turns with us."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from environments import ONE_THREAD, interpreter
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent


class Faiss:
    """An exact index of codes (IndexBinaryFlat) or of vectors (IndexFlatIP)."""

    def __init__(self, rows: NDArray[Any], queries: NDArray[Any], k: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        np.save(Path(self._folder.name) / "rows.npy", rows)
        np.save(Path(self._folder.name) / "queries.npy", queries)
        python = interpreter("faiss", HERE / "faiss_requirements.txt")
        self._process = subprocess.Popen(
            [str(python), str(HERE / "faiss_peer.py"), self._folder.name, str(k)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        assert self._lines.readline() == "ready\n"

    @property
    def _lines(self) -> Any:
        return self._process.stdout

    def seconds(self, first: int, last: int) -> tuple[float, float]:
        """Return the CPU seconds of a search and the sum of its scores or distances."""
        pipe: Any = self._process.stdin
        pipe.write(f"{first} {last}\n")
        pipe.flush()
        spent, total = self._lines.readline().split()
        return float(spent), float(total)

    def close(self) -> None:
        """End the process."""
        pipe: Any = self._process.stdin
        pipe.close()
        self._process.wait()
        self._folder.cleanup()
