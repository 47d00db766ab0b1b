"""The experiments of paper 5 on made views: one that tells the classes, others that hardly do."""

from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Spread
from lookalike.evaluate.protocols import Fold
from lookalike.evaluate.reproduce import omks, omks_figures, omks_methods, omks_paper, omks_tables
from lookalike.evaluate.reproduce.omks_methods import Experiment, Lesson, learn_kernel
from lookalike.evaluate.reproduce.omks_tables import Outcomes, as_in_paper_1, best_of, four_parts
from lookalike.evaluate.reproduce.omks_views import ViewSet, described, split_views
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.similarity import MultiKernelSimilarity
from lookalike.similarity.kernels import Kernel
from tests.evaluate.files import times

CLASSES, EACH = 4, 30


def views(seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(CLASSES), EACH)
    labels = np.array([f"class {code}" for code in codes])
    found = {}
    for name, noise in (("good", 0.9), ("fair", 1.6), ("poor", 6.0)):
        rows = rng.normal(size=(CLASSES, 8))[codes] + noise * rng.normal(size=(len(codes), 8))
        found[name] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return found, labels


def experiment(seed=0, ratio=0.5):
    found, labels = views(seed)
    (split,) = four_parts(labels, splits=1, random_state=seed)
    return Experiment(found, labels, split, ratio, seed)


@pytest.fixture
def pictures(tmp_path):
    """Four classes of 65 pictures; what is in them does not matter here."""
    for code in range(CLASSES):
        (tmp_path / f"class {code}").mkdir()
        for number in range(65):
            picture = Image.new("RGB", (8, 8), (60 * code, 3 * number, 0))
            picture.save(tmp_path / f"class {code}" / f"{number:02}.png")
    return tmp_path


def made_views(files, cache, *, random_state, progress):
    rng = np.random.default_rng(random_state)
    codes = np.array([int(file.parent.name[-1]) for file in files])
    found = {}
    for name, noise in (("good", 0.9), ("poor", 6.0)):
        rows = rng.normal(size=(CLASSES, 8))[codes] + noise * rng.normal(size=(len(codes), 8))
        found[name] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    progress(len(files), len(files))
    return found


def test_parts_are_half_and_10_10_and_30_percent():
    _, labels = views()
    uneven = np.append(labels, ["class 0"] * 7)
    first, second = four_parts(uneven, splits=2, random_state=0)
    ((learned, validation),) = first.choices
    np.testing.assert_array_equal(learned, first.train)
    sizes = [len(one) for one in (first.train, validation, first.query, first.test)]
    assert sizes == [CLASSES * size for size in (15, 3, 3, 9)]
    every = np.concatenate([first.train, validation, first.query, first.test])
    assert len(np.unique(every)) == len(every) == CLASSES * EACH
    assert not np.array_equal(first.train, second.train)
    with pytest.raises(InvalidInput, match="at least 10 pictures; 'rare' has 3"):
        four_parts(np.append(labels, ["rare"] * 3), splits=1, random_state=0)


def test_as_in_paper_1_chooses_inside_the_training_part():
    _, labels = views()
    fold = Fold(np.arange(0, 120, 2), np.arange(1, 120, 2))
    (split,) = as_in_paper_1(labels, [fold], random_state=0)
    held = np.concatenate([validation for _, validation in split.choices])
    np.testing.assert_array_equal(np.sort(held), fold.train_rows)
    assert len(split.choices) == omks_tables.PARTS
    for learned, validation in split.choices:
        np.testing.assert_array_equal(np.union1d(learned, validation), fold.train_rows)
        assert not set(learned) & set(validation)
        assert min(np.unique(labels[validation], return_counts=True)[1]) >= 2
    np.testing.assert_array_equal(split.query, fold.test_rows)
    np.testing.assert_array_equal(split.test, fold.test_rows)


def test_small_classes_are_validated_in_pairs():
    labels = np.repeat(["a", "b"], [9, 5])
    fold = Fold(np.arange(14), np.arange(14))
    (split,) = as_in_paper_1(labels, [fold], random_state=0)
    assert len(split.choices) == 2
    for _, validation in split.choices:
        assert min(np.unique(labels[validation], return_counts=True)[1]) >= 2


def test_triplets_are_a_share_of_the_positive_pairs():
    one = experiment()
    rows = one.split.train
    assert len(one.triplets(rows, 1.0)) == CLASSES * 15 * 14
    assert len(one.triplets(rows, 0.2)) == CLASSES * 15 * 14 // 5
    image, more, less = one.labels[rows][one.triplets(rows, 0.2)].T
    assert (image == more).all()
    assert (image != less).all()
    pairs = one.triplets(rows, 1.0)[:, :2]
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    drawn = np.bincount(one.triplets(rows, 1.0)[:, 2], minlength=len(rows))
    assert drawn.min() > 0.2 * drawn.mean()


