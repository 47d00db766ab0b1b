import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.collection import Ask, Collection, InUse
from lookalike.collection.log.examples import Given, alike
from lookalike.collection.store.labels import clicks as stored_clicks
from lookalike.collection.store.models import sides
from lookalike.collection.training import judging
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    NotFound,
)
from lookalike.core.progress import silent
from lookalike.core.ranking import judge_in_blocks
from lookalike.similarity import OASIS, Cosine
from lookalike.similarity.reach import Reach
from lookalike.similarity.registry import SIMILARITIES
from lookalike.supervision import Relevance
from tests.collection.beside import beside, current_ranker, stored_rows, write_rows
from tests.collection.colours import Colours, picture
from tests.collection.training.stripes import CLICKS, labels, striped
from tests.gates import OPEN

QUICK = {"steps": 400}


@pytest.fixture
def stripes(tmp_path):
    with striped(tmp_path, OPEN) as collection:
        yield collection


def similarities(collection):
    return [model for model in collection.models.all() if model.kind == "similarity"]


def test_learning_improves_the_ranking_and_is_used(stripes):
    told = stripes.learn(labels())
    learned = told.similarity
    assert learned.published
    assert learned.model == 1
    assert learned.after.mean_average_precision > learned.before.mean_average_precision + 0.05
    assert (learned.pictures, learned.labels, learned.held_back) == (60, 2, 12)
    assert learned.after.queries == 12
    assert told.unmatched == []
    assert stripes.search(1, 5) != stripes.search(1, 5, learned=False)
    before, after = stripes.models.evaluate()
    assert (before, after) == (learned.before, learned.after)
    (model,) = similarities(stripes)
    assert (model.before, model.after, model.current) == (before, after, True)


def test_searches_score_like_the_model(stripes):
    stripes.learn(labels(), settings=QUICK)
    ranker = current_ranker(stripes)
    expected = ranker.similarity.scores(ranker.vectors([1]), ranker.plain.vectors)[0]
    order = [n for n in ranker.plain.ids[np.argsort(-expected, kind="stable")] if n != 1]
    found = stripes.search(1, 59)
    assert [match.id for match in found] == order
    by_id = dict(zip(ranker.plain.ids.tolist(), expected, strict=True))
    for match in found:
        assert match.score == pytest.approx(by_id[match.id], abs=1e-5)


def test_a_search_says_how_much_of_what_was_learned_it_uses(stripes):
    assert stripes.queries.reach(Ask((1,))) is None
    stripes.learn(labels(), settings={"steps": 50, "blend": 0.5})
    assert stripes.queries.reach(Ask((1,))) == 0.5
    ranker = current_ranker(stripes)
    ranker.similarity.reach_ = Reach(ranker.vectors([1]), 0.0, 0.99, 0.1, 0.8)
    file = beside(stripes).folder.model(ranker.number)
    ranker.similarity.save(file, fingerprint=ranker.space.fingerprint)
    with Collection.open(stripes.path, features=stripes.features.values()) as again:
        assert again.queries.reach(Ask((1,))) == pytest.approx(0.8)
        assert 0.1 <= again.queries.reach(Ask((2, 3), (1,))) < 0.8
        with pytest.raises(NotFound):
            again.queries.reach(Ask((999,)))


def test_pictures_added_after_learning_are_scaled_too(stripes, tmp_path):
    stripes.learn(labels(), settings=QUICK)
    stripes.search(1)
    picture(tmp_path / "p" / "neu.png", (200, 20, 90), 5)
    stripes.add([tmp_path / "p"])
    stripes.remove([2, 7])
    ranker = current_ranker(stripes)
    np.testing.assert_allclose(
        ranker.index.scales, ranker.similarity.item_scales(ranker.plain.vectors), rtol=1e-6
    )
    with Collection.open(stripes.path, features=[Colours()]) as again:
        found = [(m.id, pytest.approx(m.score, abs=1e-6)) for m in again.search(1, 99)]
        assert [(m.id, m.score) for m in stripes.search(1, 99)] == found


