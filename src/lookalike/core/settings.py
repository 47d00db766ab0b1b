"""Where lookalike caches files."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for files that can be rebuilt, such as the default model's graph.

    The environment variable ``LOOKALIKE_CACHE`` sets it; by default it is ``lookalike`` in the
    user's cache folder (``XDG_CACHE_HOME``, by default ``~/.cache``).
    """
    named = os.environ.get("LOOKALIKE_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lookalike"
