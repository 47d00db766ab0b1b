"""DenseIndex compared with FAISS's IndexFlatIP and with brute force, on plain and learned queries.

The README next to this file says how it is measured.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "papers"))
from faiss_process import Faiss
from oasis import embedded

from bench import Figure, Options, main
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.features import Reduction
from lookalike.index import DenseIndex
from lookalike.similarity import OASIS

PLOTS = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"
K = 50
NEAR = 15
SHARE = 0.6


class Mixtures:
    """Vectors made of those of real pictures, as many as are wanted."""

    def __init__(self, options: Options) -> None:
        sets = ("objects",) if options.quick else ("objects", "snapshots", "groceries", "clipart")
        kinds = {".jpg", ".png"}
        files = [
            sorted(file for file in (options.data / name).rglob("*") if file.suffix in kinds)
            for name in sets
        ]
        vectors = np.concatenate([embedded(each) for each in files])
        self._vectors = Reduction(dimension=256).fit(vectors, parent="0" * 32).apply(vectors)
        self._rng = np.random.default_rng(0)
        labels = [file.parent.name for file in files[0]]
        taught = OASIS(random_state=0).fit(self._vectors[: len(labels)], labels)
        self.learned = taught.query_vectors

    def draw(self, count: int) -> NDArray[np.float32]:
        """Return vectors of unit length, each a picture changed as pictures near it differ."""
        last = len(self._vectors) - 1
        centre = self._rng.integers(0, last, count)
        near = [
            self._vectors[np.clip(centre + self._rng.integers(-NEAR, NEAR + 1, count), 0, last)]
            for _ in range(2)
        ]
        mixed = self._vectors[centre] + SHARE * (near[0] - near[1])
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def is_exact(index: DenseIndex, query: NDArray[np.float32], ids: NDArray[np.int64]) -> bool:
    """Return whether these are the best by brute force, ties by id."""
    scores = np.concatenate(
        [
            np.einsum("nd,d->n", index.vectors[first : first + 65536], query, dtype=np.float64)
            for first in range(0, len(index), 65536)
        ]
    ).astype(np.float32)
    best = np.argpartition(-scores, K)[: 4 * K]
    order = best[np.lexsort((best, -scores[best]))][:K]
    # Sums in another order may differ in the last bit: then the scores decide.
    return np.allclose(scores[ids], scores[order], rtol=0, atol=1e-7)


def beside_faiss(options: Options, mixtures: Mixtures, n: int) -> tuple[list[Figure], list[float]]:
    count = 20 if options.quick else 100
    vectors, plain = mixtures.draw(n), mixtures.draw(count)
    index = DenseIndex(256)
    index.add(vectors)
    figures, spent = [], []
    for kind, queries in (("plain", plain), ("learned", mixtures.learned(plain))):
        rows = np.ascontiguousarray(queries, dtype=np.float32)
        peer = Faiss(vectors, rows, K)
        ratios, times, bad = [], [], 0
        for number, query in enumerate(rows):
            theirs, total = peer.seconds(number, number + 1)
            begin = time.process_time()
            hits = index.search(query, K)
            ours = time.process_time() - begin
            assert abs(float(hits.scores.sum(dtype=np.float64)) - total) < 1e-3 * abs(total)
            bad += not is_exact(index, query, hits.ids[0])
            if number >= 3:  # the first searches compile, and make the short form
                ratios.append(theirs / ours)
                times.append((1e3 * ours, 1e3 * theirs))
        peer.close()
        mine, other = np.median(times, axis=0)
        spent += [float(mine), float(other)]
        what = f"{n:,} × 256, {kind} queries"
        figures += [
            Figure(
                f"{what}: top-{K}, queries a second over FAISS's",
                float(np.median(ratios)),
                ">=",
                None if options.quick else 3.0,
                f"{mine:.2f} against {other:.2f} CPU ms a query, one thread, in turns",
                float(np.std(ratios, ddof=1) / np.sqrt(len(ratios))),
            ),
            Figure(f"{what}: answers unlike brute force", bad, "<=", 0, f"of {count}"),
        ]
    return figures, spent


def measure(options: Options) -> list[Figure]:
    options.settings |= {"k": K, "spread": "standard error of the mean ratio"}
    mixtures = Mixtures(options)
    sizes = (100_000,) if options.quick else (30_000, 100_000, 300_000, 1_000_000)
    figures, lines = [], []
    for n in sizes:
        some, spent = beside_faiss(options, mixtures, n)
        figures += some
        lines.append(spent)
    if not options.quick:
        names = ("ours, plain", "FAISS, plain", "ours, learned", "FAISS, learned")
        curve_plot(
            [
                Series(name, [n / 1000 for n in sizes], list(times))
                for name, times in zip(names, zip(*lines, strict=True), strict=True)
            ],
            path=PLOTS / "peers-faiss_flat-run.svg",
            title=f"Exact top-{K} of 256 numbers, one thread",
            x_label="thousand vectors",
            y_label="CPU ms a query",
        )
    return figures


if __name__ == "__main__":
    main("peers/faiss_flat/run", measure)