def test_a_worse_model_is_not_published(stripes, register):
    stripes.learn(labels())
    good = stripes.search(1, 9)
    rng = np.random.default_rng(1)

    class Worse(OASIS):
        def fit(self, X, y=None, *, progress=silent):
            super().fit(X, y, progress=progress)
            self.W_ = np.diag(rng.random(len(self.W_))).astype(np.float32) ** 8
            return self

    register(SIMILARITIES, Worse)
    learned = stripes.learn(labels(), settings=QUICK).similarity
    assert not learned.published
    assert learned.model is None
    assert stripes.search(1, 9) == good
    found = [(model.number, model.published, model.current) for model in similarities(stripes)]
    assert found == [(1, True, True), (3, False, False)]
    assert not (stripes.path / "models" / "3.safetensors").exists()


def test_those_held_back_stay_held_back(stripes, tmp_path):
    assert stripes.learn(labels(40), settings=QUICK, hold_back=0.3).similarity.published
    held, trained = (set(side.tolist()) for side in sides(beside(stripes).database, 1))
    stripes.learn(labels(60), settings=QUICK, random_state=5)
    held_again, trained_again = (set(side.tolist()) for side in sides(beside(stripes).database, 3))
    assert held < held_again
    assert trained < trained_again
    assert not held_again & trained_again


def test_stored_labels_are_used_again_and_replaced(stripes):
    stripes.learn(labels(), settings=QUICK)
    stored = stripes.labels.all()
    assert len(stored) == 60
    again = stripes.learn(settings=QUICK).similarity
    assert (again.pictures, stripes.labels.all()) == (60, stored)
    stripes.learn({"0.png": ["  blau ", "blau", ""], "2.png": []}, settings=QUICK)
    changed = {
        row.places[0].name: stripes.labels.all().get(row.id) for row in stripes.pictures.all()
    }
    assert changed["0.png"] == ["blau"]
    assert changed["2.png"] is None
    assert changed["4.png"] == ["grün"]


def test_names_that_do_not_match_are_told(stripes):
    given = {**labels(), "fehlt.png": ["x"]}
    learned = stripes.learn(given, settings=QUICK)
    assert learned.unmatched == ["fehlt.png: it is not in the collection"]
    with pytest.raises(InvalidInput, match="the file named does not stand for one picture: fehlt"):
        stripes.learn({"fehlt.png": ["x"]})
    with pytest.raises(InvalidInput, match=r"none of the 2 files .* Add the pictures first"):
        stripes.learn({"fehlt.png": ["x"], "auch.png": ["x"]})
    with pytest.raises(InvalidInput, match="no file is named"):
        stripes.learn({})


def test_folders_are_labels(collection, pictures):
    picture(pictures / "lose.png", (1, 1, 1), 3)
    shutil.copy(pictures / "rot" / "rot-0.png", pictures / "blau" / "auch.png")
    collection.add([pictures])
    learned = collection.learn(folders=True, settings=QUICK).similarity
    assert (learned.pictures, learned.labels) == (24, 3)
    names = {
        row.places[0].name: collection.labels.all().get(row.id) for row in collection.pictures.all()
    }
    assert names["lose.png"] is None
    assert names["rot-0.png"] == ["blau", "rot"]
    assert names["grün-1.png"] == ["grün"]


def test_folders_given_one_by_one_are_labels_too(tmp_path, pictures):
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add(sorted(pictures.iterdir()))
        assert collection.learn(folders=True, settings=QUICK).similarity.labels == 3


