from contextlib import contextmanager

import pytest
from hypothesis import settings

from lookalike.collection import Gain
from lookalike.collection.log import examples

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ENOUGH_HELD = examples.ENOUGH_HELD
REAL = {name: vars(Gain)[name] for name in ("is_certain", "is_better")}


@property
def no_worse(self):
    """Whether as much is found, and the first is right about as often."""
    return self.mean_average_precision.mean >= 0 and not self.precision_at_1.is_loss


@contextmanager
def gate(passes, enough_held):
    """A publish gate with these rules, which are properties of a Gain."""
    with pytest.MonkeyPatch.context() as patch:
        for name, rule in passes.items():
            patch.setattr(Gain, name, rule)
        patch.setattr(examples, "ENOUGH_HELD", enough_held)
        yield


def opened():
    """A gate that takes what is no worse for better: a small album proves nothing beyond chance."""
    return gate(dict.fromkeys(REAL, no_worse), 0)


@pytest.fixture
def open_gate():
    """A gate that is open."""
    with opened():
        yield


@pytest.fixture
def real_gate(open_gate):
    """The gate as it is, where others are open."""
    with gate(REAL, ENOUGH_HELD):
        yield
