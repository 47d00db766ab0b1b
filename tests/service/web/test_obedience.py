"""What a person said in a search holds there: in the collection, over the API and on the page."""

import re
from urllib.parse import urlencode

import numpy as np
import pytest

from lookalike import Collection
from lookalike.collection import Ask
from tests.gates import OPEN
from tests.service.web.served import png, served

TILE = re.compile(r'<figure class="tile result[^"]*" data-id="(\d+)"')
SEARCHES, MAX_THUMBS = 8, 5


@pytest.fixture
def store(changeable):
    with Collection.open(changeable, gate=OPEN) as opened:
        yield opened


def found(client, like):
    """Return what a search finds over the API, and what the page shows."""
    query = urlencode([("like", ref) for ref in like])
    answer = client.get(f"/api/search?{query}&k=50").json()
    page = client.get(f"/part/matches?{query}&k=50").text
    return [one["id"] for one in answer["matches"]], [*map(int, TILE.findall(page))], answer


def test_thumbs_are_obeyed_everywhere_and_after_learning(store, changeable):
    rng = np.random.default_rng(0)
    ids = [row.id for row in store.pictures.all()]
    said = {}

    def obeyed(collection, client):
        for like, (picked, rejected) in said.items():
            api, page, answer = found(client, like)
            library = [match.id for match in collection.search(Ask(like), 50)]
            for ranked in (api, page, library):
                assert {*ranked[: len(picked)]} == picked
                assert not rejected & {*ranked}
                assert sorted([*ranked, *rejected, *like]) == ids
            assert {*answer["rejected"]} == rejected

    with served(store) as client:
        for _ in range(SEARCHES):
            like = tuple(rng.choice(ids, rng.integers(1, 3), replace=False).tolist())
            picked, rejected = said.setdefault(like, (set(), set()))
            for _ in range(rng.integers(1, MAX_THUMBS + 1)):
                free = [number for number in found(client, like)[0] if number not in picked]
                number, is_right = int(rng.choice(free)), rng.random() < 0.5
                (picked if is_right else rejected).add(number)
                vote = {"like": like, "picked" if is_right else "rejected": [number]}
                assert client.post("/api/votes", json=vote).status_code == 200
        obeyed(store, client)
        store.learn(folders=True, settings={"steps": 300, "blend": 1.0})
        obeyed(store, client)
    with Collection.open(changeable) as again, served(again) as client:
        obeyed(again, client)


def test_a_file_searched_with_before_is_the_same_search(store, tmp_path, run):
    file = tmp_path / "mine.png"
    file.write_bytes(png((200, 60, 60)))
    with served(store) as client:
        token = client.post("/api/queries", content=file.read_bytes()).json()["token"]
        ranked, _, _ = found(client, (token,))
        vote = {"like": [token], "picked": [ranked[9]], "rejected": ranked[:2]}
        client.post("/api/votes", json=vote)
        after, _, _ = found(client, (token,))
    assert after[0] == ranked[9]
    assert [match.id for match in store.search(file, 50)] == after
    told = run("search", file, "-c", store.path, "-k", 50, "--json")
    assert [match["id"] for match in told.json["matches"]] == after


def test_what_was_rejected_is_folded_and_brought_back(store):
    ids = [row.id for row in store.pictures.all()]
    with served(store) as client:
        ranked, _, _ = found(client, ids[:1])
        for number in ranked[:2]:
            client.post("/api/votes", json={"like": ids[:1], "rejected": [number]})
        store.people.trust("another")
        store.vote(Ask((ids[0],)), rejected=[ranked[2]], who="another")
        page = client.get(f"/part/matches?like={ids[0]}").text
        assert "3 rejected</summary>" in page
        folded = client.get(f"/part/rejected?like={ids[0]}").text
        assert {*map(int, TILE.findall(folded))} == {*ranked[:3]}
        back = {"like": ids[0], "picture": ranked[0], "verdict": 0, "k": 50}
        answer = client.post("/part/votes", data=back)
        assert ranked[0] in map(int, TILE.findall(answer.text))
        assert "2 rejected</summary>" in answer.text
        assert re.search(r'data-was="\d+"', answer.text)
        # Of what somebody trusted rejected, too.
        answer = client.post("/part/votes", data={**back, "picture": ranked[2]})
        assert ranked[2] in map(int, TILE.findall(answer.text))
        plain = client.get(f"/part/matches?like={ids[0]}&learned=false").text
        assert "rejected</summary>" not in plain
        assert ranked[1] in map(int, TILE.findall(plain))
