"""OKS and OMKS: equal to the paper's support vectors, within its bounds, and worth learning."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from lookalike.checks.similarity import SimilarityContract, small
from lookalike.core.errors import InvalidInput
from lookalike.core.seeds import loop_state
from lookalike.evaluate import evaluate_similarity
from lookalike.similarity import KernelSimilarity, MultiKernelSimilarity
from lookalike.similarity.kernels import Kernel, Pairs, kernels_of, views_of
from lookalike.similarity.operator import (
    Axes,
    Coordinates,
    Source,
    choose_landmarks,
    cut_together,
    learn_coefficients,
    step_mapped,
)
from lookalike.supervision import Relevance, TripletSampler
from tests.contract import each, passes
from tests.reference import kernel as slow

PLAIN = {"positive": False, "normalize": False}
BLOCKS = {"left": 4, "right": 5}


def pictures(seed=0, count=14, width=5, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % classes
    X = rng.normal(size=(classes, width))[y] + 0.8 * rng.normal(size=(count, width))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), y


def drawn(y, count, seed=0):
    rng = np.random.default_rng(seed)
    return TripletSampler(Relevance.of(y)).draw(loop_state(rng), count)


def source(kernel, width):
    made = Kernel.of("test", kernel)
    return Source(made.name, "", ((slice(0, width), made),))


def digits(seed=0):
    """A hundred and fifty digits to learn from and three hundred others, at unit length."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X[order[:150]], y[order[:150]], X[order[150:450]], y[order[150:450]]


@pytest.mark.parametrize(
    "form",
    [
        PLAIN,
        {"positive": True, "normalize": False},
        {"combine": "hedge", "blocks": BLOCKS},
        {"combine": "validation"},
        {"combine": "best", "blocks": [["left", 4], ["right", None]]},
        {"combine": "average", "kernels": "chi2:0.5,intersection,exponential:2"},
        {"landmarks": 7, "dimension": 5},
    ],
    ids=lambda one: "-".join(map(str, one)),
)
@each(SimilarityContract)
def test_forms_of_kernels(form, rule):
    """The ways in which kernel similarities score and combine."""
    passes(
        rule, SimilarityContract, MultiKernelSimilarity(**{"steps": 500, "random_state": 5, **form})
    )


