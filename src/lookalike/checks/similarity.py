"""What every similarity must do."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from lookalike.checks.contract import Contract, NotApplicable, check_rules, refused
from lookalike.core.arrays import load_arrays, save_arrays, write_whole
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.core.vectors import dense
from lookalike.index import DenseIndex, SparseIndex
from lookalike.similarity import Cosine, Similarity
from lookalike.supervision import Relevance

FORMS: tuple[Callable[[Any], Any], ...] = (np.asarray, sp.csr_matrix)


def check_similarity(similarity: Similarity) -> None:
    """Raise AssertionError unless a similarity, quick to fit, does what every one must do."""
    check_rules(lambda: SimilarityContract(similarity))


def small(
    seed: int = 3, classes: int = 4, per_class: int = 6, width: int = 9
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return sparse non-negative rows in classes, two of them all zero."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), per_class)
    X = rng.random((len(y), width)) * (rng.random((len(y), width)) < 0.5)
    X[np.arange(len(y)), y] += 2
    X[[0, -1]] = 0
    return X.astype(np.float32), y


class SimilarityContract(Contract):
    """What every similarity must do."""

    def __init__(self, similarity: Similarity) -> None:
        self.part: Any = clone(similarity)

    @cached_property
    def fitted(self) -> Any:
        return self.part.fit(*small())

    @cached_property
    def learner(self) -> Any:
        if not self.part.learns_from:
            raise NotApplicable("it learns nothing")
        return self.part

    def scores_are_inner_products(self) -> None:
        for form in FORMS:
            X, _ = small()
            scores = self.fitted.scores(form(X[:5]), form(X))
            assert scores.shape == (5, len(X))
            assert scores.dtype == np.float32
            assert np.isfinite(scores).all()
            queries, items = (
                self.fitted.query_vectors(form(X[:5])),
                self.fitted.item_vectors(form(X)),
            )
            assert queries.dtype == items.dtype == np.float32
            products = dense(queries) @ dense(items).T
            np.testing.assert_allclose(scores, products, rtol=1e-5, atol=1e-6)

    def item_vectors_are_stored_vectors_times_scales(self) -> None:
        for form in FORMS:
            X, _ = small()
            stored, scales = self.fitted.stored_vectors(form(X)), self.fitted.item_scales(form(X))
            assert scales.shape == (len(X),)
            assert scales.dtype == stored.dtype == np.float32
            expected = dense(stored) * scales[:, None]
            np.testing.assert_allclose(
                dense(self.fitted.item_vectors(form(X))), expected, rtol=1e-6
            )

    def parts_sum_to_scores(self) -> None:
        for form in FORMS:
            X, _ = small()
            parts = self.fitted.parts(form(X[:4]), form(X))
            assert all(isinstance(name, str) for name in parts)
            assert all(share.shape == (4, len(X)) for share in parts.values())
            expected = self.fitted.scores(form(X[:4]), form(X))
            np.testing.assert_allclose(sum(parts.values()), expected, rtol=1e-5, atol=1e-6)

    def an_index_ranks_as_scores_do(self) -> None:
        for form in FORMS:
            X, _ = small()
            stored, queries = (
                self.fitted.stored_vectors(form(X)),
                self.fitted.query_vectors(form(X[:7])),
            )
            kind = SparseIndex if sp.issparse(stored) else DenseIndex
            index = kind(stored.shape[1])
            index.add(stored, scales=self.fitted.item_scales(form(X)))
            hits = index.search(queries if kind is SparseIndex else dense(queries), k=len(X))
            scores = self.fitted.scores(form(X[:7]), form(X))
            ranked = np.take_along_axis(scores, hits.ids, axis=1)
            rounding = 1e-5 * max(1, np.abs(scores).max())
            np.testing.assert_allclose(ranked, hits.scores, atol=rounding)
            assert (np.diff(ranked) <= rounding).all()

    def dense_equals_sparse(self) -> None:
        X, y = small()
        rows = sp.csr_matrix(X)
        from_dense, from_csr = clone(self.part).fit(X, y), clone(self.part).fit(rows, y)
        expected = from_dense.scores(X, X)
        size = max(1, np.abs(expected).max())
        for learned, Q, P in [
            (from_csr, rows, rows),
            (from_dense, rows, rows),
            (from_csr, X, X),
            (from_dense, X, rows),
            (from_dense, rows, X),
        ]:
            np.testing.assert_allclose(learned.scores(Q, P), expected, atol=1e-3 * size)

    def no_pictures_have_no_scores(self) -> None:
        X, _ = small()
        assert self.fitted.scores(X[:3], X[:0]).shape == (3, 0)
        assert self.fitted.scores(X[:0], X[:3]).shape == (0, 3)

    def the_extremes_of_float32_are_refused_or_finite(self) -> None:
        X, y = small()
        for size in (1e-44, 1e-30, 1e30, 1e38):
            rows = (X.astype(np.float64) * size).astype(np.float32)
            try:
                scores = clone(self.part).fit(rows, y).scores(rows, rows)
            except InvalidInput as error:
                assert any(word in str(error) for word in ("constant", "differ", "Scale"))
            else:
                assert np.isfinite(scores).all()

    def fit_returns_self_and_keeps_what_it_was_given(self) -> None:
        X, y = small()
        before, settings = X.copy(), self.part.get_params()
        assert self.part.fit(X, y) is self.part
        assert self.part.get_params() == settings
        assert clone(self.part).get_params() == settings
        assert self.part.n_features_in_ == X.shape[1]
        np.testing.assert_array_equal(X, before)

    def the_same_again_gives_the_same(self) -> None:
        X, y = small()
        first = clone(self.part).fit(X, y)
        expected = first.scores(X, X)
        np.testing.assert_array_equal(clone(self.part).fit(X, y).scores(X, X), expected)
        first.fit(*small(seed=8))
        np.testing.assert_array_equal(first.fit(X, y).scores(X, X), expected)

    def progress_rises_to_the_total(self) -> None:
        heard = []
        self.part.fit(*small(), progress=lambda done, total: heard.append((done, total)))
        done = [each for each, _ in heard]
        assert done == sorted(done)
        assert heard[-1][0] == heard[-1][1] > 0

    def labels_may_be_a_relevance(self) -> None:
        X, y = small()
        expected = clone(self.learner).fit(X, y).scores(X, X)
        as_relevance = self.learner.fit(X, Relevance.of(y)).scores(X, X)
        np.testing.assert_array_equal(as_relevance, expected)

    def several_labels_are_learned_or_refused(self) -> None:
        X, y = small()
        relevance = Relevance.of([{str(label), "even" if label % 2 else "odd"} for label in y])
        if "labels" in self.learner.learns_from:
            assert np.isfinite(self.learner.fit(X, relevance).scores(X, X)).all()
        else:
            with refused(InvalidInput, r"several labels for 24 rows.*: .*oasis"):
                self.learner.fit(X, relevance)
            with refused(InvalidInput, r"none for 4\. .* one class per picture"):
                self.learner.fit(X, Relevance.of([None] * 4 + list(y[4:])))

    def pairs_are_learned_or_refused(self) -> None:
        X, y = small()
        relevance = Relevance.of(sp.csr_matrix((y[:, None] == y).astype(float)))
        if "relevance" in self.learner.learns_from:
            assert np.isfinite(self.learner.fit(X, relevance).scores(X, X)).all()
        else:
            with refused(InvalidInput, r"learns from relevance: .*oasis"):
                self.learner.fit(X, relevance)

    def triplets_are_learned_or_refused(self) -> None:
        X, _ = small()
        triplets = [[1, 2, 7], [8, 9, 20]]
        for learn in (self.part.fit_triplets, self.part.partial_fit):
            if "triplets" in self.part.learns_from:
                assert learn(X, triplets) is self.part
                assert np.isfinite(self.part.scores(X, X)).all()
            else:
                with refused(InvalidInput, r"does not accept triplets\. Choose .*: .*oasis"):
                    learn(X, triplets)

    def where_it_has_not_learned_it_ranks_by_cosine(self) -> None:
        X, _ = small()
        units = Cosine().query_vectors(X)
        assert isinstance(self.fitted.learned, bool)
        if not self.fitted.learned:
            order = np.argsort(-self.fitted.scores(units, units).round(5), kind="stable")
            expected = np.argsort(-Cosine().scores(units, units).round(5), kind="stable")
            np.testing.assert_array_equal(order, expected)

    def a_width_it_did_not_learn_with_is_refused(self) -> None:
        X, _ = small()
        for ask in (self.fitted.stored_vectors, self.fitted.item_scales, self.fitted.query_vectors):
            for form in (np.asarray, sp.csr_matrix):
                with refused(InvalidInput, "9 columns"):
                    ask(form(X[:, :5]))

    def what_is_not_finite_is_refused(self) -> None:
        for form in FORMS:
            X, y = small()
            broken = X.copy()
            broken[3, 2] = np.nan
            with refused(InvalidInput, "finite"):
                clone(self.part).fit(form(broken), y)
            fitted = self.part.fit(X, y)
            for ask in (fitted.stored_vectors, fitted.item_scales, fitted.query_vectors):
                with refused(InvalidInput, "finite"):
                    ask(form(broken))

    def asking_before_fit_is_refused_unless_it_learns_nothing(self) -> None:
        X, _ = small()
        if not self.part.learns_from:
            assert self.part.scores(X, X).shape == self.part.scores(X[:, :4], X[:, :4]).shape
            assert not hasattr(self.part, "n_features_in_")
            return
        for ask in (self.part.stored_vectors, self.part.item_scales, self.part.query_vectors):
            with refused(NotFitted, "fit first"):
                ask(X)
        with refused(NotFitted, "fit first"):
            self.part.save(self.folder / "part")
        with refused(NotFitted, "fit first"):
            self.part.learned  # noqa: B018

    def labels_that_teach_nothing_are_refused(self) -> None:
        for labels, words in (
            (None, "must be"),
            ([0] * 24, "two classes|cannot learn"),
            (list(range(24)), "two classes|cannot learn"),
            (["a", "b"] * 11, "24"),
            (Relevance.of(["a", "b"] * 11), "24"),
        ):
            X, _ = small()
            with refused(InvalidInput, words):
                self.learner.fit(X, labels)

    def a_failed_fit_leaves_what_was_learned(self) -> None:
        X, y = small()
        self.learner.fit(X, y)
        before = self.learner.scores(X, X)
        with refused(InvalidInput):
            self.learner.fit(X[:, :4], np.zeros(len(X), dtype=int))
        np.testing.assert_array_equal(self.learner.scores(X, X), before)

    def saved_is_the_same(self) -> None:
        X, _ = small()
        path = self.folder / "part"
        self.fitted.save(path, fingerprint="abc")
        again = type(self.fitted).load(path)
        np.testing.assert_array_equal(again.scores(X, X), self.fitted.scores(X, X))
        np.testing.assert_array_equal(again.item_scales(X), self.fitted.item_scales(X))
        assert again.fingerprint_ == "abc"
        assert again.get_params() == self.fitted.get_params()
        assert again.learned == self.fitted.learned
        again.save(self.folder / "again", fingerprint="abc")
        assert (self.folder / "again").read_bytes() == path.read_bytes()

    def a_file_of_something_else_is_refused(self) -> None:
        path = self.folder / "part"
        self.fitted.save(path)
        arrays, manifest = load_arrays(path, kind=self.fitted.file_kind)
        save_arrays(path, arrays, kind="something/1", manifest=manifest)
        with refused(DamagedFile, "something/1"):
            type(self.fitted).load(path)
        write_whole(path, json.dumps(manifest).encode())
        with refused(DamagedFile):
            type(self.fitted).load(path)

    def a_file_cut_short_is_refused(self) -> None:
        path = self.folder / "part"
        self.fitted.save(path)
        content = path.read_bytes()
        for length in (0, 7, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with refused(DamagedFile):
                type(self.fitted).load(path)

    def a_file_with_other_content_is_refused(self) -> None:
        path = self.folder / "part"
        self.fitted.save(path)
        arrays, manifest = load_arrays(path, kind=self.fitted.file_kind)

        def check_refusal(arrays: Any, manifest: Any) -> None:
            save_arrays(path, arrays, kind=self.fitted.file_kind, manifest=manifest)
            with refused(DamagedFile, type(self.fitted).__name__):
                type(self.fitted).load(path)

        for name, array in arrays.items():
            kind = np.float32 if array.dtype == np.float64 else np.float64
            others = [array.astype(kind), array[..., :-1], array[..., :0]]
            if array.dtype.kind == "f":
                spoilt = array.copy()
                spoilt.reshape(-1)[-1] = np.nan
                others.append(spoilt)
            for other in others:
                check_refusal({**arrays, name: other}, manifest)
            check_refusal({one: arrays[one] for one in arrays if one != name}, manifest)
        for key in ("settings", "learned", "fingerprint"):
            check_refusal(arrays, {one: manifest[one] for one in manifest if one != key})
        check_refusal(arrays, {**manifest, "settings": {"no_such_setting": 1}})
        for key in manifest["learned"]:
            check_refusal(arrays, {**manifest, "learned": {**manifest["learned"], key: "nonsense"}})