def test_scores_are_those_of_the_similarity_in_the_span():
    one = experiment()
    rows = one.views["good"]
    train = one.split.train
    K = Kernel.of("test", "rbf:1").fitted("test", rows[train]).square("test", rows)
    learned = learn_kernel(one, K, 0.5)
    inside = Experiment(
        one.views,
        one.labels,
        omks_methods.Split(one.split.choices, train, train[:5], train),
        0.5,
        one.seed,
    )
    found = learn_kernel(inside, K, 0.5)
    C = next(
        C
        for C in omks_methods.AGGRESSIVENESS
        if np.allclose(
            MultiKernelSimilarity(
                kernels="rbf:1", aggressiveness=C, positive=False, normalize=False
            )
            .fit_triplets(rows[train], inside.triplets(train, 0.5))
            .scores(rows[train[:5]], rows[train]),
            found.whole.scores,
            atol=0.02 * np.abs(found.whole.scores).max(),
        )
    )
    assert C in omks_methods.AGGRESSIVENESS
    assert learned.whole.mistakes == found.whole.mistakes


def test_methods_choose_the_good_view_and_learning_helps():
    found, labels = views()
    splits = four_parts(labels, splits=2, random_state=0)
    pictures = PictureSet("made", (), labels, (), "made")
    results = omks_tables.run_methods(
        ViewSet(pictures, found), splits, methods=omks_methods.METHODS, ratio=0.5, random_state=0
    )
    assert list(results) == [*omks_paper.METHODS, omks_methods.PLAIN, omks_methods.FULL_RANK]
    figures = {name: one.mean_average_precision.mean for name, one in results.items()}
    for name in ("Eucl.-Best", "OKS-Best", "KRCA-Best", "KITML-Best", "LMNN-Best"):
        assert results[name].each[0].chosen.startswith("good"), name
        assert figures[name] > 0.5
    assert figures["OMKS"] > figures["OMKS-U"] > figures["Eucl.-Con"] - 0.1
    assert results["OMKS"].each[0].chosen.startswith("good")


def test_weights_are_shares():
    every = list(experiment().kernel_scores().values())
    lessons = [one.whole for one in every]
    for shares in (
        omks_methods.hedge_weights(lessons, None),
        omks_methods.hedge_weights(lessons, 8.0),
        omks_methods.validation_weights(every),
        omks_methods.uniform_weights(every),
    ):
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()


def test_the_discount_is_that_of_theorem_2_or_follows_from_the_penalty():
    scores = np.zeros((1, 1), np.float32)
    right, half, wrong = (Lesson(scores, mistakes, 100) for mistakes in (0, 50, 100))
    shares = omks_methods.hedge_weights([right, half, wrong], None)
    beta = 10 / (10 + np.sqrt(np.log(3)))
    np.testing.assert_allclose(shares / shares[0], [1, beta**50, beta**100])
    shares = omks_methods.hedge_weights([right, half, wrong], 8.0)
    np.testing.assert_allclose(shares / shares[0], np.exp([0, -4, -8]))


def test_omks_has_the_discount_that_is_best_on_the_validation_part():
    one = experiment()
    every = list(one.kernel_scores().values())

    def value(penalty):
        lessons = [kernel.held[0] for kernel in every]
        shares = omks_methods.hedge_weights(lessons, penalty)
        return one.valued([np.tensordot(shares, [it.scores for it in lessons], 1)])

    values = {penalty: value(penalty) for penalty in (None, *omks_methods.PENALTIES)}
    best = max(values, key=values.get)
    assert values[best] > values[None]
    lessons = [kernel.whole for kernel in every]
    shares = omks_methods.hedge_weights(lessons, best)
    found = np.tensordot(shares, [it.scores for it in lessons], 1)
    outcome = omks_methods.METHODS["OMKS"].run(one)
    assert f"{shares.max():.2f}" in outcome.chosen
    expected = one.judged(found).mean_average_precision
    assert outcome.judgement.mean_average_precision == pytest.approx(expected)


def test_oasis_chooses_its_view_and_step():
    assert omks_methods.METHODS["OASIS-Best"].run(experiment()).chosen in ("good 0.1", "good 1.0")


class Fixed:
    def __init__(self, *values):
        self.judgements = [type("Judged", (), {"mean_average_precision": v}) for v in values]
        self.mean_average_precision = Spread.of(values)

    def precision_at(self, _):
        return self.mean_average_precision


def test_the_best_are_those_a_t_test_cannot_tell_apart():
    results = {
        "best": Fixed(0.50, 0.52, 0.51, 0.53, 0.52),
        "as good": Fixed(0.49, 0.53, 0.50, 0.53, 0.51),
        "worse": Fixed(0.40, 0.43, 0.41, 0.42, 0.41),
        "always behind": Fixed(0.49, 0.51, 0.50, 0.52, 0.51),
        "not run": None,
    }
    assert best_of(results) == {"best", "as good"}
    few = {"best": Fixed(0.5, 0.6), "as good": Fixed(0.5, 0.6)}
    assert best_of(few) == set()


