"""Whole texts: what was taught ranks its pictures, words never taught as well, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.annotation.text_side import TextSide
from lookalike.core.errors import InvalidInput

MEANINGS = {"dog": [1, 0, 0], "puppy": [0.9, 0.1, 0], "sea": [0, 1, 0], "beach": [0, 0.9, 0.4]}


def encode(texts):
    """Add up what the words of each text mean."""
    rows = [np.sum([MEANINGS[word] for word in text.split()], axis=0) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def pictures(rng, kinds):
    """Return vectors near one direction for each kind."""
    directions = np.eye(8)[list(kinds)]
    rows = directions + 0.05 * rng.normal(size=directions.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def side():
    X = pictures(np.random.default_rng(0), [0, 1, 2] * 10)
    return TextSide.fit(X, [["dog"], ["sea"], ["dog", "sea"]] * 10, encode)


def ranked(side, words, X):
    query = side.query(words)
    return np.argsort(-side.scores(X @ query[0], query, side.lengths(X))).tolist()


def test_a_text_finds_what_has_all_its_words(side):
    X = pictures(np.random.default_rng(1), [0, 1, 2])
    assert ranked(side, ["dog", "sea"], X)[0] == 2
    assert ranked(side, ["dog"], X)[0] == 0


def test_a_word_never_taught_ranks_by_its_meaning(side):
    X = pictures(np.random.default_rng(2), [0, 1])
    assert side.taught(["puppy"]) == 0
    assert side.taught(["puppy", "Dog"]) == 0.5
    assert ranked(side, ["puppy"], X) == [0, 1]
    assert ranked(side, ["beach"], X) == [1, 0]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_scores_are_the_cosines_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 5)).astype(np.float32)
    y = [["dog"], ["sea"], ["dog", "beach"]] * 4
    side = TextSide.fit(X, y, encode)
    query = side.query(["dog", "beach"])
    ours = side.scores(X @ query[0], query, side.lengths(X))
    predicted = (X - side.centre) @ side.B
    text = np.zeros(side.B.shape[1])
    counts = {"beach": 4, "dog": 8, "sea": 4}
    for number, word in enumerate(sorted(counts)):
        text[number] = (word != "sea") * np.log(13 / counts[word])
    text[:3] = text[:3] / np.linalg.norm(text[:3])
    text[3:] = encode(["dog beach"])[0]
    text -= side.mean
    slow = predicted @ text / np.linalg.norm(text) / np.linalg.norm(predicted, axis=1)
    np.testing.assert_allclose(ours, slow, atol=2e-4)


@pytest.mark.parametrize("y", [[], [["dog"]], [["dog"], []]])
def test_pictures_without_words_are_refused(y):
    with pytest.raises(InvalidInput, match="each picture needs a word"):
        TextSide.fit(np.eye(2, dtype=np.float32), y, encode)
