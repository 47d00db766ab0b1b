"""What people type, and what each gives: a table, odd input, and how text is read."""

from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike import Collection
from lookalike.collection import Ask, Filter, ReadWord
from lookalike.collection.search import reading
from lookalike.collection.search.query_language import MAX_CHARACTERS, MAX_TERMS, parse
from lookalike.collection.store.filter import read_near
from lookalike.core.errors import InvalidInput
from lookalike.features.text import sentences
from tests.collection.colours import Shades
from tests.gates import OPEN
from tests.service.pictures import draw

# The folders and files of the collection, and labels given by hand; Shades knows the start words
# crimson (reds), lawn, sky and nature (lawn and sky).
FOLDERS = {"rot": (200, 40, 40), "Müller": (40, 190, 40), "Beach trip": (40, 40, 200)}


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    home = tmp_path_factory.mktemp("typed")
    for folder, colour in FOLDERS.items():
        for number in range(4):
            draw(home / "photos" / folder / f"IMG {number}.png", colour, number)
    with Collection.create(home / "store", features=[Shades()], gate=OPEN) as store:
        store.add([home / "photos"])
        by_name = {
            f"{row.places[0].parent.name}{row.places[0].stem[-1]}": row.id
            for row in store.pictures.all()
        }
        for word, names in {
            "dog": ("rot0", "rot1"),
            "polar bear": ("rot1",),
            "Café": ("Müller0",),
            "beach": ("rot0", "Müller1", "Müller2", "Müller3"),
            "man with a hat": ("Beach trip3",),
            "woman with a hat": ("Beach trip3",),  # each is near the other in meaning
        }.items():
            store.label([by_name[name] for name in names], word)
        store.albums.save("Best", pictures=[by_name["rot2"]])
        yield store, by_name


ROT, GREEN, BLUE = ([f"{folder}{number}" for number in range(4)] for folder in FOLDERS)

# Typed; the pictures that must come first, in any order; those that must not come at all.
TABLE = [
    ("dog", ["rot0", "rot1"], []),
    ("DOG", ["rot0", "rot1"], []),
    ("  dog  ", ["rot0", "rot1"], []),
    ("dog beach", ["rot0"], []),
    ("dog, beach", ["rot0"], []),
    ("dog AND beach", ["rot0"], []),
    ("dog in the polar bear", ["rot1"], []),
    ("dog -beach", ["rot1"], ["rot0", *GREEN[1:]]),
    ("dog −beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog NOT beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog no beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog, no beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog without beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog without a beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog with no beach", ["rot1"], ["rot0", "Müller1"]),
    ("Hund ohne label:beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog ohne einen beach", ["rot1"], ["rot0", "Müller1"]),
    ("dog sans beach", ["rot1"], ["rot0", "Müller1"]),
    ('dog without "polar bear"', ["rot0"], ["rot1"]),
    ("sky -trip", BLUE, []),  # the name of its folder is no reason to leave a picture out
    ("without beach without dog", [], ["rot0", "rot1", *GREEN[1:]]),
    ("no", [], []),
    ("dog no", ["rot0", "rot1"], []),
    ("no, dog", ["rot0", "rot1"], []),
    ('"no" dog', ["rot0", "rot1"], []),
    ('dog -"polar bear"', ["rot0"], ["rot1"]),
    ("-dog", [], ["rot0", "rot1"]),
    ('"polar bear"', ["rot1"], []),
    ("„polar bear“ dog", ["rot1"], []),
    ("polar bear dog", ["rot1"], []),
    ("dog OR café", ["rot0", "rot1", "Müller0"], []),
    ("dog|café", ["rot0", "rot1", "Müller0"], []),
    ("cafe", ["Müller0"], []),
    ("CAFE\u0301", ["Müller0"], []),
    ("Muller", GREEN, []),
    ("müller", GREEN, []),
    ("sky", BLUE, []),
    ("skies OR lawn", [*GREEN, *BLUE], []),
    ("nature -sky", GREEN, BLUE),
    ("himmel", BLUE, []),
    ("HIMMEL", BLUE, []),
    ("cielo azul", BLUE, []),
    ("dog bratislava", ["rot0", "rot1"], []),
    ("label:dog", ["rot0", "rot1"], [*GREEN, *BLUE]),
    ("label:cafe", ["Müller0"], ["rot0"]),
    ("sky -label:beach", BLUE, ["Müller1"]),
    ("folder:muller", GREEN, [*ROT, *BLUE]),
    ('folder:"beach trip" sky', BLUE, [*ROT, *GREEN]),
    ("-folder:rot nature", [*GREEN, *BLUE], ROT),
    ("untagged sky", BLUE[:3], ["Beach trip3", "rot0"]),
    ("-untagged", ["rot0", "rot1", *GREEN, "Beach trip3"], ["rot2", *BLUE[:3]]),
    ("album:best", ["rot2"], [*GREEN, *BLUE]),
    ("format:png dog", ["rot0", "rot1"], []),
    ("format:jpg", [], [*ROT, *GREEN, *BLUE]),
    ("before:2019", [], [*ROT, *GREEN, *BLUE]),
    ("dog before:soon", ["rot0", "rot1"], []),
    ("man with a hat", ["Beach trip3"], []),
    ('"dog', ["rot0", "rot1"], []),
    ("dog -", ["rot0", "rot1"], []),
    ("dog!", ["rot0", "rot1"], []),
    ("dog;beach", ["rot0"], []),
    ("\u202edog", ["rot0", "rot1"], []),
]


