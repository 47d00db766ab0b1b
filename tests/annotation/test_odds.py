"""Log odds of words: comparable between words, with the order of pictures for a word kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from lookalike.annotation import WSABIE
from lookalike.annotation import wsabie as module
from lookalike.annotation.lessons import Lessons
from lookalike.annotation.odds import Odds, left_out
from lookalike.annotation.start import with_odds
from lookalike.evaluate import evaluate_annotation
from tests.reference import ridge as reference

SETTINGS = {"start": "ridge", "constant": 0.3, "choose_by": "MAP", "dimension": 40}


def drawn(pictures: int, slopes: np.ndarray, offsets: np.ndarray, seed: int = 0):
    """Return scores, and words drawn with the log odds slope·score + offset."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(pictures, len(slopes))).astype(np.float32)
    return scores, rng.random(scores.shape) < expit(slopes * scores + offsets)


@pytest.fixture(scope="module")
def tagged():
    """600 pictures: four words that are plain to see, 36 that are common and hard to tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 30)).astype(np.float32)
    weights = rng.normal(size=(30, 40)) / np.sqrt(30)
    sharpness = np.where(np.arange(40) < 4, 8.0, 0.7)
    chances = expit(sharpness * (X @ weights) - np.where(np.arange(40) < 4, 6.0, 1.5))
    return X, [{f"w{word}" for word in np.flatnonzero(rng.random(40) < row)} for row in chances]


def test_slopes_and_offsets_are_found():
    slopes, offsets = np.repeat([1.0, 2.0, 3.0], 8), np.tile([-2.0, -1.0], 12)
    odds = Odds.learned(*drawn(20_000, slopes, offsets))
    np.testing.assert_allclose(odds.slopes, slopes / 2, atol=0.08)
    np.testing.assert_allclose(odds.offsets, (offsets + 1.5) / 2, atol=0.05)


def test_words_alike_stay_alike_and_others_do_not():
    alike = Odds.learned(*drawn(200, np.full(50, 2.0), np.full(50, -3.0)))
    assert alike.slopes.std() < 0.12, "0.22 if each word were on its own"
    other = Odds.learned(*drawn(400, np.repeat([1.0, 3.0], 20), np.full(40, -4.0)))
    assert other.slopes[:20].mean() < 0.75 < 1.25 < other.slopes[20:].mean()


def test_a_words_order_of_pictures_is_never_reversed():
    slopes = np.r_[np.full(20, 2.0), -2.0]
    odds = Odds.learned(*drawn(3000, slopes, np.full(21, -1.0)))
    assert (odds.slopes > 0).all()


def test_nothing_is_learned_from_nothing():
    scores, true = drawn(100, np.full(5, 2.0), np.full(5, -1.0))
    assert Odds.learned(scores[:19], true[:19]) is None
    assert Odds.learned(np.zeros_like(scores), true) is None
    assert Odds.learned(scores, np.ones_like(true)) is None
    assert Odds.learned(-scores, true) is None, "scores that are wrong"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_left_out_pictures_are_scored_as_if_never_learned_from(form):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    y = [{str(row % 3), *({"more"} if row % 4 == 0 else ())} for row in range(40)]
    lessons = Lessons.read("test", form(X), y)
    rows = np.array([0, 7, 31])
    change = left_out(lessons, 2.0, rows)
    has = lessons.has.toarray()
    whole = X[rows] @ reference.ridge(X, has, 2.0)
    for place, row in enumerate(rows):
        rest = np.delete(np.arange(40), row)
        without = X[row] @ reference.ridge(X[rest], has[rest], 2.0)
        np.testing.assert_allclose(whole[place] + change[place], without, atol=1e-5)


def test_slopes_and_offsets_enter_the_vectors():
    rng = np.random.default_rng(4)
    V, W = (rng.normal(size=shape).astype(np.float32) for shape in ((7, 9), (5, 9)))
    odds = Odds(rng.uniform(0.5, 2, 5), rng.normal(size=5))
    X = np.hstack([rng.normal(size=(11, 6)), np.full((11, 1), 0.3)])
    odds_V, odds_W = with_odds(V, W, odds, 0.3)
    assert (odds_V.shape, odds_W.shape) == (V.shape, W.shape)
    expected = odds.slopes * (X @ V @ W.T) + odds.offsets
    np.testing.assert_allclose(X @ odds_V @ odds_W.T, expected, atol=1e-4)


def test_words_are_better_ranked_and_pictures_of_a_word_as_before(tagged, monkeypatch):
    X, y = tagged
    found = WSABIE(**SETTINGS, random_state=0).fit(X[:400], y[:400])
    monkeypatch.setattr(module, "odds_of", lambda *_: None)
    plain = WSABIE(**SETTINGS, random_state=0).fit(X[:400], y[:400])
    first = [evaluate_annotation(model, X[400:], y[400:]).precision[1] for model in (plain, found)]
    # 0.65 and 0.72.
    assert first[1] > first[0] + 0.03
    for word in plain.words_[:10]:
        orders = [np.argsort(X @ model.word_queries([word])[0]) for model in (plain, found)]
        np.testing.assert_array_equal(*orders)


@pytest.mark.parametrize("settings", [{"constant": 0.0}, {"start": "random"}])
def test_offsets_need_a_ridge_start_and_a_constant(tagged, monkeypatch, settings):
    asked = []
    monkeypatch.setattr(module, "odds_of", lambda *given: asked.append(given))
    X, y = tagged
    WSABIE(**{**SETTINGS, "epochs": 1, **settings}, random_state=0).fit(X, y)
    assert not asked


def test_runs_repeat(tagged):
    X, y = tagged
    one, other = (WSABIE(**SETTINGS, random_state=0).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.scores(X), other.scores(X))


def test_more_pictures_move_known_words_no_further(tagged, monkeypatch):
    X, y = tagged
    moved = []
    for odds_of in (module.odds_of, lambda *_: None):
        monkeypatch.setattr(module, "odds_of", odds_of)
        model = WSABIE(**SETTINGS, random_state=0).fit(X[:400], y[:400])
        before = model.scores(X)
        model.partial_fit(X[400:], y[400:])
        moved.append(np.abs(model.scores(X) - before).mean() / before.std())
        known = model.scores(X)
        model.partial_fit(X[:20], [{"new"}] * 20)
        np.testing.assert_array_equal(model.scores(X)[:, :-1], known)
    assert moved[0] < 1.1 * moved[1]
