"""OASIS: its steps, its bound, its variants, and what it promises."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.core.ranking import judge
from lookalike.core.seeds import generator, loop_state
from lookalike.similarity import OASIS, choosing
from lookalike.similarity.blend import PowerPath, StraightPath
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.held_out import HeldOutPictures
from lookalike.similarity.training import Ranker, Stepper, average, run_together
from lookalike.supervision import Relevance, TripletSampler
from tests.reference import oasis as slow

PLAIN = {"aggressiveness": 0.1, "positive": "no", "normalize": False, "blend": 1.0}


def rows(seed, n=30, d=12, *, density=0.4):
    """Unit rows with zeros in them, and one row of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[0] = 0
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.where(norms > 0, norms, 1)).astype(np.float32)


def triplets_of(seed, n, count):
    return np.random.default_rng(seed).integers(0, n, (count, 3)).astype(np.uint32)


def taken(X, triplets, C, *, symmetric=False, **how):
    W = np.eye(X.shape[1], dtype=np.float32)
    stepper = Stepper(X, aggressiveness=C, symmetric=symmetric, **{"dissimilarity": False, **how})
    return W, stepper.take(W, triplets)


@pytest.fixture(scope="module")
def digits():
    """Half of scikit-learn's digits to learn from, half to judge by, as unit rows."""
    X, y = load_digits(return_X_y=True)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    return X[:600], y[:600], X[1000:1400], y[1000:1400]