@pytest.mark.parametrize(("text", "first", "absent"), TABLE, ids=[row[0] for row in TABLE])
def test_what_is_typed_gives_what_the_table_says(typed, text, first, absent):
    store, by_name = typed
    found = [match.id for match in store.search_word(text, 99)]
    assert set(found[: len(first)]) == {by_name[name] for name in first}
    assert not {by_name[name] for name in absent} & set(found)
    assert len(found) == len(set(found))
    scores = [match.score for match in store.search_word(text, 99)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("text", "unknown", "set_aside"),
    [
        ("dog bratislava", ("bratislava",), ()),
        ("dog before:soon", (), ("before:soon",)),
        ("-", (), ("-",)),
        ('"', (), ()),
        ("album:nowhere dog", (), ("album:nowhere",)),
        ("camera: dog", (), ("camera:",)),
        ("before:2019-13 after:x", (), ("before:2019-13", "after:x")),
        ("dog is:odd", (), ("is:odd",)),
        ("dog before:0001", (), ("before:0001",)),
        ("dog near:here", (), ("near:here",)),
        ("dog near:91,0", (), ("near:91,0",)),
        ("near:91,0", (), ("near:91,0",)),
        ("near:arezzo before:soon", (), ("before:soon", "near:arezzo")),
        ("label:dog OR label:beach", (), ("OR",)),
        ("dog OR label:beach", (), ("OR",)),
        ("label:beach | dog", (), ("|",)),
        ("dog OR -lawn", (), ("OR",)),
        ("the", ("the",), ()),
    ],
)
def test_what_is_not_understood_is_set_aside_and_said(typed, text, unknown, set_aside):
    counts = typed[0].words.count(text)
    assert (counts.unknown, counts.set_aside) == (unknown, set_aside)
    assert bool(typed[0].search_word(text)) == ("dog" in text)


@pytest.mark.parametrize(
    ("text", "among"),
    [("dog", None), ("dog label:nowhere", 0), ("dog folder:rot", 4), ("dog after:2099", 0)],
)
def test_how_many_pictures_pass_what_is_typed_as_filters(typed, text, among):
    assert typed[0].words.count(text).among == among


def test_a_word_is_shown_once_however_many_know_it():
    words = (
        ReadWord("dog", 0.5, "start"),
        ReadWord("Dog", 0.3, "given"),
        ReadWord("cat", 0.2, "start"),
    )
    assert [one.word for one in reading.Meaning(words, 0.9).shown] == ["dog", "cat"]