class TestAlgorithms:
    @pytest.mark.parametrize("C", [0.1, 10.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_a_step_of_order_n_equals_the_support_vectors(self, seed, C):
        X, y = pictures(seed)
        triplets = drawn(y, 60, seed)
        model = KernelSimilarity(kernel="rbf:0.7", aggressiveness=C, **PLAIN)
        model.fit_triplets(X, triplets)
        ((_, kernel),) = model._learned.sources[0].kernels
        expected, margins = slow.oks(slow.gaussian(kernel.bandwidth * 0.7**2), X, triplets, C)
        scores = np.array([[expected.score(q, p) for p in X] for q in X])
        np.testing.assert_allclose(model.scores(X, X), scores, atol=3e-4 * np.abs(scores).max())
        assert model.mistakes_[0] == np.count_nonzero(margins <= 0)

    def test_both_loops_take_the_same_steps(self):
        X, y = pictures(4, count=20)
        triplets = drawn(y, 300)
        found = Coordinates.of("test", source("rbf:1", 5).fitted("test", X), X, np.arange(20))
        A, margins = learn_coefficients(found.K, triplets, 0.1)
        W = np.eye(found.rows.shape[1], dtype=np.float32)
        np.testing.assert_allclose(step_mapped(found.rows, W, triplets, 0.1), margins, atol=1e-3)
        K = found.K.astype(float)
        np.testing.assert_allclose(
            found.rows @ W @ found.rows.T, K + K @ A @ K, atol=1e-3 * np.abs(K @ A @ K).max()
        )

    def test_learning_in_two_calls_is_the_same_as_in_one(self):
        X, y = pictures(5)
        triplets = drawn(y, 80)
        model = KernelSimilarity(**PLAIN)
        whole = model.fit_triplets(X, triplets).scores(X, X)
        halves = KernelSimilarity(**PLAIN).fit_triplets(X, triplets[:50])
        stored = halves.stored_vectors(X)
        halves.partial_fit(X, triplets[50:])
        np.testing.assert_array_equal(halves.stored_vectors(X), stored)
        np.testing.assert_allclose(halves.scores(X, X), whole, atol=1e-3 * np.abs(whole).max())
        from_start = KernelSimilarity(**PLAIN).partial_fit(X, triplets)
        np.testing.assert_allclose(from_start.scores(X, X), whole, atol=1e-3 * np.abs(whole).max())
        assert from_start.steps_ == halves.steps_ == 80

    def test_omks_has_the_weights_of_algorithm_2(self):
        X, y = pictures(6)
        triplets = drawn(y, 50)
        model = MultiKernelSimilarity(
            kernels="rbf:0.5,rbf:1,rbf:2", combine="hedge", discount=0.9, **PLAIN
        ).fit_triplets(X, triplets)
        kernels = [
            slow.gaussian(it.kernels[0][1].bandwidth * s**2)
            for it, s in zip(model._learned.sources, (0.5, 1, 2), strict=True)
        ]
        learned, weights, _ = slow.omks(kernels, X, triplets, 0.1, 0.9)
        np.testing.assert_allclose(model.weights_, weights, rtol=1e-6)
        expected = sum(w * one.score(X[0], X[1]) for w, one in zip(weights, learned, strict=True))
        assert model.scores(X[:1], X[1:2])[0, 0] == pytest.approx(expected, abs=1e-3)

    def test_the_discount_is_that_of_theorem_2(self):
        X, y = pictures(7)
        model = MultiKernelSimilarity(
            kernels="rbf:0.3,cosine,linear",
            combine="hedge",
            discount=None,
            steps=400,
            random_state=0,
        ).fit(X, y)
        beta = np.sqrt(400) / (np.sqrt(400) + np.sqrt(np.log(3)))
        powers = beta ** model.mistakes_.astype(float)
        np.testing.assert_allclose(model.weights_, powers / powers.sum())

    def test_views_share_a_weight_between_kernels(self):
        X, y = pictures(8, count=30)
        noise = np.random.default_rng(0).normal(size=(30, 3))
        model = MultiKernelSimilarity(
            blocks={"look": 5, "noise": 3}, discount=None, steps=2000, random_state=0
        )
        model.fit(np.hstack([X, noise]), y)
        assert model.weights_[0] == model.weights_[1] > model.weights_[2] == model.weights_[3]
        assert model.view_weights_["look"] == pytest.approx(2 * model.weights_[0])
        assert sum(model.view_weights_.values()) == pytest.approx(1)

    def test_parts_of_views_sum_to_the_scores(self):
        X, y = small()
        model = MultiKernelSimilarity(blocks=BLOCKS, steps=300, random_state=0).fit(X, y)
        parts = model.view_parts(X[:3], X)
        assert list(parts) == ["left", "right"]
        np.testing.assert_allclose(sum(parts.values()), model.scores(X[:3], X), atol=1e-6)


class TestBounds:
    """Theorems 1 and 2, with the operators L = I + ΣA, for any of them the bounds hold."""

    @settings(max_examples=30)
    @given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 1.0, 10.0]))
    def test_mistakes_of_oks(self, seed, C):
        X, y = pictures(seed, count=12)
        triplets = drawn(y, 150, seed)
        K = source("rbf:0.7", 5).fitted("test", X).square("test", X)
        A, margins = learn_coefficients(K, triplets, C)
        mistakes = np.count_nonzero(margins <= 0)
        own = np.diag(K)
        i, j, k = triplets.T
        R = float((own[i] * (own[j] - 2 * K[j, k] + own[k])).max())
        # Any operator bounds the mistakes: what was learned, parts of it, and the identity.
        for share in (0.0, 0.5, 1.0, 2.0):
            assert mistakes <= bound(K, share * A, triplets, C, R) + 1e-3

    @settings(max_examples=20)
    @given(st.integers(0, 10_000), st.floats(0.5, 0.99))
    def test_mistakes_of_omks(self, seed, beta):
        X, y = pictures(seed, count=12)
        triplets = drawn(y, 100, seed)
        sigmas = (0.3, 1.0, 3.0)
        kernels = [source(f"rbf:{one}", 5).fitted("test", X) for one in sigmas]
        z = np.array(
            [learn_coefficients(it.square("test", X), triplets, 0.1)[1] <= 0 for it in kernels]
        )
        theta, mistakes = np.ones(3), 0
        for column in z.T:
            mistakes += theta @ column / theta.sum() >= 0.5
            theta = theta * beta**column
        best = z.sum(axis=1).min()
        assert mistakes <= 2 * (np.log(1 / beta) * best + np.log(3)) / (1 - beta) + 1e-9


