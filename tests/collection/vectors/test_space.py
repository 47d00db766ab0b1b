import pytest

from lookalike.collection import Collection, Gain, InUse
from lookalike.collection.training import teaching
from lookalike.collection.vectors.space import reduction_is_due
from lookalike.core.evidence import Difference
from lookalike.core.progress import silent
from tests.collection.beside import current_ranker, write_rows
from tests.collection.colours import Colours, album, picture
from tests.collection.teaching import in_use
from tests.gates import OPEN


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE records_1 SET record = x'00' WHERE picture = 3",
        "UPDATE records_1 SET record = 'text' WHERE picture = 3",
        "UPDATE records_1 SET record = substr(record, 1, 10) || x'007e' || substr(record, 13) "
        "WHERE picture = 3",
        "DELETE FROM records_1 WHERE picture = 3",
    ],
)
def test_a_damaged_record_leaves_out_its_picture_and_is_told(collection, sql, caplog):
    write_rows(collection, sql)
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert {match.id for match in again.search(1, 99)} == set(range(2, 25)) - {3}
        assert "lookalike check" in caplog.text
        (finding,) = again.upkeep.check().findings
        assert "record" in finding.problem
        assert finding.remedy


def test_when_a_reduction_is_due():
    wide, narrow = Colours(10), Colours(4)
    assert not reduction_is_due(narrow, 10**6, None)
    assert not reduction_is_due(wide, 511, None)
    assert reduction_is_due(wide, 512, None)
    assert not reduction_is_due(wide, 4095, 1024)
    assert reduction_is_due(wide, 4096, 1024)
    assert reduction_is_due(wide, 79_996, 19_999)
    assert not reduction_is_due(wide, 10**7, 20_000)


@pytest.fixture
def small(set_limits):
    """Reduce to 4 numbers from 12 pictures on, and cache everything."""
    set_limits(reduced=4, min_to_reduce=12, min_to_cache=0)


def files(collection):
    return sorted(file.name for file in collection.path.rglob("*.safetensors"))


def test_reduction_is_fitted_swapped_in_and_fitted_again(small, tmp_path):
    first = album(tmp_path / "p", 3)
    with (
        Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection,
        Collection.open(tmp_path / "c", features=[Colours()]) as reader,
    ):
        collection.add(first)
        assert current_ranker(collection).space.dimension == 48
        assert len(reader.search(first[0], 99)) == 8
        album(tmp_path / "p", 5)
        collection.add([tmp_path / "p"])
        assert current_ranker(collection).space.dimension == 4
        assert len(reader.search(first[0], 99)) == 14
        by_folder(collection)
        fitted = current_ranker(collection).space.fingerprint
        kept = files(collection)
        album(tmp_path / "p", 20)
        collection.add([tmp_path / "p"])
        now = current_ranker(collection)
        assert now.space.fingerprint != fitted
        # All that hung on the old space went with it: the model was learned again in the new.
        assert (now.number, now.annotator) == (3, 4)
        assert now.similarity.fingerprint_ == now.space.fingerprint
        first_run, second_run = collection.models.all()[:2], collection.models.all()[2:]
        assert [model.settings for model in first_run] == [model.settings for model in second_run]
        assert reader.search(first[0], 99) == collection.search(first[0], 99)
        assert current_ranker(reader).number == 3
        assert reader.search_word("rot", 9) == collection.search_word("rot", 9)
        collection.add([])
        left = files(collection)
        assert not set(kept) & set(left) - {"1.safetensors"}
        assert len(left) == 5
        assert collection.rollback() == InUse(None, None)
    with Collection.open(tmp_path / "c", features=[Colours()]) as again:
        assert again.search(1, 99) == again.search(first[0], 99, learned=False)


def test_the_cache_is_only_a_cache(small, tmp_path, caplog):
    paths = album(tmp_path / "p", 6)
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add(paths)
        expected = collection.search(1, 99)
    (cache,) = (tmp_path / "c" / "cache").iterdir()
    content = cache.read_bytes()

    def found():
        with Collection.open(tmp_path / "c", features=[Colours()]) as collection:
            return collection.search(1, 99)

    assert found() == expected
    for damage in (
        content[:-5],
        b"",
        b"rubbish" * 99,
        content[:300] + b"\xff" * 60 + content[360:],
    ):
        cache.write_bytes(damage)
        assert {match.id for match in found()} == {match.id for match in expected}
        assert not cache.exists()
    assert "made again" in caplog.text
    assert found() == expected
    # A cache of an earlier moment lacks some and holds some that are gone.
    cache.write_bytes(content)
    with Collection.open(tmp_path / "c", features=[Colours()]) as collection:
        collection.remove([2, 3])
        picture(tmp_path / "p" / "neu.png", (3, 4, 5), 7)
        collection.add([tmp_path / "p"])
        expected = collection.search(1, 99)
    cache.write_bytes(content)
    assert found() == expected


def test_the_cache_is_not_written_for_a_few(tmp_path):
    paths = album(tmp_path / "p", 6)
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add(paths)
    assert not (tmp_path / "c" / "cache").exists()


def test_a_cache_that_cannot_be_written_does_no_harm(small, tmp_path, fill_disk, caplog):
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add(album(tmp_path / "p", 4))
        fill_disk()
        assert collection.add(album(tmp_path / "p", 6)).added == 6
        assert "No space left" in caplog.text
        assert len(collection.search(1, 99)) == 17


def grown(tmp_path, learn, progress=silent, before=lambda collection: None):
    """Learn in a small collection, let it grow fourfold, and give it with what add told."""
    collection = Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN)
    album(tmp_path / "p", 5)
    collection.add([tmp_path / "p"])
    learn(collection)
    album(tmp_path / "p", 20)
    before(collection)
    return collection, collection.add([tmp_path / "p"], progress=progress)


