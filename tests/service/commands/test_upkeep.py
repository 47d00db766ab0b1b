"""A collection is checked, backed up and put back by command; damage is told everywhere."""

import sqlite3
from contextlib import closing

import pytest

from lookalike.collection import Collection
from lookalike.service.web.security.keys import KEY_FILE, Keys
from lookalike.service.web.settings import Settings
from tests.service.commands.test_rankers import fails


@pytest.fixture
def place(run, changeable):
    with Collection.open(changeable) as store:
        store.label(1, "Straße")
    return changeable


def flip(file):
    content = bytearray(file.read_bytes())
    content[-5] ^= 4
    file.write_bytes(content)


def test_what_is_sound_and_what_is_damaged(run, place):
    ran = run("check", "-c", place)
    assert ran.code == 0
    assert "nothing is damaged" in ran.out
    with closing(sqlite3.connect(place / "collection.sqlite")) as connection:
        connection.execute("UPDATE given SET label = 'Gasse' WHERE label = 'Straße'")
        connection.commit()
    ran = run("check", "-c", place)
    assert ran.code == 1
    assert "Damaged: " in ran.out
    told = run("check", "-c", place, "--json")
    assert told.code == 1
    assert told.json["sound"] is False
    assert all(finding["remedy"] for finding in told.json["findings"])


def test_a_backup_is_put_back_and_what_was_there_is_kept(run, place, tmp_path):
    made = run("backup", tmp_path / "Sicherung", "-c", place, "--json")
    assert made.json["pictures"] == 27
    fails(run("backup", tmp_path / "Sicherung", "-c", place), "Sicherung")
    with Collection.open(place) as store:
        store.label(2, "later")
    key = run("people", "key", "Ada", "-c", place, "--json").json["key"]
    done = run("restore", tmp_path / "Sicherung", "-c", place)
    assert "is kept in" in done.out
    assert Keys(Settings(key="k" * 24), place / KEY_FILE).find(key).person == "Ada"
    with Collection.open(place) as store:
        assert "Straße" in store.labels.all()[1]
        assert "later" not in store.labels.all()[2]
    assert len(list(place.parent.glob(f"{place.name}.before-*"))) == 1
    run("restore", tmp_path / "Sicherung", "-c", place, "--replace")
    assert len(list(place.parent.glob(f"{place.name}.before-*"))) == 1
    fails(run("restore", tmp_path, "-c", place), "lookalike backup")
    fails(run("restore", "1", "--replace", "-c", place), "--replace")


def test_a_damaged_backup_replaces_nothing(run, place, tmp_path):
    run("backup", tmp_path / "b", "-c", place)
    flip(tmp_path / "b" / "collection.sqlite")
    fails(run("restore", tmp_path / "b", "-c", place))
    with Collection.open(place) as store:
        assert "Straße" in store.labels.all()[1]
        assert "later" not in store.labels.all()[2]


def test_a_damaged_model_is_told_and_the_plain_ranking_answers(run, place, photos):
    with Collection.open(place) as store:
        (used,) = [row.number for row in store.models.all() if row.kind == "similarity"]
    flip(place / "models" / f"{used}.safetensors")
    picture = photos / "red" / "0.png"
    fails(run("search", picture, "-c", place), "damaged", "--no-learning")
    told = run("search", picture, "-c", place, "--no-learning", "--json").json
    assert len(told["matches"]) == 10
    assert run("check", "-c", place).code == 1
    # The remedy that is named works.
    assert run("rollback", "-c", place).code == 0
    assert run("search", picture, "-c", place).code == 0


def test_a_server_goes_on_with_a_damaged_model_and_says_so(place):
    from lookalike.service.web.app import make_app
    from tests.service.web.inside import Inside

    with Collection.open(place) as store:
        (used,) = [row.number for row in store.models.all() if row.kind == "similarity"]
        plain = [match.id for match in store.search(1, 99, learned=False)]
    flip(place / "models" / f"{used}.safetensors")
    with Collection.open(place) as store, closing(Inside(make_app(store))) as client:
        answer = client.get("/api/search?like=1&learned=false&k=99")
        assert [match["id"] for match in answer.json()["matches"]] == plain
        refused = client.get("/api/search?like=1")
        assert refused.status_code >= 500
        assert "learned=false" in refused.json()["error"]
        page = client.get("/search?like=1")
        assert page.status_code == 200
        assert "damaged" in page.text
        assert page.text.count("<figure") == len(plain)
        assert client.get("/learned").status_code == 200
        (ranker,) = client.get("/api/rankers").json()
        assert "rollback" in ranker["trouble"]


@pytest.fixture
def misspelled(place):
    with Collection.open(place) as store:
        (used,) = [row.number for row in store.models.all() if row.kind == "words"]
    flip(place / "models" / f"{used}.safetensors")
    return place


def test_a_damaged_annotator_is_told_and_tags_answer(run, misspelled, photos):
    asked = ("search", "--word", "red", "-c", misspelled, "-k", 99)
    ran = run(*asked)
    assert ran.code == 0
    assert "out of use" in ran.out
    assert "rollback" in ran.out
    told = run(*asked, "--json").json
    assert told["counts"]["tagged"] == 9
    assert "rollback" in told["warning"]
    plain = run(*asked, "--no-learning", "--json").json
    assert (len(plain["matches"]), plain["warning"]) == (9, "")
    assert "out of use" not in run(*asked, "--no-learning").out
    fails(run("tag", photos, "-c", misspelled), "damaged", "lookalike learn", "rollback")
    assert "rollback" in run("check", "-c", misspelled).out
    # The remedy that is named works, and is needed once.
    assert run("rollback", "-c", misspelled).code == 0
    assert run("check", "-c", misspelled).code == 0
    assert run(*asked, "--json").json["warning"] == ""


def test_a_server_finds_tags_with_a_damaged_annotator_and_says_so(misspelled):
    from lookalike.service.web.app import make_app
    from tests.service.web.inside import Inside

    with Collection.open(misspelled) as store, closing(Inside(make_app(store))) as client:
        (ranker,) = client.get("/api/rankers").json()
        assert ranker["ready"]
        assert "rollback" in ranker["trouble"]
        answer = client.get("/api/search?word=red&k=99").json()
        assert answer["counts"]["tagged"] == 9
        assert "rollback" in answer["warning"]
        plain = client.get("/api/search?word=red&k=99&learned=false").json()
        assert (len(plain["matches"]), plain["warning"]) == (9, "")
        for address in ("/api/suggestions/1", "/api/suggestions/1?learned=false"):
            assert "rollback" in client.get(address).json()["warning"]
        assert client.get("/api/search?like=1").json()["warning"] == ""
        page = client.get("/search?word=red").text
        assert page.count("<figure") >= 9
        assert "out of use" in page
        assert "Tag some pictures" not in page
        assert "out of use" in client.get("/part/suggestions/1").text
        assert "out of use" in client.get("/learned").text
