"""The weighted Hamming distance as a similarity: what its scores are, and what is refused."""

import numpy as np
import pytest

from lookalike.checks.encoder import small
from lookalike.codes import ENCODERS, HammingSimilarity
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.index import BitIndex
from tests.codes.test_contract import QUICK


def fitted(**settings):
    X, y = small()
    return HammingSimilarity(**{"bits": 12, "random_state": 0, **settings}).fit(X, y), X


@pytest.mark.parametrize("margins", [False, True])
def test_scores_are_negative_weighted_distances(margins):
    model, X = fitted(margins=margins)
    codes, weights = model.codes(X), model.bit_weights(X[:9])
    ones = np.unpackbits(codes, axis=1, count=12)
    expected = [[-(w * (q != x)).sum() for x in ones] for w, q in zip(weights, ones, strict=False)]
    np.testing.assert_allclose(model.scores(X[:9], X), expected, rtol=1e-4, atol=1e-5)


def test_weights_are_those_of_classes_and_margins():
    model, X = fitted()
    values = model.encoder_.values(X)
    np.testing.assert_allclose(model.weights_.margins_, np.abs(values).mean(axis=0), rtol=1e-5)
    expected = model.weights_.query_weights(model.codes(X), X, values)
    np.testing.assert_array_equal(model.bit_weights(X), expected)


def test_the_settings_of_the_weights_are_settings_here():
    paper, X = fitted(rule="paper", neighbours=20, leading=2, balance=0.5)
    assert (paper.weights_.rule_, paper.weights_.neighbours) == ("paper", 20)
    assert (paper.weights_.leading, paper.weights_.balance) == (2, 0.5)
    np.testing.assert_array_equal(
        paper.bit_weights(X), paper.weights_.query_weights(paper.codes(X))
    )
    own, _ = fitted(rule="agreeing", smoothing=3.0, agreement=0.2)
    assert (own.weights_.smoothing_, own.weights_.agreement_) == (3.0, 0.2)
    assert fitted()[0].weights_.rule == "chosen"


def test_a_file_from_before_mean_margins_were_kept_weighs_as_before(tmp_path):
    model, X = fitted()
    model.save(tmp_path / "new", fingerprint="f")
    arrays, manifest = load_arrays(tmp_path / "new", kind="hamming/1")
    arrays.pop("weights_margins")
    manifest["learned"]["weights"]["learned"].pop("margins")
    save_arrays(tmp_path / "old", arrays, kind="hamming/1", manifest=manifest)
    loaded = HammingSimilarity.load(tmp_path / "old")
    expected = model.weights_.query_weights(model.codes(X), X)
    np.testing.assert_array_equal(loaded.bit_weights(X), expected)
    assert (loaded.bit_weights(X) != model.bit_weights(X)).any()


def test_with_margins_a_bit_counts_by_how_far_the_query_is_from_its_other_side():
    model, X = fitted(encoder="itq", margins=True)
    model.weights_ = None
    values = np.abs(model.encoder_.values(X))
    np.testing.assert_allclose(model.bit_weights(X), 2 * values, rtol=1e-6)
    wider, _ = fitted(encoder="itq", margins=True)
    relative = wider.bit_weights(X) / values - 1
    np.testing.assert_allclose(relative.mean(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("margins", [False, True])
def test_a_bit_index_ranks_as_it_does(margins):
    model, X = fitted(margins=margins)
    index = BitIndex(13)
    index.add(model.stored_vectors(X))
    hits = index.search(model.query_vectors(X[:5]), 60)
    by_distance = BitIndex(12)
    by_distance.add_codes(model.codes(X))
    nearest = by_distance.nearest(model.codes(X[:5]), 60, weights=model.bit_weights(X[:5]))
    np.testing.assert_allclose(hits.scores, nearest.scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ENCODERS.names)
def test_every_encoder_serves_and_labels_are_needed_only_where_it_says_so(name, monkeypatch):
    X, y = small()
    part = ENCODERS.get(name)
    for setting, value in QUICK.get(name, {}).items():
        monkeypatch.setitem(part.__init__.__kwdefaults__, setting, value)
    model = HammingSimilarity(encoder=name, bits=10, random_state=0)
    assert np.isfinite(model.fit(X, y).scores(X, X)).all()
    if part.needs_labels:
        with pytest.raises(InvalidInput, match="labels of each row"):
            model.fit(X)
    else:
        assert model.fit(X).weights_ is None
        np.testing.assert_array_equal(model.bit_weights(X), 1)


def test_without_class_weights_it_is_saved_as_well(tmp_path):
    X, _ = small()
    model = HammingSimilarity(encoder="lsh", bits=9, margins=True, random_state=0).fit(X)
    model.save(tmp_path / "a", fingerprint="f")
    again = HammingSimilarity.load(tmp_path / "a")
    np.testing.assert_array_equal(again.scores(X, X), model.scores(X, X))
    arrays, manifest = load_arrays(tmp_path / "a", kind="hamming/1")
    for settings in ({"bits": 10}, {"encoder": "nonsense"}, {"margins": 2}):
        wrong = {**manifest, "settings": {**manifest["settings"], **settings}}
        save_arrays(tmp_path / "b", arrays, kind="hamming/1", manifest=wrong)
        with pytest.raises(DamagedFile):
            HammingSimilarity.load(tmp_path / "b")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bits": 0}, "bits must be a whole number from 1"),
        ({"bits": 1.5}, "bits must be"),
        ({"encoder": "morse"}, "Choose one of s3plh"),
        ({"rule": "none"}, "HammingSimilarity: rule must be"),
        ({"margins": "yes"}, "margins must be true or false"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    X, y = small()
    with pytest.raises(InvalidInput, match=words):
        HammingSimilarity(**settings).fit(X, y)
