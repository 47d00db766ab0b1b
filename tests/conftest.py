import pytest

from lookalike.collection.training import examples
from lookalike.collection.training.gate import Gain

ENOUGH_HELD = examples.ENOUGH_HELD
REAL = {name: vars(Gain)[name] for name in ("is_certain", "is_better")}


@property
def no_worse(self):
    return self.mean_average_precision.mean >= 0 and not self.precision_at_1.is_loss


@pytest.fixture
def open_gate():
    """A gate that takes what is no worse for better: a small album proves nothing beyond chance."""
    with pytest.MonkeyPatch.context() as patch:
        for name in REAL:
            patch.setattr(Gain, name, no_worse)
        patch.setattr(examples, "ENOUGH_HELD", 0)
        yield


@pytest.fixture
def real_gate(open_gate):
    """The gate as it is, where others are open."""
    with pytest.MonkeyPatch.context() as patch:
        for name, own in REAL.items():
            patch.setattr(Gain, name, own)
        patch.setattr(examples, "ENOUGH_HELD", ENOUGH_HELD)
        yield
