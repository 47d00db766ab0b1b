"""What every annotator promises; a test class of each kind inherits it."""

import unicodedata
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from lookalike.annotation import ANNOTATORS
from lookalike.core.arrays import save_arrays, stored_manifest
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted

FORMS = {"dense": np.asarray, "sparse": sp.csr_matrix}


@cache
def split_digits():
    """Unit rows in random order, the first 1,200 to learn from, and a word for each."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    units = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)[order]
    return (
        units[:1200],
        [f"digit {number}" for number in y[order][:1200]],
        units[1200:],
        y[order][1200:],
    )


def right(model, X, numbers):
    best = model.rank(X, 1).words[:, 0]
    return float(
        np.mean([model.words_[word] == f"digit {k}" for word, k in zip(best, numbers, strict=True)])
    )


class AnnotatorContract:
    """Inherit it, say how to make one, and what precision at 1 it reaches on digits."""

    precision: float
    has_word_queries = True

    @pytest.fixture
    def make(self):
        """Return a function that makes an annotator, seeded."""
        raise NotImplementedError

    @pytest.fixture
    def digits(self):
        return split_digits()

    @pytest.fixture
    def few(self):
        """Forty pictures of three things, easy to tell apart, some with two words."""
        rng = np.random.default_rng(1)
        things = np.arange(40) % 3
        X = np.eye(6)[things] + rng.normal(size=(40, 6)) * 0.1
        words = [
            {("cat", "dog", "car")[thing]} | ({"pet"} if thing < 2 else set()) for thing in things
        ]
        return X.astype(np.float32), words

    def test_it_can_be_fitted_once_more_from_what_judged_it(self, make, digits, tmp_path):
        X, words, _, _ = digits
        held = (X[200:300], words[200:300])
        model = make().fit(X[:200], words[:200], validation=held)
        if not model.refits:
            pytest.skip("it does not choose a setting to be fitted with again")
        again = model.refitted(X[:200], words[:200], held)
        assert again.as_judged is again.judged_ is model is model.as_judged
        assert (again.words_, again.confidence_) == (model.words_, model.confidence_)
        assert not np.allclose(again.scores(X[:9]), model.scores(X[:9]))
        again.save(tmp_path / "again", fingerprint="f")
        loaded = ANNOTATORS.load(tmp_path / "again")
        for one, other in ((loaded, again), (loaded.as_judged, model)):
            np.testing.assert_array_equal(one.scores(X[:9]), other.scores(X[:9]))
        assert loaded.as_judged.judged_ is None

    def test_digits(self, digits, make):
        X, y, others, numbers = digits
        dense = right(make().fit(X, y), others, numbers)
        sparse = right(make().fit(sp.csr_matrix(X), y), sp.csr_matrix(others), numbers)
        assert dense > self.precision - 0.02
        assert sparse == pytest.approx(dense, abs=0.02)

    def test_words_without_meaning_are_ranked_by_chance(self, make, digits):
        X, _, others, numbers = digits
        rng = np.random.default_rng(0)
        model = make().fit(X[:500], [f"digit {number}" for number in rng.integers(10, size=500)])
        assert 0.03 < right(model, others, numbers) < 0.2

    def test_fit_returns_self_and_knows_its_words(self, make, few):
        X, y = few
        model = make()
        assert model.fit(X, y) is model
        assert sorted(model.words_) == ["car", "cat", "dog", "pet"]
        assert model.n_features_in_ == 6
        assert [model.word_number(word) for word in model.words_] == [0, 1, 2, 3]
        assert model.word_number("PET") == model.word_number("pet")
        with pytest.raises(InvalidInput, match="was not learned"):
            model.word_number("tram")

    def test_all_true_words_come_first(self, make, few):
        X, y = few
        model = make().fit(X, y)
        found = [{model.words_[word] for word in row} for row in model.rank(X, 2).words]
        assert np.mean([true <= some for true, some in zip(y, found, strict=True)]) > 0.8

    def test_the_constructor_only_stores(self, make):
        model = make()
        given = model.get_params(deep=False)
        copy = clone(model)
        assert not hasattr(copy, "words_")
        for name, value in given.items():
            if name != "models":
                assert getattr(copy, name) is value or getattr(copy, name) == value

    def test_spellings_of_a_word_are_one(self, make, few):
        X, y = few
        coffee = "Café"
        spelled = [
            {(coffee, unicodedata.normalize("NFD", coffee), coffee.upper())[row // 3 % 3]}
            if "cat" in words
            else words
            for row, words in enumerate(y)
        ]
        model = make().fit(X, spelled)
        assert len(model.words_) == 4
        assert (
            sum(unicodedata.normalize("NFC", word).casefold() == "café" for word in model.words_)
            == 1
        )

    def test_pictures_without_words_teach_nothing(self, make, few):
        X, y = few
        noise = np.full((15, 6), 50, np.float32)
        model = make().fit(np.concatenate([X, noise]), [*y, *[set()] * 15])
        np.testing.assert_array_equal(model.scores(X), make().fit(X, y).scores(X))

    def test_too_few_words_are_refused(self, make, few):
        X, y = few
        for words, message in ((["cat"] * 40, "only the word 'cat'"), ([None] * 40, "no word")):
            with pytest.raises(InvalidInput, match=message):
                make().fit(X, words)
        with pytest.raises(InvalidInput, match="40 pictures; got 39"):
            make().fit(X, y[1:])

    @pytest.mark.parametrize("form", FORMS)
    def test_bad_vectors_are_refused_and_what_was_learned_stays(self, make, few, form):
        X, y = few
        model = make().fit(X, y)
        before = model.scores(X)
        spoiled = X.copy()
        spoiled[3, 2] = np.nan
        for call in (model.scores, model.rank, lambda bad: model.fit(bad, y)):
            with pytest.raises(InvalidInput, match="finite"):
                call(FORMS[form](spoiled))
        for call in (model.scores, model.rank, model.annotate):
            with pytest.raises(InvalidInput, match="6 columns"):
                call(FORMS[form](X[:, :5]))
        with pytest.raises(InvalidInput, match="k must be"):
            model.rank(X, 0)
        with pytest.raises(InvalidInput):
            model.fit(FORMS[form](X), ["cat"] * 40)
        np.testing.assert_array_equal(model.scores(X), before)

    def test_asking_before_learning_is_refused(self, make, few, tmp_path):
        X, _ = few
        model = make()
        calls = (model.scores, model.rank, model.annotate, lambda _: model.word_number("cat"))
        for call in (*calls, lambda _: model.save(tmp_path / "model")):
            with pytest.raises(NotFitted):
                call(X)

    @pytest.mark.parametrize("form", FORMS)
    def test_rank_is_a_sort_of_the_scores(self, make, few, form):
        X, y = few
        asked = FORMS[form](X)
        model = make().fit(asked, y)
        scores, ranking = model.scores(asked), model.rank(asked, 3)
        assert scores.shape == (40, 4)
        assert (scores.dtype, ranking.scores.dtype) == (np.float32, np.float32)
        assert np.isfinite(scores).all()
        order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
        np.testing.assert_allclose(
            np.take_along_axis(scores, ranking.words, 1),
            np.take_along_axis(scores, order, 1),
            atol=1e-6,
        )
        np.testing.assert_allclose(ranking.scores, np.take_along_axis(scores, order, 1), atol=1e-6)
        assert model.rank(asked, 99).words.shape == (40, 4)
        assert model.rank(asked[:0], 2).words.shape == (0, 2)

    def test_dense_and_sparse_questions_have_one_answer(self, make, few):
        X, y = few
        model = make().fit(X, y)
        np.testing.assert_allclose(model.scores(X), model.scores(sp.csr_matrix(X)), atol=1e-5)

    def test_a_seed_repeats_a_run(self, make, few):
        X, y = few
        np.testing.assert_array_equal(make().fit(X, y).scores(X), make().fit(X, y).scores(X))

    def test_the_lower_number_comes_first_among_equals(self, make, few):
        """A picture of zeros says nothing, so that many words score alike."""
        model = make().fit(*few)
        nothing = np.zeros((1, 6), np.float32)
        order = np.argsort(-model.scores(nothing), axis=1, kind="stable")[:, :2]
        np.testing.assert_array_equal(model.rank(nothing, 2).words, order)

    def test_zero_rows_and_columns_do_no_harm(self, make, few):
        X, y = few
        holed = X.copy()
        holed[::5] = 0
        holed[:, 5] = 0
        for form in FORMS.values():
            model = make().fit(form(holed), y)
            scores = model.scores(form(np.concatenate([holed, np.zeros((2, 6), np.float32)])))
            assert np.isfinite(scores).all()
            assert np.ptp(scores[1]) > 0

    @pytest.mark.parametrize("form", FORMS)
    def test_a_saved_model_answers_alike(self, make, digits, tmp_path, form):
        X, y, others, _ = digits
        asked = FORMS[form](others[:50])
        model = make().fit(FORMS[form](X[:400]), y[:400])
        model.save(tmp_path / "model", fingerprint="embedding 7")
        again = type(model).load(tmp_path / "model")
        assert (again.words_, again.fingerprint_) == (model.words_, "embedding 7")
        assert again.scores(asked).tobytes() == model.scores(asked).tobytes()
        assert again.annotate(asked[:3]) == model.annotate(asked[:3])
        again.save(str(tmp_path / "copy"))
        assert type(model).load(str(tmp_path / "copy")).fingerprint_ == ""

    def test_long_and_foreign_words_survive_a_file(self, make, few, tmp_path):
        X, y = few
        names = {"cat": "Müllerstraße 7", "dog": "犬", "car": "x" * 1000, "pet": 'a, b; "c"'}
        model = make().fit(X, [{names[word] for word in words} for words in y])
        model.save(tmp_path / "model")
        assert type(model).load(tmp_path / "model").words_ == model.words_

    @pytest.fixture
    def a_file(self, make, few, tmp_path):
        """A saved model, and a file of it: an ensemble has several."""
        model = make().fit(*few)
        model.save(tmp_path / "model")
        path = tmp_path / "model"
        return type(model), path, next(path.glob("*.safetensors")) if path.is_dir() else path

    def test_a_damaged_file_is_refused(self, a_file):
        kind, path, file = a_file
        content = file.read_bytes()
        middle = len(content) // 2
        for bad in (b"", content[:middle], content + b"!", b"{}" * 100, content[8:]):
            file.write_bytes(bad)
            with pytest.raises(DamagedFile):
                kind.load(path)
        file.unlink()
        with pytest.raises(DamagedFile):
            kind.load(path)

    def test_a_foreign_file_is_refused(self, a_file):
        kind, path, file = a_file
        for manifest in ({}, {"settings": {}}, {"settings": {}, "learned": {}, "fingerprint": ""}):
            stored = stored_manifest(file)["kind"]
            save_arrays(file, {"W": np.zeros((2, 2), np.float32)}, kind=stored, manifest=manifest)
            with pytest.raises(DamagedFile):
                kind.load(path)
        save_arrays(file, {"W": np.zeros((2, 2), np.float32)}, kind="oasis/1", manifest={})
        with pytest.raises(DamagedFile):
            kind.load(path)

    def test_progress_goes_forward_to_its_end(self, make, few):
        seen = []
        make().fit(*few, progress=lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert all(done <= total for done, total in seen)
        assert seen[-1][0] == seen[-1][1]

    def test_it_is_known_by_its_name(self, make):
        assert ANNOTATORS.get(make().name) is type(make())
        assert ANNOTATORS.summary(make().name).endswith(".")

    def test_the_registry_loads_what_was_saved(self, make, few, tmp_path):
        model = make().fit(*few)
        model.save(tmp_path / "model", fingerprint="f")
        again = ANNOTATORS.load(tmp_path / "model")
        assert type(again) is type(model)
        assert (again.words_, again.fingerprint_) == (model.words_, "f")

    def test_a_words_query_orders_pictures_as_its_scores_do(self, make, few):
        X, y = few
        model = make().fit(X, y)
        if not self.has_word_queries:
            with pytest.raises(InvalidInput, match="no vector"):
                model.word_queries(["cat"])
            with pytest.raises(InvalidInput, match="no vector"):
                model.related_words("cat")
            return
        queries = model.word_queries(["CAT", "pet"])
        assert (queries.shape, queries.dtype) == ((2, 6), np.float32)
        wanted = model.scores(X)[:, [model.word_number("cat"), model.word_number("pet")]]
        apart = X @ queries.T - wanted
        np.testing.assert_allclose(apart - apart[0], 0, atol=1e-4)
        with pytest.raises(InvalidInput, match="was not learned"):
            model.word_queries(["cat", "tram"])

    def test_related_words_are_others_nearest_first(self, make, few):
        model = make().fit(*few)
        if not self.has_word_queries:
            pytest.skip("it has no vectors of words")
        found = model.related_words("CAT", 99)
        assert sorted(word for word, _ in found) == ["car", "dog", "pet"]
        cosines = [cosine for _, cosine in found]
        assert cosines == sorted(cosines, reverse=True)
        assert all(-1.001 <= cosine <= 1.001 for cosine in cosines)
        assert model.related_words("cat", 1) == found[:1]
        for bad in (0, 1.5, True):
            with pytest.raises(InvalidInput, match="k must be"):
                model.related_words("cat", bad)

    def test_confidence_is_learned_from_pictures_held_back(self, make, digits):
        X, y, others, numbers = digits
        model = make().fit(X[:400], y[:400])
        truth = [{f"digit {k}", "new"} for k in numbers]
        before = model.confidence_
        model.learn_confidence(others[:5], truth[:5])
        assert model.confidence_ is before
        assert model.learn_confidence(others, truth) is model
        assert model.confidence_ not in (None, before)
        sure = [
            (tag, k)
            for tags, k in zip(model.annotate(others, 1), numbers, strict=True)
            for tag in tags
        ]
        share = np.mean([tag.word == f"digit {k}" for tag, k in sure])
        assert np.mean([tag.confidence for tag, _ in sure]) == pytest.approx(share, abs=0.05)
        with pytest.raises(InvalidInput, match="none has"):
            model.learn_confidence(others, ["new"] * len(others))

    def test_going_on_before_the_start_is_the_start(self, make, few):
        X, y = few
        np.testing.assert_array_equal(
            make().partial_fit(X, y).scores(X), make().fit(X, y).scores(X)
        )
