"""Ensembles: weights found on validation pictures, and never worse there than any model."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lookalike.annotation import WSABIE, Ensemble, LinearRanker
from lookalike.annotation.ensemble import MAX_TRIED, _shares
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.json_files import save_json


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, list[str]]:
    X, y = load_digits(return_X_y=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), [f"d{number}" for number in y]


def reciprocal_rank(model, X: np.ndarray, y: list[str]) -> float:
    scores = model.scores(X)
    own = scores[np.arange(len(X)), [model.words_.index(word) for word in y]]
    return float(np.mean(1 / (scores >= own[:, None]).sum(axis=1)))


def test_weights_are_no_worse_than_any_model_alone(digits) -> None:
    X, y = digits
    models = [
        WSABIE(dimension=4, random_state=seed, epochs=6).fit(X[:600], y[:600]) for seed in range(3)
    ]
    ensemble = Ensemble(models).fit_weights(X[600:1100], y[600:1100])
    alone = [reciprocal_rank(model, X[600:1100], y[600:1100]) for model in models]
    assert reciprocal_rank(ensemble, X[600:1100], y[600:1100]) >= max(alone)
    fresh = [reciprocal_rank(model, X[1100:], y[1100:]) for model in models]
    assert reciprocal_rank(ensemble, X[1100:], y[1100:]) > np.mean(fresh)
    assert ensemble.confidence_ is not None


def test_a_useless_model_gets_no_say(digits) -> None:
    X, y = digits
    good = WSABIE(random_state=0, epochs=6).fit(X[:900], y[:900])
    rng = np.random.default_rng(0)
    bad = WSABIE(random_state=1, epochs=1).fit(X[:900], list(rng.permutation(y[:900])))
    ensemble = Ensemble([bad, good]).fit_weights(X[900:], y[900:])
    shares = ensemble.weights_ * [model.scores(X[900:]).std() for model in (bad, good)]
    assert shares[1] > 3 * shares[0]


@pytest.mark.parametrize("models", range(1, 9))
def test_shares_divide_one(models: int) -> None:
    shares = np.array(list(_shares(models)))
    assert 1 <= len(shares) <= MAX_TRIED + 1
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    for one in np.eye(models):
        assert (shares == one).all(axis=1).any()


def test_different_words_cannot_be_joined(digits) -> None:
    X, y = digits
    few = WSABIE(epochs=1, random_state=0).fit(X[:50], y[:50])
    other = WSABIE(epochs=1, random_state=0).fit(X[:50], [word.upper() + "!" for word in y[:50]])
    with pytest.raises(InvalidInput, match="same words"):
        Ensemble([few, other]).fit_weights(X, y)
    with pytest.raises(InvalidInput, match="at least one"):
        Ensemble([]).fit(X, y)


def test_saved_again_it_leaves_nothing_behind(digits, tmp_path: Path) -> None:
    X, y = digits
    models = [WSABIE(epochs=1, random_state=0), LinearRanker(epochs=1, random_state=0)]
    ensemble = Ensemble(models, random_state=0).fit(X, y)
    ensemble.save(tmp_path / "both")
    ensemble.save(tmp_path / "both", fingerprint="f")
    assert len(list((tmp_path / "both").iterdir())) == 3
    again = Ensemble.load(tmp_path / "both")
    assert again.fingerprint_ == "f"
    np.testing.assert_array_equal(again.scores(X), ensemble.scores(X))
    index = tmp_path / "both" / "ensemble.json"
    content = index.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        index.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"ensemble\.json"):
            Ensemble.load(tmp_path / "both")
    plain = {name: it for name, it in json.loads(content).items() if name != "xxh3"}
    index.write_text(json.dumps(plain))
    with pytest.raises(DamagedFile, match=r"ensemble\.json"):
        Ensemble.load(tmp_path / "both")
    save_json(index, {**plain, "models": ["../a"]})
    with pytest.raises(DamagedFile, match=r"ensemble\.json"):
        Ensemble.load(tmp_path / "both")
