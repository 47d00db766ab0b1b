"""Environments of peers: created once in the cache folder from a peer's requirements."""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from lookalike.core.settings import cache_folder

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def interpreter(peer: str, requirements: Path) -> Path:
    """Return the Python of a peer's environment, creating it if needed."""
    content = requirements.read_bytes()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(content + version.encode()).hexdigest()[:12]
    folder = cache_folder() / "peers" / f"{peer}-{key}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    print(f"creating the environment of {peer}; this takes about a minute…", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    subprocess.run(
        [
            *(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--requirement", str(requirements)),
        ],
        check=True,
        stdout=sys.stderr,
    )
    (folder / "ready").touch()
    return python
