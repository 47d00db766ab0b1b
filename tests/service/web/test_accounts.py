"""Where no key is asked for, other accounts of this computer are refused."""

import os
import socket
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from lookalike.collection import Collection
from lookalike.service.web.app import make_app
from lookalike.service.web.security.accounts import is_of, own_account
from lookalike.service.web.security.connections import connections
from lookalike.service.web.settings import Settings
from tests.collection.colours import Colours, album
from tests.service.web.served import running

pytestmark = pytest.mark.skipif(own_account() is None, reason="only Linux says whose is what")

OWN = os.getuid()
OTHER = OWN + 1


def give_away(line):
    """Let a connection be of another account; return the account that is served beside it."""
    if OWN == 0:
        os.fchown(line.fileno(), OTHER, -1)
        return OWN
    return OTHER


@pytest.mark.parametrize(
    ("listening", "connecting"),
    [
        ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.1")),
        ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")),
        ((socket.AF_INET6, "::1"), (socket.AF_INET6, "::1")),
    ],
)
def test_the_account_of_a_connection_is_known(listening, connecting):
    with socket.socket(listening[0]) as door, socket.socket(connecting[0]) as line:
        door.bind((listening[1], 0))
        door.listen()
        line.connect((connecting[1], door.getsockname()[1]))
        answered, client = door.accept()
        with answered:
            server = answered.getsockname()
            assert is_of(OWN, client[:2], server[:2])
            assert not is_of(OWN, ("127.0.0.1", 1), server[:2]), "there is no such connection"
            assert not is_of(give_away(line), client[:2], server[:2])
            line.close()
            assert not is_of(OWN, client[:2], server[:2]), "whose it was is not known any more"


@pytest.fixture
def collection(tmp_path):
    album(tmp_path / "photos", 2)
    with Collection.create(tmp_path / "store", features=[Colours()]) as made:
        made.add([tmp_path / "photos"])
        yield made


@pytest.mark.parametrize("http", ["auto", connections(20.0, OWN if OWN == 0 else OTHER)])
@pytest.mark.parametrize("key", [None, "k" * 24])
def test_another_account_is_served_only_with_a_key(collection, key, http):
    headers = {"X-Lookalike-Client": "1", "Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    with socket.socket() as other, closing(HTTPConnection("127.0.0.1")) as line:
        app = make_app(collection, Settings(account=give_away(other), key=key))
        with running(app, http=http) as address:
            other.connect(("127.0.0.1", urlsplit(address).port))
            line.sock = other
            line.request("POST", "/api/tags", b'{"picture": 1, "word": "Hut"}', headers)
            answer = line.getresponse()
            text = answer.read().decode()
    assert answer.status == (200 if key else 403)
    assert key or "Another account of this computer started this server" in text
