import pytest

from lookalike import Collection
from tests.gates import OPEN
from tests.service.pictures import draw
from tests.service.web.inside import Inside


@pytest.fixture
def pictures(tmp_path):
    """A folder of six pictures."""
    for number in range(6):
        draw(tmp_path / "photos" / f"{number}.png", (40 * number, 90, 200 - 30 * number), number)
    return tmp_path / "photos"


@pytest.fixture
def indexed(pictures, tmp_path, model, run):
    """The place of a collection of them, to be changed at will."""
    assert run("index", pictures, "-c", tmp_path / "store", "--model", model).code == 0
    return tmp_path / "store"


@pytest.fixture
def served(indexed):
    """Serve the collection in this process; gives a client for any settings."""
    from lookalike.service.web.app import make_app

    opened = []

    def serve(settings=None, **options):
        store = Collection.open(indexed, gate=OPEN)
        client = Inside(make_app(store, settings), **options)
        opened.append((client, store))
        client.headers["X-Lookalike-Client"] = "1"
        return client

    yield serve
    for client, store in opened:
        client.close()
        store.close()