def test_clicks(stripes):
    clicks = {
        "Rot ": {f"{n}.png": 1.0 + n for n in range(1, 60, 2)},
        "grün": {f"{n}.png": 2.0 for n in range(0, 60, 2)} | {"fehlt.png": 1},
    }
    told = stripes.learn(clicks=clicks, settings=QUICK)
    learned = told.similarity
    assert (learned.pictures, learned.labels) == (60, 2)
    assert told.unmatched == ["fehlt.png: it is not in the collection"]
    assert stripes.models.evaluate()[0] == learned.before
    again = stripes.learn(settings=QUICK)
    assert again.similarity.pictures == 60
    stripes.remove([1])
    assert stripes.learn(settings=QUICK).similarity.pictures == 59
    with pytest.raises(InvalidInput, match="finite and at least 0"):
        stripes.learn(clicks={"x": {"1.png": -1.0, "2.png": 1}})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "has no labels"),
        ({"labels": {"1.png": ["a"]}, "folders": True}, "give only one of"),
        ({"labels": {f"{n}.png": ["a"] for n in range(60)}}, "nothing"),
        ({"labels": {f"{n}.png": [str(n)] for n in range(60)}}, "four pictures"),
        ({"labels": {"1.png": ["a"], "2.png": ["b"]}}, "four pictures"),
        ({"labels": {"1.png": [], "2.png": []}}, "has no labels"),
        ({"labels": labels(), "hold_back": 0}, "hold_back must be above 0"),
        ({"labels": labels(), "hold_back": 1.5}, "hold_back must be above 0"),
        (
            {"labels": labels(), "settings": {"stepps": 1}},
            "no setting 'stepps'",
        ),
        ({"labels": labels(), "settings": {"steps": -1}}, "steps"),
        ({"labels": labels(), "settings": {"steps": np.zeros(3)}}, "settings must be"),
        ({"labels": labels(), "random_state": -1}, "random_state"),
        ({"labels": labels(), "threshold": 0.1}, "threshold needs clicks"),
        ({"clicks": {"x": {"1.png": 1, "2.png": 1}}, "threshold": 1.5}, "threshold must be"),
        ({"clicks": {"x": {"1.png": 1, "2.png": 1}}}, "pictures clicked for 1 query"),
        (
            {"clicks": {"x": {f"{n}.png": 1 for n in range(60)}}},
            "of 60 pictures clicked for 1 query, none is related .* give clicks on",
        ),
        ({"clicks": CLICKS, "threshold": 0.9}, "lower the threshold"),
        ({"labels": labels(), "method": "magic"}, "no similarity 'magic'. Choose one of oasis,"),
        ({"labels": labels(), "feature": "magic"}, "no ranker 'magic'. Choose one of colours"),
        (
            {"labels": {k: [*v, v[0] * 2] for k, v in labels().items()}, "method": "lda"},
            "one class",
        ),
    ],
)
def test_what_cannot_be_learned_changes_nothing(stripes, given, why):
    before = stripes.search(1, 9)
    with pytest.raises(InvalidInput, match=why):
        stripes.learn(**given)
    assert stripes.search(1, 9) == before
    assert stripes.labels.all() == {}
    assert stripes.models.all() == []
    with pytest.raises(
        InvalidInput, match=r"Learn from labels, folders or clicks first \(lookalike learn, or"
    ):
        stripes.models.evaluate()


def test_a_learner_of_classes_leaves_out_pictures_with_several_labels(stripes):
    learned = stripes.learn({**labels(), "1.png": ["rot", "rund"]}, method="lda")
    assert (learned.similarity.published, learned.similarity.pictures) == (True, 59)
    assert learned.words is not None
    assert learned.words.pictures == 60


def test_rollback(stripes):
    with pytest.raises(CollectionError, match="no model to roll back"):
        stripes.rollback()
    plain = stripes.search(1, 9)
    found = {}
    for blend in (0.5, 0.5, 0.5):
        learned = stripes.learn(clicks=CLICKS, settings={"steps": 300, "blend": blend}).similarity
        assert learned.published
        found[learned.model] = stripes.search(1, 9)
    assert stripes.rollback() == InUse(2, None)
    assert stripes.search(1, 9) == found[2]
    with Collection.open(stripes.path, features=[Colours()]) as again:
        assert again.search(1, 9) == found[2]
        with pytest.raises(CollectionError, match="1 is older"):
            again.rollback()
    assert [model.current for model in stripes.models.all()] == [False, True, False]
    settings = {"steps": 300, "blend": 0.5}
    assert stripes.learn(clicks=CLICKS, settings=settings).similarity.model == 4
    assert stripes.rollback() == InUse(2, None)
    assert stripes.search(1, 9, learned=False) == plain


