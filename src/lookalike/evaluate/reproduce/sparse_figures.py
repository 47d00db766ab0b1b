"""Figures 1 to 6 of paper 4."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from lookalike.evaluate.landmarks import Landmarks
from lookalike.evaluate.plots import Level, Series, curve_plot
from lookalike.evaluate.reproduce.oasis_figures import Drawn
from lookalike.evaluate.reproduce.sparse_data import Search, Sights
from lookalike.similarity import Cosine, Similarity, SparseSimilarity

TILE = 160
SHOWN = 10
PAIRS = 20_000
TRIMMED = 8
"""Per cent of the largest and of the smallest scores that Figure 3 leaves out."""
BORDERS = {"positive": (0, 158, 115), "junk": (0, 114, 178), "other": (213, 94, 0)}


def triplets(sights: Sights, out: Path) -> Drawn:
    """Draw the first hits of a query by tf-idf: green are right, blue junk, red others."""
    queries = sights.landmarks.queries
    ranked = Search.of(sights).rankings()
    mixed = [
        sum(picture not in query.truth.positive() for picture in order[:SHOWN])
        for query, order in zip(queries, ranked, strict=True)
    ]
    # The query with a few wrong ones among its first hits shows best what a hard triplet is.
    place = int(np.argmin([abs(count - 3) for count in mixed]))
    query, order = queries[place], ranked[place][:SHOWN]
    sheet = Image.new("RGB", (TILE * (SHOWN + 1), TILE), "white")
    kinds = []
    for at, picture in enumerate([query.picture, *order.tolist()]):
        kind = "positive" if picture in query.truth.positive() else "other"
        kind = "junk" if picture in query.truth.junk else kind
        kinds.append(kind)
        with Image.open(sights.landmarks.files[picture]) as image:
            tile = ImageOps.fit(image.convert("RGB"), (TILE - 16, TILE - 16))
        sheet.paste(ImageOps.expand(tile, 6, BORDERS[kind]), (at * TILE + 2, 2))
    path = out / "figure-1.png"
    out.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    rows: list[list[str | float]] = [[kind, at, 1.0] for at, kind in enumerate(kinds)]
    return Drawn(path, f"Figure 1: the query {query.name} and its first hits by tf-idf", rows)


def by_landmark(
    landmarks: Landmarks, before: NDArray[np.float64], after: NDArray[np.float64], out: Path
) -> Drawn:
    """Plot the average precision of each sight by tf-idf and by the learned similarity."""
    names = sorted({query.landmark for query in landmarks.queries})
    owners = np.array([names.index(query.landmark) for query in landmarks.queries])
    x = list(range(1, len(names) + 1))
    means = {
        name: [float(values[owners == place].mean()) for place in range(len(names))]
        for name, values in (("tf-idf", before), ("learned", after))
    }
    listed = ", ".join(f"{number} {name}" for number, name in zip(x, names, strict=True))
    return _drawn(2, "average precision by sight", means, x, listed, "average precision", out)


def distributions(sights: Sights, learned: SparseSimilarity, out: Path) -> list[Drawn]:
    """Plot how scores of matching and of other pairs are spread, before and after learning."""
    labels = sights.landmarks.labels()
    rng = np.random.default_rng(0)
    positive = [place for place, label in enumerate(labels) if label and "background" not in label]
    others = [place for place, label in enumerate(labels) if label]
    firsts = rng.choice(positive, PAIRS)
    matching = _partners(firsts, positive, labels, True, rng)
    different = _partners(firsts, others, labels, False, rng)
    made = []
    for letter, name, model in (("a", "tf-idf", Cosine()), ("b", "learned", learned)):
        curves = {}
        for kind, pairs in (("matching", matching), ("not matching", different)):
            scores = _pair_scores(sights, model, pairs)
            low, high = np.percentile(scores, [TRIMMED, 100 - TRIMMED])
            curves[kind] = scores[(scores >= low) & (scores <= high)]
        top = max(float(scores.max()) for scores in curves.values())
        edges = np.linspace(0, top, 31)
        shares = {
            kind: (np.histogram(scores, edges)[0] / len(scores)).tolist()
            for kind, scores in curves.items()
        }
        title = f"scores of pairs, {name}"
        made.append(
            _drawn(3, title, shares, edges[:-1].tolist(), "score", "share of pairs", out, letter)
        )
    return made


def by_neighbours(
    neighbours: Sequence[int], means: Sequence[float], start: float, out: Path
) -> Drawn:
    """Plot mAP by k, the nearest words that may speak for a word."""
    levels = [Level("tf-idf", start)]
    curves = {"learned": list(means)}
    return _drawn(4, "mAP by k", curves, list(neighbours), "k", "mAP", out, levels=levels)


def search_time(
    neighbours: Sequence[int], times: Sequence[float], start: Search, out: Path
) -> Drawn:
    """Plot the time of a search by k."""
    levels = [Level("tf-idf", start.milliseconds())]
    curves = {"learned": list(times)}
    title = "time of a search by k"
    return _drawn(5, title, curves, list(neighbours), "k", "milliseconds", out, levels=levels)


def iterations(history: Sequence[float], out: Path) -> Drawn:
    """Plot mAP on held-out pictures after each iteration; a point if none were held out."""
    values = list(history) or [0.0]
    curves = {"held-out pictures": values}
    title = "mAP by iteration"
    return _drawn(6, title, curves, list(range(len(values))), "iteration", "mAP", out)


def _partners(
    firsts: NDArray[np.intp],
    among: Sequence[int],
    labels: Sequence[str | None],
    is_same: bool,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    drawn = rng.choice(among, len(firsts))
    kept = [
        (one, two)
        for one, two in zip(firsts, drawn, strict=True)
        if one != two and (labels[one] == labels[two]) == is_same
    ]
    return np.array(kept, np.intp).reshape(-1, 2)


def _pair_scores(sights: Sights, model: Similarity, pairs: NDArray[np.intp]) -> NDArray[np.float64]:
    queries: Any = model.query_vectors(sights.vectors)
    items = model.item_vectors(sights.vectors)
    products = queries[pairs[:, 0]].multiply(items[pairs[:, 1]])
    return np.asarray(products.sum(axis=1), np.float64).ravel()


def _drawn(
    figure: int,
    title: str,
    curves: dict[str, list[float]],
    x: Sequence[float],
    x_label: str,
    y_label: str,
    out: Path,
    letter: str = "",
    levels: Sequence[Level] = (),
) -> Drawn:
    path = out / f"figure-{figure}{letter}.png"
    caption = f"Figure {figure}{letter}: {title}"
    curve_plot(
        [Series(name, list(x), values) for name, values in curves.items()],
        path=path,
        title=caption,
        x_label=x_label,
        y_label=y_label,
        levels=levels,
    )
    rows: list[list[str | float]] = [
        [name, float(at), value]
        for name, values in curves.items()
        for at, value in zip(x, values, strict=True)
    ]
    rows += [[level.name, "", level.value] for level in levels]
    return Drawn(path, caption, rows)
