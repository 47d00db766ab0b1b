"""Plots as in the papers: curves with error bars and levels, bars by name, rows of pictures."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput, MissingPart
from lookalike.images import Limits, decode, read_bytes

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
except ImportError as error:
    raise MissingPart(
        "plots are drawn by matplotlib, which is not installed. Install it with: "
        "pip install 'lookalike[papers]'"
    ) from error

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which colour-blind people can distinguish."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#333333"
FORMATS = {".png": "png", ".svg": "svg"}
MAX_BARS = 12
MAX_LEVEL = 90
"""Characters of names that stand side by side under bars."""

TILE = 160
"""Pixels of the longer side of a picture in a row."""


@dataclass(frozen=True)
class Series:
    """A curve; ``spread`` is half the length of the error bar at each point."""

    name: str
    x: ArrayLike
    y: ArrayLike
    spread: ArrayLike | None = None


@dataclass(frozen=True)
class Tile:
    """A picture in a row of pictures, with words under it; a frame says right or wrong."""

    file: Path
    caption: str = ""
    is_right: bool | None = None


@dataclass(frozen=True)
class Level:
    """A level to compare with, such as chance or a baseline that does not learn."""

    name: str
    value: float
    spread: float = 0.0


def curve_plot(
    series: Sequence[Series],
    *,
    path: Path | str,
    title: str,
    x_label: str,
    y_label: str,
    levels: Sequence[Level] = (),
    logarithmic: bool = False,
) -> None:
    """Draw curves with error bars, and dashed levels, to a PNG or SVG file.

    Parameters
    ----------
    series : sequence of Series
        Listed in the legend in the order of their last values, highest first.
    path : Path or str
        A file ending in ``.png`` or ``.svg``.
    title, x_label, y_label : str
        The texts of the plot.
    levels : sequence of Level
        Dashed lines, with a band where they have a spread.
    logarithmic : bool
        Whether the x axis is logarithmic.
    """
    place = Path(path)
    if place.suffix.lower() not in FORMATS:
        raise InvalidInput(f"curve_plot: path must end in .png or .svg; got {place.name}.")
    if not series:
        raise InvalidInput("curve_plot: there must be at least one series.")
    drawn = [_checked(one) for one in series]
    figure = Figure(figsize=(7.6, 4.4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    ends: list[tuple[float, Any, str]] = []
    for number, (name, x, y, spread) in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        every = max(1, -(-len(x) // MAX_BARS))
        shown = (number % every, every)
        curve = axes.errorbar(
            x,
            y,
            yerr=spread,
            errorevery=shown,
            markevery=shown,
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if number < len(COLOURS) else "--",
            markersize=5,
            linewidth=1.8,
            elinewidth=1.2,
            capsize=3,
        )
        ends.append((float(y[-1]), curve, name))
    for number, level in enumerate(levels):
        style = ("--", ":", "-.")[number % 3]
        line = axes.axhline(level.value, color=INK, linestyle=style, linewidth=1.3, zorder=1)
        if level.spread:
            low, high = level.value - level.spread, level.value + level.spread
            axes.axhspan(low, high, color=INK, alpha=0.1, linewidth=0, zorder=0)
        ends.append((level.value, line, level.name))
    if logarithmic:
        axes.set_xscale("log")
        least, most = (edge([edge(x) for _, x, _, _ in drawn]) for edge in (np.min, np.max))
        subs = (1.0, 2.0, 5.0) if most < 1e3 * least else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.12g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif all(np.all(x == np.round(x)) for _, x, _, _ in drawn):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    _dress(axes, title, x_label, y_label)
    ends.sort(key=lambda end: -end[0])
    figure.legend(
        [handle for _, handle, _ in ends],
        [_plain(name) for _, _, name in ends],
        loc="outside right upper",
        frameon=False,
        fontsize=11,
        labelcolor=INK,
    )
    _write(figure, place)


def bar_plot(
    names: Sequence[str],
    series: Sequence[Series],
    *,
    path: Path | str,
    title: str,
    y_label: str,
    logarithmic: bool = False,
) -> None:
    """Draw a group of bars for each name, with error bars; the x of the series are not used."""
    place = Path(path)
    width = 0.8 / len(series)
    figure = Figure(figsize=(max(7.6, 0.24 * len(names)), 4.4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(names))
    for number, one in enumerate(series):
        axes.bar(
            places + (number - (len(series) - 1) / 2) * width,
            np.asarray(one.y, dtype=np.float64),
            width,
            yerr=None if one.spread is None else np.asarray(one.spread, dtype=np.float64),
            color=COLOURS[number % len(COLOURS)],
            capsize=2,
            label=_plain(one.name),
        )
    if logarithmic:
        axes.set_yscale("log")
    _dress(axes, title, "", y_label)
    turned = sum(map(len, names)) > MAX_LEVEL
    axes.set_xticks(places, [_plain(name) for name in names], rotation=90 if turned else 0)
    figure.legend(loc="outside right upper", frameon=False, fontsize=11, labelcolor=INK)
    _write(figure, place)


def picture_plot(
    rows: Sequence[tuple[str, Sequence[Tile]]], *, path: Path | str, title: str
) -> None:
    """Draw rows of pictures, each under its name: right ones framed green, wrong ones red."""
    columns = max(len(tiles) for _, tiles in rows)
    figure = Figure(figsize=(1.1 * columns, 1.6 * len(rows) + 0.5), dpi=100, layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    limits = Limits()
    for (name, tiles), line in zip(rows, grid, strict=True):
        line[0].set_title(_plain(name), loc="left", fontsize=9, color=INK)
        for axes in line:
            axes.set_axis_off()
        for tile, axes in zip(tiles, line, strict=False):
            image = decode(read_bytes(tile.file, limits), limits, side=TILE).image
            image.thumbnail((TILE, TILE))
            axes.imshow(np.asarray(image.convert("RGB")))
            axes.set_axis_on()
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_xlabel(_plain(tile.caption[:16]), fontsize=6, color=INK)
            colour = {None: "#999999", True: COLOURS[2], False: COLOURS[1]}[tile.is_right]
            for side in axes.spines.values():
                side.set_color(colour)
                side.set_linewidth(1 if tile.is_right is None else 2.5)
    figure.suptitle(_plain(title), fontsize=12, color=INK, x=0.01, ha="left")
    _write(figure, Path(path))


def _checked(series: Series) -> tuple[str, Any, Any, Any]:
    x = np.asarray(series.x, dtype=np.float64)
    y = np.asarray(series.y, dtype=np.float64)
    spread = None if series.spread is None else np.asarray(series.spread, dtype=np.float64)
    sizes = {x.shape, y.shape} | (set() if spread is None else {spread.shape})
    if len(sizes) != 1 or x.ndim != 1 or not x.size:
        raise InvalidInput(
            f"curve_plot: x, y and spread of {series.name!r} must be lists of the same length, not "
            f"empty; got {x.shape}, {y.shape} and {None if spread is None else spread.shape}."
        )
    return series.name, x, y, spread


def _dress(axes: Any, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(_plain(title), loc="left", pad=10, fontsize=13, color=INK)
    axes.set_xlabel(_plain(x_label), fontsize=11, color=INK)
    axes.set_ylabel(_plain(y_label), fontsize=11, color=INK)
    axes.tick_params(labelsize=10, colors=INK)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#999999")


def _plain(text: str) -> str:
    return text.replace("$", r"\$")


def _write(figure: Figure, path: Path) -> None:
    kind = FORMATS[path.suffix.lower()]
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "lookalike"}):
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
    write_whole(path, file.getvalue())
