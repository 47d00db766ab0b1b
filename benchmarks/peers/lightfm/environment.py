"""The peer's own environment: created once in the cache folder, then used by jobs."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from environments import ONE_THREAD, interpreter

HERE = Path(__file__).resolve().parent


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
        # LightFM comes as source: pip compiles it with -O3 -march=native -ffast-math and OpenMP.
        self._python = interpreter("lightfm", HERE / "requirements.txt")
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
