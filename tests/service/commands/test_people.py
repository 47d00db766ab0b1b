"""Keys of people, and what the command rules on a folder whatever the keys are."""

import json

import pytest

from lookalike.collection import Ask, Collection
from lookalike.service.web.app import make_app
from lookalike.service.web.security.keys import KEY_FILE
from lookalike.service.web.settings import Settings
from tests.service.commands.test_rankers import fails
from tests.service.pictures import draw
from tests.service.web.asking import ask

KEY = "k" * 24


@pytest.fixture
def place(run, tmp_path, model):
    for number in range(4):
        draw(tmp_path / "in" / f"{number}.png", (number * 40, 99, 50), number)
    assert run("index", tmp_path / "in", "-c", tmp_path / "c", "--model", model)
    return tmp_path / "c"


def people(run, place, *given):
    return run("people", *given, "-c", place, "--json").json


def test_a_person_is_renamed_locked_out_and_undone(run, place):
    keys = [people(run, place, "key", "Ada")["key"] for _ in range(2)]
    with Collection.open(place) as store:
        app = make_app(store, Settings(key=KEY))

        def vote(key):
            body = [b'{"like": [1], "picked": [2], "rejected": [3]}']
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            return ask(app, "POST", "/api/votes", headers=headers, body=body).status

        # Two keys of one person are one person.
        assert [vote(key) for key in keys] == [200, 200]
        assert [one.votes for one in store.people.all() if one.name == "Ada"] == [1]
        people(run, place, "rename", "Ada", "Ada Lovelace")
        assert vote(keys[0]) == 200
        said = {one.name: one.votes for one in store.people.all() if one.name}
        assert said == {"Ada": 1, "Ada Lovelace": 1}
        # What was said under the old name is trusted and undone under that.
        people(run, place, "trust", "Ada")
        assert people(run, place, "undo", "Ada", "--preview")["votes"] == 1
        told = run("people", "undo", "Ada", "--preview", "-c", place).out
        assert (
            told.strip()
            == "1 vote, 0 tags, 0 refusals, 0 album changes, 0 removals, 0 other changes"
        )
        assert people(run, place, "undo", "Ada", "--kind", "votes")["event"]
        assert {one.name: one.votes for one in store.people.all()}["Ada"] == 0
        # Revoked while they are in use: from the next request on.
        assert people(run, place, "lock", "Ada Lovelace")["keys"] == 2
        assert [vote(key) for key in keys] == [401, 401]


def test_an_owner_who_is_locked_out_rules_by_the_folder(run, place):
    """No key is asked for by the command line, whatever became of the keys."""
    people(run, place, "key", "Ada")
    (place / KEY_FILE).write_text("no keys")
    with Collection.open(place) as store:
        store.vote(Ask((1,)), picked=[2], who="Ada")
    assert [one["name"] for one in people(run, place)["people"]] == ["Ada"]
    people(run, place, "trust", "Ada")
    people(run, place, "revoke", "Ada")
    # Keys that cannot be read are told, and none is made over them.
    fails(run("people", "key", "Bea", "-c", place), "people key NAME")
    checked = run("check", "-c", place, "--json")
    assert (checked.code, checked.json["sound"]) == (1, False)
    (place / KEY_FILE).unlink()
    assert people(run, place, "key", "Bea")["key"]
    assert run("check", "-c", place).code == 0


def test_names_of_keys(run, place):
    for name in ("mal\nlory", "n" * 65, "guest"):
        fails(run("people", "key", name, "-c", place), "1 to 64 characters")
    for action in (["lock", "Bea"], ["rename", "Bea", "Ada"]):
        fails(run("people", *action, "-c", place), "Bea has no key")
    people(run, place, "key", "Bea")
    fails(run("people", "rename", "Bea", "guest", "-c", place), "guest")


def test_readers_see_what_everybody_sees(place):
    """Votes of a guest, whose key is another one, are not theirs."""
    with Collection.open(place) as store:
        app = make_app(store, Settings(key=KEY, vote_key="v" * 24, read_key="r" * 24))

        def order(key):
            headers = {"Authorization": f"Bearer {key}"}
            answer = ask(app, "GET", "/api/search", headers=headers, query="like=1&k=3")
            return [one["id"] for one in json.loads(answer.body)["matches"]]

        before = order("r" * 24)
        store.vote(Ask((1,)), picked=[before[-1]], rejected=[before[0]], who="guest")
        assert order("v" * 24)[0] == before[-1]
        assert order("r" * 24) == order(KEY) == before