def test_a_folder_called_so_does_not_stand_before_what_shows_it(typed):
    store, by_name = typed
    found = store.search_word("beach", 99)
    assert {match.id for match in found[:4]} == {by_name[n] for n in ("rot0", *GREEN[1:])}
    named = [match for match in found if match.source == "name"]
    assert {match.id for match in named} == {by_name[name] for name in BLUE}
    assert all(match.score < 1 for match in named)


def test_a_reading_is_said_and_can_be_struck_out(typed):
    store, _ = typed
    (read,) = store.words.count("Himmel").readings
    assert (read.text, read.is_literal, read.words[0].word) == ("Himmel", False, "sky")
    assert sum(one.weight for one in read.words) <= 1 + 1e-6
    before = store.search_word("Himmel", 99)
    after = store.words.count("Himmel", strike=["SKY"]).readings
    assert "sky" not in {one.word for one in after[0].words}
    assert store.search_word("Himmel", 99, strike=["sky"]) != before
    assert store.words.count("sky").readings[0].is_literal
    (without,) = store.words.count("-Himmel").readings
    assert without.without


def test_a_sentence_is_read_as_one_and_does_not_suggest_itself(typed):
    store, _ = typed
    counts = store.words.count("the blue sky above the sea")
    assert counts.terms == ("the blue sky above the sea",)
    assert counts.readings[0].words[0].word == "sky"
    assert "man with a dog" not in {one.word for one in store.words.like("man with a dog")}


@pytest.mark.parametrize(("text", "plain"), [("HUND", "hund"), ("STRASSE", "strasse")])
def test_capitals_mean_what_small_letters_mean(typed, text, plain):
    big, small = (
        typed[0].words.count(it).readings[0].words for it in (text, plain.upper().lower())
    )
    assert big == small


def test_the_name_of_a_folder_is_a_weaker_guess_than_that_of_a_file(typed):
    store, _ = typed
    (folder,) = {match.score for match in store.search_word("trip", 99)}
    assert store.search_word("trip", 99)[0].source == "name"
    (file,) = {match.score for match in store.search_word("IMG", 99)}
    assert (folder, file) == pytest.approx((0.15, 0.5))
    assert len(store.search_word("trip", 99)) == len(BLUE)


def test_filters_and_what_is_typed_hold_together(typed):
    store, by_name = typed
    where = Filter(without_tags=("dog",), untagged=False)
    found = {match.id for match in store.search_word("beach", 99, where=where)}
    assert found == {by_name[name] for name in (*GREEN, "Beach trip3")}
    bare = {row.id for row in store.pictures.browse(99, where=Filter(untagged=True))}
    assert bare == {by_name[name] for name in ("rot2", "rot3", *BLUE[:3])}
    with pytest.raises(InvalidInput, match="untagged must be true or false"):
        store.pictures.browse(9, where=Filter(untagged="yes"))


@pytest.mark.parametrize("damage", ["missing", "other"])
def test_without_the_text_model_words_are_taken_literally(typed, monkeypatch, damage):
    store, by_name = typed
    reading.text_memory.cache_clear()
    sentences.sentence_encoder.cache_clear()
    if damage == "missing":
        monkeypatch.setattr(sentences, "PACKAGE", "lookalike_no_such_package")
    else:
        monkeypatch.setitem(sentences.SHA256, sentences.PIECES, 64 * "0")
    try:
        counts = store.words.count("Himmel dog", learned=False)
        assert counts.unknown == ("Himmel",)
        found = store.search_word("Himmel dog", 2, learned=False)
        assert {match.id for match in found} == {by_name["rot0"], by_name["rot1"]}
    finally:
        reading.text_memory.cache_clear()
        sentences.sentence_encoder.cache_clear()


@given(st.text(st.characters(exclude_categories=()), max_size=200))
@settings(deadline=None, max_examples=200)
def test_anything_can_be_typed(text):
    query = parse(text)
    for term in query.terms:
        assert term.text.strip() == term.text != ""
    assert parse(text) == query


SIGNS = ["dog", "-", '"', "OR", "|", ",", "before:", "label:", "NOT", ":"]


