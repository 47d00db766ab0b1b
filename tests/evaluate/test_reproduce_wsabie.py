import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lookalike.annotation.neighbours import NearestNeighbours
from lookalike.annotation.wsabie import WSABIE
from lookalike.core.errors import InvalidInput
from lookalike.evaluate.reproduce import (
    wsabie,
    wsabie_figures,
    wsabie_methods,
    wsabie_paper,
    wsabie_tables,
)
from lookalike.evaluate.reproduce.wsabie_data import tagged_pictures
from lookalike.evaluate.reproduce.wsabie_methods import Part, Study
from lookalike.supervision import TagTree
from tests.evaluate.files import times
from tests.limits import set_limits

COLOURS = {"red": (200, 40, 40), "green": (40, 180, 60), "blue": (50, 60, 200)}
KINDS = ("stripes", "noise")
TINY = replace(
    wsabie_methods.QUICK,
    dimensions=(4, 8),
    ensembles=((8,), (4, 8)),
    rates=(0.1,),
    steps=(0.1,),
    neighbours=(3,),
    leaves=(1 / 4,),
    epochs=6,
    passive_epochs=4,
    visterms=48,
    too_close=1.01,
)


def picture(kind, colour, rng):
    side = np.arange(96)
    pattern = {
        "stripes": np.tile(side // rng.integers(5, 12) % 2, (96, 1)),
        "noise": rng.integers(0, 2, (96, 96)),
    }[kind]
    shades = np.array([COLOURS[colour], (230, 230, 230)])
    noisy = shades[pattern] + rng.integers(-40, 40, (96, 96, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def write(table, rows):
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """120 pictures with two words each, and a tree of the words."""
    top = tmp_path_factory.mktemp("tagged")
    rng = np.random.default_rng(0)
    rows = [("File", "name_words")]
    for number in range(20):
        for colour in COLOURS:
            for kind in KINDS:
                name = f"{colour}-{kind}-{number}.png"
                picture(kind, colour, rng).save(top / name)
                rows.append((name, f"{colour} {kind}"))
    write(top / "labels.csv", rows)
    tree = [("word", "parent"), *((name, "colour") for name in COLOURS)]
    write(top / "isa.csv", [*tree, *((name, "pattern") for name in KINDS)])
    return top


@pytest.fixture(scope="module")
def outcome(tagged, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    told = []
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, wsabie_plan=TINY)
        tables = wsabie.reproduce(
            tagged,
            out,
            words="name_words",
            isa=tagged / "isa.csv",
            quick=True,
            progress=lambda done, total: told.append((done, total)),
        )
    return tables, out, told


def test_it_gives_every_table_with_the_papers_figures_beside(outcome):
    tables, _, _ = outcome
    titles = [table.title.split(":")[0] for table in tables]
    assert titles == [
        *(f"Table {number}" for number in range(1, 9)),
        "Section 6.4",
        "Section 6.4, missed neighbours",
    ]
    first, second, third, fourth, fifth, sixth, seventh, eighth, leaves, missed = tables
    assert [row[1] for row in first.rows][:5] == [72, 24, 24, 5, "2"]
    assert 40 < float(first.rows[5][1]) < 60
    assert {row[1] for row in eighth.rows} == {"PAMIR^IA", "One-vs-Rest", "WSABIE"}
    assert eighth.rows[0][0].endswith(".png")
    assert "**" in eighth.rows[2][2]
    by_chance = [row[1] for row in missed.rows]
    assert by_chance[0] >= by_chance[3] >= by_chance[4] > 0
    assert [row[2] for row in missed.rows] == [4.5, 3.4, 2.8, 2.0, 1.4]
    assert first.rows[0][3] == 9_861_293
    by_name = {row[0]: row for row in second.rows}
    assert list(by_name) == list(wsabie_paper.TABLE_2)
    wsabie_row = by_name["WSABIE"]
    assert wsabie_row[1] > 80
    assert wsabie_row[3] > wsabie_row[2]
    assert wsabie_row[5:9] == [4.03, 1.48, 5.18, 7.75]
    assert wsabie_row[9:13] == [1.03, 0.44, 9.84, 2.27]
    assert {row[0] for row in third.rows} == {*COLOURS, *KINDS}
    assert [row[0] for row in fourth.rows] == [4, 8]
    assert [tuple(row[:2]) for row in fifth.rows] == [
        ("W_iᵀVx", "AUC"),
        ("W_iᵀVx", "WARP"),
        ("w_iᵀx", "AUC"),
        ("w_iᵀx", "WARP"),
    ]
    assert fifth.rows[3][4:6] == [4.25, 1.48]
    assert [row[0] for row in sixth.rows] == list(wsabie_paper.TABLE_6)
    assert all(row[3] > 0 and row[5] > 0 for row in sixth.rows)
    assert [row[0] for row in seventh.rows] == ["WSABIE-8", "WSABIE-4 + WSABIE-8"]
    assert [row[0] for row in leaves.rows] == ["18", "all: exact"]


def test_the_parts_of_table_2_and_table_5_agree(outcome):
    tables, _, _ = outcome
    by_name = {row[0]: row for row in tables[1].rows}
    by_model = {tuple(row[:2]): row for row in tables[4].rows}
    assert by_model["W_iᵀVx", "WARP"][2:4] == by_name["WSABIE"][1:3]
    assert by_model["w_iᵀx", "AUC"][2:4] == by_name["PAMIR^IA"][1:3]


def test_it_writes_every_figure_and_a_report(outcome):
    tables, out, _ = outcome
    report = (out / "report.md").read_text()
    for table in tables:
        assert table.markdown() in report
    for name in ("figure-1-precision", "figure-1-siblings", "figure-2"):
        assert f"]({name}.png)" in report
        with Image.open(out / f"{name}.png") as plot:
            assert plot.size[0] > 600
    with (out / "figure-1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = {row["curve"]: float(row["percent"]) for row in rows if row["x"] == "1"}
    assert set(first) == set(wsabie_paper.TABLE_2)
    with (out / "figure-2.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["curve"] for row in rows} == {"WARP", "AUC", "OWPC"}
    assert len(rows) == 3 * TINY.epochs


def test_progress_goes_up_to_the_end(outcome):
    _, _, told = outcome
    done = [one for one, _ in told]
    total = told[0][1]
    assert done == sorted(set(done))
    assert done[-1] == total


def test_a_second_run_reads_the_vectors_and_gives_the_same(tagged, outcome, monkeypatch):
    tables, out, _ = outcome
    set_limits(monkeypatch, wsabie_plan=TINY)
    before = times(out / "vectors")
    given = {"words": "name_words", "isa": tagged / "isa.csv"}
    again = wsabie.reproduce(tagged, out, **given, quick=True)
    for place in (0, 1, 2, 3, 4, 6):
        assert again[place].csv() == tables[place].csv()
    assert times(out / "vectors") == before


def test_a_broken_picture_is_named_and_nothing_is_written(tmp_path):
    rng = np.random.default_rng(0)
    for colour in ("red", "blue"):
        (tmp_path / "data" / colour).mkdir(parents=True)
        for number in range(10):
            picture("noise", colour, rng).save(tmp_path / "data" / colour / f"{number}.png")
    (tmp_path / "data" / "red" / "4.png").write_bytes(b"not a picture")
    with pytest.raises(InvalidInput, match=r"4\.png cannot be read"):
        wsabie.reproduce(tmp_path / "data", tmp_path / "out", dimension=20)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def files(tmp_path):
    for number in range(40):
        (tmp_path / f"{number}.png").touch()
    return tmp_path


def test_without_a_split_60_20_and_20_percent_are_drawn(files):
    rows = [(f"{number}.png", "ab"[number % 2]) for number in range(40)]
    write(files / "labels.csv", [("file", "label"), *rows])
    found = tagged_pictures(files)
    assert found.sizes == (24, 8, 8)
    assert sorted(found.files) == sorted(files / name for name, _ in rows)
    assert {path.name: some for path, some in zip(found.files, found.words, strict=True)} == {
        name: (word,) for name, word in rows
    }
    assert tagged_pictures(files).files == found.files
    assert tagged_pictures(files, random_state=1).files != found.files


def test_a_split_is_taken_as_it_is(files):
    parts = ["train"] * 20 + ["Validation"] * 10 + ["test"] * 10
    rows = [(f"{n}.png", part, "ab"[n % 2]) for n, part in enumerate(parts)]
    write(files / "labels.csv", [("file", "split", "label"), *rows])
    found = tagged_pictures(files)
    assert found.sizes == (20, 10, 10)
    assert [path.name for path in found.files] == [name for name, _, _ in rows]


def test_validation_is_drawn_from_train_where_there_is_none(files):
    rows = [(f"{n}.png", "train" if n < 30 else "test", "ab"[n % 2]) for n in range(40)]
    write(files / "labels.csv", [("file", "split", "label"), *rows])
    found = tagged_pictures(files)
    assert found.sizes == (24, 6, 10)
    assert {path.name for path in found.files[30:]} == {f"{n}.png" for n in range(30, 40)}


def test_rare_words_are_dropped_where_pictures_have_several(files):
    rows = [(f"{n}.png", "train" if n < 30 else "test", f"even;n{n}") for n in range(0, 40, 2)]
    rows += [(f"{n}.png", "train" if n < 30 else "test", "Odd|ODD") for n in range(1, 39, 2)]
    rows += [("39.png", "test", "never learned")]
    write(files / "labels.csv", [("file", "split", "tags"), *rows])
    found = tagged_pictures(files)
    assert {word for some in found.words for word in some} == {"even", "Odd", "ODD"}
    assert sum(found.sizes) == 39
    assert "21 of 23 words" in found.notes[0]
    assert "1 picture left" in found.notes[0]


def test_cells_are_cut_as_their_column_says(files):
    rows = [(f"{n}.png", "a b;c", "a b;c", "a b;c") for n in range(40)]
    write(files / "labels.csv", [("file", "class", "named", "x_words"), *rows])
    given = [tagged_pictures(files, words=name).words[0] for name in ("named", "x_words")]
    assert given == [("a b", "c"), ("a", "b", "c")]
    with pytest.raises(InvalidInput, match="must be two words"):
        tagged_pictures(files, words="class")


def test_folders_are_words_where_there_is_no_table(tmp_path):
    for word in ("cat", "dog"):
        (tmp_path / word).mkdir()
        for number in range(10):
            (tmp_path / word / f"{number}.jpg").touch()
    (tmp_path / "dog" / ".hidden.jpg").touch()
    (tmp_path / "alone.jpg").touch()
    found = tagged_pictures(tmp_path)
    assert sum(found.sizes) == 20
    assert all(
        some == (path.parent.name,) for path, some in zip(found.files, found.words, strict=True)
    )


def test_levels_of_the_table_are_a_tree(files):
    rows = [(f"{n}.png", f"w{n % 4}", f"group {n % 2}") for n in range(40)]
    write(files / "labels.csv", [("file", "fine", "coarse"), *rows])
    found = tagged_pictures(files, words="fine", levels=("fine", "coarse"))
    assert found.tree.parents("w3") == ("group 1",)


def test_what_will_not_do_is_said(files, tmp_path):
    with pytest.raises(InvalidInput, match="not a folder"):
        tagged_pictures(files / "none")
    with pytest.raises(InvalidInput, match="found neither"):
        tagged_pictures(files)
    with pytest.raises(InvalidInput, match="no column 'fine'"):
        tagged_pictures(files, words="fine")
    write(files / "labels.csv", [("file", "fine"), ("1.png", "a")])
    with pytest.raises(InvalidInput, match="it has file, fine"):
        tagged_pictures(files)
    with pytest.raises(InvalidInput, match="'coarse'"):
        tagged_pictures(files, words="coarse")
    write(files / "labels.csv", [("file", "label"), ("1.png", "a"), ("x.png", "b")])
    with pytest.raises(InvalidInput, match=r"x\.png does not exist; 1 of the 2"):
        tagged_pictures(files)
    write(files / "labels.csv", [("file", "label", "split"), ("1.png", "a", "later")])
    with pytest.raises(InvalidInput, match=r"line 2: .* got 'later'"):
        tagged_pictures(files)
    rows = [("1.png", "a", "train"), ("1.png", "b", "test")]
    write(files / "labels.csv", [("file", "labels", "split"), *rows])
    with pytest.raises(InvalidInput, match=r"line 3: 1\.png is in test, but in train before"):
        tagged_pictures(files)
    write(files / "labels.csv", [("file", "label", "split"), ("1.png", "a", "train")])
    with pytest.raises(InvalidInput, match="some in test; it has train"):
        tagged_pictures(files)


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    words = [("cat",), ("dog",), ("car",)] * 20
    means = np.tile(rng.normal(size=(3, 8)), (20, 1))
    X = (means + rng.normal(size=(60, 8)) / 4).astype(np.float32)
    parts = [Part(X[at : at + 20], words[at : at + 20]) for at in (0, 20, 40)]
    tree = TagTree.from_paths(["pet/cat", "pet/dog", "car"])
    return Study(*parts, tree, TINY, 0, lambda: None)


def test_the_best_on_the_validation_part_is_chosen(study):
    good = WSABIE(dimension=4, epochs=20, random_state=0)
    bad = WSABIE(dimension=4, epochs=1, learning_rate=1e-6, random_state=0)
    for order in ([good, bad], [bad, good]):
        chosen = wsabie_methods.choose(iter(order), study)
        assert chosen.model is good
        assert chosen.check > 0.9


def test_the_test_part_has_no_say(study):
    candidates = [WSABIE(dimension=4, epochs=epochs, random_state=0) for epochs in (1, 3, 9)]
    first = wsabie_methods.choose(iter(candidates), study)
    wrong = replace(study, test=Part(-study.test.X, study.test.y[::-1]))
    again = [WSABIE(dimension=4, epochs=epochs, random_state=0) for epochs in (1, 3, 9)]
    assert wsabie_methods.choose(iter(again), wrong).check == first.check


def test_every_method_has_as_many_settings():
    for plan in (wsabie_methods.FULL, wsabie_methods.QUICK):
        counts = {
            len(list(wsabie_methods.embeddings(plan, 0, 5))),
            len(list(wsabie_methods.rankers(plan, 0, "warp"))),
            len(list(wsabie_methods.rankers(plan, 0, "auc"))),
            len(list(wsabie_methods.classifiers(plan, 0))),
            len(list(wsabie_methods.nearest(plan, 0, None))),
        }
        assert counts == {len(plan.neighbours)}


def test_without_a_tree_there_is_no_sibling_precision(study, tmp_path):
    bare = replace(study, tree=None)
    chosen = wsabie_methods.choose(wsabie_methods.embeddings(TINY, 0, 4), bare)
    found = {"WSABIE": wsabie_methods.judge(chosen, bare)}
    table = wsabie_tables.table_2(bare, found)
    assert table.rows[0][3] is None
    assert "no sibling precision" in table.notes[-1]
    assert wsabie_tables.table_1(bare, "ours", ()).rows[4][1] is None
    (panel,) = wsabie_figures.figure_1(found, tmp_path)
    assert panel.path.name == "figure-1-precision.png"


def test_a_trace_has_the_time_of_every_pass(study):
    model = WSABIE(dimension=4, epochs=7, random_state=0)
    seconds, precision = wsabie_figures.trace(model, study)
    assert len(seconds) == len(precision) == 7
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert not hasattr(model, "words_")


def test_siblings_stand_between_asterisks(study):
    tree = TagTree.from_paths(["pet/cat", "pet/dog", "car"])
    words = [(f"pet/{some[0]}" if some[0] != "car" else "car",) for some in study.train.y]
    ours = replace(study, train=Part(study.train.X, words), tree=tree)
    model = WSABIE(dimension=4, random_state=0).fit(study.train.X, words)
    rows = {row[0]: row[1] for row in wsabie_tables.table_3(ours, model).rows}
    assert "*pet/dog*" in rows["pet/cat"]
    assert "*" not in rows["car"]


def test_settings_are_shown_as_the_paper_calls_them():
    assert (
        wsabie_methods.settings_of(WSABIE(dimension=7, learning_rate=0.2, max_norm=3))
        == "D 7, γ 0.2, C 3"
    )
    near = NearestNeighbours(neighbours=3, trees=1, leaf=20)
    assert wsabie_methods.settings_of(near) == "k 3, leaf 20"
    assert wsabie_methods.settings_of(NearestNeighbours(neighbours=3)) == "k 3"


def test_the_paper_is_quoted_right():
    assert wsabie_paper.TABLE_2["WSABIE"][0] == wsabie_paper.TABLE_7[300,]
    assert wsabie_paper.TABLE_4[100] == (3.48, 1.39, 5.19, 7.12)
    assert wsabie_paper.TABLE_5["embedding", "warp"][1] == wsabie_paper.TABLE_2["WSABIE"][1][:2]
    assert wsabie_paper.TABLE_7[100, 200, 300] == (6.14, 2.09, 6.42, 11.23)
    assert {len(row) for rows in wsabie_paper.TABLE_2.values() for row in rows} == {4}


def test_what_missing_a_neighbour_costs_is_the_expectation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    words = [(f"word {n % 3}",) for n in range(30)]
    train, test = Part(X[:30], words), Part(X[30:], [(f"word {n % 3}",) for n in range(10)])
    study = Study(train, train, test, None, TINY, 0, lambda: None)
    table = wsabie_tables.table_of_missed_neighbours(study)
    found = [row[1] for row in table.rows]
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    order = np.argsort(-(units[30:] @ units[:30].T), axis=1)
    right = np.array(
        [[words[row] == true for row in near] for near, true in zip(order, test.y, strict=True)]
    )
    assert found[0] == pytest.approx(100 * right[:, 0].mean())
    assert found[1] == pytest.approx(50 * (right[:, 0].mean() + right[:, 1].mean()))
    caught = rng.random((4000, *right.shape)) < 0.25
    first = caught.argmax(axis=2)
    hits = np.take_along_axis(np.broadcast_to(right, caught.shape), first[..., None], 2)[..., 0]
    assert found[3] == pytest.approx(100 * (hits & caught.any(axis=2)).mean(), abs=1.0)


def test_copies_among_test_pictures_are_removed():
    rng = np.random.default_rng(0)
    others = rng.normal(size=(20, 8)).astype(np.float32)
    test = rng.normal(size=(5, 8)).astype(np.float32)
    test[2] = 3 * others[7] + 1e-3
    np.testing.assert_array_equal(wsabie_methods.not_copies(test, others, 0.99), [0, 1, 3, 4])


def test_a_test_part_of_copies_is_refused(tagged, tmp_path, set_limits):
    set_limits(wsabie_plan=replace(TINY, too_close=-1.0))
    with pytest.raises(InvalidInput, match="is a copy"):
        wsabie.reproduce(tagged, tmp_path / "out", words="name_words", quick=True)
