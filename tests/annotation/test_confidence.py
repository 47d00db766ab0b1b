"""Confidence means what it says on pictures that were not learned from."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.annotation import WSABIE
from lookalike.annotation.confidence import MIN_PICTURES, Confidence, enough
from lookalike.core.errors import InvalidInput


def drawn(rng: np.random.Generator, n: int, sharpness: float) -> tuple[np.ndarray, sp.csr_matrix]:
    """Draw scores, and one true word each with chances that follow from them."""
    scores = rng.normal(size=(n, 30)).astype(np.float32)
    chances = np.exp(sharpness * scores.astype(np.float64))
    chances /= chances.sum(axis=1, keepdims=True)
    true = (chances.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, sp.csr_matrix((np.ones(n), (np.arange(n), true)), shape=scores.shape)


@pytest.mark.parametrize("sharpness", [0.5, 3.0, 20.0])
def test_chances_that_are_known_are_found(sharpness: float) -> None:
    rng = np.random.default_rng(0)
    confidence = Confidence.learned(*drawn(rng, 2000, sharpness))
    assert confidence is not None
    scores, has = drawn(rng, 4000, sharpness)
    best = np.argmax(scores, axis=1)
    sure = confidence.of(np.take_along_axis(scores, best[:, None], 1), scores)[:, 0]
    right = has.toarray()[np.arange(4000), best] > 0
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.001)):
        some = (sure >= low) & (sure < high)
        if some.sum() > 150:
            assert right[some].mean() == pytest.approx(sure[some].mean(), abs=0.07)


def test_a_picture_may_be_sure_of_several_words() -> None:
    rng = np.random.default_rng(1)
    has = (rng.random((800, 12)) < 0.25).astype(np.float32)
    has[:, 0] = 1
    scores = (3 * has + 0.3 * rng.normal(size=has.shape)).astype(np.float32)
    confidence = Confidence.learned(scores, sp.csr_matrix(has))
    assert confidence is not None
    chances = confidence.of(scores, scores)
    assert chances[has > 0].mean() > 0.8
    assert chances[has == 0].mean() < 0.2


def test_how_much_is_known_of_a_picture_counts() -> None:
    # Words that all have the same share: of one kind of pictures two in five are true, of the
    # other none, and only how high they score tells the two apart.
    rng = np.random.default_rng(4)
    high = rng.random((800, 1)) < 0.5
    scores = (np.where(high, 3.0, 0.0) + 0.05 * rng.normal(size=(800, 6))).astype(np.float32)
    has = np.zeros((800, 6), np.float32)
    has[:, :2] = high
    has[:, 5] = 1
    scores[:, 5] += 1
    confidence = Confidence.learned(scores, sp.csr_matrix(has))
    assert confidence is not None
    chances = confidence.of(scores[:, :5], scores)
    assert chances[high[:, 0]].mean() == pytest.approx(0.4, abs=0.1)
    assert chances[~high[:, 0]].mean() < 0.1


def all_right(rng: np.random.Generator, n: int) -> tuple[np.ndarray, sp.csr_matrix]:
    """Draw scores that put the one true word of each picture far above all others."""
    scores = (0.1 * rng.normal(size=(n, 17))).astype(np.float32)
    true = np.arange(n) % 17
    scores[np.arange(n), true] += 1
    return scores, sp.csr_matrix((np.ones(n), (np.arange(n), true)), shape=scores.shape)


@pytest.mark.parametrize("n", [20, 53, 400])
def test_a_part_that_is_all_right_does_not_make_sure(n: int) -> None:
    rng = np.random.default_rng(5)
    confidence = Confidence.learned(*all_right(rng, n))
    assert confidence is not None
    scores, _ = all_right(rng, 200)
    sure = confidence.of(scores.max(axis=1)[:, None], scores)
    assert sure.max() <= (n + 1) / (n + 2)
    assert sure.mean() > 0.9
    far = confidence.of(np.full((1, 1), 50, np.float32), np.eye(1, 17, dtype=np.float32) * 50)
    assert far <= (n + 1) / (n + 2)


def test_kinds_that_were_never_taught_are_not_said_surely() -> None:
    rng = np.random.default_rng(6)
    confidence = Confidence.learned(*all_right(rng, 53))
    assert confidence is not None
    # Of such pictures some word is somewhat above the others.
    strange = (0.1 * rng.normal(size=(300, 17))).astype(np.float32)
    strange[:, 3] += 0.3
    sure = confidence.of(strange.max(axis=1)[:, None], strange)
    assert np.quantile(sure, 0.9) < 0.5


def test_pictures_that_have_every_word_teach_confidence_too() -> None:
    scores, _ = drawn(np.random.default_rng(7), 60, 1.0)
    confidence = Confidence.learned(scores[:, :3], sp.csr_matrix(np.ones((60, 3))))
    assert confidence is not None
    assert (confidence.of(scores[:, :3], scores[:, :3]) > 0.5).mean() > 0.9


def test_what_was_written_before_there_was_a_limit_is_read() -> None:
    before = Confidence.read({"sharpness": 2.0, "a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0})
    assert before == Confidence(2.0)
    limited = Confidence(2.0, most=0.9)
    assert Confidence.read(limited.written()) == limited


def test_confidence_rises_with_the_score() -> None:
    rng = np.random.default_rng(2)
    confidence = Confidence.learned(*drawn(rng, 300, 2.0))
    assert confidence is not None
    scores = np.sort(rng.normal(size=(5, 30)).astype(np.float32), axis=1)
    assert (np.diff(confidence.of(scores, scores), axis=1) >= 0).all()


def test_too_few_pictures_teach_none_and_scores_alike_do_no_harm() -> None:
    rng = np.random.default_rng(3)
    assert Confidence.learned(*drawn(rng, 10, 1.0)) is None
    _, has = drawn(rng, 200, 1.0)
    flat = Confidence.learned(np.zeros((200, 30), np.float32), has)
    assert flat is not None
    assert flat.of(np.zeros((1, 1), np.float32), np.zeros((1, 30), np.float32)) == pytest.approx(
        1 / 30, abs=0.03
    )


def test_tags_are_cut_where_they_are_not_sure_enough() -> None:
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(8, 12))
    kinds = rng.integers(0, 8, 1200)
    X = centres[kinds] + 1.2 * rng.normal(size=(1200, 12))
    words = np.array([f"kind {kind}" for kind in kinds])
    model = WSABIE(random_state=0, held_out=0.3).fit(X[:800], words[:800])
    tags = model.annotate(X[800:], 3)
    assert all(len(row) == 3 for row in tags)
    assert all(row[0].confidence >= row[1].confidence >= row[2].confidence for row in tags)
    sure = model.annotate(X[800:], 3, min_confidence=0.8)
    given = [(tag.word, word) for row, word in zip(sure, words[800:], strict=True) for tag in row]
    assert 50 < len(given) < 400
    assert np.mean([word == true for word, true in given]) == pytest.approx(0.9, abs=0.1)


def test_without_held_out_pictures_confidence_is_unknown() -> None:
    X = np.eye(4)
    model = WSABIE(random_state=0, dimension=4).fit(X, list("abcd"))
    assert np.isnan(model.annotate(X, 2)[0][0].confidence)
    with pytest.raises(InvalidInput, match="too few pictures"):
        model.annotate(X, 2, min_confidence=0.5)
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        model.annotate(X, 2, min_confidence=80)


def test_of_many_pictures_with_many_words_some_are_taken_from_everywhere():
    assert enough(50, 10, 1000).tolist() == list(range(50))
    rows = enough(1000, 10, 1000)
    assert (len(rows), rows[0], rows[-1]) == (100, 0, 999)
    assert np.diff(rows).max() <= 11
    assert len(enough(1000, 100_000, 1000)) == MIN_PICTURES


def test_sorted_pictures_give_the_confidence_of_all():
    scores, has = drawn(np.random.default_rng(3), 2000, 3.0)
    order = np.argsort(scores.max(axis=1), kind="stable")
    whole = Confidence.learned(scores, has)
    rows = order[enough(len(order), 30, 30 * 500)]
    some = Confidence.learned(scores[rows], has[rows])
    assert len(rows) == 500
    best = scores.max(axis=1)[:, None]
    np.testing.assert_allclose(some.of(best, scores), whole.of(best, scores), atol=0.1)
