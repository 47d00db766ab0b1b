"""Several ways to search one collection: each by its own feature, all taught by one log."""

import threading

import numpy as np
import pytest

from lookalike.collection import Ask, Collection
from lookalike.core.errors import (
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    MissingPart,
)
from lookalike.features import Visterms
from lookalike.index import QueryExpansion
from lookalike.index.registry import INDEXES
from lookalike.similarity.registry import SIMILARITIES
from tests.collection.beside import beside, counted_votes, current_ranker, write_rows
from tests.collection.colours import Colours, Fine, album, picture
from tests.collection.teaching import QUICK, words
from tests.gates import EVERYTHING, OPEN

FINE = Colours(5)


@pytest.fixture
def both(tmp_path, pictures):
    with Collection.create(tmp_path / "beide", features=[Colours(), Fine()], gate=OPEN) as made:
        made.add([pictures])
        yield made


def test_what_another_ranker_learns_is_judged_beside_the_one_that_people_use(tmp_path, pictures):
    with Collection.create(
        tmp_path / "beide", features=[Colours(), Fine()], gate=EVERYTHING
    ) as made:
        made.add([pictures])
        before = made.search(1, 9)
        reason = made.learn(words(made), feature="fine", settings=QUICK).similarity.reason
        assert reason.startswith("For searches by fine: The new similarity ranks better")
        assert "Other searches stay with colours; beside it fine" in reason
        assert "is not clearly better: mean average precision" in reason
        assert " ms of computing, by colours " in reason
        assert made.search(1, 9) == before
        first = made.learn(words(made), settings=QUICK).similarity.reason
        assert first.startswith("The new similarity")


def ids(matches):
    return [match.id for match in matches]


def test_each_ranker_searches_by_its_own_feature(both):
    assert [info.name for info in both.models.rankers()] == ["colours", "fine"]
    assert all(info.ready and info.pictures == 24 for info in both.models.rankers())
    for name, feature in both.features.items():
        ranker = current_ranker(both, name)
        assert ranker.plain.dimension == feature.dimension
        vectors = ranker.plain.vectors * ranker.plain.scales[:, None]
        order = ranker.plain.ids[np.argsort(-(vectors @ vectors[0]), kind="stable")]
        assert ids(both.search(1, 9, by=name)) == order[order != 1].tolist()[:9]
    assert both.search(1, 9) == both.search(1, 9, by="colours")
    assert both.search(1, 9) != both.search(1, 9, by="fine")


def test_only_the_ranker_that_is_searched_by_is_loaded(both):
    class Unread(Colours):
        def vectors(self, records):
            raise AssertionError

    with Collection.open(both.path, features=[Unread(), Fine()]) as again:
        assert again.search(1, by="fine")


def test_an_unknown_name_lists_the_choices(both):
    for ask in (
        lambda: both.search(1, by="magic"),
        lambda: both.models.evaluate(by="magic"),
        lambda: both.votes.standing(by="magic"),
        lambda: both.search_word("x", by="magic"),
    ):
        with pytest.raises(InvalidInput, match=r"no ranker 'magic'. Choose one of colours, fine"):
            ask()


def test_votes_teach_each_ranker_in_its_own_space(both):
    before = {name: both.search(2, 20, by=name) for name in both.features}
    both.vote(Ask((1,)), picked=[20], rejected=[2])
    (vote,) = counted_votes(both)
    assert sorted(vote.taught) == [1, 2]
    assert [vote.taught[ranker].pictures for ranker in (1, 2)] == [(0, 20, 2)] * 2
    for name in both.features:
        assert both.search(2, 20, by=name) != before[name]
        assert both.votes.standing(name).votes == 1
    with Collection.open(both.path, features=[Colours(), Fine()]) as again:
        for name in both.features:
            assert again.search(2, 20, by=name) == both.search(2, 20, by=name)
    assert len(both.log.history()) == 1
    both.undo(both.log.history()[0].number)
    for name in both.features:
        assert both.search(2, 20, by=name) == before[name]