def by_folder(collection, **options):
    settings = {"steps": 50, "blend": 0.5}
    learned = collection.learn(folders=True, settings=settings, hold_back=0.4, **options)
    assert learned.similarity.published
    assert learned.words.published


def test_growing_tells_what_was_learned_again(small, tmp_path):
    told = []
    collection, added = grown(tmp_path, by_folder, lambda done, total: told.append((done, total)))
    with collection:
        again = added.learned_again
        assert again.similarity.published
        assert again.words.published
        assert again.similarity.model == current_ranker(collection).number == 3
        assert again.words.model == current_ranker(collection).annotator == 4
        assert again.words.labels == 3
        assert (added.unlearned, added.unlearned_words) == ("", "")
        files_done = told.index((60, 60))
        assert (50, 50) in told[files_done:]
        assert collection.add([tmp_path / "p"]).learned_again is None


@pytest.mark.parametrize("judge", ["paired_gain", "paired_words_gain"])
def test_growing_tells_that_a_gate_was_not_passed(small, tmp_path, monkeypatch, judge):
    def worsen(collection):
        worse = Gain(Difference(-0.1, 0.01), Difference(0.0, 0.0), 4)
        monkeypatch.setattr(teaching, judge, lambda *_: worse)

    collection, added = grown(tmp_path, by_folder, before=worsen)
    with collection:
        ranker, again = current_ranker(collection), added.learned_again
        if judge == "paired_gain":
            assert not again.similarity.published
            assert "ranks worse" in added.unlearned
            assert added.unlearned == again.similarity.reason
            assert (ranker.number, ranker.annotator) == (None, 4)
            assert collection.search(1, 9) == collection.search(1, 9, learned=False)
        else:
            assert not again.words.published
            assert "is not clearly better than ranking words" in added.unlearned_words
            assert added.unlearned_words == again.words.reason
            assert (ranker.number, ranker.annotator) == (3, None)
            # Pictures of other colours may follow, for labels near in meaning.
            matches = collection.search_word("rot", 20)
            assert {match.source for match in matches} == {"given", "name"}
            assert {match.path.parent.name for match in matches} == {"rot"}
        collection.bin.empty()
        assert len(list((collection.path / "models").iterdir())) == 1


def test_growing_tells_that_nothing_could_be_learned_again(small, tmp_path):
    def forget(collection):
        write_rows(collection, "DELETE FROM given")

    collection, added = grown(tmp_path, by_folder, before=forget)
    with collection:
        assert added.learned_again is None
        assert "has no labels" in added.unlearned
        assert "has no labels left" in added.unlearned_words
        assert (
            current_ranker(collection).number,
            current_ranker(collection).annotator,
        ) == (None, None)


def test_growing_learns_from_what_the_models_in_use_did(small, tmp_path):
    def clicks_rolled_back(collection):
        by_folder(collection)
        clicks = {
            name: {f"{name}-{number}.png": 1 for number in range(5)} for name in ("rot", "blau")
        }
        collection.learn(clicks=clicks, settings={"steps": 60, "blend": 0.25})
        while in_use(collection).similarity != 1:
            collection.rollback()

    collection, added = grown(tmp_path, clicks_rolled_back)
    with collection:
        again = added.learned_again
        assert (again.similarity.labels, again.words.labels) == (3, 3)
        assert (again.similarity.pictures, again.words.pictures) == (15, 15)
        assert collection.models.all()[-2].settings == collection.models.all()[0].settings


@pytest.mark.parametrize("choice", ["auto", "linear", "before there was a choice"])
def test_growing_learns_words_by_the_choice_of_the_model_in_use(small, tmp_path, choice):
    def chosen(collection):
        by_folder(collection, words="linear" if choice == "linear" else "auto")
        if choice.startswith("before"):
            write_rows(collection, "UPDATE models SET settings = '{\"random_state\": 0}'")
        collection.learn(words="ridge", settings={"steps": 60, "blend": 0.25})
        while in_use(collection).annotator != 2:
            collection.rollback()

    collection, added = grown(tmp_path, chosen)
    with collection:
        model = collection.models.all()[-1]
        again = added.learned_again.words
        assert (model.kind, model.method) == ("words", again.method)
        assert model.settings["words"] == ("linear" if choice == "linear" else "auto")
        assert len(again.tried) == (1 if choice == "linear" else 3)


def test_growing_learns_codes_again(small, tmp_path, set_limits):
    set_limits(code_neighbours=2, min_for_codes=10)

    def with_codes(collection):
        by_folder(collection)
        collection.learn(codes="s3plh", bits=12, candidates=5)

    collection, added = grown(tmp_path, with_codes)
    with collection:
        again = added.learned_again.codes
        assert again.published
        ranker = current_ranker(collection)
        assert (ranker.codes.number, ranker.codes.index.dimension) == (again.model, 12)
        assert ranker.codes.similarity.n_features_in_ == 4
        assert set(ranker.codes.index.ids) == set(ranker.plain.ids)
        assert collection.models.all()[-1].settings["encoder"] == "s3plh"
        assert collection.search(1, 2)


def test_growing_learns_nothing_that_was_not_in_use(small, tmp_path):
    def rolled_back(collection):
        by_folder(collection)
        collection.rollback()

    collection, added = grown(tmp_path, rolled_back)
    with collection:
        assert added.learned_again is None
        assert (added.unlearned, added.unlearned_words) == ("", "")
        assert (
            current_ranker(collection).number,
            current_ranker(collection).annotator,
        ) == (None, None)
