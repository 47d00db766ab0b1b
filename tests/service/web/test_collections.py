"""Another collection is opened in place of the present one only where that is safe."""

import time
from contextlib import suppress

import httpx
import pytest

from lookalike import Collection
from lookalike.collection import Folder
from lookalike.core.errors import DamagedFile, InvalidInput, NotFound
from lookalike.service.client import Client
from lookalike.service.web.settings import Settings
from lookalike.service.web.shelf import Shelf
from tests.service.web.served import served as reached
from tests.service.web.test_serve import CLIENT, KEY, READ_KEY, VOTE_KEY, Served


@pytest.fixture
def shelf(tmp_path, indexed):
    for name in ("other", "Ärger", "deep/er"):
        Collection.create(tmp_path / name).close()
    Collection.create(tmp_path.parent / f"{tmp_path.name} elsewhere").close()
    (tmp_path / "link").symlink_to(tmp_path.parent / f"{tmp_path.name} elsewhere")
    (tmp_path / "no collection").mkdir()
    return Shelf([tmp_path], [indexed])


@pytest.fixture
def client(served, shelf):
    made = served()
    made.app.state.shelf = shelf
    return made


def test_a_shelf_has_the_collections_that_lie_in_its_folders(shelf, tmp_path):
    assert [place.name for place in shelf.collections()] == ["other", "store", "Ärger"]
    assert shelf.find(tmp_path / "other") == tmp_path / "other"
    for place in (
        *("link", "no collection", "deep/er", "deep", "missing", "deep/../other"),
        *(f"../{tmp_path.name} elsewhere", ".", "..", "other\0"),
    ):
        with pytest.raises(NotFound, match="no collection that this server may open"):
            shelf.find(f"{tmp_path}/{place}")
    with pytest.raises(NotFound):
        shelf.find("other")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["", "  ", "x" * 101], "from 1 to 100 characters"),
        ([".hidden", "..", "../x", "~", "~x"], "does not begin with a dot or ~"),
        (["a/b", "a\\b"], "no slashes"),
        (["a\nb", "a\0", "a\u202eb"], "no control characters, nor signs that turn"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_and_it_is_said_why(shelf, tmp_path, names, why):
    for name in names:
        check_refused(shelf, tmp_path, name, why)


def check_refused(shelf, tmp_path, name, why):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match=why):
        shelf.make(name)
    assert sorted(tmp_path.iterdir()) == before


def test_a_name_that_is_taken_is_refused(shelf):
    for name in ("other", "link", "no collection"):
        with pytest.raises(InvalidInput, match="already something called"):
            shelf.make(name)


def test_what_is_damaged_is_not_opened(shelf, tmp_path):
    left = []
    shelf.leave = lambda: left.append(True)
    Folder(tmp_path / "other").database.write_bytes(b"damaged")
    with pytest.raises(DamagedFile):
        shelf.change_to(tmp_path / "other")
    assert (shelf.next, left) == (None, [])
    shelf.change_to(tmp_path / "Ärger")
    assert (shelf.next, left) == (tmp_path / "Ärger", [True])


def test_the_api_lists_and_opens(client, shelf, tmp_path):
    assert 'narrow-only" href="/collections"' in client.get("/").text, "reached on a phone, too"
    listed = client.get("/api/collections").json()
    assert [(one["name"], one["is_open"]) for one in listed] == [
        ("other", False),
        ("store", True),
        ("Ärger", False),
    ]
    for path, status in ((tmp_path / "link", 404), ("/etc", 404), (tmp_path / "store", 409)):
        answer = client.post("/api/collections/open", json={"path": str(path)})
        assert answer.status_code == status, answer.text
        assert shelf.next is None
    opened = client.post("/api/collections/open", json={"path": str(tmp_path / "other")})
    assert (opened.status_code, shelf.next) == (202, tmp_path / "other")


