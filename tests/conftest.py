import errno
import os
from functools import partial

import pytest
from hypothesis import settings

from tests import limits

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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
def register(monkeypatch):
    """Return what adds a part to a registry for a test, by its name or another."""

    def register(registry, part, name=None):
        monkeypatch.setitem(registry._here, name or part.name, part)

    return register
