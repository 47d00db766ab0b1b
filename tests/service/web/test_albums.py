"""Albums and selections over the API, by the client and by command."""

import csv
import json

import pytest

from lookalike import Client, Collection
from lookalike.collection import Filter
from tests.service.web.served import served


@pytest.fixture
def store(changeable):
    with Collection.open(changeable) as opened:
        yield opened


@pytest.fixture
def client(store):
    with served(store) as opened:
        yield opened


def ids(store):
    return [row.id for row in store.pictures.all()]


def test_many_are_tagged_by_id_and_by_search_and_taken_back_at_once(client, store):
    some = ids(store)[:4]
    answer = client.post("/api/selection/tag", json={"pictures": some, "word": "Grün"}).json()
    assert answer["pictures"] == 4
    assert store.pictures.count(Filter(tags=("grün",))) == 4
    found = client.get(f"/api/search?like={some[0]}&k=50").json()["matches"]
    every = {"all_of": {"like": [str(some[0])]}, "without": some[1:3], "word": "alike"}
    answer = client.post("/api/selection/tag", json=every).json()
    assert answer["pictures"] == len(found) - 2
    tagged = {row.id for row in store.pictures.browse(50, where=Filter(tags=("alike",)))}
    assert tagged == {one["id"] for one in found} - {*some[1:3]}
    assert client.post("/api/undo", json={"event": answer["event"]["number"]}).status_code == 200
    assert store.pictures.count(Filter(tags=("alike",))) == 0
    again = client.post("/api/undo", json={"event": answer["event"]["number"]})
    assert again.status_code == 400
    told = f"Event {answer['event']['number']} is already undone; nothing was changed."
    assert again.json()["error"].startswith(told)
    # Only pictures that have a tag lose it: of the others nothing is said.
    everything = {"all_of": {}, "word": "Grün", "shows": False}
    assert client.post("/api/selection/tag", json=everything).json()["pictures"] == 4
    assert store.labels.refused("grün", ids(store)) == {*some}


def test_all_of_a_word_or_filter_is_removed_and_searched_with(client, store):
    red = Filter(tags=("red",))
    many = store.pictures.count(red)
    asked = client.post("/api/selection/examples", json={"all_of": {"tag": ["red"]}}).json()
    assert asked["pictures"] == many
    assert len(asked["like"]) == min(many, 64)
    assert client.get("/api/pictures/ids?tag=red&k=2").json() == [
        row.id for row in store.pictures.browse(2, where=red)
    ]
    total = len(store)
    gone = client.post("/api/selection/remove", json={"all_of": {"tag": ["red"]}}).json()
    assert gone == {"pictures": many}
    assert len(store) == total - many


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "either pictures"),
        ({"pictures": [1], "all_of": {}}, "either pictures"),
        ({"all_of": {"tag": ["nothing"]}}, "no pictures are selected"),
        ({"pictures": [999_999]}, "no picture 999999"),
        ({"all_of": {"like": ["1"], "word": "x"}}, "both"),
        ({"all_of": {"word": "red", "strike": ["blue"]}}, "struck out"),
        ({"all_of": {"colour": "red"}}, "colour"),
    ],
)
def test_bad_selections_are_refused_and_nothing_changes(client, store, body, told):
    before = store.labels.all()
    answer = client.post("/api/selection/tag", json={**body, "word": "new"})
    assert 400 <= answer.status_code < 500
    assert told in answer.json()["error"]
    assert store.labels.all() == before


def test_all_of_the_best_is_no_more_than_is_shown(client, store):
    best = {"like": ["1"], "most": "3"}
    shown = [match["id"] for match in client.get("/api/search", params=best).json()["matches"]]
    assert len(shown) == 3
    gone = client.post("/api/selection/remove", json={"all_of": best}).json()
    assert gone == {"pictures": 3}
    assert sorted(row.id for row in store.bin.browse()) == sorted(shown)


