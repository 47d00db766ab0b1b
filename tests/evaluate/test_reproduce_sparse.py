"""Paper 4's tables and figures, on a small set of drawn sights."""

import cv2
import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import read_landmarks
from lookalike.evaluate.reproduce import sparse

SIGHTS = 2
VIEWS = 8
OTHERS = 6


def drawing(seed):
    rng = np.random.default_rng(seed)
    picture = np.full((120, 160), 128, np.uint8)
    for _ in range(45):
        centre = tuple(int(n) for n in rng.integers(8, (152, 112)))
        axes = tuple(int(n) for n in rng.integers(3, 9, 2))
        shade = int(rng.integers(0, 256))
        cv2.ellipse(picture, centre, axes, float(rng.integers(180)), 0, 360, shade, -1)
    return cv2.GaussianBlur(picture, (0, 0), 1.0)


def view(picture, rng):
    scale, turn = rng.uniform(0.85, 1.15), rng.uniform(-4, 4)
    matrix = cv2.getRotationMatrix2D((80, 60), turn, scale)
    matrix[:, 2] += rng.uniform(-5, 5, 2)
    return cv2.warpAffine(picture, matrix, (160, 120), borderMode=cv2.BORDER_REFLECT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sights")
    rng = np.random.default_rng(0)
    for sight in range(SIGHTS):
        names = [f"sight{sight}_{number}" for number in range(VIEWS)]
        for name in names:
            Image.fromarray(view(drawing(sight), rng)).save(place / f"{name}.png")
        (place / f"sight{sight}_1_query.txt").write_text(f"{names[0]} 10 10 150 110")
        (place / f"sight{sight}_1_good.txt").write_text("\n".join(names[:6]))
        (place / f"sight{sight}_1_ok.txt").write_text("\n".join(names[6:7]))
        (place / f"sight{sight}_1_junk.txt").write_text(names[7])
    for number in range(OTHERS):
        Image.fromarray(drawing(100 + number)).save(place / f"other_{number}.png")
    return place


def test_tables_figures_and_going_on(folder, tmp_path):
    heard = []
    lists = next(folder.rglob("*_good.txt"))
    lists.write_text(f"{lists.read_text()}\nnowhere\n")
    made = sparse.reproduce(
        folder, tmp_path / "out", vocabulary=150, quick=True, progress=lambda *at: heard.append(at)
    )
    assert [table.title.split(":")[0] for table in made] == ["Table II", "Table III", "Table IV"]
    ours = made[0].rows[0]
    assert ours[3] > 0.9
    assert ours[4].mean >= 0.9
    assert [row[0] for row in made[2].rows] == [0, 1, 2, 3]
    assert made[2].rows[0][1] == 150
    done = [each for each, _ in heard]
    assert done == sorted(done)
    assert heard[-1][0] == heard[-1][1]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.md", "figure-1.png", "figure-3b.png", "figure-6.csv"} <= names
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "Left out, since no picture is there: nowhere." in report
    described = sorted((tmp_path / "out" / "described").rglob("records-*"))
    before = [path.stat().st_mtime_ns for path in described]
    again = sparse.reproduce(folder, tmp_path / "out", vocabulary=150, quick=True)
    assert [path.stat().st_mtime_ns for path in described] == before
    assert again[0].rows[0][:4] == made[0].rows[0][:4]


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_run_that_was_interrupted_goes_on(folder, tmp_path, share):
    def interrupt(done, total):
        if done >= share * total:
            raise KeyboardInterrupt

    asked = {"vocabulary": 150, "quick": True}
    with pytest.raises(KeyboardInterrupt):
        sparse.reproduce(folder, tmp_path / "out", **asked, progress=interrupt)
    done = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    kinds = {path.name.partition("-")[0] for path in done}
    assert "regions" in kinds
    assert ("records" in kinds) == (share == 0.9)
    assert any(path.suffix == ".json" for path in done) == (share == 0.9)
    made = sparse.reproduce(folder, tmp_path / "out", **asked)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    whole = sparse.reproduce(folder, tmp_path / "whole", **asked)
    assert made[0].rows[0] == whole[0].rows[0]


def test_fewer_pictures_keep_those_in_lists(folder, tmp_path):
    landmarks = read_landmarks(folder)
    few = sparse._fewer(landmarks, SIGHTS * VIEWS + 2)
    assert len(few.files) == SIGHTS * VIEWS + 2
    for old, new in zip(landmarks.queries, few.queries, strict=True):
        assert landmarks.files[old.picture] == few.files[new.picture]
        assert len(old.truth.positive()) == len(new.truth.positive())
    with pytest.raises(InvalidInput, match="at least those in the lists"):
        sparse._fewer(landmarks, 3)
    assert sparse.estimate(folder, vocabulary=100) > 0


def test_pictures_of_queries_are_never_learned_from(folder):
    landmarks = read_landmarks(folder)
    rows, labels = sparse.training_labels(landmarks, np.random.default_rng(0))
    assert not set(rows.tolist()) & {query.picture for query in landmarks.queries}
    assert len(rows) == len(labels) == round(0.8 * (len(landmarks.files) - SIGHTS))