def bound(K, A, triplets, C, R):
    """The right side of Theorem 1 for L = I + Σ A_ij κ(x_i, ·)κ(x_j, ·)ᵀ."""
    K, A = K.astype(float), A.astype(float)
    norm = float(np.trace(A.T @ K @ A @ K))
    S = K + K @ A @ K
    i, j, k = triplets.T
    losses = np.maximum(0, 1 - S[i, j] + S[i, k]).sum()
    return (norm + 2 * C * losses) / min(1 / R, C)


@pytest.fixture(scope="module")
def learned():
    """A similarity of two views by default settings, and other pictures."""
    X, y, P, _ = digits()
    blocks = {"top": 32, "bottom": 32}
    return MultiKernelSimilarity(blocks=blocks, steps=3000, random_state=0).fit(X, y), P


class TestShares:
    """With labels, views are whitened and the share of kernels follows the query."""

    def test_a_view_is_divided_by_nearness_to_what_was_taught(self, learned):
        model, P = learned
        shares, weights = model.reach(P), model.view_weights_
        assert 0.1 <= shares.min() < shares.max() <= 0.9 + 1e-6
        units = [it / np.linalg.norm(it, axis=1, keepdims=True) for it in (P[:, :32], P[:, 32:])]
        A = model._learned.whitening
        turned = [units[0] @ A[:32, :32], units[1] @ A[32:, 32:]]
        rows = np.hstack([it / np.linalg.norm(it, axis=1, keepdims=True) for it in turned])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rule = model._learned.reach
        near = np.sort(rows @ rule.landmarks.T, axis=1)[:, -3:].mean(axis=1)
        expected = 0.1 + 0.8 * np.clip((near - rule.low) / (rule.high - rule.low), 0, 1)
        np.testing.assert_allclose(shares, expected, atol=1e-4)
        stored = np.split(model.stored_vectors(P), np.cumsum(self.widths(model))[:-1], axis=1)
        for at, (name, part) in enumerate(model.parts(P, P).items()):
            share = shares if "rbf" in name else 1 - shares
            weight = weights[name.split()[0]] * share[:, None]
            np.testing.assert_allclose(part, weight * (stored[at] @ stored[at].T), atol=1e-4)

    def widths(self, model):
        return [axes.width for axes in model._learned.axes]

    def test_far_from_what_was_taught_near_kernels_count_less(self, learned):
        model, P = learned
        assert model.reach(-P).mean() < model.reach(P).mean()

    def test_further_pictures_taught_are_near(self, learned, tmp_path):
        model, P = learned
        model.save(tmp_path / "model")
        later = MultiKernelSimilarity.load(tmp_path / "model")
        np.testing.assert_array_equal(later.scores(P[:5], P), model.scores(P[:5], P))
        new = np.repeat(-P[:2], 3, axis=0)
        later.partial_fit(new, [[0, 1, 3], [1, 2, 3], [2, 0, 4]])
        np.testing.assert_allclose(later.reach(new[:1]), 0.9, atol=1e-6)

    @pytest.mark.parametrize(
        "settings", [{"blend": 0.5}, {"kernels": "linear"}, {"normalize": False}]
    )
    def test_without_both_sorts_of_kernels_weights_are_the_same_for_all(self, settings):
        X, y, P, _ = digits()
        model = MultiKernelSimilarity(steps=100, random_state=0, **settings).fit(X, y)
        np.testing.assert_array_equal(model.reach(P), 1)

    @pytest.mark.parametrize("kernels", ["chi2:1", "intersection,linear"])
    def test_histograms_are_not_whitened(self, kernels):
        X, y = np.abs(pictures()[0]), pictures()[1]
        model = MultiKernelSimilarity(kernels=kernels, steps=100, random_state=0).fit(X, y)
        assert model._learned.whitening is None


