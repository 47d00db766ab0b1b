import pytest
from hypothesis import settings

from tests.limits import PLACES

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def set_limits(monkeypatch):
    """Return what sets limits to the few pictures of a test, by their names in tests/limits.py."""

    def set_limits(**limits):
        for name, value in limits.items():
            for place in PLACES[name]:
                monkeypatch.setattr(place, value)

    return set_limits


@pytest.fixture
def register(monkeypatch):
    """Return what adds a part to a registry for a test, by its name or another."""

    def register(registry, part, name=None):
        monkeypatch.setitem(registry._here, name or part.name, part)

    return register
