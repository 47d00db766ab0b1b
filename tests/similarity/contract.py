"""What every similarity must do: a test class inherits it and says which similarity it is for."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lookalike.core.arrays import load_arrays, save_arrays, write_whole
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.index import DenseIndex, SparseIndex
from lookalike.similarity import Cosine, Similarity
from lookalike.supervision import Relevance

QUICK = {
    "oasis": {"steps": 300, "blend": 0.5, "random_state": 5},
    "hamming": {"bits": 12, "random_state": 5},
    "itml": {"pairs": 2000, "random_state": 5},
    "kitml": {"pairs": 2000, "dimension": 8, "random_state": 5},
    "lego": {"steps": 2000, "random_state": 5},
    "lmnn": {"max_iterations": 15},
    "mcml": {"max_iterations": 15},
    "nca": {"dimension": 16, "max_iterations": 15},
    "oks": {"steps": 500, "random_state": 5},
    "omks": {"steps": 500, "random_state": 5},
    "rca": {"dimension": 20},
    "sparse": {"random_state": 5},
}
"""Settings that make a similarity quick, or repeatable; the others are as they come."""

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])


def small(seed=3, classes=4, per_class=6, width=9):
    """Sparse non-negative rows in classes, two of them all zero."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), per_class)
    X = rng.random((len(y), width)) * (rng.random((len(y), width)) < 0.5)
    X[np.arange(len(y)), y] += 2
    X[[0, -1]] = 0
    return X.astype(np.float32), y


def plain(vectors):
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