class TestChosen:
    """β, and the views that count, by held-out pictures."""

    def test_a_view_that_does_not_help_has_no_weight_and_stores_nothing(self, tmp_path):
        X, y, P, labels = digits()
        noise = np.random.default_rng(0).normal(size=(len(X) + len(P), 16)).astype(np.float32)
        rows, others = np.hstack([noise[: len(X)], X]), np.hstack([noise[len(X) :], P])
        blocks = {"noise": 16, "look": 64}
        model = MultiKernelSimilarity(blocks=blocks, steps=3000, random_state=0).fit(rows, y)
        assert model.view_weights_ == {"noise": 0, "look": pytest.approx(1)}
        assert [axes.width > 0 for axes in model._learned.axes] == [False, False, True, True]
        alone = MultiKernelSimilarity(steps=3000, random_state=0).fit(X, y)
        best, one = (precision(it, Q, labels) for it, Q in ((alone, P), (model, others)))
        assert one == pytest.approx(best, abs=0.02)
        model.save(tmp_path / "model")
        again = MultiKernelSimilarity.load(tmp_path / "model")
        np.testing.assert_array_equal(
            again.scores(others[:5], others), model.scores(others[:5], others)
        )
        again.partial_fit(rows, drawn(y, 20))
        assert again.view_weights_["noise"] == 0
        assert again._learned.discount == model._learned.discount

    def test_views_that_help_each_other_are_kept(self):
        X, y, P, labels = digits()
        halves = [(one, np.s_[:, at]) for one, at in (("top", np.s_[:32]), ("bottom", np.s_[32:]))]
        model = MultiKernelSimilarity(
            blocks={"top": 32, "bottom": 32}, steps=3000, random_state=0
        ).fit(X, y)
        assert min(model.view_weights_.values()) > 0.05
        alone = [
            precision(
                MultiKernelSimilarity(steps=3000, random_state=0).fit(X[at], y), P[at], labels
            )
            for _, at in halves
        ]
        assert precision(model, P, labels) > max(alone) + 0.05

    def test_too_few_pictures_to_hold_any_out_have_the_discount_of_theorem_2(self):
        X, y = small()
        X, y = np.vstack([X[:2], X[-2:]]), np.array([0, 0, 1, 1])
        models = [
            MultiKernelSimilarity(blocks=BLOCKS, steps=50, discount=one, random_state=0).fit(X, y)
            for one in ("chosen", None)
        ]
        np.testing.assert_allclose(models[0].weights_, models[1].weights_, atol=1e-6)


def precision(model, P, labels):
    """The mean average precision of pictures ranked among themselves."""
    return evaluate_similarity(model, P, labels).mean_average_precision


