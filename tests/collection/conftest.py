import pytest

from lookalike.collection import Collection
from tests.collection.colours import Colours, album


@pytest.fixture
def pictures(tmp_path):
    """A folder with eight pictures of each of three colours."""
    album(tmp_path / "bilder")
    return tmp_path / "bilder"


@pytest.fixture
def collection(tmp_path, pictures):
    with Collection.create(tmp_path / "sammlung", features=[Colours()]) as made:
        made.add([pictures])
        yield made


@pytest.fixture(autouse=True)
def small_albums_suffice(open_gate):
    """Publish what is no worse."""
