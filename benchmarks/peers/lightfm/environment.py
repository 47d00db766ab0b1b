"""The peer's own environment: created once in the cache folder, then used by jobs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.settings import cache_folder

HERE = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def interpreter() -> Path:
    """Return the Python of the peer's environment, creating it if needed.

    LightFM comes as source: pip compiles it here with ``-O3 -march=native -ffast-math`` and
    OpenMP, so a C compiler is needed.
    """
    requirements = (HERE / "requirements.txt").read_bytes()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(requirements + version.encode()).hexdigest()[:12]
    folder = cache_folder() / "peers" / f"lightfm-{key}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    print("creating LightFM's environment; this takes about a minute…", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    subprocess.run(
        [
            *(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--requirement", str(HERE / "requirements.txt")),
        ],
        check=True,
        stdout=sys.stderr,
    )
    (folder / "ready").touch()
    return python


@dataclass(frozen=True)
class Course:
    """How training went: seconds of each epoch; at some moments the seconds and the best words."""

    epoch_seconds: NDArray[np.float64]
    seconds: NDArray[np.float64]
    ranked: Mapping[str, NDArray[np.int32]]


class Peer:
    """LightFM with one set of training pictures, kept in a file for the jobs to read.

    Parameters
    ----------
    train : csr_matrix of shape (n, d)
    has : csr_matrix of shape (n, Y)
        Ones where a picture has a word.
    asked : mapping of str to csr_matrix
        Further pictures to rank, by the name of their part.
    """

    def __init__(
        self, train: sp.csr_matrix, has: sp.csr_matrix, asked: Mapping[str, sp.csr_matrix]
    ) -> None:
        self._python = interpreter()
        self._names = list(asked)
        self._folder = tempfile.TemporaryDirectory()
        matrices = {"train": train, "has": has, **asked}
        np.savez(
            Path(self._folder.name) / "arrays.npz",
            **{
                f"{name}_{part}": np.asarray(getattr(sp.csr_matrix(matrix), part))
                for name, matrix in matrices.items()
                for part in ("data", "indices", "indptr", "shape")
            },
        )

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def train(
        self,
        *,
        settings: Mapping[str, Any],
        seed: int,
        scale: float = 1.0,
        epochs: int = 1_000_000,
        seconds: float = float("inf"),
    ) -> Course:
        """Train anew on one thread; ``scale`` multiplies the pictures' vectors."""
        folder = Path(self._folder.name)
        job = {
            "arrays": str(folder / "arrays.npz"),
            "answer": str(folder / "answer.npz"),
            "rank": self._names,
            "settings": dict(settings),
            "seed": seed,
            "scale": scale,
            "epochs": epochs,
            "seconds": min(seconds, 1e9),
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        done = subprocess.run(
            [str(self._python), str(HERE / "peer.py"), str(folder / "job.json")],
            check=False,
            env={**os.environ, **ONE_THREAD},
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"LightFM failed: {done.stderr.strip().splitlines()[-1:]}")
        with np.load(folder / "answer.npz", allow_pickle=False) as arrays:
            return Course(
                arrays["epoch_seconds"],
                arrays["seconds"],
                {name: arrays[name] for name in self._names},
            )