class TestSpaces:
    def test_positive_and_normalised(self):
        X, y = small()
        for one in (KernelSimilarity, MultiKernelSimilarity):
            model = one(blend=0.5, steps=2000, random_state=0).fit(X, y)
            scores = model.scores(X, X)
            np.testing.assert_allclose(scores, scores.T, atol=1e-5)
            assert np.linalg.eigvalsh(scores.astype(float))[0] > -1e-4
            assert np.abs(scores).max() < 1 + 1e-5
            np.testing.assert_allclose(np.diag(scores)[1:-1], 1, atol=1e-5)

    def test_positive_is_the_projection_by_eigenvalues(self):
        X, y = pictures(9)
        triplets = drawn(y, 100)
        model = KernelSimilarity(kernel="rbf:0.5", aggressiveness=1.0, normalize=False)
        found = model.fit_triplets(X, triplets).scores(X, X)
        K = model._learned.sources[0].square("test", X)
        A, _ = learn_coefficients(K, triplets, 1.0)
        values, vectors = np.linalg.eigh(K.astype(float))
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        D, V = np.linalg.eigh(root @ (A + A.T).astype(float) / 2 @ root)
        assert D[0] < -1
        expected = root @ ((V * np.maximum(1 + D, 0)) @ V.T) @ root
        np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())

    def test_landmarks_come_close_to_exact(self):
        X, y, P, labels = digits()
        exact = KernelSimilarity(steps=20_000, random_state=0).fit(X, y)
        few = KernelSimilarity(steps=20_000, landmarks=75, random_state=0).fit(X, y)
        assert len(few.landmarks_) <= 75
        figures = [evaluate_similarity(it, P, labels).mean_average_precision for it in (exact, few)]
        assert figures[1] > figures[0] - 0.1, figures

    def test_fewer_numbers_come_close_to_all(self):
        X, y, P, labels = digits()
        figures = []
        for dimension in (1000, 64):
            model = MultiKernelSimilarity(steps=20_000, dimension=dimension, random_state=0)
            model.fit(X, y)
            assert model.stored_vectors(P[:1]).shape[1] <= dimension
            figures.append(evaluate_similarity(model, P, labels).mean_average_precision)
        assert figures[1] > figures[0] - 0.02, figures

    def test_more_pictures_than_fit_learn_by_landmarks(self, set_limits):
        X, y, P, labels = digits()
        settings = {"steps": 5000, "landmarks": 60, "random_state": 0}
        exact = KernelSimilarity(**settings).fit(X, y)
        set_limits(max_exact=100, operator_rows=64)
        large = KernelSimilarity(**settings).fit(X, y)
        np.testing.assert_array_equal(large.landmarks_, exact.landmarks_)
        figures = [
            evaluate_similarity(it, P, labels).mean_average_precision for it in (exact, large)
        ]
        assert abs(figures[0] - figures[1]) < 0.03, figures

    @pytest.mark.parametrize("weights", [(1.0, 1e-300), (1.0, 0.0), (0.9, 0.1), (0.5, 0.5)])
    def test_axes_fill_the_room_by_weight(self, weights):
        axes = [Axes(np.ones((3, 40), np.float32), None, np.arange(40.0, 0, -1)) for _ in range(2)]
        kept = [one.width for one in cut_together(axes, np.array(weights), 50)]
        assert 40 <= sum(kept) <= 50
        assert kept[0] >= kept[1]
        assert kept[0] == 40 or abs(kept[0] - kept[1]) <= 1

    def test_blocks_of_rows_do_not_matter(self, set_limits):
        X, y = small()
        model = MultiKernelSimilarity(blocks=BLOCKS, steps=200, random_state=0).fit(X, y)
        before = model.stored_vectors(X)
        set_limits(kernel_values=200)
        np.testing.assert_allclose(model.stored_vectors(X), before, atol=1e-6)

    def test_landmarks_stand_for_all(self):
        rng = np.random.default_rng(0)
        X = np.repeat(rng.normal(size=(4, 3)), 50, axis=0) + 0.01 * rng.normal(size=(200, 3))
        chosen = choose_landmarks(X.astype(np.float32), 12, rng)
        assert len(chosen) <= 12
        assert set(chosen // 50) == {0, 1, 2, 3}


class TestKernels:
    @pytest.mark.parametrize(
        ("name", "formula"),
        [
            ("linear", lambda x, y: x @ y / 0.5),
            ("cosine", lambda x, y: (0.5 + 0.5 * x @ y / np.sqrt((x @ x) * (y @ y))) / 0.5),
            ("intersection", lambda x, y: np.minimum(x, y).sum() / 0.5),
            ("rbf:2", lambda x, y: np.exp(-((x - y) ** 2).sum() / 0.5 / 4)),
            ("exponential:0.5", lambda x, y: np.exp(-np.sqrt(((x - y) ** 2).sum()) / 0.5 / 0.25)),
            ("chi2", lambda x, y: np.exp(-((x - y) ** 2 / (x + y)).sum() / 0.5)),
        ],
    )
    def test_values_are_those_of_the_formula(self, name, formula):
        rng = np.random.default_rng(0)
        X, Y = rng.random((4, 6)).astype(np.float32), rng.random((3, 6)).astype(np.float32)
        kernel = Kernel(name, sigma=Kernel.of("test", name).sigma, bandwidth=0.5)
        expected = [[formula(x.astype(float), y.astype(float)) for y in Y] for x in X]
        np.testing.assert_allclose(kernel.values("test", Pairs(X, Y)), expected, rtol=1e-4)

    @pytest.mark.parametrize("name", ["rbf:0.5", "exponential:0.5"])
    def test_a_picture_is_wholly_like_itself(self, name):
        rng = np.random.default_rng(0)
        X = rng.normal(5, 1, (40, 300)).astype(np.float32)
        X[7] = X[3]
        kernel = Kernel.of("test", name).fitted("test", X)
        values = kernel.values("test", Pairs(X, X.copy()))
        np.testing.assert_array_equal(np.diag(values), 1)
        assert values[3, 7] == 1

    def test_the_bandwidth_is_the_mean_distance(self):
        X, _ = pictures()
        distances = [((x - y) ** 2).sum() for i, x in enumerate(X) for y in np.delete(X, i, axis=0)]
        fitted = Kernel.of("test", "rbf:3").fitted("test", X)
        assert fitted.bandwidth == pytest.approx(np.mean(distances), rel=1e-4)
        assert fitted.sigma == 3

    @pytest.mark.parametrize("name", ["linear", "cosine", "intersection", "chi2", "rbf"])
    def test_the_unit_of_the_vectors_does_not_matter(self, name):
        X, _ = small()
        rows = X[1:-1]
        one, other = (
            source(name, 9).fitted("test", it).square("test", it) for it in (rows, 1000 * rows)
        )
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("name", ["", "rbf:", "rbf:x", "rbf:-1", "rbf:inf", "linear:2", 5])
    def test_names_that_are_no_kernel_are_refused(self, name):
        with pytest.raises(InvalidInput, match="kernel"):
            Kernel.of("test", name)

    def test_kernels_must_be_different(self):
        for names in ("rbf:1,linear,rbf:1", [], ["linear", "linear"]):
            with pytest.raises(InvalidInput, match="different"):
                kernels_of("test", names)
        assert [one.name for one in kernels_of("test", " rbf:1 , linear")] == ["rbf:1", "linear"]

    def test_histograms_must_not_be_negative(self):
        X, y = pictures()
        for name in ("chi2", "intersection"):
            with pytest.raises(InvalidInput, match="from 0"):
                KernelSimilarity(kernel=name).fit(X, y)

    def test_a_callable_learns_as_its_name_does_but_cannot_be_saved(self, tmp_path):
        X, y = pictures()
        triplets = drawn(y, 200)
        named = KernelSimilarity(kernel="linear").fit_triplets(X, triplets)
        called = KernelSimilarity(kernel=lambda A, B: A @ B.T).fit_triplets(X, triplets)
        np.testing.assert_allclose(called.scores(X, X), named.scores(X, X), atol=1e-5)
        with pytest.raises(InvalidInput, match="cannot be saved"):
            called.save(tmp_path / "part")

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
            (lambda A, B: A[:, :1] - B[:, 0], "symmetric"),
            (lambda A, B: -A @ B.T, "positive definite"),
            (lambda A, B: A @ A.T if len(A) == len(B) else A, "each pair"),
            (lambda A, B: np.ones((len(A), 1)), "each pair"),
        ],
        ids=["nan", "not symmetric", "negative", "wrong shape later", "wrong shape"],
    )
    def test_callables_that_are_no_kernel_are_refused(self, function, words):
        X, y = pictures()
        with pytest.raises(InvalidInput, match=words):
            KernelSimilarity(kernel=function, steps=50, random_state=0).fit(X, y).scores(X[:4], X)


