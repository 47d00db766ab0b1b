"""Figures 1 and 3 to 6 of paper 3, on a small folder with made-up vectors."""

import csv

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import delta_average_precision
from lookalike.evaluate.reproduce import qah, qah_data, qah_figures


@pytest.fixture
def folder(tmp_path):
    """40 pictures of each of three classes, and a table that gives some a second label."""
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "labels"])
        for number in range(120):
            name = ["ärmel", "boot", "zaun"][number % 3]
            writer.writerow([f"{number}.png", name + (";draußen" if number % 2 else "")])
            Image.new("RGB", (8, 8), (2 * number, 0, 0)).save(tmp_path / f"{number}.png")
    return tmp_path


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    """Describe a picture by its class with some noise."""

    def vectors(files, train, cache, **_):
        numbers = np.array([int(file.stem) for file in files])
        rng = np.random.default_rng(0)
        rows = 0.4 * rng.standard_normal((120, 12))
        rows[np.arange(120), np.arange(120) % 3] += 1
        rows[np.arange(120), 3 + np.arange(120) % 2] += 0.5
        return rows[numbers].astype(np.float32)

    monkeypatch.setattr(qah_data, "stored_vectors", vectors)


def test_the_figures_stand_beside_those_of_the_paper(folder, tmp_path):
    heard = []
    tables = qah.reproduce(
        folder, tmp_path / "out", quick=True, progress=lambda *done: heard.append(done)
    )
    distances, gains, classes = tables
    assert distances.rows[0][:2] == [0, qah_figures.AT_DISTANCE_0]
    assert [tuple(row[:3]) for row in gains.rows] == [
        (codes, bits, part)
        for bits in (16, 48)
        for codes in ("S3PLH", "deep")
        for part in (
            "entire, the paper's rule",
            "entire, chosen rule",
            "entire, class weights alone",
            "upper half, the paper's rule",
            "upper half, chosen rule",
        )
    ]
    paper = {tuple(row[:3]): row[5] for row in gains.rows}
    assert paper["deep", 48, "entire, the paper's rule"] == 10.1
    assert paper["S3PLH", 48, "entire, the paper's rule"] == 5.0
    assert paper["deep", 48, "entire, chosen rule"] is None
    assert paper["deep", 48, "upper half, the paper's rule"] is None
    for _, _, _, before, after, _, gain, error in gains.rows:
        assert 0 < before < 1
        assert gain == pytest.approx(100 * (after / before - 1))
        assert error > 0
    assert {row[0] for row in classes.rows} == {"ärmel", "boot", "zaun", "draußen"}
    assert heard[-1][0] == heard[-1][1]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"report.md", "figure-4-entire.png", "figure-4-upper.png", "figure-4.csv"} | {
        f"figure-{n}.{end}" for n in (1, 3, 5, 6) for end in ("png", "csv")
    }
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Lost in Binarization" in report
    assert "ärmel" in report
    assert "figure-6.png" in report


def test_counts_at_distances_add_up_to_the_others():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((90, 6)).astype(np.float32)
    labels = [{str(n % 3)} for n in range(90)]
    found = qah.outcome(
        qah.S3PLH(bits=10, random_state=0), (rows[:60], labels[:60]), (rows[60:], labels[60:])
    )
    assert found.at.shape == (11,)
    assert found.at.min() >= 0
    assert found.at.sum() == pytest.approx(29)


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    ones = rng.integers(0, 2, (9, 11))
    codes = np.packbits(ones.astype(np.uint8), axis=1)
    queries = np.array([4, 0, 8])
    for weights in (rng.random((3, 11)), None):
        expected = [
            [-(w * (ones[q] != x)).sum() / w.sum() for x in ones]
            for q, w in zip(queries, np.ones((3, 11)) if weights is None else weights, strict=True)
        ]
        found = qah.hamming_scores(codes, 11, queries, weights)
        np.testing.assert_allclose(found, expected, atol=1e-7)
    # The same bits differ, so the distances are the same to the last digit.
    both = qah.hamming_scores(np.repeat(codes, 2, axis=0), 11, 2 * queries, rng.random((3, 11)))
    np.testing.assert_array_equal(both[:, ::2], both[:, 1::2])


def test_blocks_of_queries_are_judged_as_all_at_once(set_limits):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, (70, 2), dtype=np.uint8)
    labels = [{str(n % 3)} for n in range(70)]
    weights = rng.random((70, 12))
    queries = np.arange(50)
    codes[:, 1] &= 0xF0

    def of(rows):
        return {"plain": None, "own": weights[rows]}

    set_limits(qah_queries=7)
    entire, upper, at = qah.compare(codes, 12, labels, queries, of)
    relevant = np.array([[bool(a & b) for b in labels] for a in labels])[:50]
    for name, some in (("plain", None), ("own", weights[:50])):
        scores = qah.hamming_scores(codes, 12, queries, some)
        for found, part in ((entire, 1.0), (upper, 0.5)):
            expected = delta_average_precision(scores, relevant, own=queries, upper=part)
            np.testing.assert_allclose(found[name], expected)
    assert at.sum() == pytest.approx(69)


