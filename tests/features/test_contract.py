"""Every feature holds the contract, and an incomplete one cannot be made."""

import pytest

from lookalike.checks.feature import FeatureContract, pictures
from lookalike.core.registry import Registry
from lookalike.features import FEATURES, Embedding, Feature, Views, Visterms, registry
from tests.collection.colours import Colours
from tests.contract import each, passes
from tests.features.test_embedding import model
from tests.limits import set_limits
from tests.test_imports import loaded


@pytest.fixture(scope="module")
def visterms_of_twelve_words():
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, sample_pixels=2000)
        yield Visterms(dimension=12, colours=4, longest_side=400).fit(pictures())


class FewVisterms(Visterms):
    """A further feature that learns, and is small."""

    def __init__(self, *, dimension=12, colours=4, longest_side=400, random_state=0):
        super().__init__(
            dimension=dimension,
            colours=colours,
            longest_side=longest_side,
            random_state=random_state,
        )


@pytest.fixture(scope="module")
def views_and_words():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.FEATURES._here, "visterms", FewVisterms)
        yield Views(views="gist,visterms,edges", components=4).fit(pictures())


@each(FeatureContract)
def test_embedding(rule):
    passes(rule, FeatureContract, Embedding(model(), mean=0.25, std=[1, 2, 4]), None, FEATURES)


@each(FeatureContract)
def test_visterms(rule, visterms_of_twelve_words):
    unfitted = Visterms(dimension=10, colours=3, longest_side=500, random_state=1)
    passes(rule, FeatureContract, visterms_of_twelve_words, unfitted, FEATURES)


@each(FeatureContract)
def test_views(rule, views_and_words):
    unfitted = Views(views="colour,surf200,lbp", components=3, random_state=1)
    passes(rule, FeatureContract, views_and_words, unfitted, FEATURES)


@each(FeatureContract)
def test_a_feature_of_your_own(rule):
    own = Registry("feature", "lookalike.test-features", {})
    own.register(Colours)
    passes(rule, FeatureContract, Colours(cells=3), None, own)


WHOLE = {
    "name": "whole",
    "dimension": 1,
    "fingerprint": "0" * 32,
    "record": lambda self, image: b"",
    "vectors": lambda self, records: None,
}


def test_a_complete_feature_can_be_made():
    feature = type("Whole", (Feature,), WHOLE)()
    assert feature.is_fitted
    assert (feature.sparse, feature.decode_side) == (False, None)


@pytest.mark.parametrize("missing", ["fingerprint", "record", "vectors"])
def test_an_incomplete_feature_cannot_be_made(missing):
    incomplete = type("Incomplete", (Feature,), {k: v for k, v in WHOLE.items() if k != missing})
    with pytest.raises(TypeError, match=missing):
        incomplete()


def test_the_registry_imports_no_feature():
    heavy = {"PIL", "cv2", "onnx", "onnxruntime", "numba", "sklearn", "scipy"}
    names = "from lookalike.features.registry import FEATURES; assert 'visterms' in FEATURES.names"
    assert not loaded(names) & heavy
    assert not loaded("import lookalike.features") & (heavy | {"numpy"})
    assert "PIL" in loaded("from lookalike.features import FEATURES; FEATURES.get('visterms')")