class TestViews:
    def test_blocks_are_columns_in_order(self):
        assert views_of("test", None, 7) == {"": slice(0, 7)}
        expected = {"a": slice(0, 3), "b": slice(3, 7)}
        for blocks in ({"a": 3, "b": 4}, [("a", 3), ("b", 4)], [["a", 3], ["b", None]]):
            assert views_of("test", blocks, 7) == expected

    @pytest.mark.parametrize(
        "blocks",
        [{"a": 3}, {"a": 3, "b": 5}, [("a", 3), ("a", 4)], {"a": 0, "b": 7}, {"a": 7, "b": None}],
    )
    def test_blocks_that_do_not_fit_are_refused(self, blocks):
        X, y = pictures(width=7)
        with pytest.raises(InvalidInput, match="block"):
            MultiKernelSimilarity(blocks=blocks, steps=10).fit(X, y)

    def test_a_constant_view_adds_nothing_and_loses_its_weight(self):
        X, y = pictures(count=30)
        wide = np.hstack([X, np.full((30, 2), 0.5, np.float32), np.zeros((30, 2), np.float32)])
        blocks = {"look": 5, "constant": 2, "zero": 2}
        for combine in ("views", "hedge"):
            model = MultiKernelSimilarity(
                blocks=blocks, combine=combine, steps=3000, random_state=0
            )
            weights = model.fit(wide, y).view_weights_
            assert weights["look"] > 0.99
            assert sum(model.weights_) == pytest.approx(1)
            assert np.isfinite(model.scores(wide, wide)).all()

    def test_duplicates_only_are_refused(self):
        X = np.repeat([[0.6, 0.8]], 8, axis=0)
        with pytest.raises(InvalidInput, match="must differ"):
            MultiKernelSimilarity().fit(X, [0, 0, 0, 0, 1, 1, 1, 1])

    def test_pairs_of_duplicates_learn(self):
        X, y = pictures(count=9)
        model = KernelSimilarity(steps=500, random_state=0).fit(np.vstack([X, X]), np.r_[y, y])
        assert np.isfinite(model.scores(X, X)).all()

    def test_weights_stay_on_the_simplex_through_many_mistakes(self):
        X, _ = pictures(count=12)
        rng = np.random.default_rng(0)
        blocks = {"a": 2, "b": 3}
        model = MultiKernelSimilarity(blocks=blocks, combine="hedge", discount=0.01)
        for _ in range(5):
            model.partial_fit(X, rng.integers(0, 12, size=(400, 3)))
            assert np.isfinite(model.weights_).all()
            assert (model.weights_ >= 0).all()
            assert model.weights_.sum() == pytest.approx(1)
            assert np.isfinite(model.scores(X, X)).all()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"combine": "sum"},
            {"discount": 1.0},
            {"aggressiveness": 0},
            {"steps": 0},
            {"landmarks": 0},
            {"dimension": 0},
            {"blend": 2},
            {"positive": False},
            {"held_out": 1.0},
            {"kernels": "rbf:0"},
            {"random_state": "seed"},
        ],
        ids=str,
    )
    def test_wrong_parameters_are_refused(self, wrong):
        X, y = pictures()
        with pytest.raises(InvalidInput, match=r"must be|needs"):
            MultiKernelSimilarity(**wrong).fit(X, y)

    def test_sparse_rows_learn_as_dense_ones(self):
        X, y = small()
        triplets = drawn(y, 100)
        dense, rows = (
            MultiKernelSimilarity(random_state=0).partial_fit(it, triplets)
            for it in (X, sp.csr_matrix(X))
        )
        np.testing.assert_allclose(rows.scores(X, X), dense.scores(X, X), atol=1e-5)


class TestWorth:
    """Learned on 150 digits, 300 others ranked. Cosine: mAP 0.669."""

    @pytest.mark.parametrize(
        ("model", "floor"),
        [
            (KernelSimilarity(steps=30_000, random_state=0), 0.80),
            (MultiKernelSimilarity(steps=30_000, random_state=0), 0.78),
            (MultiKernelSimilarity(steps=30_000, combine="hedge", random_state=0), 0.78),
            (MultiKernelSimilarity(steps=30_000, combine="best", random_state=0), 0.78),
            (MultiKernelSimilarity(steps=30_000, combine="average", random_state=0), 0.75),
        ],
        ids=lambda one: f"{type(one).__name__} {one.combine}" if hasattr(one, "combine") else None,
    )
    def test_better_than_cosine(self, model, floor):
        X, y, P, labels = digits()
        found = evaluate_similarity(model.fit(X, y), P, labels).mean_average_precision
        assert found >= floor, found
