"""Figures 3 to 5 of paper 3, on a small folder with made-up vectors."""

import csv

import numpy as np
import pytest
from PIL import Image

from lookalike.evaluate.reproduce import qah


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

    monkeypatch.setattr(qah, "stored_vectors", vectors)


def test_the_figures_stand_beside_those_of_the_paper(folder, tmp_path):
    heard = []
    tables = qah.reproduce(
        folder, tmp_path / "out", quick=True, progress=lambda *done: heard.append(done)
    )
    distances, gains, classes = tables
    assert distances.rows[0][:2] == [0, qah.AT_DISTANCE_0]
    assert [tuple(row[:3]) for row in gains.rows] == [
        (codes, bits, part)
        for bits in (16, 48)
        for codes in ("S3PLH", "deep")
        for part in (
            "entire, the paper's rule",
            "entire, chosen rule",
            "entire, class weights alone",
            "upper half",
        )
    ]
    paper = {tuple(row[:3]): row[5] for row in gains.rows}
    assert paper["deep", 48, "entire, the paper's rule"] == 10.1
    assert paper["S3PLH", 48, "entire, the paper's rule"] == 5.0
    assert paper["deep", 48, "entire, chosen rule"] is None
    assert paper["deep", 48, "upper half"] is None
    for _, _, _, before, after, _, gain, error in gains.rows:
        assert 0 < before < 1
        assert gain == pytest.approx(100 * (after / before - 1))
        assert error > 0
    assert {row[0] for row in classes.rows} == {"ärmel", "boot", "zaun", "draußen"}
    assert heard[-1][0] == heard[-1][1]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"report.md"} | {
        f"figure-{n}.{end}" for n in (3, 4, 5) for end in ("png", "csv")
    }
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Lost in Binarization" in report
    assert "ärmel" in report
    assert "![Figure 5" in report


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
    ones = rng.integers(0, 2, (9, 7)).astype(float)
    weights = rng.random((3, 7))
    queries = np.array([4, 0, 8])
    expected = [
        [-(w * (ones[q] != x)).sum() / w.sum() for x in ones]
        for q, w in zip(queries, weights, strict=True)
    ]
    np.testing.assert_allclose(qah.hamming_scores(ones, queries, weights), expected, atol=1e-8)