def test_slow_methods_are_left_out_of_large_sets(monkeypatch):
    slow = omks_methods.Method(omks_methods.METHODS["LMNN-Best"].run, most=10)
    monkeypatch.setitem(omks_methods.METHODS, "LMNN-Best", slow)
    found, labels = views()
    splits = four_parts(labels, splits=1, random_state=0)
    data = ViewSet(PictureSet("made", (), labels, (), "made"), found)
    results = omks_tables.run_methods(
        data, splits, methods=["LMNN-Best", "Eucl.-Best"], ratio=0.2, random_state=0
    )
    assert results["LMNN-Best"] is None
    assert isinstance(results["Eucl.-Best"], Outcomes)
    table = omks_tables.table_1({"made": (data.pictures, results)}, [])
    assert table.rows[0][1] == "not run: over 10 pictures"
    assert {row[2] for row in table.rows} == {""}
    assert any("No t-test" in note for note in table.notes)


def test_the_order_is_tested_as_the_paper_has_it():
    results = {"Eucl.-Best": Fixed(0.50, 0.52), "OKS-Best": Fixed(0.6, 0.61), "OMKS": None}
    pictures = PictureSet("made", (), np.array(["a", "b"]), (), "made")
    for table in (
        omks_tables.table_1({"made": (pictures, results)}, []),
        omks_tables.table_3(pictures, {**results, "OASIS-Best": Fixed(0.55, 0.58)}, []),
    ):
        (note,) = [note for note in table.notes if "order by mAP" in note]
        assert "OKS-Best over " in note
        assert "OMKS" not in note


def test_the_paper_is_quoted_right():
    assert omks_paper.TABLE_1[10]["OMKS"] == Spread(32.53, 0.35, 5)
    assert omks_paper.TABLE_1[10]["Eucl.-Best"].mean == 22.20
    assert omks_paper.TABLE_1[20]["KITML-Avg"] == Spread(22.91, 1.45, 5)
    assert omks_paper.TABLE_1[50]["OMKS-W"].mean == 13.89
    assert omks_paper.TABLE_2[20]["OKS-Best"] == 0.43
    assert omks_paper.TABLE_3[20]["OASIS-Ori"]["P@1"] == Spread(28.0, 2.5, 5)
    assert omks_paper.TABLE_3[50]["OKS-Best"]["P@10"] == Spread(20.0, 0.9, 5)


def test_it_writes_tables_figures_and_a_report(pictures, tmp_path_factory, monkeypatch, set_limits):
    monkeypatch.setattr(omks, "described", made_views)
    set_limits(omks_ratios=(0.1, 0.4))
    out = tmp_path_factory.mktemp("out")
    told = []
    tables = omks.reproduce(
        pictures, out, quick=True, progress=lambda done, total: told.append((done, total))
    )
    assert [table.title[:7] for table in tables] == ["Table 1", "Table 2", "Table 3"]
    methods = [row[0] for row in tables[0].rows]
    assert "OMKS" in methods
    assert "LMNN-Best" not in methods
    assert {row[0] for row in tables[2].rows} == set(omks_tables.ORDER)
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    names = {path.name for path in out.iterdir()}
    assert names >= {
        "report.md",
        "figure-2-4.png",
        "figure-3-4.png",
        "figure-4-4.png",
        "figure-2.csv",
    }
    report = (out / "report.md").read_text("utf-8")
    assert "Table 3" in report
    assert "figure-3-4.png" in report
    assert len(omks_figures.LEARNED) == 5


class Colours:
    """Two views of a picture: its mean colour, and its first pixel."""

    decode_side = None
    blocks: ClassVar = {"mean": 3, "first": 3}

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, images):
        assert len(images) == 3

    def describe(self, images):
        pixels = np.asarray(images[0], np.float32)
        return np.concatenate([pixels.mean(axis=(0, 1)), pixels[0, 0]])[None]


def test_views_are_described_once(tmp_path, monkeypatch, set_limits):
    monkeypatch.setattr("lookalike.evaluate.reproduce.omks_views.Views", Colours)
    set_limits(omks_views=("mean", "first"))
    rng = np.random.default_rng(0)
    files = [tmp_path / f"{number}.png" for number in range(3)]
    for file in files:
        Image.fromarray(rng.integers(1, 256, (8, 8, 3), dtype=np.uint8)).save(file)
    found = described(files, tmp_path / "cache", random_state=0)
    assert list(found) == ["mean", "first"]
    for rows in found.values():
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    before = times(tmp_path / "cache")
    again = described(files, tmp_path / "cache", random_state=0)
    for name, rows in found.items():
        np.testing.assert_array_equal(again[name], rows)
    assert times(tmp_path / "cache") == before


def test_views_are_split_by_name_at_unit_length():
    rows = np.array([[3.0, 4.0, 2.0], [0.0, 0.0, 1.0]], np.float32)
    found = split_views(rows, {"a": 2, "b": 1})
    np.testing.assert_allclose(found["a"], [[0.6, 0.8], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(found["b"], [[1], [1]])
