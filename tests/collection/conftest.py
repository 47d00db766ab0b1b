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
