"""Words find what they were given to first, from the first tag on, then what they may fit."""

import numpy as np
import pytest

from lookalike import Collection
from lookalike.collection import Filter
from lookalike.collection.pictures.names import Names
from lookalike.collection.search.words import split
from lookalike.core.errors import MissingPart
from tests.collection.beside import beside


def parts(matches):
    return [match.source for match in matches]


def test_one_tag_is_found_before_anything_was_learned(collection):
    collection.label(5, "Überraschung")
    match, *others = collection.search_word("u\u0308berraschung", 99)
    assert (match.id, match.source, match.score) == (5, "given", 1.0)
    counts = collection.words.count("ÜBERRASCHUNG")
    assert (counts.tagged, counts.named, counts.unknown) == (1, 0, ())
    # What is most like it comes next: here, pictures of the same colour.
    assert parts(others) == ["learned"] * counts.probable
    assert {other.path.parent for other in others[:5]} == {match.path.parent}
    collection.label(others[0].id, "Überraschung", shows=False)
    assert others[0].id not in [one.id for one in collection.search_word("Überraschung", 99)]


def given(matches):
    return [match.id for match in matches if match.source == "given"]


def test_all_that_was_tagged_comes_before_what_a_model_prefers(collection):
    # Half of what looks alike is tagged, and some that look otherwise: a model would mix them.
    tagged = [*range(1, 5), 9, 10, 17]
    paths = {row.id: row.places[0] for row in collection.pictures.all()}
    collection.learn({paths[n]: ["pick"] if n in tagged else ["other"] for n in paths})
    found = collection.search_word("pick", 99)
    assert {match.id for match in found[: len(tagged)]} == set(tagged)
    assert parts(found) == sorted(parts(found), key=["given", "name", "learned", "start"].index)
    counts = collection.words.count("pick")
    assert (counts.tagged, counts.named) == (len(tagged), 0)
    assert counts.tagged + counts.probable == len(found) > len(tagged)
    assert all(0 < match.score <= 1 for match in found)


def test_pages_and_filters_hold_over_all_parts(collection, pictures):
    collection.learn(folders=True)
    away = [row.id for row in collection.pictures.all() if row.places[0].parent.name == "rot"][:2]
    for number in away:
        collection.label(number, "rot", shows=False)
    whole = collection.search_word("rot", 99)
    assert not set(away) & {match.id for match in whole if match.source == "learned"}
    pages = [collection.search_word("rot", 5, offset=at) for at in range(0, len(whole) + 5, 5)]
    assert [match for page in pages for match in page] == whole
    where = Filter(folder=str(pictures / "rot"))
    within = collection.search_word("rot", 99, where=where)
    assert {match.path.parent.name for match in within} == {"rot"}
    counts = collection.words.count("rot", where=where)
    assert (counts.tagged, counts.named + counts.probable) == (6, len(within) - 6)
    assert [m for m in whole if m.score >= 0.5] == collection.search_word("rot", 99, min_score=0.5)


def test_names_of_files_and_folders_are_found(collection, pictures):
    some = collection.pictures.get(3).places[0]
    assert parts(collection.search_word(some.parent.name, 99)) == ["name"] * 8
    both = collection.search_word(f"{some.stem} {some.parent.name.upper()}", 99)
    assert both[0].id == 3
    assert parts(both) == ["name"] * 8
    assert both[0].score > 2 * both[1].score
    assert parts(collection.search_word(pictures.name, 99)) == ["name"] * 24
    # Folders above the one that was added are nobody's name for a picture.
    assert collection.search_word(pictures.parent.name, 99) == []


def test_a_name_counts_from_the_start_of_a_word(tmp_path, collection):
    from tests.service.pictures import draw

    for place, name in enumerate(["vacation", "my_cats", "IMG2034", "Ka\u0308tzchen", "100%"]):
        draw(tmp_path / "neu" / f"{name}.png", (9, 99, 200), place)
    collection.add([tmp_path / "neu"])
    names = {row.id: row.places[0].stem for row in collection.pictures.all()}
    every = Names.read(beside(collection).database)
    found = {
        text: [names[n] for n in every.find(text).tolist()]
        for text in ("cat", "2034", "034", "käTZ", "%", ".png", "[", "")
    }
    assert found["cat"] == ["my_cats"]
    assert found["2034"] == ["IMG2034"]
    assert found["034"] == found["["] == []
    assert found["käTZ"] == ["Ka\u0308tzchen"]
    assert found["%"] == ["100%"]
    assert found[""] == []
    assert len(found[".png"]) == len(collection)


def test_of_several_words_all_must_fit(collection):
    for number in (1, 2, 3):
        collection.label(number, "polar bear")
    collection.label(2, "snow")
    collection.label(9, "snow")
    assert given(collection.search_word("polar bear snow")) == [2]
    assert given(collection.search_word("snow,Polar  bear")) == [2]
    assert collection.words.count("snow polar bear").terms == ("snow", "polar bear")
    # What nothing is known of is set aside, and hides nothing.
    assert given(collection.search_word("polar bear bratislava")) == [1, 2, 3]
    assert collection.words.count("polar bear bratislava").unknown == ("bratislava",)
    assert collection.search_word("bratislava", 99) == []
    collection.learn(folders=True)
    # Learned and given together: what has the label and looks the part.
    collection.label(20, "polar bear")
    folder = collection.pictures.get(20).places[0].parent.name
    found = collection.search_word(f"{folder} polar bear", 99)
    assert (found[0].id, found[0].source) == (20, "given")
    assert given(found) == [20]


def test_text_is_split_into_known_words():
    known = {"a b", "b c d", "x"}.__contains__
    assert split("a b c d x", known) == ["a b", "c", "d", "x"]
    assert split("b c d", known) == ["b c d"]
    assert split("q b c d q", known) == ["q", "b c d"]
    assert len(split("word " * 500, known)) == 1
    assert len(split(" ".join(map(str, range(500))), known)) == 20


def test_words_are_completed_with_those_that_have_pictures(collection):
    for number, word in ((1, "red car"), (2, "red car"), (3, "card"), (4, "scar")):
        collection.label(number, word)

    def typed(text):
        return [one.word for one in collection.words.like(text)]

    assert typed("car") == ["card", "red car", "scar"]
    assert typed("snow ca") == ["snow card", "snow red car", "snow scar"]
    assert typed("CRAD") == ["card"]
    assert typed("zzzzzz") == []
    collection.undo(collection.labels.history(3, "card")[0].number)
    assert "card" not in typed("car")
    folder = collection.pictures.get(1).places[0].parent.name
    (name,) = collection.words.like(folder)
    assert (name.word, name.pictures, name.source) == (folder, 8, "name")


def test_a_ranker_that_is_not_usable_hides_no_tags(collection):
    collection.label(5, "gem")
    with Collection.open(collection.path) as other:
        assert given(other.search_word("gem")) == [5]
        with pytest.raises(MissingPart):
            other.search_word("bratislava")


def test_the_ranking_is_kept_until_somebody_writes(collection):
    collection.label(5, "gem")
    first = collection.search_word("gem")
    with Collection.open(collection.path) as other:
        other.label(6, "gem")
    assert given(first) == [5]
    assert sorted(given(collection.search_word("gem"))) == [5, 6]
    assert np.isclose(collection.words.count("gem").tagged, 2)
