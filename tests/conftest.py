import errno
import os
from functools import partial

import pytest
from hypothesis import settings

from tests import limits

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

LONG = (
    *("reproduce_oasis", "reproduce_wsabie", "reproduce_sparse", "reproduce_omks", "reproduce_qah"),
    *("browser", "browser_many", "walk", "kills", "obedience", "fuzz", "crash", "replay", "serve"),
    *("albums", "decoder", "camera", "jobs", "watcher", "emoji_demo", "memory", "processes"),
    *("one_query", "baselines", "kernel", "ensemble", "chances", "extending", "imports"),
    *("duplicates", "candidates"),
)
"""Files that take long for the tests they have; begun last, one would keep a single worker busy."""


def pytest_collection_modifyitems(items):
    """Begin with the files that take long."""
    first = {f"test_{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: first.get(item.path.stem, len(LONG)))


@pytest.fixture
def set_limits(monkeypatch):
    """Return what sets limits to the few pictures of a test, by their names in tests/limits.py."""
    return partial(limits.set_limits, monkeypatch)


@pytest.fixture
def fill_disk(monkeypatch):
    """Return what fills the disk: from then on none of our files can be written."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(os, "fsync", full)


@pytest.fixture
def stand_in(monkeypatch):
    """Return what lets public functions or methods of an owner do something else, by their names.

    So what uses the collection's face, or the methods that every part has, can be tested over
    answers and failures of these. What is private stays as it is.
    """

    def stand_in(owner, **functions):
        for name, function in functions.items():
            assert not name.startswith("_"), f"{name} is nobody's business but its owner's"
            monkeypatch.setattr(owner, name, function)

    return stand_in


@pytest.fixture
def register(monkeypatch):
    """Return what adds a part to a registry for a test, by its name or another."""

    def register(registry, part, name=None):
        monkeypatch.setitem(registry._here, name or part.name, part)

    return register