class SimilarityContract:
    """Inherit it, and give the similarity, not yet fitted and quick to fit, as ``part``."""

    @pytest.fixture
    def part(self) -> Similarity:
        raise NotImplementedError

    @pytest.fixture
    def fitted(self, part):
        return part.fit(*small())

    @pytest.fixture
    def learner(self, part):
        if not part.learns_from:
            pytest.skip("it learns nothing")
        return part

    # Scores

    @FORMS
    def test_scores_are_inner_products(self, fitted, form):
        X, _ = small()
        scores = fitted.scores(form(X[:5]), form(X))
        assert scores.shape == (5, len(X))
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()
        queries, items = fitted.query_vectors(form(X[:5])), fitted.item_vectors(form(X))
        assert queries.dtype == items.dtype == np.float32
        products = plain(queries) @ plain(items).T
        np.testing.assert_allclose(scores, products, rtol=1e-5, atol=1e-6)

    @FORMS
    def test_item_vectors_are_stored_vectors_times_scales(self, fitted, form):
        X, _ = small()
        stored, scales = fitted.stored_vectors(form(X)), fitted.item_scales(form(X))
        assert scales.shape == (len(X),)
        assert scales.dtype == stored.dtype == np.float32
        expected = plain(stored) * scales[:, None]
        np.testing.assert_allclose(plain(fitted.item_vectors(form(X))), expected, rtol=1e-6)

    @FORMS
    def test_parts_sum_to_scores(self, fitted, form):
        X, _ = small()
        parts = fitted.parts(form(X[:4]), form(X))
        assert all(isinstance(name, str) for name in parts)
        assert all(share.shape == (4, len(X)) for share in parts.values())
        expected = fitted.scores(form(X[:4]), form(X))
        np.testing.assert_allclose(sum(parts.values()), expected, rtol=1e-5, atol=1e-6)

    @FORMS
    def test_an_index_ranks_as_scores_do(self, fitted, form):
        X, _ = small()
        stored, queries = fitted.stored_vectors(form(X)), fitted.query_vectors(form(X[:7]))
        kind = SparseIndex if sp.issparse(stored) else DenseIndex
        index = kind(stored.shape[1])
        index.add(stored, scales=fitted.item_scales(form(X)))
        hits = index.search(queries if kind is SparseIndex else plain(queries), k=len(X))
        scores = fitted.scores(form(X[:7]), form(X))
        ranked = np.take_along_axis(scores, hits.ids, axis=1)
        rounding = 1e-5 * max(1, np.abs(scores).max())
        np.testing.assert_allclose(ranked, hits.scores, atol=rounding)
        assert (np.diff(ranked) <= rounding).all()

    def test_dense_equals_sparse(self, part):
        X, y = small()
        rows = sp.csr_matrix(X)
        from_dense, from_csr = clone(part).fit(X, y), clone(part).fit(rows, y)
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

    def test_no_pictures_have_no_scores(self, fitted):
        X, _ = small()
        assert fitted.scores(X[:3], X[:0]).shape == (3, 0)
        assert fitted.scores(X[:0], X[:3]).shape == (0, 3)

    def test_the_extremes_of_float32_are_refused_or_finite(self, part):
        X, y = small()
        for size in (1e-44, 1e-30, 1e30, 1e38):
            rows = (X.astype(np.float64) * size).astype(np.float32)
            try:
                scores = clone(part).fit(rows, y).scores(rows, rows)
            except InvalidInput as error:
                assert any(word in str(error) for word in ("constant", "differ", "Scale"))  # noqa: PT017
            else:
                assert np.isfinite(scores).all()

    # Learning

    def test_fit_returns_self_and_keeps_what_it_was_given(self, part):
        X, y = small()
        before, settings = X.copy(), part.get_params()
        assert part.fit(X, y) is part
        assert part.get_params() == settings
        assert clone(part).get_params() == settings
        assert part.n_features_in_ == X.shape[1]
        np.testing.assert_array_equal(X, before)

    def test_the_same_again_gives_the_same(self, part):
        X, y = small()
        first = clone(part).fit(X, y)
        expected = first.scores(X, X)
        np.testing.assert_array_equal(clone(part).fit(X, y).scores(X, X), expected)
        first.fit(*small(seed=8))
        np.testing.assert_array_equal(first.fit(X, y).scores(X, X), expected)

    def test_progress_rises_to_the_total(self, part):
        heard = []
        part.fit(*small(), progress=lambda done, total: heard.append((done, total)))
        done = [each for each, _ in heard]
        assert done == sorted(done)
        assert heard[-1][0] == heard[-1][1] > 0

    def test_labels_may_be_a_relevance(self, learner):
        X, y = small()
        expected = clone(learner).fit(X, y).scores(X, X)
        as_relevance = learner.fit(X, Relevance.of(y)).scores(X, X)
        np.testing.assert_array_equal(as_relevance, expected)

    def test_several_labels_are_learned_or_refused(self, learner):
        X, y = small()
        relevance = Relevance.of([{str(label), "even" if label % 2 else "odd"} for label in y])
        if "labels" in learner.learns_from:
            assert np.isfinite(learner.fit(X, relevance).scores(X, X)).all()
        else:
            with pytest.raises(InvalidInput, match=r"several labels for 24 rows.*: .*oasis"):
                learner.fit(X, relevance)
            with pytest.raises(InvalidInput, match=r"none for 4\. .* one class per picture"):
                learner.fit(X, Relevance.of([None] * 4 + list(y[4:])))

    def test_pairs_are_learned_or_refused(self, learner):
        X, y = small()
        relevance = Relevance.of(sp.csr_matrix((y[:, None] == y).astype(float)))
        if "relevance" in learner.learns_from:
            assert np.isfinite(learner.fit(X, relevance).scores(X, X)).all()
        else:
            with pytest.raises(InvalidInput, match=r"learns from relevance: .*oasis"):
                learner.fit(X, relevance)

    def test_triplets_are_learned_or_refused(self, part):
        X, _ = small()
        triplets = [[1, 2, 7], [8, 9, 20]]
        for learn in (part.fit_triplets, part.partial_fit):
            if "triplets" in part.learns_from:
                assert learn(X, triplets) is part
                assert np.isfinite(part.scores(X, X)).all()
            else:
                with pytest.raises(
                    InvalidInput, match=r"does not accept triplets\. Choose .*: .*oasis"
                ):
                    learn(X, triplets)

    def test_where_it_has_not_learned_it_ranks_by_cosine(self, fitted):
        X, _ = small()
        units = Cosine().query_vectors(X)
        assert isinstance(fitted.learned, bool)
        if not fitted.learned:
            order = np.argsort(-fitted.scores(units, units).round(5), kind="stable")
            expected = np.argsort(-Cosine().scores(units, units).round(5), kind="stable")
            np.testing.assert_array_equal(order, expected)

    # What is refused

    def test_a_width_it_did_not_learn_with_is_refused(self, fitted):
        X, _ = small()
        for ask in (fitted.stored_vectors, fitted.item_scales, fitted.query_vectors):
            for form in (np.asarray, sp.csr_matrix):
                with pytest.raises(InvalidInput, match="9 columns"):
                    ask(form(X[:, :5]))

    @FORMS
    def test_what_is_not_finite_is_refused(self, part, form):
        X, y = small()
        broken = X.copy()
        broken[3, 2] = np.nan
        with pytest.raises(InvalidInput, match="finite"):
            clone(part).fit(form(broken), y)
        fitted = part.fit(X, y)
        for ask in (fitted.stored_vectors, fitted.item_scales, fitted.query_vectors):
            with pytest.raises(InvalidInput, match="finite"):
                ask(form(broken))

    def test_asking_before_fit_is_refused_unless_it_learns_nothing(self, part, tmp_path):
        X, _ = small()
        if not part.learns_from:
            assert part.scores(X, X).shape == part.scores(X[:, :4], X[:, :4]).shape
            assert not hasattr(part, "n_features_in_")
            return
        for ask in (part.stored_vectors, part.item_scales, part.query_vectors):
            with pytest.raises(NotFitted, match="fit first"):
                ask(X)
        with pytest.raises(NotFitted, match="fit first"):
            part.save(tmp_path / "part")
        with pytest.raises(NotFitted, match="fit first"):
            part.learned  # noqa: B018

    @pytest.mark.parametrize(
        ("labels", "words"),
        [
            (None, "must be"),
            ([0] * 24, "two classes|cannot learn"),
            (list(range(24)), "two classes|cannot learn"),
            (["a", "b"] * 11, "24"),
            (Relevance.of(["a", "b"] * 11), "24"),
        ],
        ids=["none", "one class", "all different", "too few", "too few as relevance"],
    )
    def test_labels_that_teach_nothing_are_refused(self, learner, labels, words):
        X, _ = small()
        with pytest.raises(InvalidInput, match=words):
            learner.fit(X, labels)

    def test_a_failed_fit_leaves_what_was_learned(self, learner):
        X, y = small()
        learner.fit(X, y)
        before = learner.scores(X, X)
        with pytest.raises(InvalidInput):
            learner.fit(X[:, :4], np.zeros(len(X), dtype=int))
        np.testing.assert_array_equal(learner.scores(X, X), before)

    # On disk

    def test_saved_is_the_same(self, fitted, tmp_path):
        X, _ = small()
        path = tmp_path / "part"
        fitted.save(path, fingerprint="abc")
        again = type(fitted).load(path)
        np.testing.assert_array_equal(again.scores(X, X), fitted.scores(X, X))
        np.testing.assert_array_equal(again.item_scales(X), fitted.item_scales(X))
        assert again.fingerprint_ == "abc"
        assert again.get_params() == fitted.get_params()
        assert again.learned == fitted.learned
        again.save(tmp_path / "again", fingerprint="abc")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()

    def test_a_file_of_something_else_is_refused(self, fitted, tmp_path):
        path = tmp_path / "part"
        fitted.save(path)
        arrays, manifest = load_arrays(path, kind=fitted.file_kind)
        save_arrays(path, arrays, kind="something/1", manifest=manifest)
        with pytest.raises(DamagedFile, match="something/1"):
            type(fitted).load(path)
        write_whole(path, json.dumps(manifest).encode())
        with pytest.raises(DamagedFile):
            type(fitted).load(path)

    def test_a_file_cut_short_is_refused(self, fitted, tmp_path):
        path = tmp_path / "part"
        fitted.save(path)
        content = path.read_bytes()
        for length in (0, 7, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(DamagedFile):
                type(fitted).load(path)

    def test_a_file_with_other_content_is_refused(self, fitted, tmp_path):
        path = tmp_path / "part"
        fitted.save(path)
        arrays, manifest = load_arrays(path, kind=fitted.file_kind)

        def refused(arrays, manifest):
            save_arrays(path, arrays, kind=fitted.file_kind, manifest=manifest)
            with pytest.raises(DamagedFile, match=type(fitted).__name__):
                type(fitted).load(path)

        for name, array in arrays.items():
            kind = np.float32 if array.dtype == np.float64 else np.float64
            others = [array.astype(kind), array[..., :-1], array[..., :0]]
            if array.dtype.kind == "f":
                spoilt = array.copy()
                spoilt.reshape(-1)[-1] = np.nan
                others.append(spoilt)
            for other in others:
                refused({**arrays, name: other}, manifest)
            refused({one: arrays[one] for one in arrays if one != name}, manifest)
        for key in ("settings", "learned", "fingerprint"):
            refused(arrays, {one: manifest[one] for one in manifest if one != key})
        refused(arrays, {**manifest, "settings": {"no_such_setting": 1}})
        for key in manifest["learned"]:
            refused(arrays, {**manifest, "learned": {**manifest["learned"], key: "nonsense"}})