def test_albums_over_the_api(client, store):
    some = ids(store)[:3]
    name = "Café\n<b>x</b>"
    saved = client.post("/api/albums", json={"name": name, "pictures": some})
    assert saved.status_code == 201
    album = saved.json()
    assert album["name"] == "Café <b>x</b>"
    assert album["members"] == some
    again = client.post("/api/albums", json={"name": "CAFÉ <B>X</b>", "pictures": some[:1]})
    assert again.status_code == 400
    assert "already an album" in again.json()["error"]
    listed = client.get("/api/pictures", params={"album": "Café <b>x</b>"}).json()
    assert {one["id"] for one in listed["pictures"]} == {*some}
    found = client.get("/api/search", params={"like": some[0], "album": album["name"]}).json()
    assert {one["id"] for one in found["matches"]} == {*some[1:]}
    assert client.get("/api/pictures", params={"album": "none"}).status_code == 404
    like = {"name": "Like", "search": {"like": [str(some[0])], "tag": ["red"]}, "most": 4}
    search = client.post("/api/albums", json=like).json()
    new = next(
        n for n in ids(store) if store.pictures.count(Filter(pictures=(n,), tags=("red",))) == 0
    )
    store.label(new, "red")
    client.post("/api/votes", json={"like": [some[0]], "picked": [new]})
    path = f"/api/albums/{search['id']}"
    assert client.get(path).json()["new"] == [new]
    assert client.post(f"{path}/opened").json()["new"] == [new]
    assert client.get(path).json()["new"] == []
    rows = list(csv.DictReader(client.get(f"{path}/export").text.splitlines()))
    assert int(rows[0]["id"]) == new
    assert "red" in rows[0]["labels"]
    exported = client.get(f"{path}/export?format=json").json()
    assert exported["layers"] == "shared"
    assert [one["id"] for one in exported["pictures"]] == [int(row["id"]) for row in rows]
    assert "Café &lt;b&gt;x&lt;/b&gt;" in client.get("/albums").text
    store.remove(some)
    gone = client.get(f"/album/{album['id']}").text
    assert "None of its pictures is in the collection any more" in gone
    assert "3 removed from the collection" in gone
    assert client.delete(path).json()["name"] == "Like"
    assert client.get(path).status_code == 404
    assert "There is no such album" in client.get("/album/99").text


def test_albums_by_the_client_and_by_command(client, store, run, tmp_path):
    some = ids(store)[:3]
    with Client(str(client.base_url)) as remote:
        album = remote.save_album("Three", pictures=some)
        assert remote.albums() == [album] == store.albums.all()
        assert {one.id for one in remote.pictures(where=Filter(album="Three"))} == {*some}
        remote.save_album("Red", some[0], where=Filter(tags=("red",)), most=3)
        assert remote.open_album(album.id).members == tuple(some)
    place = ("-c", store.path)
    listed = run("albums", *place, "--json").json["albums"]
    assert [one["name"] for one in listed] == ["Red", "Three"]
    assert {one["id"] for one in run("albums", "three", *place, "--json").json["pictures"]} == {
        *some
    }
    first = store.pictures.get(some[0]).places[0]
    found = run("search", first, "--album", "Three", *place, "--json").json["matches"]
    assert {one["id"] for one in found} == {*some[1:]}
    for name in ("out.csv", "out.json"):
        assert run("albums", "Three", "--out", tmp_path / name, *place).code == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    told = json.loads((tmp_path / "out.json").read_text("utf-8"))["pictures"]
    assert [int(row["id"]) for row in rows] == [one["id"] for one in told] == sorted(some)
    missing = run("albums", "none", *place)
    assert missing.code == 1
    assert "no album “none”" in missing.err
    assert run("albums", "--out", tmp_path / "x.csv", *place).code == 2
    with Client(str(client.base_url)) as remote:
        remote.delete_album(album.id)
    assert store.albums.names() == ["Red"]
