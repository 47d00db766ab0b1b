import pytest

from lookalike import images
from lookalike.images.metadata import metadata_in
from lookalike.service.web.decoding.decoder import Decoder


@pytest.fixture(scope="session", params=["in this process", "shut in"])
def decode(request):
    """Decode in this process, and in one that can open no file, as the server does."""
    if request.param == "in this process":
        yield images.decode
        return
    with Decoder(processes=1) as decoder:
        yield decoder.decode


@pytest.fixture(scope="session", params=["in this process", "shut in"])
def metadata(request):
    """Read metadata in this process, and in one that can open no file, as the server does."""
    if request.param == "in this process":
        yield metadata_in
        return
    with Decoder(processes=1) as decoder:
        yield decoder.metadata
