"""What was said is listed and taken back by command, and folders are removed whole."""

import pytest

from lookalike.collection import Ask, Collection
from tests.service.commands.test_rankers import fails
from tests.service.pictures import draw


@pytest.fixture
def place(run, tmp_path, model):
    for tint, name in enumerate(("grün", "rot")):
        for number in range(3):
            draw(tmp_path / name / f"{number}.png", (number * 40, 99, 50 * tint), number)
    assert run("index", tmp_path / "grün", tmp_path / "rot", "-c", tmp_path / "c", "--model", model)
    return tmp_path / "c"


def test_what_was_said_is_listed_and_taken_back(run, place, tmp_path):
    assert "Nothing was said" in run("history", "-c", place).out
    with Collection.open(place) as store:
        store.people.trust("anna")
        first = store.label(1, "Bäume <b>", who="anna")
    listed = run("history", "-c", place).out
    assert "Tagged with “Bäume" in listed
    assert "anna" in listed
    event, trust = run("history", "-c", place, "--json").json["events"]
    assert (event["number"], trust["kind"]) == (first.number, "trust")
    undone = run("undo", first.number, "-c", place)
    assert f"lookalike undo {first.number + 1}" in undone.out
    with Collection.open(place) as store:
        assert store.labels.all() == {}
    assert "(undone)" in run("history", "-c", place).out
    fails(run("undo", first.number, "-c", place), f"Error: Event {first.number} is already undone")
    assert run("undo", first.number + 1, "-c", place, "--json").json["undone"] == first.number + 1
    with Collection.open(place) as store:
        assert list(store.labels.all().values()) == [["Bäume <b>"]]
    fails(run("undo", 99, "-c", place), "no event 99", "lookalike history")
    assert run("undo", 0, "-c", place).code == 2


def test_history_names_the_pictures_of_votes_and_tags(run, place):
    with Collection.open(place) as store:
        names = [store.pictures.get(number).places[0].name for number in range(1, 7)]
        store.label(2, "sky")
        store.vote(Ask((1,)), picked=[2, 3, 4, 5], rejected=[6])
        store.remove([6])
    listed = " ".join(run("history", "-c", place).out.split())
    assert f"Tagged with “sky” ({names[1]})" in listed
    assert f"(+ {', '.join(names[1:4])} and 1 more, − picture 6, for {names[0]})" in listed


def test_a_folder_is_removed_whole_and_comes_back_by_one_undo(run, place, tmp_path):
    assert "3 moved" in run("remove", tmp_path / "grün", "-c", place).out
    with Collection.open(place) as store:
        assert {file.parent.name for row in store.pictures.all() for file in row.places} == {"rot"}
        (event,) = store.log.history(1)
    run("undo", event.number, "-c", place)
    with Collection.open(place) as store:
        assert len(store) == 6
    # What also lies in another folder stays, unless that is named, too.
    (tmp_path / "blau").mkdir()
    (copied, *_) = sorted((tmp_path / "grün").iterdir())
    copy = tmp_path / "blau" / "copy.png"
    copy.write_bytes(copied.read_bytes())
    run("index", tmp_path / "blau", "-c", place)
    told = run("remove", tmp_path / "grün", "-c", place).out
    assert "2 moved" in told
    assert "1 picture kept, with copies in another folder" in told
    assert run("remove", tmp_path / "grün", tmp_path / "blau", "-c", place, "--json").json == {
        **{"collection": str(place), "removed": 1, "kept": 0, "pictures": 3},
    }
    run("restore", "-c", place)
    copy.unlink()
    run("index", tmp_path / "blau", "-c", place)
    assert "3 moved" in run("remove", tmp_path / "grün", "-c", place).out
    run("restore", "-c", place)
    (tmp_path / "leer").mkdir()
    fails(run("remove", tmp_path / "rot", tmp_path / "leer", "-c", place), "leer")
    with Collection.open(place) as store:
        assert len(store) == 6