@given(st.lists(st.sampled_from(SIGNS)))
@settings(deadline=None, max_examples=200)
def test_signs_in_any_order_are_understood(parts):
    query = parse(" ".join(parts))
    assert {word for term in query.terms for word in term.text.split()} <= set(SIGNS)


def test_long_text_ends_and_says_so():
    query = parse("dog " + "cat, " * 3000)
    assert len(query.groups) <= MAX_TERMS
    assert len(query.set_aside) == 2
    assert f"{MAX_CHARACTERS:,}" in query.set_aside[-1]
    assert parse("x" * 10_000).groups


@pytest.mark.parametrize(
    "text", ["ᚠᚢᚦ", "☃", "x" * 10_000, "dog\x00\x07", "the of and", "\ud800", "%_'"]
)
def test_odd_text_is_searched_without_harm(typed, text):
    store, _ = typed
    counts = store.words.count(text)
    assert len(store.search_word(text, 99)) == counts.tagged + counts.named + counts.probable


@pytest.mark.parametrize("text", ["near:43.46,11.88", "near: 43.46, 11.88", "near:43.46 , 11.88"])
def test_a_place_is_read_as_people_paste_it(text):
    (condition,) = parse(text).conditions
    assert read_near(condition.value) == (43.46, 11.88, 10.0)
    assert parse(text).set_aside == parse(text).groups == ()


def test_dates_are_read(typed):
    query = parse("before:2019 after:2015-03 date:2016")
    assert (query.taken_from, query.taken_to) == ("2016", "2016")
    assert parse("before:2019").taken_to == "2018-12-31"
    assert parse("until:2019-03").taken_to == "2019-02-28"
    # A span that nothing lies in.
    assert typed[0].search_word("before:2015 after:2019", 9) == []


def test_a_label_is_certain_and_all_of_several_are_surer(typed):
    store, by_name = typed
    both = {match.id: match.score for match in store.search_word("dog beach", 99)}
    assert both[by_name["rot0"]] == 1
    assert 0 < both[by_name["rot1"]] < 1
    assert store.search_word("sky", 9) == store.search_word("sky, bratislava", 9)


def test_pictures_and_words_in_one_query(typed):
    store, by_name = typed
    like = Ask((by_name["rot2"],))
    alone = [match.id for match in store.search(like, 99)]
    blue = {by_name[name] for name in BLUE}
    # Red as asked, but blue by words: how much each counts decides.
    dogs = {by_name["rot0"], by_name["rot1"]}
    for words, weight, expected in (
        ("sky", 0.9, blue),
        ("sky", 0.0, {*alone[:3]}),
        ("dog", 0.5, dogs),
    ):
        found = store.search(like, 99, words=words, weight=weight)
        assert {match.id for match in found[: len(expected)]} <= expected
        assert by_name["rot2"] not in {match.id for match in found}
        assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)
    without = {match.id for match in store.search(like, 99, words="-dog")}
    assert without == {*alone} - {by_name["rot0"], by_name["rot1"]}
    only = {match.id for match in store.search(like, 99, words="folder:muller")}
    assert only == {by_name[name] for name in GREEN}
    several = Ask((by_name["rot2"], by_name["rot3"]), (by_name["Beach trip0"],))
    assert store.search(several, 1, words="dog")[0].id in (by_name["rot0"], by_name["rot1"])
    for weight in (-0.1, 1.1, "x", float("nan")):
        with pytest.raises(InvalidInput, match="weight must be from 0 to 1"):
            store.search(like, words="dog", weight=weight)


def test_votes_on_a_sentence_teach_it(typed):
    store, by_name = typed
    text = "a wide view over the heath"
    picked, refused = by_name["Müller2"], by_name["Müller3"]
    with store_event(store, picked, text, True), store_event(store, refused, text, False):
        found = store.search_word(text, 99)
        assert (found[0].id, found[0].source) == (picked, "given")
        assert {match.id for match in found[1:3]} == {by_name[n] for n in ("Müller0", "Müller1")}
        assert refused not in {match.id for match in found[:3]}


@contextmanager
def store_event(store, picture, word, shows):
    entry = store.label(picture, word, shows=shows)
    yield
    store.undo(entry.number)
