import pytest

from lookalike.core.evidence import Difference

REAL, NO_WORSE = Difference.is_gain, property(lambda self: self.mean >= 0)


@pytest.fixture
def open_gate():
    """A gate that takes what is no worse for better: a small album proves nothing beyond chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Difference, "is_gain", NO_WORSE)
        yield


@pytest.fixture
def real_gate(open_gate):
    """The gate as it is, where others are open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Difference, "is_gain", REAL)
        yield
