import pytest

from lookalike import images
from lookalike.service.web.decoding.decoder import Decoder


@pytest.fixture(scope="session", params=["in this process", "shut in"])
def decode(request):
    """Decode in this process, and in one that can open no file, as the server does."""
    if request.param == "in this process":
        yield images.decode
        return
    with Decoder(processes=1) as decoder:
        yield decoder.decode
