import pytest


@pytest.fixture(params=["compiled", "small"])
def way(request, set_limits):
    """Search dense vectors by the compiled loops, and without them as small collections do."""
    if request.param == "compiled":
        set_limits(small_index=-1)
