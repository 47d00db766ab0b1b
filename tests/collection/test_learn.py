import shutil

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Collection, learning
from lookalike.collection.rows import sides
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
)
from lookalike.core.progress import silent
from lookalike.similarity import OASIS
from tests.collection.colours import Colours, picture

QUICK = {"steps": 400}


@pytest.fixture
def stripes(tmp_path):
    """A collection where a small mark says what is alike and the loud colours do not."""
    rng = np.random.default_rng(0)
    (tmp_path / "p").mkdir()
    for number in range(60):
        pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
        pixels[0, 0] = (250, 0, 0) if number % 2 else (0, 250, 0)
        Image.fromarray(pixels).save(tmp_path / "p" / f"{number}.png")
    with Collection.create(tmp_path / "c", feature=Colours()) as collection:
        collection.add([tmp_path / "p"])
        yield collection


def labels(count=60):
    return {f"{number}.png": ["rot" if number % 2 else "grün"] for number in range(count)}


def test_learning_improves_the_ranking_and_is_used(stripes):
    learned = stripes.learn(labels())
    assert learned.published
    assert learned.model == 1
    assert learned.after.mean_average_precision > learned.before.mean_average_precision + 0.05
    assert (learned.pictures, learned.labels, learned.held_back) == (60, 2, 12)
    assert learned.after.queries == 12
    assert learned.unmatched == []
    assert stripes.search(1, 5) != stripes.search(1, 5, learned=False)
    before, after = stripes.evaluate()
    assert (before, after) == (learned.before, learned.after)
    (model,) = stripes.models()
    assert (model.before, model.after, model.current) == (before, after, True)


def test_searches_score_like_the_model(stripes):
    stripes.learn(labels(), settings=QUICK)
    serving = stripes._serve()
    expected = serving.model.scores(serving.vector(1), serving.plain.vectors)[0]
    order = [n for n in serving.plain.ids[np.argsort(-expected, kind="stable")] if n != 1]
    found = stripes.search(1, 59)
    assert [match.id for match in found] == order
    by_id = dict(zip(serving.plain.ids.tolist(), expected, strict=True))
    for match in found:
        assert match.score == pytest.approx(by_id[match.id], abs=1e-5)


def test_pictures_added_after_learning_are_scaled_too(stripes, tmp_path):
    stripes.learn(labels(), settings=QUICK)
    stripes.search(1)
    picture(tmp_path / "p" / "neu.png", (200, 20, 90), 5)
    stripes.add([tmp_path / "p"])
    stripes.remove([2, 7])
    serving = stripes._serve()
    np.testing.assert_allclose(
        serving.learned.scales, serving.model.item_scales(serving.plain.vectors), rtol=1e-6
    )
    with Collection.open(stripes.path, feature=Colours()) as again:
        found = [(m.id, pytest.approx(m.score, abs=1e-6)) for m in again.search(1, 99)]
        assert [(m.id, m.score) for m in stripes.search(1, 99)] == found


def test_a_worse_model_is_not_published(stripes):
    stripes.learn(labels())
    good = stripes.search(1, 9)
    rng = np.random.default_rng(1)

    class Worse(OASIS):
        def fit(self, X, y=None, *, progress=silent):
            super().fit(X, y, progress=progress)
            self.W_ = np.diag(rng.random(len(self.W_))).astype(np.float32) ** 8
            return self

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "OASIS", Worse)
        learned = stripes.learn(labels(), settings=QUICK)
    assert not learned.published
    assert learned.model is None
    assert stripes.search(1, 9) == good
    assert [(m.published, m.current) for m in stripes.models()] == [(True, True), (False, False)]
    assert not (stripes.path / "models" / "2.safetensors").exists()


def test_those_held_back_stay_held_back(stripes, tmp_path):
    first = stripes.learn(labels(40), settings=QUICK, hold_back=0.3)
    assert first.published
    held, trained = (set(side.tolist()) for side in sides(stripes._database, 1))
    stripes.learn(labels(60), settings=QUICK, random_state=5)
    held_again, trained_again = (set(side.tolist()) for side in sides(stripes._database, 2))
    assert held < held_again
    assert trained < trained_again
    assert not held_again & trained_again


def test_stored_labels_are_used_again_and_replaced(stripes):
    stripes.learn(labels(), settings=QUICK)
    stored = stripes.labels()
    assert len(stored) == 60
    again = stripes.learn(settings=QUICK)
    assert (again.pictures, stripes.labels()) == (60, stored)
    stripes.learn({"0.png": ["  blau ", "blau", ""], "2.png": []}, settings=QUICK)
    changed = {row.places[0].name: stripes.labels().get(row.id) for row in stripes.pictures()}
    assert changed["0.png"] == ["blau"]
    assert changed["2.png"] is None
    assert changed["4.png"] == ["grün"]


def test_names_that_do_not_match_are_told(stripes):
    given = {**labels(), "fehlt.png": ["x"]}
    learned = stripes.learn(given, settings=QUICK)
    assert learned.unmatched == ["fehlt.png: it is not in the collection"]
    with pytest.raises(InvalidInput, match="none of the 1 files named"):
        stripes.learn({"fehlt.png": ["x"]})
    with pytest.raises(InvalidInput, match="none of the 0"):
        stripes.learn({})


def test_folders_are_labels(collection, pictures):
    picture(pictures / "lose.png", (1, 1, 1), 3)
    shutil.copy(pictures / "rot" / "rot-0.png", pictures / "blau" / "auch.png")
    collection.add([pictures])
    learned = collection.learn(folders=True, settings=QUICK)
    assert (learned.pictures, learned.labels) == (24, 3)
    names = {row.places[0].name: collection.labels().get(row.id) for row in collection.pictures()}
    assert names["lose.png"] is None
    assert names["rot-0.png"] == ["blau", "rot"]
    assert names["grün-1.png"] == ["grün"]


