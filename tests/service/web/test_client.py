"""The Python client against a real server."""

import threading

import pytest

from lookalike.collection import Ask, Collection, Filter, InUse
from lookalike.core.errors import (
    CollectionBusy,
    CollectionError,
    InvalidInput,
    LookalikeError,
    NotFound,
    UnreadablePicture,
)
from lookalike.service.client import Client
from lookalike.service.web.security.users import Rates
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.gates import OPEN
from tests.service.web.served import png, running, served

KEY = "a key that is long enough".replace(" ", "-")


@pytest.fixture
def photos(tmp_path):
    album(tmp_path / "photos", 4)
    return tmp_path / "photos"


@pytest.fixture
def store(tmp_path, photos):
    with Collection.create(tmp_path / "store", features=[Colours()], gate=OPEN) as made:
        made.add([photos])
        yield made


@pytest.fixture
def server(store):
    with served(store) as found:
        yield found


@pytest.fixture
def client(server):
    with Client(str(server.base_url)) as found:
        yield found


def ids(matches):
    return [match.id for match in matches]


def test_search_vote_undo(client, store):
    found = client.search(1, k=11)
    assert ids(found) == [match.id for match in store.search(1, 11)]
    assert ids(client.search([1, 2], unlike=12, k=3, offset=1, learned=False))
    said = client.vote(1, picked=[found[-1].id], rejected=[found[0].id], shown=ids(found))
    assert (said.event.who, said.standing.votes) == ("", 1)
    assert client.search(1, k=11)[-1].verdict in (0, 1, -1)
    assert client.history(1)[0] == said.event
    assert client.undo(said.event.number).standing.votes == 0
    assert client.standing() == store.votes.standing()
    assert client.standing().votes == 0
    client.vote(1, picked=[3])
    assert client.reset().standing.votes == 0
    assert client.history(2, before=2)[0].number == 1


def test_people_are_trusted_and_undone(client, store):
    store.vote(Ask((1,)), picked=[3], rejected=[9], who="Ada")
    store.label([1, 2], "Hund", who="Ada")
    assert client.people.all() == store.people.all()
    assert client.people.proposals("Ada", 2) == store.people.proposals("Ada", 2)
    assert [len(client.people.proposals()), len(client.people.proposals("Bea"))] == [2, 0]
    assert client.people.accept("Ada", key="once") == client.people.accept("Ada", key="once")
    assert client.picture(1).labels == ("Hund",)
    assert client.people.trust("Ada").kind == "trust"
    assert client.standing().votes == 1
    assert client.people.preview("Ada", ["votes", "albums"]) == {"votes": 1, "albums": 0}
    event = client.people.undo("Ada", ["votes"])
    assert client.standing().votes == 0
    client.undo(event.number)
    assert client.people.preview("Ada")["tags"] == 2
    client.people.revoke("Ada")
    assert client.standing().votes == 0
    with pytest.raises(InvalidInput, match="nothing of this person"):
        client.people.undo("Ada", since="2999-01-01")


def test_filters_and_words(client, store, photos):
    found = client.search(
        1, k=50, where=Filter(folder=str(photos / "rot"), formats=("PNG",), min_side=1)
    )
    assert len(found) == 4
    assert client.search(1, where=Filter(taken_from="2000", taken_to="2001")) == []
    assert client.tag(1, "Abend").kind == "label"
    assert [row.id for row in client.pictures(where=Filter(tags=("abend",)))] == [1]
    assert client.tag(1, "Abend", shows=False).body["shows"] is False
    assert client.picture(1).labels == ()
    assert len(client.pictures(5, offset=10, order="oldest")) == 2
    assert client.suggestions(1) == store.suggest(1)


def test_files_are_searched_with_added_and_deleted(client, store, tmp_path):
    file = tmp_path / "mine.png"
    file.write_bytes(png(PALETTE["blau"], 9))
    assert {match.path.parent.name for match in client.search_file(file, k=3)} == {"blau"}
    assert client.keep_query(file.read_bytes()).startswith("u")
    added = client.add(file)
    assert client.add(file) == added
    assert len(store) == 13
    client.delete(added.id)
    assert len(store) == 12
    assert client.history(1)[0].who == ""


