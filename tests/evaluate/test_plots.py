import importlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput, MissingPart
from lookalike.evaluate.plots import Level, Series, curve_plot

LABELS = {"title": "costs $5 & $6", "x_label": "k", "y_label": "precision"}


def lines(count=3, points=30):
    x = np.arange(1, points + 1)
    return [Series(f"model {i}", x, np.exp(-x / (10 + i)), 0.01 * x) for i in range(count)]


def test_png_and_svg(tmp_path):
    levels = [Level("chance", 0.1), Level("Euclidean", 0.2, 0.02)]
    curve_plot(lines(), path=tmp_path / "a.png", levels=levels, **LABELS)
    curve_plot(lines(9), path=str(tmp_path / "a.SVG"), levels=levels, logarithmic=True, **LABELS)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (1140, 660)
        colours = set(map(tuple, np.asarray(picture.convert("RGB")).reshape(-1, 3).tolist()))
    assert {(0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x00, 0x9E, 0x73)} <= colours
    ElementTree.parse(tmp_path / "a.SVG")


def test_the_same_plot_is_the_same_file(tmp_path):
    for ending in ("png", "svg"):
        for name in ("a", "b"):
            curve_plot(lines(), path=tmp_path / f"{name}.{ending}", **LABELS)
        first, second = (tmp_path / f"{name}.{ending}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_one_point_and_no_spread(tmp_path):
    curve_plot([Series("one", [1], [0.5])], path=tmp_path / "a.png", **LABELS)
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_without_matplotlib_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "lookalike.evaluate.plots")
    with pytest.raises(MissingPart, match=r"pip install 'lookalike\[papers\]'"):
        importlib.import_module("lookalike.evaluate.plots")


def test_pyplot_with_its_global_state_is_not_loaded():
    look = "import sys, lookalike.evaluate.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


@pytest.mark.parametrize(
    ("series", "name"),
    [
        (lines(), "a.jpg"),
        (lines(), "a"),
        ([], "a.png"),
        ([Series("a", [1, 2], [1])], "a.png"),
        ([Series("a", [1, 2], [1, 2], [1])], "a.png"),
        ([Series("a", [], [])], "a.png"),
        ([Series("a", [[1]], [[1]])], "a.png"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, series, name):
    with pytest.raises(InvalidInput, match="curve_plot"):
        curve_plot(series, path=tmp_path / name, **LABELS)
    assert not list(tmp_path.iterdir())
