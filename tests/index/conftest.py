import pytest

from lookalike.index import dense


@pytest.fixture(autouse=True, params=["compiled", "small"])
def way(request, monkeypatch):
    """Search dense vectors by the compiled loops, and without them as small collections do."""
    if request.param == "compiled":
        monkeypatch.setattr(dense, "_SMALL", -1)