def test_a_folder_is_imported_and_progress_told(client, store, photos):
    for number in range(3):
        picture(photos / "new" / f"{number}.png", PALETTE["rot"], 200 + number)
    told = []
    job = client.import_folder(photos, lambda done, total: told.append((done, total)))
    assert job.result["added"] == 3
    assert told[-1] == (15, 15)
    assert client.jobs()[0] == job
    assert len(store) == 15


def test_learning_words_rolling_back_and_export(client, tmp_path):
    job = client.learn(folders=True)
    assert job.state == "done"
    assert client.search(word="rot", k=2)
    assert isinstance(client.rollback(), InUse)
    client.vote(1, picked=[9], rejected=[2])
    client.export(tmp_path / "learned.safetensors")
    assert (tmp_path / "learned.safetensors").stat().st_size > 8
    client.export(tmp_path / "new" / "folder" / "learned.safetensors")
    with pytest.raises(InvalidInput, match="cannot write"):
        client.export(tmp_path / "learned.safetensors" / "such")
    assert client.count_word("rot").tagged == len(
        client.search(word="rot", where=Filter(tags=("rot",)), k=99)
    )


def test_a_stream_that_breaks_off_is_taken_up_again(client, monkeypatch, photos):
    picture(photos / "new.png", PALETTE["rot"], 300)
    follow, calls = Client._follow, []

    def broken(self, name):
        calls.append(name)
        if len(calls) == 1:
            return iter([])
        return follow(self, name)

    monkeypatch.setattr(Client, "_follow", broken)
    assert client.import_folder(photos).state == "done"
    assert len(calls) == 2


def test_a_job_that_fails_or_is_stopped_raises(client, server, photos):
    with pytest.raises(CollectionError, match="label"):
        client.learn()
    with server.app.state.jobs.writing():
        result = []

        def work():
            try:
                client.import_folder(photos)
            except CollectionError as error:
                result.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        with Client(str(server.base_url)) as other:
            while not (waiting := [job for job in other.jobs() if job.state == "running"]):
                pass
            other.stop(waiting[0].id)
    thread.join()
    assert "Stopped" in result[0]


def test_errors_are_those_of_a_collection(client, server, tmp_path):
    with pytest.raises(NotFound, match="99"):
        client.picture(99)
    with pytest.raises(InvalidInput, match="give like"):
        client.search()
    with pytest.raises(InvalidInput, match="k"):
        client.search(1, k=0)
    with pytest.raises(UnreadablePicture, match="not a picture"):
        client.add(b"hello")
    with pytest.raises(InvalidInput, match="cannot read"):
        client.add(tmp_path / "nothing.png")
    with pytest.raises(InvalidInput, match="--allow"):
        client.import_folder("/etc")
    with pytest.raises(CollectionError, match="no model to roll back"):
        client.rollback()
    server.app.state.jobs.patience = 0.02
    with server.app.state.jobs.writing(), pytest.raises(CollectionBusy, match="A job is writing"):
        client.empty_bin()
    server.app.state.rates = Rates(most=1)
    client.tag(1, "x")
    with pytest.raises(CollectionBusy, match="a minute"):
        client.tag(1, "y")


def test_keys(store):
    with served(store, key=KEY) as server:
        url = str(server.base_url)
        with Client(url, KEY) as client:
            assert client.status().pictures == 12
            client.vote(1, picked=[2])
        for wrong in (None, "wrong"):
            with Client(url, wrong) as client, pytest.raises(LookalikeError, match="key"):
                client.status()


def test_a_server_that_is_not_there():
    with (
        Client("http://127.0.0.1:9") as client,
        pytest.raises(CollectionError, match="lookalike serve"),
    ):
        client.standing()
    with Client("http://[half") as client, pytest.raises(CollectionError, match="half"):
        client.standing()
    for wrong in ("localhost:8700", "ftp://x", "http://"):
        with pytest.raises(InvalidInput, match="address"):
            Client(wrong)
    with pytest.raises(InvalidInput, match="ASCII"):
        Client(key="schlüssel")


def test_a_server_of_another_kind():
    async def teapot(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 418, "headers": []})
            await send({"type": "http.response.body", "body": b"tea"})

    with (
        running(teapot) as address,
        Client(address) as client,
        pytest.raises(LookalikeError, match="418"),
    ):
        client.standing()