def mean_average_precision(model, X, y):
    scores = model.scores(X, X)
    return judge(scores, y[:, None] == y, own=np.arange(len(y))).mean_average_precision


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_fast_equals_slow_sparse(seed, symmetric):
    X, triplets = rows(seed), triplets_of(seed, 30, 300)
    W, (_, total) = taken(sp.csr_matrix(X), triplets, 0.3, symmetric=symmetric)
    expected, losses = slow.run(X, triplets, 0.3, slow.bilinear_step, symmetric=symmetric)
    np.testing.assert_allclose(W, expected, atol=2e-4)
    assert total == pytest.approx(losses.sum(), rel=1e-4)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_fast_equals_slow_dense(seed, symmetric):
    X, triplets = rows(seed, density=1), triplets_of(seed, 30, 300)
    W, (_, total) = taken(X, triplets, 0.3, symmetric=symmetric)
    expected, losses = slow.run(X, triplets, 0.3, slow.bilinear_step, symmetric=symmetric)
    np.testing.assert_allclose(W, expected, atol=2e-4)
    assert total == pytest.approx(losses.sum(), rel=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_dissimilarity_equals_slow(form):
    X, triplets = rows(3), triplets_of(3, 30, 300)
    W, _ = taken(form(X), triplets, 0.2, dissimilarity=True)
    expected, _ = slow.run(X, triplets, 0.2, slow.dissimilarity_step)
    np.testing.assert_allclose(W, expected, atol=3e-4)
    np.testing.assert_allclose(W, W.T, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("C", [0.05, 10.0])
def test_logdet_steps_equal_slow_and_stay_positive(form, C):
    X, triplets = rows(4), triplets_of(4, 30, 60)
    W, (updates, total) = taken(form(X), triplets, C, logdet=True)
    expected, losses = slow.run(X, triplets, C, slow.logdet_step)
    np.testing.assert_allclose(W, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert np.linalg.eigvalsh(W.astype(np.float64))[0] > 0
    assert total == pytest.approx(losses.sum(), rel=1e-3)
    assert updates > 10


def test_logdet_meets_its_margin_where_C_does_not_bind():
    X = rows(7, n=4, density=0.8)
    triplet = np.array([[1, 2, 3]], dtype=np.uint32)
    W, _ = taken(X, triplet, 1e6, logdet=True)
    assert slow.loss(np.eye(12), X[1], X[2], X[3]) > 0.1
    assert slow.loss(W.astype(float), X[1], X[2], X[3]) == pytest.approx(0, abs=1e-3)


def test_logdet_learns_what_oasis_learns(digits):
    X, y, P, labels = digits
    figures = {
        divergence: mean_average_precision(
            OASIS(steps=8000, blend=1.0, random_state=0, divergence=divergence).fit(X, y), P, labels
        )
        for divergence in ("frobenius", "logdet")
    }
    start = mean_average_precision(OASIS(steps=1, blend=0.0).fit(X, y), P, labels)
    assert min(figures.values()) > start + 0.05
    with pytest.raises(InvalidInput, match="Eq\\. 22"):
        OASIS(divergence="logdet", symmetric="dissimilarity").fit(X, y)


def test_the_root_maps_pictures_into_a_euclidean_space(digits):
    X, y, P, _ = digits
    model = OASIS(steps=2000, positive="after", normalize=False, blend=1.0, random_state=0)
    A = model.fit(X, y).root()
    mapped = P[:20] @ A.T
    scores = model.scores(P[:20], P[:20])
    np.testing.assert_allclose(mapped @ mapped.T, scores, atol=1e-3 * np.abs(scores).max())


@given(st.integers(0, 10_000))
@settings(max_examples=50)
def test_margin_after_a_step(seed):
    """With a C that does not bind, the triplet meets its margin exactly after its step (Eq. 6)."""
    X = rows(seed, n=4, density=0.8)
    triplet = np.array([[1, 2, 3]], dtype=np.uint32)
    before = slow.loss(np.eye(12), X[1], X[2], X[3])
    V = np.outer(X[1], X[2] - X[3])
    for vectors in (X, sp.csr_matrix(X)):
        W, (updates, _) = taken(vectors, triplet, 1e6)
        if before > 1e-6 and np.sum(V**2) > 1e-6:
            assert updates == 1
            assert slow.loss(W.astype(float), X[1], X[2], X[3]) == pytest.approx(0, abs=1e-3)


@given(st.integers(0, 10_000), st.floats(0.001, 1.0))
@settings(max_examples=50)
def test_step_is_never_longer_than_C(seed, C):
    X = rows(seed, n=4, density=0.8)
    W, _ = taken(sp.csr_matrix(X), np.array([[1, 2, 3]], dtype=np.uint32), C)
    length = np.linalg.norm(W - np.eye(12))
    assert length <= C * np.linalg.norm(np.outer(X[1], X[2] - X[3])) * 1.001 + 1e-6


def test_theorem_1_on_a_real_run(digits):
    """Mistakes stay under max(R², 1/C)(|U|² − 2tr(U) + n + 2CΣl*), Eq. 16, for several U."""
    X, y, _, _ = digits
    C, count = 0.1, 3000
    sampler = TripletSampler(Relevance.of(y))
    triplets = sampler.draw(loop_state(generator(0)), count)
    W = np.eye(64, dtype=np.float32)
    stepper = Stepper(X, aggressiveness=C, symmetric=False, dissimilarity=False)
    mistakes = 0
    for triplet in triplets:
        image, more, less = X[triplet]
        mistakes += bool(image @ W @ (more - less) <= 0)
        stepper.take(W, triplet[None, :])
    images, differences = X[triplets[:, 0]], X[triplets[:, 1]] - X[triplets[:, 2]]
    R2 = (np.sum(images**2, axis=1) * np.sum(differences**2, axis=1)).max()
    assert mistakes > 0
    for U in (np.eye(64), W.astype(float), 2 * W.astype(float)):
        losses = np.maximum(0, 1 - np.einsum("ij,jk,ik->i", images, U, differences))
        start = np.sum(U**2) - 2 * np.trace(U) + 64
        assert mistakes <= max(R2, 1 / C) * (start + 2 * C * losses.sum())


@pytest.mark.parametrize("symmetric", ["after", "during", "dissimilarity"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_symmetric_when_promised(digits, symmetric, form):
    X, y, held, held_y = digits
    model = OASIS(steps=20_000, symmetric=symmetric, random_state=0, **PLAIN).fit(form(X), y)
    np.testing.assert_allclose(model.W_, model.W_.T, atol=1e-3)
    euclidean = OASIS(steps=1, **{**PLAIN, "blend": 0.0}).fit(X, y)
    assert mean_average_precision(model, form(held), held_y) > mean_average_precision(
        euclidean, held, held_y
    )


@pytest.mark.parametrize("positive", ["after", 100])
def test_positive_when_promised(positive):
    """On labels without sense W does become indefinite, unless positive is asked for."""
    X, y = rows(5, n=60, density=1), np.arange(60) % 3
    how = {"steps": 1000, "aggressiveness": 5.0, "random_state": 0}
    plain = OASIS(**{**PLAIN, **how}).fit(X, y).W_
    model = OASIS(**how, positive=positive, blend=1.0).fit(X, y)
    assert np.linalg.eigvalsh((plain + plain.T).astype(float)).min() < -0.01
    assert np.linalg.eigvalsh(model.W_.astype(float)).min() > -1e-4
    assert np.isfinite(model.scores(X, X)).all()


def test_symmetry_index_is_high(digits):
    """The paper found |sym(W)| / |W| = 0.94 (section 6.1)."""
    X, y, _, _ = digits
    W = OASIS(steps=20_000, random_state=0, **PLAIN).fit(X, y).W_
    assert np.linalg.norm((W + W.T) / 2) / np.linalg.norm(W) > 0.9


def test_rankers_are_averaged(digits):
    X, y, held, held_y = digits
    rng = generator(0)
    shards = np.array_split(np.arange(len(y)), 3)
    sources = [TripletSampler(Relevance.of(y), anchors=shard) for shard in shards]
    how = {"aggressiveness": 0.1, "symmetric": False, "dissimilarity": False}
    start = np.eye(64, dtype=np.float32)
    together = [Ranker(start.copy(), Stepper(X, **how), one, loop_state(rng)) for one in sources]
    alone = [Ranker(start.copy(), Stepper(X, **how), r.source, r.state.copy()) for r in together]
    run_together(together, 1000)
    for ranker in alone:
        ranker.run(1000)
    mean = np.mean([ranker.W for ranker in alone], axis=0)
    np.testing.assert_allclose(average(together), mean, atol=1e-5)
    assert not np.allclose(mean, alone[0].W, atol=1e-2)

    several = OASIS(steps=2000, averaged=4, random_state=0, **PLAIN).fit(X, y)
    again = OASIS(steps=2000, averaged=4, random_state=0, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(several.W_, again.W_)
    one = OASIS(steps=2000, random_state=0, **PLAIN).fit(X, y)
    assert mean_average_precision(several, held, held_y) > mean_average_precision(one, held, held_y)


def test_averaged_rankers_learn_from_all_pictures(digits, tmp_path):
    X, y, *_ = digits
    trainer = OASIS(averaged=3)._trainer(64)
    first, *others = trainer.samplers(Relevance.of(y))
    assert len(others) == 2
    for other in others:
        np.testing.assert_array_equal(other.anchors_, first.anchors_)
    assert len(first.anchors_) == len(y)
    # Files of before call the setting rankers.
    model = OASIS(steps=50, averaged=2, random_state=0, **PLAIN).fit(X, y)
    model.save(tmp_path / "new", fingerprint="f")
    arrays, manifest = load_arrays(tmp_path / "new", kind="oasis/3")
    manifest["settings"]["rankers"] = manifest["settings"].pop("averaged")
    save_arrays(tmp_path / "old", arrays, kind="oasis/3", manifest=manifest)
    assert OASIS.load(tmp_path / "old").averaged == 2


def test_early_stopping_looks_at_held_out(digits):
    X, y, held, held_y = digits
    model = OASIS(random_state=0, **PLAIN).fit(X, y)
    looks = [steps for steps, _ in model.history_]
    figures = [figure for _, figure in model.history_]
    assert looks == sorted(looks)
    assert model.steps_ in looks
    assert max(figures) > figures[0]
    assert figures[looks.index(model.steps_)] == pytest.approx(max(figures), abs=0.01)
    short = OASIS(steps=10, random_state=0, **PLAIN).fit(X, y)
    assert mean_average_precision(model, held, held_y) > mean_average_precision(short, held, held_y)


def test_a_run_that_ends_at_its_limit_says_so(digits, caplog, set_limits):
    X, y, *_ = digits
    set_limits(max_steps=choosing.FIRST_LOOK)
    with caplog.at_level("INFO"):
        model = OASIS(random_state=0, **PLAIN).fit(X, y)
    assert model.steps_ == choosing.FIRST_LOOK
    assert f"limit of {choosing.FIRST_LOOK} steps" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO"):
        OASIS(steps=100, random_state=0, **PLAIN).fit(X, y)
    assert "limit" not in caplog.text


def test_default_never_ranks_worse_than_no_learning(digits):
    """Nor do labels that mean nothing make ranking by the real classes worse."""
    X, y, held, held_y = digits
    start = OASIS(steps=1, blend=0.0).fit(X, y)
    learned = OASIS(random_state=0).fit(X, y)
    assert mean_average_precision(learned, held, held_y) > mean_average_precision(
        start, held, held_y
    )
    nonsense = np.random.default_rng(0).permutation(y)
    misled = OASIS(random_state=0).fit(X, nonsense)
    assert mean_average_precision(misled, held, held_y) >= mean_average_precision(
        start, held, held_y
    )


def test_quality_floor_on_digits(digits):
    """Cosine reaches 0.786 here and the learned similarity 0.861."""
    X, y, held, held_y = digits
    model = OASIS(steps=20_000, blend=0.5, random_state=0).fit(X, y)
    assert mean_average_precision(model, held, held_y) > 0.85


def test_sparse_and_dense_learn_the_same(digits):
    X, y, held, _ = digits
    how = {"steps": 1000, "random_state": 3, **PLAIN}
    dense, sparse = OASIS(**how).fit(X, y), OASIS(**how).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.W_, sparse.W_, atol=1e-3)
    np.testing.assert_allclose(
        dense.scores(held, X), sparse.scores(sp.csr_matrix(held), sp.csr_matrix(X)), atol=1e-3
    )


@pytest.mark.parametrize("how", [PLAIN, {"blend": 0.4}, {"symmetric": "dissimilarity", **PLAIN}])
def test_fewer_pictures_than_columns_learn_the_same(how):
    """The space the pictures span holds all that is learned; CSR rows take the long way."""
    X, y = rows(7, n=15, d=40, density=1), np.arange(15) % 3
    settings = {"steps": 300, "random_state": 0, **how}
    short, long = OASIS(**settings).fit(X, y), OASIS(**settings).fit(sp.csr_matrix(X), y)
    assert short.W_.shape == (40, 40)
    np.testing.assert_allclose(short.W_, long.W_, atol=2e-3)


def test_distance_order_is_that_of_equation_22(digits):
    X, y, held, _ = digits
    model = OASIS(steps=500, symmetric="dissimilarity", random_state=0, **PLAIN).fit(X, y)
    expected = [
        [slow.dissimilarity_score(model.W_.astype(float), q, p) for p in X[:20]] for q in held[:5]
    ]
    own = [q @ model.W_ @ q for q in held[:5].astype(float)]
    np.testing.assert_allclose(
        model.scores(held[:5], X[:20]) - np.array(own)[:, None], expected, atol=1e-2
    )


def test_fit_triplets(digits):
    X, y, held, held_y = digits
    triplets = TripletSampler(Relevance.of(y)).draw(loop_state(generator(1)), 4000)
    model = OASIS(random_state=0).fit_triplets(X, triplets)
    start = OASIS(steps=1, blend=0.0).fit(X, y)
    assert mean_average_precision(model, held, held_y) > mean_average_precision(start, held, held_y)


def test_partial_fit_goes_on(digits):
    X, y, _, _ = digits
    triplets = TripletSampler(Relevance.of(y)).draw(loop_state(generator(1)), 400)
    whole = OASIS(**PLAIN).partial_fit(X, triplets)
    parts = OASIS(**PLAIN).partial_fit(X, triplets[:150]).partial_fit(X, triplets[150:])
    np.testing.assert_array_equal(whole.W_, parts.W_)
    assert whole.steps_ == 400
    expected, _ = slow.run(X.astype(float), triplets, 0.1, slow.bilinear_step)
    np.testing.assert_allclose(whole.W_, expected, atol=1e-3)


def test_partial_fit_keeps_positive(digits):
    X, y, _, _ = digits
    model = OASIS(steps=500, blend=0.3, random_state=0).fit(X, y)
    triplets = TripletSampler(Relevance.of(y)).draw(loop_state(generator(1)), 50)
    before = model.scores(X[:3], X)
    model.partial_fit(X, triplets)
    assert np.linalg.eigvalsh(model.W_.astype(float)).min() > -1e-4
    assert not np.array_equal(before, model.scores(X[:3], X))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"aggressiveness": -1}, "aggressiveness must be above 0 and finite; got -1"),
        ({"aggressiveness": float("nan")}, "aggressiveness"),
        ({"steps": 0}, "steps must be a whole number from 1"),
        ({"steps": 2.5}, "steps"),
        ({"averaged": 0}, "averaged"),
        ({"symmetric": "yes"}, "symmetric"),
        ({"positive": 0}, "positive"),
        ({"positive": "no", "normalize": True}, "normalize needs a positive W"),
        ({"blend": 1.5}, "blend"),
        ({"blend": "half"}, "blend must be from 0 to 1; got 'half'"),
        ({"held_out": 1.0}, "held_out"),
        ({"sampling": "all"}, "sampling must be one of uniform, relevance"),
        ({"negatives": "none"}, "negatives must be one of unrelated, all"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_bad_parameters_are_named(how, message):
    with pytest.raises(InvalidInput, match=message):
        OASIS(**how).fit(rows(0), np.arange(30) % 3)


def test_what_cannot_be_learned_from_is_refused():
    X = rows(0)
    with pytest.raises(InvalidInput, match="cannot learn"):
        OASIS(steps=10).fit(X, ["one"] * 30)
    with pytest.raises(InvalidInput, match="cannot learn"):
        OASIS(steps=10).fit(X, [str(number) for number in range(30)])
    with pytest.raises(InvalidInput, match="finite"):
        OASIS(steps=10).fit(np.full((30, 2), np.nan), np.arange(30) % 2)
    with pytest.raises(InvalidInput, match="at least one row"):
        OASIS(steps=10).fit_triplets(X, np.zeros((0, 3), dtype=int))
    with pytest.raises(InvalidInput, match="rows from 0 to 29"):
        OASIS(steps=10).fit_triplets(X, [[0, 1, 30]])
    with pytest.raises(NotFitted):
        OASIS().scores(X, X)


def test_nothing_to_learn_is_no_step():
    """Zero vectors and identical pictures make no step, and scores stay finite."""
    zeros = np.zeros((12, 5), dtype=np.float32)
    same = np.ones((12, 5), dtype=np.float32)
    labels = np.arange(12) % 2
    for X in (zeros, same, sp.csr_matrix(zeros), sp.csr_matrix(same)):
        model = OASIS(steps=50, blend=1.0, random_state=0).fit(X, labels)
        np.testing.assert_allclose(model.W_, np.eye(5), atol=1e-6)
        assert np.isfinite(model.scores(X, X)).all()


@given(st.integers(0, 1000), st.sampled_from([1e-20, 1e-6, 1.0, 1e6, 1e15]))
@settings(max_examples=30)
def test_W_is_finite_whatever_comes_in(seed, scale):
    X = rows(seed) * np.float32(scale)
    with contextlib.suppress(InvalidInput):
        model = OASIS(steps=200, blend=1.0, random_state=0).fit(X, np.arange(30) % 3)
        assert np.isfinite(model.W_).all()
        assert np.isfinite(model.scores(X, X)).all()


def test_too_little_to_hold_out_keeps_the_start(caplog):
    caplog.set_level("INFO")
    X = rows(1, n=4)
    model = OASIS(random_state=0).fit(X, ["a", "a", "b", "b"])
    assert model.blend_ == 0.0
    assert {one.levelname for one in caplog.records} == {"INFO"}
    assert "too few pictures are related" in caplog.text
    np.testing.assert_array_equal(model.W_, np.eye(12, dtype=np.float32))


def test_paths_begin_and_end_where_they_say():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    W = (A @ A.T).astype(np.float32)
    for path in (PowerPath(W), StraightPath(W)):
        np.testing.assert_allclose(path.at(0.0), np.eye(6), atol=1e-6)
        np.testing.assert_allclose(path.at(1.0), W, rtol=1e-4, atol=1e-4)
    half = PowerPath(W).at(0.5)
    np.testing.assert_allclose(half @ half, W, rtol=1e-3, atol=1e-3)


def test_what_was_learned_is_told_from_the_start(digits):
    X, y, _, _ = digits
    start = OASIS(steps=10, blend=0.0, random_state=0).fit(X, y)
    assert not start.learned
    assert OASIS(steps=10, blend=0.1, random_state=0).fit(X, y).learned
    none = np.zeros((0, 3), dtype=int)
    assert not start.partial_fit(X, none).learned
    assert not OASIS().partial_fit(X, none).learned
    triplets = TripletSampler(Relevance.of(y)).draw(loop_state(generator(1)), 5)
    assert start.partial_fit(X, triplets).learned
    assert start.blend_ == 1.0


@pytest.mark.parametrize(
    "learned",
    [{"blend_": 1.5}, {"blend_": "nan"}, {"steps_": -1}, {"steps_": True}, {"normalized_": 1}],
)
def test_a_file_with_impossible_numbers_is_refused(digits, tmp_path, learned):
    X, y, _, _ = digits
    path = tmp_path / "model.safetensors"
    OASIS(steps=10, blend=0.3, random_state=0).fit(X, y).save(path)
    arrays, manifest = load_arrays(path, kind="oasis/3")
    manifest["learned"].update(learned)
    save_arrays(path, arrays, kind="oasis/3", manifest=manifest)
    with pytest.raises(DamagedFile, match="not a complete OASIS"):
        OASIS.load(path)


def test_a_file_of_0_1_0_is_read(tmp_path):
    path = tmp_path / "model.safetensors"
    settings = {
        **{"aggressiveness": 0.1, "steps": None, "symmetric": "no", "positive": "auto"},
        **{"normalize": None, "blend": None, "averaged": 1, "sampling": "uniform"},
        **{"negatives": "unrelated", "held_out": 0.2, "random_state": 3},
    }
    manifest = {
        "settings": settings,
        "learned": {"reach_": None, "steps_": 40, "blend_": 0.4, "normalized_": True},
        "fingerprint": "abc",
    }
    W = np.diag(np.arange(1, 5)).astype(np.float32)
    save_arrays(path, {"W": W}, kind="oasis/3", manifest=manifest)
    model = OASIS.load(path)
    np.testing.assert_array_equal(model.W_, W)
    assert (model.steps_, model.blend_, model.normalized_, model.positive_) == (40, 0.4, True, True)
    settings |= {"divergence": "frobenius"}
    assert (model.fingerprint_, model.get_params()) == ("abc", settings)
    root = np.sqrt(np.arange(1, 5))
    np.testing.assert_allclose(model.scores(np.eye(4), np.eye(4)), np.eye(4), atol=1e-6)
    np.testing.assert_allclose(model.query_vectors(np.eye(4)), np.diag(root), atol=1e-6)
    np.testing.assert_allclose(model.reach(np.eye(4)), 0.4)
    model.save(tmp_path / "again", fingerprint="abc")
    again = load_arrays(tmp_path / "again", kind="oasis/3")[1]
    assert again == manifest | {"settings": settings}


def test_whole_numbers_of_numpy_are_whole_numbers(digits, tmp_path):
    X, y, _, _ = digits
    how = {"steps": np.int64(300), "blend": 1.0, "random_state": 0}
    model = OASIS(positive=np.int64(100), **how).fit(X, y)
    same = OASIS(positive=100, **how).fit(X, y)
    np.testing.assert_array_equal(model.W_, same.W_)
    model.save(tmp_path / "model.safetensors")
    assert OASIS.load(tmp_path / "model.safetensors").positive == 100


def test_positive_every_t_steps_counts_across_looks():
    """Training in two stretches projects at the same steps as training in one."""
    X, y = rows(5, n=60, density=1), np.arange(60) % 3
    model = OASIS(positive=300, aggressiveness=5.0)
    source = TripletSampler(Relevance.of(y))
    results = []
    for stretches in ([600], [200, 250, 150]):
        ranker = Ranker(
            np.eye(12, dtype=np.float32),
            model._trainer(12).stepper(X),
            source,
            loop_state(generator(0)),
        )
        drawn = source.draw(loop_state(generator(1)), 600)
        ranker.source = type("Listed", (), {"draw": lambda self, _, n: next_rows(self, n)})()
        ranker.source.left = drawn
        for steps in stretches:
            model._trainer(12).advance([ranker], steps, lambda done: None)
        results.append(ranker.W)
    np.testing.assert_allclose(results[0], results[1], atol=1e-4)


def next_rows(listed, count):
    taken, listed.left = listed.left[:count], listed.left[count:]
    return taken


def test_negatives_from_everything_need_no_second_class():
    X = rows(3, n=30, density=1)
    labels = ["a"] * 10 + [None] * 20
    model = OASIS(negatives="all", steps=200, blend=1.0, random_state=0).fit(X, labels)
    assert not np.allclose(model.W_, np.eye(12), atol=0.01)
    with pytest.raises(InvalidInput, match="cannot learn"):
        OASIS(steps=200, blend=1.0).fit(X, labels)


def test_too_long_vectors_are_refused():
    with pytest.raises(InvalidInput, match="Scale them to unit length"):
        OASIS().fit(rows(0, n=60) * np.float32(1e20), np.arange(60) % 3)


def test_large_classes_are_not_held_out_whole():
    """Two classes of 20,000 held out whole would make looking take an hour."""
    relevance = Relevance.of(np.arange(40_000) % 10)
    held = HeldOutPictures.choose(
        np.zeros((40_000, 2), dtype=np.float32),
        relevance,
        0.2,
        generator(0),
        kinds=relevance,
    )
    assert 2000 < len(held.relevant) <= 3100
    assert held.taught.mean() == pytest.approx(0.5, abs=0.1)


def described_by_words(seed, n=240, words=24, d=40):
    """Pictures with three of some words each; half of their columns say nothing."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(9).normal(size=(words, d // 2))
    has = np.array([np.isin(np.arange(words), rng.choice(words, 3, False)) for _ in range(n)])
    X = np.hstack([has @ means, 4 * rng.normal(size=(n, d // 2))]) + rng.normal(size=(n, d))
    units = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    return units, [{f"w{k}" for k in np.flatnonzero(row)} for row in has]


def test_several_words_teach_what_is_alike():
    X, words = described_by_words(0)
    judged, judges = described_by_words(1)
    model = OASIS(random_state=0).fit(X, words)
    assert model.learned
    relevant = Relevance.of(judges).rows(np.arange(len(judged)))
    own = np.arange(len(judged))
    before, after = (
        judge(scores, relevant, own=own)
        for scores in (judged @ judged.T, model.scores(judged, judged))
    )
    assert after.mean_average_precision > before.mean_average_precision + 0.15
    assert after.precision_at(1) > before.precision_at(1) + 0.15


def test_labels_of_words_that_mean_nothing_teach_nothing():
    X, words = described_by_words(0, n=120)
    shuffled = [words[k] for k in np.random.default_rng(3).permutation(len(words))]
    assert not OASIS(random_state=0).fit(X, shuffled).learned


def test_fit_as_learns_with_the_choices_of_another_and_no_trials(digits):
    X, y, judged, labels = digits
    first = OASIS(random_state=0).fit(X[:200], y[:200])
    again = OASIS(random_state=0).fit_as(first, X[200:400], y[200:400])
    assert (again.steps_, again.blend_) == (first.steps_, first.blend_)
    assert again.reach_.rule() == first.reach_.rule()
    assert first.history_
    assert not again.history_
    cosine = mean_average_precision(Cosine().fit(X), judged, labels)
    assert mean_average_precision(again, judged, labels) > cosine + 0.05