def test_while_a_job_runs_the_collection_stays(client, shelf, tmp_path):
    jobs = client.app.state.jobs
    with jobs.writing():
        client.post("/api/jobs", json={"kind": "rescan"})
        for path, body in (
            ("/api/collections/open", {"path": str(tmp_path / "other")}),
            ("/api/collections", {"name": "fresh"}),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 409, answer.text
            assert "a job is running" in answer.json()["error"]
    assert shelf.next is None
    assert not (tmp_path / "fresh").exists()


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (Settings(key=KEY, read_key=READ_KEY, vote_key=VOTE_KEY), KEY),
        (Settings(key=KEY, read_key=READ_KEY, vote_key=VOTE_KEY), VOTE_KEY),
        (Settings(key=KEY, read_key=READ_KEY, vote_key=VOTE_KEY), READ_KEY),
        (Settings(host="192.168.7.7", key=KEY), KEY),
        (Settings(read_only=True), None),
    ],
)
def test_with_keys_or_read_only_one_collection_is_served(served, shelf, tmp_path, settings, key):
    client = served(settings)
    client.app.state.shelf = shelf
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    assert client.get("/api/collections", headers=headers).status_code == 403
    assert client.get("/collections", headers=headers).status_code == 403
    for path, body in (
        ("/api/collections/open", {"path": str(tmp_path / "other")}),
        ("/api/collections", {"name": "fresh"}),
    ):
        assert client.post(path, json=body, headers=headers).status_code == 403
    for path, body in (
        ("/part/collections/open", {"path": str(tmp_path / "other")}),
        ("/part/collections", {"name": "fresh"}),
    ):
        assert client.post(path, data=body, headers=headers).status_code == 403
    assert shelf.next is None
    assert not (tmp_path / "fresh").exists()
    if key != READ_KEY:
        assert "/collections" not in client.get("/", headers=headers).text


def test_where_nothing_was_put_on_a_shelf_nothing_is_opened(served):
    assert served().get("/api/collections").status_code == 403


def test_the_page_names_the_collection_and_offers_others(client, shelf, tmp_path):
    text = client.get("/").text
    assert 'href="/collections"' in text
    assert ">store</a>" in text
    text = client.get("/collections").text
    assert text.count("hx-post") == 3
    assert client.get(f"/part/collections/opened?path={tmp_path / 'other'}").status_code == 204
    here = client.get(f"/part/collections/opened?path={tmp_path / 'store'}")
    assert here.headers["HX-Redirect"] == "/"
    part = client.post("/part/collections", data={"name": "<b>"})
    assert "Opening" in part.text
    assert "<b>" not in part.text
    assert shelf.next == tmp_path / "<b>"


def until(address, place):
    """Wait until a server serves a collection, and return how many pictures that has."""
    with httpx.Client(base_url=address, timeout=300) as http:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            # While one server closes, a connection may be closed without an answer.
            with suppress(httpx.TransportError):
                status = http.get("/api/status").json()
                if status["collection"] == str(place):
                    return status["pictures"]
            time.sleep(0.05)
    raise AssertionError(f"{place} was not opened")


def test_the_command_opens_one_after_the_other(indexed, tmp_path):
    Collection.create(tmp_path / "other").close()
    server = Served(indexed, "--port", "0")
    try:
        with Client(server.address) as client:
            assert [one.name for one in client.collections()] == ["other", "store"]
            client.open_collection(tmp_path / "other")
        assert until(server.address, tmp_path / "other") == 0
        with Client(server.address) as client:
            client.open_collection(indexed)
        assert until(server.address, indexed) == 6
        with Client(server.address) as client:
            client.make_collection("fresh")
        assert until(server.address, tmp_path / "fresh") == 0
        again = httpx.post(f"{server.address}api/collections", json={"name": "x/"}, headers=CLIENT)
        assert again.status_code == 400
        code, _, err = server.stop()
        assert (code, err) == (0, "")
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def test_a_server_reached_over_a_socket_shows_its_name(indexed):
    with Collection.open(indexed) as store, reached(store) as http:
        assert http.get("/api/status").json()["collection"] == str(indexed.resolve())
