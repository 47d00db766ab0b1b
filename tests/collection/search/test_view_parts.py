"""A collection of several views: searched as they are, learned by view, and explained by view."""

import shutil

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Ask, Collection
from lookalike.collection.vectors import space
from lookalike.core.errors import InvalidInput
from lookalike.features import Views
from lookalike.similarity.registry import SIMILARITIES
from tests.collection.beside import current_ranker
from tests.collection.colours import Colours
from tests.gates import OPEN
from tests.limits import set_limits

QUICK = {"steps": 300, "landmarks": 32, "kernels": "linear,rbf:1"}


def striped(path, colour, upright, seed):
    """A picture whose class is its colour; which way its stripes run is chance."""
    rng = np.random.default_rng(seed)
    wave = 50 * np.sign(np.sin(np.arange(48) / (2 + rng.random())))
    light = np.broadcast_to(wave, (48, 48)) if upright else np.broadcast_to(wave, (48, 48)).T
    pixels = np.clip(np.array(colour) + light[..., None] + rng.normal(0, 8, (48, 48, 3)), 0, 255)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("streifen")
    colours = {"rot": (190, 70, 70), "grün": (70, 190, 80), "blau": (70, 80, 190)}
    for place, (name, colour) in enumerate(colours.items()):
        for number in range(10):
            striped(root / name / f"{number}.png", colour, number % 2, 100 * place + number)
    return root


@pytest.fixture(scope="module")
def fitted(folder):
    images = [Image.open(path).convert("RGB") for path in sorted(folder.rglob("*.png"))]
    return Views(views="edges,colour", components=4).fit(images)


@pytest.fixture(scope="module")
def described(tmp_path_factory, folder, fitted):
    """A collection of them, not to be changed."""
    place = tmp_path_factory.mktemp("described") / "c"
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, min_to_reduce=20, reduced=3)
        with Collection.create(place, features=[fitted], gate=OPEN) as made:
            made.add([folder])
    return place


@pytest.fixture
def collection(tmp_path, described, fitted, monkeypatch):
    set_limits(monkeypatch, min_to_reduce=20, reduced=3)
    place = shutil.copytree(described, tmp_path / "c")
    with Collection.open(place, features=[fitted], gate=OPEN) as made:
        yield made


def ranker(collection):
    return current_ranker(collection)


def test_vectors_of_several_views_are_not_reduced(collection, fitted):
    used = ranker(collection).space
    assert used.reduction is None
    assert used.dimension == fitted.dimension == 8
    assert space.reduction_is_due(fitted, 10_000, None) is False
    assert space.reduction_is_due(Colours(), 10_000, None) is True


def test_before_learning_views_count_by_their_lengths(collection, stand_in):
    assert collection.models.view_weights() == pytest.approx(
        {"colour": 0.5, "edges": 0.5}, abs=1e-3
    )
    take = type(ranker(collection).plain).take

    def twice(index, ids):
        return take(index, ids) * np.array([2] * 4 + [1] * 4, np.float32)

    stand_in(type(ranker(collection).plain), take=twice)
    weights = collection.models.view_weights()
    assert weights == pytest.approx({"edges": 0.8, "colour": 0.2}, abs=1e-3)
    assert list(weights) == ["edges", "colour"]


def test_parts_are_what_lifts_a_picture_above_the_others(collection):
    plain = ranker(collection).plain
    asked, found = (np.asarray(plain.take(np.array([it])), np.float64) for it in (1, 2))
    every = np.asarray(plain.vectors, np.float64)
    lifts = {
        name: float((asked[:, at] @ found[:, at].T).item() - (every[:, at] @ asked[0, at]).mean())
        for name, at in (("edges", slice(4)), ("colour", slice(4, 8)))
    }
    total = sum(map(abs, lifts.values()))
    parts = collection.queries.view_parts(Ask((1,)), 2)
    assert parts == pytest.approx({name: lift / total for name, lift in lifts.items()}, abs=1e-4)
    assert list(parts.values()) == sorted(parts.values(), reverse=True)


def test_reasons_name_the_views(collection):
    rows = {
        row.places[0].parent.name + row.places[0].stem: row.id for row in collection.pictures.all()
    }
    # Of the same colour, with stripes that run the same way, and of another with such stripes.
    for other, views in (("rot2", {"colour", "edges"}), ("grün2", {"edges"})):
        told = collection.queries.reasons(Ask((rows["rot0"],)), rows[other], 9)
        sentence = next((one for one in told if one.startswith("What sets it apart ")), "")
        parts = collection.queries.view_parts(Ask((rows["rot0"],)), rows[other])
        assert {name for name, part in parts.items() if part > 0} == views
        assert all((name in sentence) == (sum(parts.values()) > 0) for name in views)
    assert "colour" not in sentence


def test_learning_by_views_gets_the_blocks(collection):
    learned = collection.learn(folders=True, method="omks", settings=QUICK)
    assert learned.similarity.published
    model = ranker(collection).similarity
    assert dict(model.blocks) == {"edges": 4, "colour": 4}
    assert list(model.blocks) == ["edges", "colour"]
    weights = collection.models.view_weights()
    assert weights == model.view_weights_
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["colour"] > weights["edges"]
    parts = collection.queries.view_parts(Ask((1,)), 2)
    assert parts.keys() == {"colour", "edges"}
    assert sum(map(abs, parts.values())) == pytest.approx(1)


def test_what_was_learned_by_views_opens_again(collection):
    collection.learn(folders=True, method="omks", settings=QUICK)
    weights, first = collection.models.view_weights(), collection.search(1, 5)
    with Collection.open(collection.path) as again:
        assert again.models.view_weights() == weights
        assert again.search(1, 5) == first


def test_blocks_given_as_a_setting_are_kept(collection):
    wrong = {**QUICK, "blocks": {"all": 5}}
    with pytest.raises(InvalidInput, match="5 columns together, the vectors 8"):
        collection.learn(folders=True, method="omks", settings=wrong)


def test_every_other_method_learns_on_views_too(collection):
    collection.learn(folders=True, method="lda")
    assert collection.models.view_weights() == {}
    assert collection.queries.view_parts(Ask((1,)), 2).keys() == {"colour", "edges"}
    assert [m for m in SIMILARITIES.names if "blocks" in SIMILARITIES.get(m)().get_params()]


def test_a_feature_of_one_view_has_no_parts(tmp_path, folder):
    from tests.collection.colours import Colours

    with Collection.create(tmp_path / "c", features=[Colours()]) as made:
        made.add([folder])
        assert made.models.view_weights() == {}
        assert made.queries.view_parts(Ask((1,)), 2) == {}
        assert not any("sets it apart" in one for one in made.queries.reasons(Ask((1,)), 2, 9))