def test_rollback_of_the_first_model(stripes):
    plain = stripes.search(1, 9)
    stripes.learn(labels(), settings=QUICK)
    assert stripes.rollback() == InUse(None, None, stripes.log.history()[-1].number)
    assert stripes.search(1, 9) == plain


def test_a_model_of_other_vectors_is_refused(stripes):
    stripes.learn(labels(), settings=QUICK)
    file = stripes.path / "models" / "1.safetensors"
    OASIS.load(file).save(file, fingerprint="0" * 32)
    with (
        Collection.open(stripes.path, features=[Colours()]) as again,
        pytest.raises(FingerprintMismatch),
    ):
        again.search(1)


def test_one_can_roll_back_from_a_damaged_model(stripes):
    stripes.learn(labels(), settings=QUICK)
    found = stripes.search(1, 9)
    assert stripes.learn(labels(), settings=QUICK).similarity.model == 3
    (stripes.path / "models" / "3.safetensors").write_bytes(b"damaged")
    with Collection.open(stripes.path, features=[Colours()]) as again:
        with pytest.raises(DamagedFile):
            again.search(1)
        assert again.rollback().similarity == 1
        assert again.search(1, 9) == found


def test_a_full_disk_leaves_the_model_in_use(stripes, fill_disk):
    stripes.learn(labels(), settings=QUICK)
    before = stripes.search(1, 9)

    fill_disk()
    with pytest.raises(CollectionError, match="No space left"):
        stripes.learn(labels(), settings=QUICK)
    assert stripes.search(1, 9) == before
    assert len(stripes.models.all()) == 2


def test_evaluate_after_the_held_back_went(stripes):
    stripes.learn(labels(), settings=QUICK)
    held = np.frombuffer(beside(stripes).database.row("SELECT held_back FROM models")[0], "<i8")
    stripes.remove(held[2:].tolist())
    stripes.models.evaluate() if len({n % 2 for n in held[:2]}) == 1 else None
    stripes.remove(held[:2].tolist())
    with pytest.raises(InvalidInput, match="too few"):
        stripes.models.evaluate()


def test_what_is_no_better_than_the_start_is_not_published(stripes):
    plain = stripes.search(1, 9)
    learned = stripes.learn(clicks=CLICKS, settings={"steps": 50, "blend": 0.0}).similarity
    assert (learned.published, learned.model) == (False, None)
    assert learned.reason.startswith("Learning did not improve the ranking")
    assert stripes.search(1, 9) == plain
    assert [(model.published, model.current) for model in stripes.models.all()] == [(False, False)]
    assert not list(stripes.path.glob("models/*"))
    with pytest.raises(CollectionError, match="no model to roll back"):
        stripes.rollback()


def test_the_reason_tells_the_outcomes_apart(stripes):
    first = stripes.learn(labels(), settings=QUICK).similarity
    assert first.published
    assert "is now in use" in first.reason
    # Over a model in use the start is a change, which has to pass the gate.
    worse = stripes.learn(labels(), settings={"steps": 50, "blend": 0.0}).similarity
    assert not worse.published
    assert "ranks worse than the one in use" in worse.reason


@pytest.mark.parametrize("given", [{"folders": True}, {"labels": {"1.png": ["a"]}}, {}])
def test_an_empty_collection_says_that_it_is(tmp_path, given):
    with (
        Collection.create(tmp_path / "c", features=[Colours()]) as empty,
        pytest.raises(CollectionError, match=r"has no pictures yet.*lookalike index"),
    ):
        empty.learn(**given)


def test_the_threshold_of_clicks_is_kept(stripes):
    # Of "rot" only pairs clicked often enough are alike above the threshold.
    first = stripes.learn(clicks=CLICKS, threshold=2e-4, settings=QUICK).similarity
    database = beside(stripes).database
    everything = alike(database, Given(clicks=stored_clicks(database)))
    known = alike(beside(stripes).database)
    assert known.threshold == 2e-4
    pairs = np.count_nonzero(known.relevance.rows(range(60)))
    assert 0 < pairs < np.count_nonzero(everything.relevance.rows(range(60)))
    again = stripes.learn(settings=QUICK).similarity
    assert again.after.queries == first.after.queries
    assert alike(beside(stripes).database).threshold == 2e-4
    stripes.learn(clicks=CLICKS, settings=QUICK)
    assert alike(beside(stripes).database).threshold == 0


