import csv

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Spread
from lookalike.evaluate.protocols import Fold
from lookalike.evaluate.reproduce import (
    oasis,
    oasis_figures,
    oasis_paper,
    oasis_tables,
    vectors,
)
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.evaluate.reproduce.vectors import FoldVectors
from tests.evaluate.files import times
from tests.limits import set_limits

KINDS = ("stripes", "spots", "noise")


def picture(kind, rng):
    grid = np.arange(96 * 160).reshape(96, 160)
    period = rng.integers(5, 12)
    pattern = {
        "stripes": (grid % 160 // period) % 2,
        "spots": ((grid // 160 // period) + (grid % 160 // period)) % 2,
        "noise": rng.integers(0, 2, (96, 160)),
    }[kind]
    base = np.array([[180, 90, 60], [60, 150, 90], [90, 80, 170]])[KINDS.index(kind)]
    colours = base + rng.integers(-90, 90, (2, 3))
    noisy = colours[pattern] + rng.integers(-40, 40, (96, 160, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    top = tmp_path_factory.mktemp("kinds")
    rng = np.random.default_rng(0)
    for kind in KINDS:
        (top / kind).mkdir()
        for number in range(65):
            picture(kind, rng).save(top / kind / f"{number:03}.png")
    return top


SMALL = {
    "visterm_dimension": 48,
    "oasis_table_steps": (500, 2000),
    "oasis_steps": 2000,
    "oasis_positive_steps": 1600,
}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    set_limits(monkeypatch, **SMALL)


@pytest.fixture(scope="module")
def outcome(pictures, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, **SMALL)
        out = tmp_path_factory.mktemp("out")
        told = []
        tables = oasis.reproduce(
            pictures, out, quick=True, progress=lambda done, total: told.append((done, total))
        )
    return tables, out, told


def test_it_gives_both_tables_with_a_row_a_method(outcome):
    tables, _, _ = outcome
    fourth, fifth, text = tables
    assert fourth.title == "Table 4: precision in %, 3 classes"
    assert [row[0] for row in fourth.rows] == ["OASIS", "Euclidean", "LDA"]
    by_name = {row[0]: row for row in fourth.rows}
    assert all(isinstance(cell, Spread) for cell in by_name["OASIS"][1::2])
    assert by_name["OASIS"][1].mean > by_name["Euclidean"][1].mean > 40
    assert by_name["OASIS"][1].count == 2
    assert all(cell is None for cell in by_name["OASIS"][2::2])
    assert fifth.title.startswith("Table 5")
    assert {row[0] for row in fifth.rows} >= {"OASIS", "OASIS (Matlab)", "LMNN (naive)"}
    assert "steps to the early stop" in text.rows[0][0]


def test_it_writes_every_figure_and_a_report(outcome):
    tables, out, _ = outcome
    report = (out / "report.md").read_text()
    for table in tables:
        assert table.markdown() in report
    for number in range(4, 10):
        name = f"figure-{number}-3.png"
        assert f"]({name})" in report
        with Image.open(out / name) as plot:
            assert plot.size[0] > 600
        with (out / f"figure-{number}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert all(0 <= float(row["mean"]) <= 100 for row in rows)
    with (out / "figure-8.csv").open(newline="") as file:
        curves = {row["curve"] for row in csv.DictReader(file)}
    assert curves == {
        "OASIS",
        "Proj-OASIS",
        "Online-Proj-OASIS",
        "Dissim-OASIS",
        "Euclidean",
    }


def test_progress_goes_up_by_one_to_the_end(outcome):
    _, _, told = outcome
    total = told[0][1]
    assert told == [(done, total) for done in range(1, total + 1)]


def test_a_second_run_reads_the_vectors_and_gives_the_same(pictures, outcome):
    tables, out, _ = outcome
    # Figure 4 has times.
    before = {path.name: path.read_bytes() for path in out.glob("figure-[5-9].csv")}
    described = times(out / "vectors")
    again = oasis.reproduce(pictures, out, quick=True)
    assert again[0].csv() == tables[0].csv()
    assert again[2].csv() == tables[2].csv()
    assert {path.name: path.read_bytes() for path in out.glob("figure-[5-9].csv")} == before
    assert times(out / "vectors") == described


def test_a_broken_picture_is_named(tmp_path):
    rng = np.random.default_rng(0)
    for kind in KINDS[:2]:
        (tmp_path / kind).mkdir()
        for number in range(65):
            picture(kind, rng).save(tmp_path / kind / f"{number:03}.png")
    (tmp_path / "spots" / "064.png").write_bytes(b"not a picture")
    with pytest.raises(InvalidInput, match=r"064\.png cannot be read"):
        oasis.reproduce(tmp_path, tmp_path / "out")


def test_a_folder_that_will_not_do_writes_nothing(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InvalidInput, match="must contain a folder"):
        oasis.reproduce(tmp_path, out)
    assert not out.exists()


@pytest.fixture
def fold():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    means = rng.normal(size=(3, 12)).repeat(20, axis=0)
    X = (means + rng.normal(size=(60, 12))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    order = rng.permutation(60)
    return FoldVectors.split(X[order], labels[order], 40)


def test_learning_goes_on_from_look_to_look(fold):
    def run(looks):
        rng = np.random.default_rng(1)
        model = oasis_tables.plain_oasis()
        return [
            (one.steps_, one.W_.copy()) for one in oasis_figures.learning(model, fold, looks, rng)
        ]

    found = run([100, 300, 700])
    assert [steps for steps, _ in found] == [100, 300, 700]
    assert not np.array_equal(found[0][1], found[1][1])
    again = run([100])
    assert np.array_equal(found[0][1], again[0][1])


def test_projecting_happens_every_so_many_steps(fold, monkeypatch):
    projected = []
    monkeypatch.setattr(
        oasis_figures, "project_positive", lambda W: projected.append(W) or np.zeros_like(W)
    )
    models = oasis_figures.projecting(fold, [250, 400, 500], np.random.default_rng(1), 200)
    assert [bool(one.W_.any()) for one in models] == [True, False, True]
    assert len(projected) == 2


def test_a_method_is_left_out_of_sets_too_large_for_it(fold):
    told = []
    small = oasis_tables.Method("slow", lambda seed: [], most=39)
    assert oasis_tables.run_method(small, [fold, fold], 0, lambda: told.append(1)) is None
    assert told == [1, 1]


def test_asterisks_are_explained_where_there_are_any():
    assert oasis_tables.asterisks([["MCML", Spread(1, 1, 5)]]) == []
    (note,) = oasis_tables.asterisks([["MCML", "*"]])
    assert "MCML 3,000" in note


def test_the_paper_is_quoted_right():
    assert oasis_paper.TABLE_4[10]["OASIS"] == tuple(
        Spread(*pair, 5) for pair in ((33, 1.6), (43, 4.0), (38, 1.3), (23, 1.5))
    )
    assert oasis_paper.TABLE_4[20]["Euclidean"][0] is None
    assert oasis_paper.TABLE_4[50]["MCML"] == ("*",) * 4
    assert oasis_paper.TABLE_5[249]["LMNN"] == "**"
    assert oasis_paper.TABLE_5[20]["MCML"] == Spread(7425, 106, 5)
    methods = {method.name for method in oasis_tables.METHODS}
    for table in oasis_paper.TABLE_4.values():
        assert set(table) <= methods
        assert {len(row) for row in table.values()} == {4}


def test_the_codebook_knows_only_the_training_part(pictures, tmp_path):
    files = [pictures / kind / f"{number:03}.png" for number in range(10) for kind in KINDS[:2]]
    others = [pictures / "noise" / f"{number:03}.png" for number in range(10)]
    settings = {"dimension": 48, "random_state": 0}
    with_some = vectors.stored_vectors([*files, *others], 20, tmp_path, **settings)
    with_others = vectors.stored_vectors([*files, *others[5:]], 20, tmp_path, **settings)
    assert (with_some[:20] != with_others[:20]).nnz == 0
    assert (with_some[25:] != with_others[20:]).nnz == 0


def test_vectors_kept_by_an_earlier_state_are_made_again(pictures, tmp_path):
    files = tuple(pictures / kind / f"{number:03}.png" for number in range(10) for kind in KINDS)
    fold = Fold(np.arange(20), np.arange(20, 30))
    some = PictureSet("some", files, np.array(KINDS * 10), (fold,), "a test")
    right = vectors.fold_vectors(some, fold, tmp_path, random_state=0)
    (kept,) = tmp_path.iterdir()
    arrays, _ = load_arrays(kept, kind=vectors.KIND)
    wrong = {**arrays, "data": np.zeros_like(arrays["data"])}
    save_arrays(kept, wrong, kind="fold-vectors/1", manifest={})
    again = vectors.fold_vectors(some, fold, tmp_path, random_state=0)
    assert (again.train != right.train).nnz == 0
    assert (again.test != right.test).nnz == 0


def test_precision_against_clicks_is_that_of_the_definition(tmp_path):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    X = (rng.normal(size=(3, 12))[classes] + rng.normal(size=(60, 12))).astype(np.float32)
    clicks = sp.csr_matrix(np.eye(3)[classes].T)
    drawn = oasis_figures.figure_3a(X, clicks, tmp_path, seed=0)
    assert drawn.path.exists()
    order = np.random.default_rng([0, 3]).permutation(60)
    held = order[:18]
    distances = ((X[held][:, None] - X[held]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = classes[held][distances.argmin(axis=1)]
    values = {(row[0], row[1]): row[2] for row in drawn.rows}
    assert values["Euclidean", 1] == pytest.approx(100 * np.mean(nearest == classes[held]))
    assert values["OASIS", 10] > 38
    with pytest.raises(InvalidInput, match="clicks"):
        oasis_figures.figure_3a(X, sp.csr_matrix((3, 60)), tmp_path, seed=0)


def test_clicks_must_name_pictures_of_the_folder(pictures, tmp_path):
    table = tmp_path / "clicks.csv"
    table.write_text("query,file\nspots,spots/000.png\nspots,missing.png\n")
    with pytest.raises(InvalidInput, match=r"missing\.png does not exist; 1 of the 2"):
        oasis._figure_3a(pictures, table, tmp_path, 0)


def test_the_order_of_the_paper_is_that_of_the_methods_here():
    def reached(*values):
        judged = [type("Judged", (), {"mean_average_precision": value}) for value in values]
        return type("Reached", (), {"judgements": judged})

    results = {"Euclidean": reached(0.3, 0.2), "MCML": None, "OASIS": reached(0.5, 0.6)}
    assert list(oasis_tables._in_order(results)) == ["OASIS", "Euclidean"]
