from importlib import import_module

import pytest

from lookalike.collection import Collection
from tests.collection.colours import Colours, album
from tests.gates import OPEN


@pytest.fixture
def pictures(tmp_path):
    """A folder with eight pictures of each of three colours."""
    album(tmp_path / "bilder")
    return tmp_path / "bilder"


@pytest.fixture
def collection(tmp_path, pictures):
    with Collection.create(tmp_path / "sammlung", features=[Colours()], gate=OPEN) as made:
        made.add([pictures])
        yield made


@pytest.fixture
def set_limits(monkeypatch):
    """Return what lowers limits of a module to the few pictures of a test, by their names."""

    def set_limits(module, **limits):
        there = import_module(module) if isinstance(module, str) else module
        for name, value in limits.items():
            monkeypatch.setattr(there, name, value)

    return set_limits