@pytest.mark.parametrize("model", [False, True])
def test_judging_sparse_vectors_makes_few_of_them_dense(monkeypatch, set_limits, model):
    rng = np.random.default_rng(0)
    X = sp.random(40, 300, 0.05, "csr", dtype=np.float32, random_state=rng)
    relevance = Relevance.of([number % 4 for number in range(40)])
    asked = []

    class Noted(OASIS):
        def query_vectors(self, Q):
            asked.append(Q.shape[0])
            return super().query_vectors(Q)

    learner = Noted(steps=50, random_state=0).fit(X, relevance) if model else Cosine()
    whole = judging.judge_similarity(learner, X, relevance)
    asked.clear()
    monkeypatch.setitem(judge_in_blocks.__kwdefaults__, "block_scores", 400)
    found = judging.judge_similarity(learner, X, relevance)
    assert found.mean_average_precision == pytest.approx(whole.mean_average_precision)
    assert asked == ([10] * 4 if model else [])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE models SET figures = 'oops'",
        "UPDATE models SET figures = '[1, 2]'",
        'UPDATE models SET figures = replace(figures, \'"queries": \', \'"queries": "x", "y": \')',
        "UPDATE models SET settings = 'oops'",
        "UPDATE models SET held_back = x'00'",
        "UPDATE models SET held_back = 'text'",
        "UPDATE models SET threshold = 'x'",
        "UPDATE rankers SET similarity = 'x'",
        "UPDATE rankers SET annotator = 'x'",
        "UPDATE rankers SET reduction = '../x'",
        "UPDATE rankers SET reduction = 3",
        "UPDATE rankers SET rerankers = '[1]'",
        "DELETE FROM rankers",
    ],
)
def test_damaged_values_are_told(stripes, damage):
    stripes.learn(labels(), settings=QUICK)
    with beside(stripes).database.transaction() as connection:
        connection.execute(damage)
    told = []
    for work in (
        lambda again: again.search(1),
        lambda again: again.models.all(),
        lambda again: again.models.evaluate(),
        Collection.learn,
    ):
        try:
            with Collection.open(stripes.path, features=[Colours()]) as again:
                work(again)
        except DamagedFile as error:
            told.append(str(error))
    assert told
    assert all("Restore a backup" in message for message in told)


def test_damaged_clicks_are_told(stripes):
    stripes.learn(clicks=CLICKS, settings=QUICK)
    write_rows(stripes, "UPDATE clicks SET weight = 'x' WHERE picture = 3")
    with pytest.raises(
        DamagedFile, match=r"a click on .* is not as it was written.*restore a backup"
    ):
        stripes.learn()


def test_a_folder_at_home_is_a_root(tmp_path, monkeypatch, pictures):
    monkeypatch.setenv("HOME", str(pictures.parent))
    with Collection.create(tmp_path / "at-home", features=[Colours()]) as collection:
        assert collection.add([f"~/{pictures.name}"]).added
        roots = stored_rows(collection, "SELECT * FROM roots")
        assert [Path(root) for (root,) in roots] == [pictures]


def test_learning_the_same_twice_gives_the_same_bytes(collection, tmp_path):
    collection.vote(Ask((1,)), picked=[2], rejected=[20])
    collection.close()
    found = []
    for name in ("one", "other"):
        place = shutil.copytree(collection.path, tmp_path / name)
        with Collection.open(place, features=[Colours()], gate=OPEN) as copy:
            copy.learn(folders=True, settings={"steps": 50, "blend": 0.5})
            copy.search(1)
        found.append({file.name: file.read_bytes() for file in (place / "models").iterdir()})
    assert len(found[0]) == 2
    assert found[0] == found[1]
