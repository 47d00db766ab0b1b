"""What texts are read as: the nearest in meaning, and what they are a kind of."""

import pytest

from lookalike.collection.search.reading import Meanings
from lookalike.features.start_words import imagenet


@pytest.fixture(scope="module")
def meanings():
    return Meanings((word, "start") for word in imagenet().words)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("hawksbill", "sea turtle"),  # alone by its letters it is near "hawk"
        ("emu", "ostrich"),
        ("mandolins", "chordophone"),
        ("Schwan", "swan"),
        ("piano à queue", "piano"),
    ],
)
def test_a_text_is_read_as_what_it_is_a_kind_of_or_near(meanings, text, word):
    assert word in [one.word for one in meanings.near(text, frozenset()).shown]


def test_struck_words_are_not_read(meanings):
    words = meanings.near("hawksbill", frozenset({"sea turtle"})).words
    assert "sea turtle" not in {one.word for one in words}
    assert sum(one.weight for one in words) == pytest.approx(1)


@pytest.mark.parametrize("text", ["Bratislava", "IMG_0017", "ᚠᚢᚦ", "\u200b"])
def test_a_word_far_from_all_is_not_read(meanings, text):
    assert meanings.near(text, frozenset()) is None


def test_a_sentence_is_read_however_far_it_is(meanings):
    assert meanings.near("meeting notes from last tuesday", frozenset()) is not None
