"""What every annotator must do."""

import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from lookalike.annotation import ANNOTATORS, Annotator
from lookalike.checks.contract import Contract, NotApplicable, check_rules, refused
from lookalike.core.arrays import save_arrays, stored_manifest
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted

FORMS: tuple[Callable[[Any], Any], ...] = (np.asarray, sp.csr_matrix)


def check_annotator(
    annotator: Annotator, *, precision: float = 0.9, has_word_queries: bool = True
) -> None:
    """Raise AssertionError unless an annotator does what every one must do.

    Parameters
    ----------
    annotator : Annotator
        With a seed; it must be registered in ``ANNOTATORS``.
    precision : float
        The precision at 1 that it reaches on scikit-learn's digits, less .02.
    has_word_queries : bool
        Whether it has a vector for each word.
    """
    check_rules(lambda: AnnotatorContract(annotator, precision, has_word_queries))


@cache
def split_digits() -> tuple[Any, list[str], Any, Any]:
    """Return unit rows in random order, 1,200 to learn from with a word each, and the others."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    units = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)[order]
    return (
        units[:1200],
        [f"digit {number}" for number in y[order][:1200]],
        units[1200:],
        y[order][1200:],
    )


def _few() -> tuple[Any, list[set[str]]]:
    """Return forty pictures of three things, easy to tell apart, some with two words."""
    rng = np.random.default_rng(1)
    things = np.arange(40) % 3
    X = np.eye(6)[things] + rng.normal(size=(40, 6)) * 0.1
    words = [{("cat", "dog", "car")[thing]} | ({"pet"} if thing < 2 else set()) for thing in things]
    return X.astype(np.float32), words


def _right(model: Any, X: Any, numbers: Any) -> float:
    best = model.rank(X, 1).words[:, 0]
    return float(
        np.mean([model.words_[word] == f"digit {k}" for word, k in zip(best, numbers, strict=True)])
    )


def _saved(model: Annotator, folder: Path) -> tuple[type[Annotator], Path, Path]:
    """Save a model; return its class, where it is, and a file of it: an ensemble has several."""
    path = folder / "model"
    model.save(path)
    return type(model), path, next(path.glob("*.safetensors")) if path.is_dir() else path


class AnnotatorContract(Contract):
    """What every annotator must do."""

    def __init__(self, annotator: Annotator, precision: float, has_word_queries: bool) -> None:
        self.make: Any = lambda: clone(annotator)
        self.precision, self.has_word_queries = precision, has_word_queries
        self.few, self.digits = _few(), split_digits()

    def it_can_be_fitted_once_more_from_what_judged_it(self) -> None:
        X, words, _, _ = self.digits
        held = (X[200:300], words[200:300])
        model = self.make().fit(X[:200], words[:200], validation=held)
        if not model.refits:
            raise NotApplicable("it does not choose a setting to be fitted with again")
        again = model.refitted(X[:200], words[:200], held)
        assert again.as_judged is again.judged_ is model is model.as_judged
        assert (again.words_, again.confidence_) == (model.words_, model.confidence_)
        assert not np.allclose(again.scores(X[:9]), model.scores(X[:9]))
        again.save(self.folder / "again", fingerprint="f")
        loaded = ANNOTATORS.load(self.folder / "again")
        for one, other in ((loaded, again), (loaded.as_judged, model)):
            np.testing.assert_array_equal(one.scores(X[:9]), other.scores(X[:9]))
        assert loaded.as_judged.judged_ is None

    def digits_are_named(self) -> None:
        X, y, others, numbers = self.digits
        dense = _right(self.make().fit(X, y), others, numbers)
        sparse = _right(self.make().fit(sp.csr_matrix(X), y), sp.csr_matrix(others), numbers)
        assert dense > self.precision - 0.02
        assert abs(sparse - dense) <= 0.02

    def words_without_meaning_are_ranked_by_chance(self) -> None:
        X, _, others, numbers = self.digits
        rng = np.random.default_rng(0)
        model = self.make().fit(
            X[:500], [f"digit {number}" for number in rng.integers(10, size=500)]
        )
        assert 0.03 < _right(model, others, numbers) < 0.2

    def fit_returns_self_and_knows_its_words(self) -> None:
        X, y = self.few
        model = self.make()
        assert model.fit(X, y) is model
        assert sorted(model.words_) == ["car", "cat", "dog", "pet"]
        assert model.n_features_in_ == 6
        assert [model.word_number(word) for word in model.words_] == [0, 1, 2, 3]
        assert model.word_number("PET") == model.word_number("pet")
        with refused(InvalidInput, "was not learned"):
            model.word_number("tram")

    def all_true_words_come_first(self) -> None:
        X, y = self.few
        model = self.make().fit(X, y)
        result = [{model.words_[word] for word in row} for row in model.rank(X, 2).words]
        assert np.mean([true <= some for true, some in zip(y, result, strict=True)]) > 0.8

    def the_constructor_only_stores(self) -> None:
        model = self.make()
        given = model.get_params(deep=False)
        copy = clone(model)
        assert not hasattr(copy, "words_")
        for name, value in given.items():
            if name != "models":
                assert getattr(copy, name) is value or getattr(copy, name) == value

    def spellings_of_a_word_are_one(self) -> None:
        X, y = self.few
        coffee = "Café"
        spelled = [
            {(coffee, unicodedata.normalize("NFD", coffee), coffee.upper())[row // 3 % 3]}
            if "cat" in words
            else words
            for row, words in enumerate(y)
        ]
        model = self.make().fit(X, spelled)
        assert len(model.words_) == 4
        assert (
            sum(unicodedata.normalize("NFC", word).casefold() == "café" for word in model.words_)
            == 1
        )

    def pictures_without_words_teach_nothing(self) -> None:
        X, y = self.few
        noise = np.full((15, 6), 50, np.float32)
        model = self.make().fit(np.concatenate([X, noise]), [*y, *[set()] * 15])
        np.testing.assert_array_equal(model.scores(X), self.make().fit(X, y).scores(X))

    def too_few_words_are_refused(self) -> None:
        X, y = self.few
        for words, message in ((["cat"] * 40, "only the word 'cat'"), ([None] * 40, "no word")):
            with refused(InvalidInput, message):
                self.make().fit(X, words)
        with refused(InvalidInput, "40 pictures; got 39"):
            self.make().fit(X, y[1:])

    def bad_vectors_are_refused_and_what_was_learned_stays(self) -> None:
        X, y = self.few
        for form in FORMS:
            model = self.make().fit(X, y)
            before = model.scores(X)
            spoiled = X.copy()
            spoiled[3, 2] = np.nan
            for call in (model.scores, model.rank, lambda bad, model=model: model.fit(bad, y)):
                with refused(InvalidInput, "finite"):
                    call(form(spoiled))
            for call in (model.scores, model.rank, model.annotate):
                with refused(InvalidInput, "6 columns"):
                    call(form(X[:, :5]))
            with refused(InvalidInput, "k must be"):
                model.rank(X, 0)
            with refused(InvalidInput):
                model.fit(form(X), ["cat"] * 40)
            np.testing.assert_array_equal(model.scores(X), before)

    def asking_before_learning_is_refused(self) -> None:
        X, _ = self.few
        model = self.make()
        calls = (model.scores, model.rank, model.annotate, lambda _: model.word_number("cat"))
        for call in (*calls, lambda _: model.save(self.folder / "model")):
            with refused(NotFitted):
                call(X)

    def rank_is_a_sort_of_the_scores(self) -> None:
        for form in FORMS:
            X, y = self.few
            queries = form(X)
            model = self.make().fit(queries, y)
            scores, ranking = model.scores(queries), model.rank(queries, 3)
            assert scores.shape == (40, 4)
            assert (scores.dtype, ranking.scores.dtype) == (np.float32, np.float32)
            assert np.isfinite(scores).all()
            order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
            np.testing.assert_allclose(
                np.take_along_axis(scores, ranking.words, 1),
                np.take_along_axis(scores, order, 1),
                atol=1e-6,
            )
            np.testing.assert_allclose(
                ranking.scores, np.take_along_axis(scores, order, 1), atol=1e-6
            )
            assert model.rank(queries, 99).words.shape == (40, 4)
            assert model.rank(queries[:0], 2).words.shape == (0, 2)

    def dense_and_sparse_questions_have_one_answer(self) -> None:
        X, y = self.few
        model = self.make().fit(X, y)
        np.testing.assert_allclose(model.scores(X), model.scores(sp.csr_matrix(X)), atol=1e-5)

    def a_seed_repeats_a_run(self) -> None:
        X, y = self.few
        np.testing.assert_array_equal(
            self.make().fit(X, y).scores(X), self.make().fit(X, y).scores(X)
        )

    def the_lower_number_comes_first_among_equals(self) -> None:
        model = self.make().fit(*self.few)
        nothing = np.zeros((1, 6), np.float32)
        order = np.argsort(-model.scores(nothing), axis=1, kind="stable")[:, :2]
        np.testing.assert_array_equal(model.rank(nothing, 2).words, order)

    def zero_rows_and_columns_do_no_harm(self) -> None:
        X, y = self.few
        holed = X.copy()
        holed[::5] = 0
        holed[:, 5] = 0
        for form in FORMS:
            model = self.make().fit(form(holed), y)
            scores = model.scores(form(np.concatenate([holed, np.zeros((2, 6), np.float32)])))
            assert np.isfinite(scores).all()
            assert np.ptp(scores[1]) > 0

    def a_saved_model_answers_alike(self) -> None:
        for form in FORMS:
            X, y, others, _ = self.digits
            queries = form(others[:50])
            model = self.make().fit(form(X[:400]), y[:400])
            model.save(self.folder / "model", fingerprint="embedding 7")
            again = type(model).load(self.folder / "model")
            assert (again.words_, again.fingerprint_) == (model.words_, "embedding 7")
            assert again.scores(queries).tobytes() == model.scores(queries).tobytes()
            assert again.annotate(queries[:3]) == model.annotate(queries[:3])
            again.save(str(self.folder / "copy"))
            assert type(model).load(str(self.folder / "copy")).fingerprint_ == ""

    def long_and_foreign_words_survive_a_file(self) -> None:
        X, y = self.few
        names = {"cat": "Müllerstraße 7", "dog": "犬", "car": "x" * 1000, "pet": 'a, b; "c"'}
        model = self.make().fit(X, [{names[word] for word in words} for words in y])
        model.save(self.folder / "model")
        assert type(model).load(self.folder / "model").words_ == model.words_

    def a_damaged_file_is_refused(self) -> None:
        kind, path, file = _saved(self.make().fit(*self.few), self.folder)
        content = file.read_bytes()
        middle = len(content) // 2
        for bad in (b"", content[:middle], content + b"!", b"{}" * 100, content[8:]):
            file.write_bytes(bad)
            with refused(DamagedFile):
                kind.load(path)
        file.unlink()
        with refused(DamagedFile):
            kind.load(path)

    def a_foreign_file_is_refused(self) -> None:
        kind, path, file = _saved(self.make().fit(*self.few), self.folder)
        manifests: tuple[dict[str, Any], ...] = (
            {},
            {"settings": {}},
            {"settings": {}, "learned": {}, "fingerprint": ""},
        )
        for manifest in manifests:
            stored = stored_manifest(file)["kind"]
            save_arrays(file, {"W": np.zeros((2, 2), np.float32)}, kind=stored, manifest=manifest)
            with refused(DamagedFile):
                kind.load(path)
        save_arrays(file, {"W": np.zeros((2, 2), np.float32)}, kind="oasis/1", manifest={})
        with refused(DamagedFile):
            kind.load(path)

    def progress_goes_forward_to_its_end(self) -> None:
        seen = []
        self.make().fit(*self.few, progress=lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert all(done <= total for done, total in seen)
        assert seen[-1][0] == seen[-1][1]

    def it_is_known_by_its_name(self) -> None:
        assert ANNOTATORS.get(self.make().name) is type(self.make())
        assert ANNOTATORS.summary(self.make().name).endswith(".")

    def the_registry_loads_what_was_saved(self) -> None:
        model = self.make().fit(*self.few)
        model.save(self.folder / "model", fingerprint="f")
        again = ANNOTATORS.load(self.folder / "model")
        assert type(again) is type(model)
        assert (again.words_, again.fingerprint_) == (model.words_, "f")

    def a_words_query_orders_pictures_as_its_scores_do(self) -> None:
        X, y = self.few
        model = self.make().fit(X, y)
        if not self.has_word_queries:
            with refused(InvalidInput, "no vector"):
                model.word_queries(["cat"])
            with refused(InvalidInput, "no vector"):
                model.related_words("cat")
            return
        queries = model.word_queries(["CAT", "pet"])
        assert (queries.shape, queries.dtype) == ((2, 6), np.float32)
        wanted = model.scores(X)[:, [model.word_number("cat"), model.word_number("pet")]]
        apart = X @ queries.T - wanted
        np.testing.assert_allclose(apart - apart[0], 0, atol=1e-4)
        with refused(InvalidInput, "was not learned"):
            model.word_queries(["cat", "tram"])

    def related_words_are_others_nearest_first(self) -> None:
        model = self.make().fit(*self.few)
        if not self.has_word_queries:
            raise NotApplicable("it has no vectors of words")
        result = model.related_words("CAT", 99)
        assert sorted(word for word, _ in result) == ["car", "dog", "pet"]
        cosines = [cosine for _, cosine in result]
        assert cosines == sorted(cosines, reverse=True)
        assert all(-1.001 <= cosine <= 1.001 for cosine in cosines)
        assert model.related_words("cat", 1) == result[:1]
        for bad in (0, 1.5, True):
            with refused(InvalidInput, "k must be"):
                model.related_words("cat", bad)

    def confidence_is_learned_from_pictures_held_back(self) -> None:
        X, y, others, numbers = self.digits
        model = self.make().fit(X[:400], y[:400])
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
        assert abs(np.mean([tag.confidence for tag, _ in sure]) - share) <= 0.05
        with refused(InvalidInput, "none has"):
            model.learn_confidence(others, ["new"] * len(others))

    def going_on_before_the_start_is_the_start(self) -> None:
        X, y = self.few
        np.testing.assert_array_equal(
            self.make().partial_fit(X, y).scores(X), self.make().fit(X, y).scores(X)
        )