def test_each_ranker_learns_by_itself(both):
    plain = both.search(1, 9)
    learned = both.learn(words(both), feature="fine", words="ridge", settings=QUICK)
    assert learned.similarity.published
    assert both.search(1, 9) == plain
    assert [(model.ranker, model.kind, model.method) for model in both.models.all()] == [
        ("fine", "similarity", "oasis"),
        ("fine", "words", "ridge"),
    ]
    assert [info.method for info in both.models.rankers()] == ["cosine", "oasis"]
    # Words come from the first ranker that has learned some.
    assert both.search_word("rot", 9) == both.search_word("rot", 9, by="fine")
    assert both.search_word("rot", 9, by="colours") == both.search_word("rot", 9, by="fine")
    assert both.models.evaluate("fine")[1] == learned.similarity.after
    with pytest.raises(InvalidInput, match="no trained model"):
        both.models.evaluate("colours")
    both.learn(feature="colours", settings=QUICK)
    assert both.search(1, 9) != plain
    both.rollback()
    assert both.search(1, 9) == plain
    assert both.models.all()[0].current


@pytest.mark.parametrize("method", [*SIMILARITIES.names])
def test_every_similarity_can_be_published(tmp_path, method):
    """Those that store vectors of another width, too."""
    album(tmp_path / "p", 8)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([tmp_path / "p"])
        collection.learn(folders=True, method=method, settings=quick(method))
        model = next(one for one in collection.models.all() if one.kind == "similarity")
        assert model.method == method
        # Whatever the gate said of it: it is to be searched with.
        publish(collection, method)
    with Collection.open(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        found = collection.search(1, 20)
        ranker = current_ranker(collection)
        assert ranker.similarity.name == method
        expected = ranker.similarity.scores(ranker.vectors([1]), ranker.plain.vectors)[0]
        score = dict(zip(ranker.plain.ids.tolist(), expected, strict=True))
        assert [match.score for match in found] == pytest.approx(
            [score[match.id] for match in found], rel=1e-5, abs=1e-4
        )
        assert [match.score for match in found] == sorted(
            (match.score for match in found), reverse=True
        )
        # What comes and goes later is followed without making all anew.
        album(tmp_path / "p", 9)
        collection.add([tmp_path / "p"])
        collection.remove([2])
        after = collection.search(1, 40)
        assert len(after) == 25
        collection.vote(Ask((1,)), picked=[after[5].id], rejected=[after[0].id])
        moved = {match.id: match.score for match in collection.search(Ask((1,)), 40)}
        assert next(iter(moved)) == after[5].id
        assert after[0].id not in moved
        collection.queries.reasons(Ask((1,)), after[5].id)
        collection.suggest(1)
    with Collection.open(tmp_path / "c", features=[Colours()]) as again:
        assert {match.id: match.score for match in again.search(Ask((1,)), 40)} == pytest.approx(
            moved, rel=1e-5, abs=1e-4
        )


def quick(method):
    return {"oasis": QUICK, "lmnn": {"max_iterations": 5}, "mcml": {"max_iterations": 5}}.get(
        method, {}
    )


def publish(collection, method):
    """Put a learned similarity in use past the gate."""
    opened = beside(collection)
    ranker = opened.rankers.get()
    labels = [names[0] for _, names in sorted(collection.labels.all().items())]
    learner = SIMILARITIES.make(method, quick(method)).fit(ranker.plain.vectors, labels)
    number = collection.models.all()[0].number
    learner.save(opened.folder.model(number), fingerprint=ranker.space.fingerprint)
    with opened.database.transaction() as connection:
        connection.execute("UPDATE models SET file = 'x' WHERE number = ?", (number,))
        connection.execute("UPDATE rankers SET similarity = ?", (number,))


def test_stored_vectors_of_another_width_are_made_beside_what_serves(collection):
    with Collection.open(collection.path, features=[Colours()], gate=EVERYTHING) as opened:
        opened.learn(folders=True, method="lda")
    ranker = current_ranker(collection)
    assert ranker.index.dimension == 2
    assert ranker.plain.dimension == 48
    plain = collection.search(1, 9, learned=False)
    collection.rollback()
    assert collection.search(1, 9) == plain
    ranker = current_ranker(collection)
    assert np.shares_memory(ranker.index.vectors, ranker.plain.vectors)


def test_a_feature_whose_package_is_gone(both, pictures, tmp_path):
    before = both.search(1, 9, by="colours")
    picture(tmp_path / "neu" / "neu.png", (9, 9, 9), 999)
    with Collection.open(both.path, features=[Colours()]) as left:
        first, second = left.models.rankers()
        assert (first.ready, first.trouble) == (True, "")
        assert not second.ready
        assert "the feature 'fine'" in second.trouble
        assert "pip install" in second.trouble
        assert left.search(1, 9) == before
        with pytest.raises(MissingPart, match=r"'fine'.*not installed"):
            left.search(1, by="fine")
        left.vote(Ask((1,)), picked=[20], rejected=[2])
        left.label(1, "Straße")
        left.add([tmp_path / "neu"])
        (vote,) = counted_votes(left)
        assert sorted(vote.taught) == [1]
    with Collection.open(both.path, features=[Colours(), Fine()]) as again:
        assert len(again.search(1, 99, by="fine")) == 22
        assert again.models.rankers()[1].undescribed == 1
        assert len(again.pictures.undescribed("fine")) == 1
        info = again.add_feature(Fine())
        assert (info.pictures, info.undescribed) == (25, 0)
        assert len(again.search(1, 99, by="fine")) == 23
        (vote,) = counted_votes(again)
        assert sorted(vote.taught) == [1, 2]


def test_without_any_feature_nothing_can_be_added(collection, tmp_path):
    with Collection.open(collection.path) as left:
        with pytest.raises(MissingPart, match="'colours'"):
            left.add([tmp_path / "bilder"])
        with pytest.raises(MissingPart, match="'colours'"):
            left.vote(Ask((1,)), picked=[2])
        assert len(left) == 24
        assert left.labels.all() == {}
        assert left.pictures.browse(5)


def test_a_similarity_whose_package_is_gone(collection, monkeypatch, register):
    class Mine(SIMILARITIES.get("oasis")):
        name = "mine"

    register(SIMILARITIES, Mine)
    assert collection.learn(folders=True, method="mine", settings=QUICK).similarity.published
    found = collection.search(1, 9)
    monkeypatch.undo()
    with Collection.open(collection.path, features=[Colours()]) as again:
        with pytest.raises(MissingPart, match="the similarity 'mine'"):
            again.search(1)
        assert again.rollback().similarity is None
        assert again.search(1, 9) == again.search(1, 9, learned=False)
    register(SIMILARITIES, Mine)
    with Collection.open(collection.path, features=[Colours()], gate=OPEN) as back:
        assert back.learn(method="mine", settings=QUICK).similarity.published
        assert ids(back.search(1, 3))
    assert found


def test_a_model_of_another_feature_is_refused(both):
    both.learn(words(both), feature="fine", settings=QUICK)
    write_rows(both, "UPDATE rankers SET similarity = 1 WHERE name = 'colours'")
    with pytest.raises(FingerprintMismatch, match="cannot be compared"):
        both.search(1)
    assert both.search(1, by="fine")


def test_a_damaged_ranker_stops_alone(both):
    file = both.path / "features" / "2.safetensors"
    file.write_bytes(file.read_bytes()[:-3])
    with Collection.open(both.path, features=[Colours()]) as left:
        assert left.search(1)
        assert "damaged" in left.models.rankers()[1].trouble
        with pytest.raises(DamagedFile):
            left.search(1, by="fine")


def test_names_and_features_that_cannot_be(tmp_path, both):
    for features, why in (
        ([], "one or more"),
        ([Colours(), Colours()], "a name of its own"),
        ({"": Colours()}, "name of a ranker"),
        ({"x" * 65: Colours()}, "name of a ranker"),
        ({"a\nb": Colours()}, "name of a ranker"),
    ):
        with pytest.raises(InvalidInput, match=why):
            Collection.create(tmp_path / "neu", features=features)
        assert not (tmp_path / "neu").exists()
    with pytest.raises(InvalidInput, match=r"no index 'magic'. Choose one of dense, sparse"):
        Collection.create(tmp_path / "neu", index="magic")
    for feature, name, why in (
        (Colours(), None, "has the feature colours already"),
        (Colours(), "other", "has this feature already, as colours"),
        (Colours(6), None, "a ranker colours with another feature"),
    ):
        with pytest.raises(InvalidInput, match=why):
            both.add_feature(feature, name=name)
    assert [info.name for info in both.models.rankers()] == ["colours", "fine"]


def test_two_embeddings_under_names(tmp_path, pictures):
    with Collection.create(tmp_path / "c", features={"grob": Colours(2), "fein": FINE}) as made:
        made.add([pictures])
        assert [info.name for info in made.models.rankers()] == ["grob", "fein"]
        assert made.search(1, 5, by="grob") != made.search(1, 5, by="fein")


def test_an_index_of_ones_own_holds_the_vectors(tmp_path, pictures, monkeypatch, register):
    class Mine(INDEXES.get("dense")):
        name = "mine"
        file_kind = "my_index/1"
        searches = 0

        def search(self, *given, **options):
            type(self).searches += 1
            return super().search(*given, **options)

    register(INDEXES, Mine)
    with Collection.create(tmp_path / "c", features=[Colours()], index="mine") as made:
        made.add([pictures])
        assert len(made.search(1, 5)) == 5
        assert Mine.searches
    monkeypatch.undo()
    with (
        Collection.open(tmp_path / "c", features=[Colours()]) as again,
        pytest.raises(InvalidInput, match=r"no index 'mine'. Choose one of dense, sparse"),
    ):
        again.search(1)


def test_rerankers_put_the_hits_into_another_order(tmp_path, pictures):
    with Collection.create(tmp_path / "c", features=[Colours()]) as made:
        made.add([pictures])
        info = made.add_feature(Fine(), rerankers=[QueryExpansion(neighbours=3)])
        assert info.ready
        plain = made.search(1, 9, by="fine", learned=False)
        expanded = made.search(1, 9, by="fine")
        assert set(ids(plain)) == set(ids(expanded))
        assert [m.score for m in plain] != [m.score for m in expanded]
    with Collection.open(tmp_path / "c", features=[Colours(), Fine()]) as again:
        assert again.search(1, 9, by="fine") == expanded


def test_regions_and_words_work_in_every_ranker(both, pictures):
    token = both.queries.keep((pictures / "rot" / "rot-0.png").read_bytes(), box=(0, 0, 0.5, 0.5))
    for name in both.features:
        assert len(both.search(Ask((token,)), 9, by=name)) == 9
    both.vote(Ask((token,)), picked=[3], rejected=[20])
    both.label(1, "Straße")
    for name in both.features:
        assert both.queries.reasons(Ask((token,)), 3, by=name)
        assert both.suggest(2, by=name) is not None
        both.export(both.path.parent / f"{name}.safetensors", by=name)


def test_searches_go_on_while_rankers_are_swapped(both):
    stop, wrong = threading.Event(), []

    def search():
        while not stop.is_set():
            found = {name: both.search(1, 5, by=name) for name in ("colours", "fine")}
            wrong.extend(name for name in found if len(found[name]) != 5)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for name in ("fine", "colours"):
        both.learn(words(both), feature=name, settings=QUICK)
        both.vote(Ask((2,)), picked=[3], rejected=[20])
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_visterms_beside_another_feature_are_fitted_first(tmp_path):
    rng = np.random.default_rng(0)
    from PIL import Image

    (tmp_path / "p").mkdir()
    for number in range(6):
        pixels = rng.integers(0, 256, (96, 192, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "p" / f"{number}.png")
    features = [Colours(), Visterms(dimension=16, colours=4)]
    with Collection.create(tmp_path / "c", features=features) as made:
        made.add([tmp_path / "p"])
        assert len(made.search(1, 9, by="visterms")) == 5
        made.vote(Ask((1,)), picked=[2], rejected=[3])
        assert made.search(1, 9) != made.search(1, 9, by="visterms")


def test_searches_do_not_wait_for_who_writes(collection):
    """Writers hold their lock until the disk has what they wrote."""
    here, answers = beside(collection), []
    with here.database.lock:
        reader = threading.Thread(target=lambda: answers.append(here.rankers.get()))
        reader.start()
        reader.join(60)
        assert answers