def test_folders_given_one_by_one_are_labels_too(tmp_path, pictures):
    with Collection.create(tmp_path / "c", feature=Colours()) as collection:
        collection.add(sorted(pictures.iterdir()))
        assert collection.learn(folders=True, settings=QUICK).labels == 3


def test_clicks(stripes):
    clicks = {
        "Rot ": {f"{n}.png": 1.0 + n for n in range(1, 60, 2)},
        "grün": {f"{n}.png": 2.0 for n in range(0, 60, 2)} | {"fehlt.png": 1},
    }
    learned = stripes.learn(clicks=clicks, settings=QUICK)
    assert (learned.pictures, learned.labels) == (60, 2)
    assert learned.unmatched == ["fehlt.png: it is not in the collection"]
    assert stripes.evaluate()[0] == learned.before
    again = stripes.learn(settings=QUICK)
    assert again.pictures == 60
    stripes.remove([1])
    assert stripes.learn(settings=QUICK).pictures == 59
    with pytest.raises(InvalidInput, match="finite and not below 0"):
        stripes.learn(clicks={"x": {"1.png": -1.0, "2.png": 1}})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "knows no labels"),
        ({"labels": {"1.png": ["a"]}, "folders": True}, "give one of"),
        ({"labels": {f"{n}.png": ["a"] for n in range(60)}}, "nothing"),
        ({"labels": {f"{n}.png": [str(n)] for n in range(60)}}, "held back"),
        ({"labels": {"1.png": ["a"], "2.png": ["b"]}}, "held back"),
        ({"labels": {"1.png": [], "2.png": []}}, "held back"),
        ({"labels": labels(), "hold_back": 0}, "fraction"),
        ({"labels": labels(), "hold_back": 1.5}, "fraction"),
        ({"labels": labels(), "settings": {"stepps": 1}}, "settings may name"),
        ({"labels": labels(), "settings": {"steps": -1}}, "steps"),
        ({"labels": labels(), "settings": {"steps": np.zeros(3)}}, "settings must be"),
        ({"labels": labels(), "random_state": -1}, "random_state"),
        (
            {
                "labels": labels(),
                "settings": {
                    "steps": 9,
                    "symmetric": "dissimilarity",
                    "normalize": False,
                    "blend": 1.0,
                },
            },
            "cannot be searched",
        ),
    ],
)
def test_what_cannot_be_learned_changes_nothing(stripes, given, why):
    before = stripes.search(1, 9)
    with pytest.raises(InvalidInput, match=why):
        stripes.learn(**given)
    assert stripes.search(1, 9) == before
    assert stripes.labels() == {}
    assert stripes.models() == []
    with pytest.raises(InvalidInput, match="Call learn first"):
        stripes.evaluate()


def test_rollback(stripes):
    with pytest.raises(CollectionError, match="uses no model"):
        stripes.rollback()
    plain = stripes.search(1, 9)
    found = {}
    for blend in (0.5, 0.5, 0.5):
        learned = stripes.learn(labels(), settings={"steps": 300, "blend": blend})
        assert learned.published
        found[learned.model] = stripes.search(1, 9)
    assert stripes.rollback() == 2
    assert stripes.search(1, 9) == found[2]
    with Collection.open(stripes.path, feature=Colours()) as again:
        assert again.search(1, 9) == found[2]
        with pytest.raises(CollectionError, match="1 is older"):
            again.rollback()
    assert [model.current for model in stripes.models()] == [False, True, False]
    assert stripes.learn(labels(), settings={"steps": 300, "blend": 0.5}).model == 4
    assert stripes.rollback() == 2
    assert stripes.search(1, 9, learned=False) == plain


def test_rollback_of_the_first_model(stripes):
    plain = stripes.search(1, 9)
    stripes.learn(labels(), settings=QUICK)
    assert stripes.rollback() is None
    assert stripes.search(1, 9) == plain


def test_a_model_of_other_vectors_is_refused(stripes):
    stripes.learn(labels(), settings=QUICK)
    file = stripes.path / "models" / "1.safetensors"
    OASIS.load(file).save(file, fingerprint="0" * 32)
    with (
        Collection.open(stripes.path, feature=Colours()) as again,
        pytest.raises(FingerprintMismatch),
    ):
        again.search(1)


def test_one_can_roll_back_from_a_damaged_model(stripes):
    stripes.learn(labels(), settings=QUICK)
    found = stripes.search(1, 9)
    assert stripes.learn(labels(), settings=QUICK).model == 2
    (stripes.path / "models" / "2.safetensors").write_bytes(b"damaged")
    with Collection.open(stripes.path, feature=Colours()) as again:
        with pytest.raises(DamagedFile):
            again.search(1)
        assert again.rollback() == 1
        assert again.search(1, 9) == found


def test_a_full_disk_leaves_the_model_in_use(stripes, monkeypatch):
    stripes.learn(labels(), settings=QUICK)
    before = stripes.search(1, 9)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(OASIS, "save", full)
    with pytest.raises(CollectionError, match="No space left"):
        stripes.learn(labels(), settings=QUICK)
    assert stripes.search(1, 9) == before
    assert len(stripes.models()) == 1


def test_evaluate_after_the_held_back_went(stripes):
    stripes.learn(labels(), settings=QUICK)
    held = np.frombuffer(stripes._database.row("SELECT held_back FROM models")[0], "<i8")
    stripes.remove(held[2:].tolist())
    stripes.evaluate() if len({n % 2 for n in held[:2]}) == 1 else None
    stripes.remove(held[:2].tolist())
    with pytest.raises(InvalidInput, match="too few"):
        stripes.evaluate()