def test_errors_of_gains_hold_the_draw_of_the_codes():
    def drawn(change):
        rows = {"plain": np.full(100, 0.5), "paper": np.full(100, 0.5 + change)}
        return qah.Outcome(rows, rows, np.zeros(2), "paper", np.zeros((1, 1)), np.zeros((1, 1)))

    before, after, error = qah_figures.gain_of([drawn(0.0), drawn(0.2)], "entire", "paper")
    assert (before, after) == (0.5, pytest.approx(0.6))
    assert error == pytest.approx(np.std([0.0, 0.2], ddof=1) / np.sqrt(2))
    assert qah_figures.gain_of([drawn(0.1)], "entire", "paper")[2] == pytest.approx(0)


@pytest.fixture
def nus_wide(tmp_path):
    """A tiny copy of the layout in which NUS-WIDE is published."""
    rng = np.random.default_rng(0)
    labels, words = tmp_path / "Groundtruth" / "TrainTestLabels", tmp_path / "Low_Level_Features"
    labels.mkdir(parents=True)
    words.mkdir()
    for part, size in (("Train", 90), ("Test", 60)):
        has = {
            name: np.arange(size) % 3 == number for number, name in enumerate(("sky", "sea", "dog"))
        }
        has["dog"][-5:] = has["sky"][-5:] = has["sea"][-5:] = False
        counts = rng.poisson(1, (size, 500))
        for number, name in enumerate(("sky", "sea", "dog")):
            counts[np.ix_(has[name], np.arange(9) + 20 * number)] += 9
            lines = "".join(f"{int(one)}\n" for one in has[name])
            (labels / f"Labels_{name}_{part}.txt").write_text(lines)
        np.savetxt(words / f"BoW_{part}_int.dat", counts, fmt="%d", delimiter=" ")
    return tmp_path


def test_nus_wide_is_read_as_it_is_published(nus_wide, tmp_path):
    coded = qah_data.nus_wide(nus_wide, random_state=0)
    assert coded.train.shape == (90, 500)
    assert coded.train_labels[1] == {"sea"}
    assert coded.train_labels[-1] == set()
    assert len(coded.test) == len(coded.test_labels) == 55
    for row, labels in zip(coded.test, coded.test_labels, strict=True):
        ((label, *others),) = [tuple(labels)]
        at = ("sky", "sea", "dog").index(label)
        assert not others
        assert row[20 * at : 20 * at + 9].sum() > row.sum() * 9 / 500
    tables = qah.reproduce(nus_wide, tmp_path / "out", quick=True)
    assert {row[0] for row in tables[2].rows} == {"sky", "sea", "dog"}
    assert not (tmp_path / "out" / "figure-1.png").exists()


def test_a_nus_wide_that_is_not_whole_is_refused(nus_wide):
    (nus_wide / "Low_Level_Features" / "BoW_Test_int.dat").unlink()
    with pytest.raises(InvalidInput, match=r"BoW_Test_int\.dat"):
        qah_data.nus_wide(nus_wide, random_state=0)
    (nus_wide / "Groundtruth" / "TrainTestLabels" / "Labels_sky_Train.txt").write_text("1\n0\n")
    with pytest.raises(InvalidInput, match="a line for each picture"):
        qah_data.nus_wide(nus_wide, random_state=0)


def test_a_soft_bag_is_the_sum_of_the_definition():
    rng = np.random.default_rng(0)
    words = rng.random((12, 6)).astype(np.float32)
    descriptors = rng.random((7, 6)).astype(np.float32)
    expected = np.zeros(12)
    for j in descriptors.astype(float):
        order = sorted(range(12), key=lambda k: ((words[k] - j) ** 2).sum())
        for i, k in enumerate(order[:4]):
            cosine = j @ words[k] / (np.linalg.norm(j) * np.linalg.norm(words[k]))
            expected[k] += cosine / 2**i
    found = qah_data.soft_bag(descriptors, words)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-4)
    assert not qah_data.soft_bag(descriptors[:0], words).any()


def test_bags_of_pictures_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    files = [tmp_path / f"{number}.png" for number in range(4)]
    for file in files:
        Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(file)
    rows = qah_data.soft_bags(files, 3, tmp_path / "kept", 0, lambda done, total: None)
    assert rows.shape == (4, 500)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    again = qah_data.soft_bags(files, 3, tmp_path / "kept", 0, lambda done, total: 1 / 0)
    np.testing.assert_array_equal(rows, again)
