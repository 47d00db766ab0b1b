"""Start words: the table, the classes of vectors, and how sure a word is."""

import json

import numpy as np
import pytest

from lookalike.features import Embedding, Feature, Likely, StartWords, Vocabulary, start_words
from lookalike.features.start_words import LIKELIEST, imagenet

DOGS = Vocabulary(
    [
        (["beagle", "small dog"], [0]),
        (["poodle", "small dog"], [1]),
        (["dog", "hound", "Canis familiaris"], [0, 1, 2]),
        (["bus", "autobus"], [3]),
    ],
    4,
)


def slow_sums(vectors, W, b, scale):
    """Probabilities of all classes, one picture after the other."""
    rows = []
    for u in vectors.astype(np.float64):
        powers = np.exp(scale * (W.astype(np.float64) @ u) + b)
        rows.append(powers / powers.sum())
    return np.array(rows)


@pytest.fixture
def many():
    """Start words with more classes than are kept, and vectors."""
    rng = np.random.default_rng(5)
    W, b = rng.normal(size=(80, 8)).astype(np.float32), rng.normal(size=80).astype(np.float32)
    rows = [([f"c{n}"], [n]) for n in range(80)]
    rows += [(["even"], range(0, 80, 2)), (["all"], range(80))]
    vectors = rng.normal(size=(40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    start = StartWords(Vocabulary(rows, 80), lambda: (W, b), scale=3.0, slope=0.8, shift=-0.3)
    return start, vectors, slow_sums(vectors, W, b, 3.0)


@pytest.mark.parametrize(
    ("typed", "word", "classes"),
    [
        ("dog", "dog", [0, 1, 2]),
        ("DOGS", "dog", [0, 1, 2]),
        ("canis_familiaris", "dog", [0, 1, 2]),
        ("Buses", "bus", [3]),
        ("auto-bus", "bus", [3]),
        ("small dog", "small dog", [0, 1]),
        ("cat", None, None),
        ("s", None, None),
        ("", None, None),
        ("!", None, None),
    ],
)
def test_a_word_is_found_by_its_names(typed, word, classes):
    found = DOGS.find(typed)
    if word is None:
        assert found is None
    else:
        assert (found[0], found[1].tolist()) == (word, classes)


def test_the_table_is_small_and_whole():
    path = start_words.Path(start_words.__file__).with_name("start_words.tsv")
    assert path.stat().st_size < 200_000
    assert "WordNet licence" in path.read_text(encoding="utf-8")
    assert "Apache License 2.0" in path.read_text(encoding="utf-8")
    words = imagenet()
    members = words.members.toarray()
    assert members.shape == (1000, len(words.words))
    assert len(set(words.words)) == len(words.words)
    assert members.sum(axis=1).min() >= 1
    assert 1 <= members.sum(axis=0).min() <= members.sum(axis=0).max() <= 400
    # ILSVRC 2012: 0 is a tench, 151 to 268 are breeds of dogs, 999 is toilet tissue.
    assert words.find("tench")[1].tolist() == [0]
    assert words.find("dalmatian")[1].tolist() == [251]
    assert words.find("dogs")[1].tolist() == list(range(151, 269))
    assert set(range(151, 269)) < set(words.find("animal")[1].tolist())
    assert words.find("toilet paper")[1].tolist() == [999]
    assert words.find("panda")[1].tolist() == [387, 388]
    assert 934 not in words.find("dog")[1]
    for nothing in ("entity", "object", "physical entity", "whole", "artifact", "organism"):
        assert words.find(nothing) is None


def test_the_likeliest_classes_are_those_of_the_softmax(many):
    start, vectors, slow = many
    likely = start.likely(vectors)
    assert likely.classes.shape == (40, LIKELIEST)
    expected = np.argsort(-slow, axis=1)[:, :LIKELIEST]
    np.testing.assert_array_equal(likely.classes, expected)
    np.testing.assert_allclose(
        likely.chances, np.take_along_axis(slow, expected, axis=1), rtol=2e-3, atol=1e-4
    )
    halves = Likely.stacked([start.likely(vectors[:7]), start.likely(vectors[7:])])
    np.testing.assert_array_equal(halves.classes, likely.classes)
    np.testing.assert_allclose(halves.chances, likely.chances, rtol=2e-3)


def test_few_classes_are_all_kept():
    start = StartWords(DOGS, lambda: (np.eye(4, dtype=np.float32), np.zeros(4, np.float32)))
    likely = start.likely(np.eye(4, dtype=np.float32))
    assert likely.classes[:, 0].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(likely.chances.sum(axis=1), 1, rtol=2e-3)
    assert start.likely(np.zeros((0, 4), np.float32)).classes.shape == (0, 4)


def test_a_broader_word_is_the_sum_of_its_classes_and_then_calibrated(many):
    start, vectors, slow = many
    likely = start.likely(vectors)
    for word in ("c3", "even"):
        classes = start.vocabulary.find(word)[1]
        kept = np.isin(likely.classes, classes)
        p = np.where(kept, likely.chances.astype(np.float64), 0).sum(axis=1)
        some = p > 0
        expected = 1 / (1 + np.exp(-(0.8 * np.log(p[some] / (1 - p[some])) - 0.3)))
        sure = start.confidences(likely, classes)
        np.testing.assert_allclose(sure[some], expected, rtol=1e-3)
        assert not sure[~some].any()
        whole = slow[:, classes].sum(axis=1)
        assert np.corrcoef(whole, p)[0, 1] > 0.95


def test_the_words_of_pictures_are_those_that_are_sure_the_most_telling_first(many):
    start, vectors, _ = many
    likely = start.likely(vectors)
    found = start.words(likely, 0.3)
    for row, words in enumerate(found):
        alone = likely.taken(np.array([row]))
        assert {word for word, _ in words} == {
            word
            for word in start.vocabulary.words
            if start.confidences(alone, start.vocabulary.find(word)[1])[0] >= 0.3
        }
        sizes = {word: len(start.vocabulary.find(word)[1]) for word, _ in words}
        worth = [sure * np.log(61 / sizes[word]) for word, sure in words]
        assert worth == sorted(worth, reverse=True)
    counts = start.counts(likely, 0.3)
    assert counts["all"] == 40
    assert sum(counts.values()) == sum(map(len, found))


def test_a_feature_has_no_start_words_unless_it_says_so():
    assert Feature.start_words.fget(None) is None


def test_the_default_network_names_what_it_sees(tmp_path):
    embedding = Embedding()
    words = embedding.start_words
    assert words is embedding.start_words
    W, b = words.classifier()
    assert (W.shape, b.shape) == ((1000, 1280), (1000,))
    # A picture that looks like the mean of a class is of that class, and of what is above it.
    centres = W[[251, 340]] - W.mean(axis=0)
    units = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    named = words.words(words.likely(units.astype(np.float16).astype(np.float32)), 0.5)
    assert [next(word for word, _ in some) for some in named] == ["dalmatian", "zebra"]
    assert {"dog", "animal"} <= {word for word, _ in named[0]}
    json.dumps(named)


def test_a_model_of_ones_own_has_no_start_words():
    from tests.features.test_embedding import model

    assert Embedding(model()).start_words is None
