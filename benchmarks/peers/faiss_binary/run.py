"""BitIndex compared with FAISS's IndexBinaryFlat, with its own scan, and with brute force.

FAISS scans plain Hamming distances; ours ranks by weights that differ for each query. Both run on
one thread and take turns batch by batch; the README next to this file says how it is measured.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from faiss_process import Faiss

from bench import Figure, Options, main
from lookalike.codes import BitWeights, DeepBeliefCodes, ITQCodes
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.index import BitIndex, Hits
from lookalike.index.bit_rows import BitRows

PLOTS = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"
K = 100
BATCH = 16
FLIP = 0.063
"""With clusters of 1,000, as many codes equal a query of 48 bits as in Figure 3 of paper 3: 2.4."""


def clustered(n: int, bits: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return codes around random centres, 1,000 each on average; each bit flips on its own."""
    centres = np.packbits(rng.random((max(n // 1000, 1), bits)) < 0.5, axis=1)
    codes = np.empty((n, bits // 8), np.uint8)
    for first in range(0, n, 1 << 18):
        last = min(first + (1 << 18), n)
        flips = np.packbits(rng.random((last - first, bits), np.float32) < FLIP, axis=1)
        codes[first:last] = centres[rng.integers(0, len(centres), last - first)] ^ flips
    return codes


def query_weights(count: int, bits: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return weights a∘a, a uniform from 0.5 to 1.5: more spread than most that qah.py learns."""
    return np.square(rng.uniform(0.5, 1.5, (count, bits))).astype(np.float32)


def brute_force(
    codes: NDArray[np.uint8], query: NDArray[np.uint8], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return all weighted distances of one query, summed in float64 byte by byte."""
    every = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    total = np.zeros(len(codes))
    for column in range(codes.shape[1]):
        each = every @ weights[8 * column : 8 * column + 8].astype(np.float64)
        total += each[codes[:, column] ^ query[column]]
    return total.astype(np.float32)


def wrong(
    codes: NDArray[np.uint8],
    queries: NDArray[np.uint8],
    weights: NDArray[np.float32],
    hits: Hits,
) -> int:
    """Count the queries whose hits are not those of brute force, ties aside."""
    bad = 0
    for query, weight, ids, scores in zip(queries, weights, hits.ids, hits.scores, strict=True):
        distances = brute_force(codes, query, weight)
        best = np.sort(np.partition(distances, K - 1)[:K])
        found = distances[ids]
        same = np.allclose(found, best, rtol=1e-6) and np.allclose(-scores, found, rtol=1e-6)
        bad += not (same and len(np.unique(ids)) == K)
    return bad


def scanned(codes: NDArray[np.uint8], bits: int) -> BitIndex:
    """Return an index whose codes are not sorted into cells, but all scanned."""
    usual, BitRows.sorted_from = BitRows.sorted_from, len(codes) + 1
    index = BitIndex(bits)
    index.add_codes(codes)
    BitRows.sorted_from = usual
    return index


def timed(
    index: BitIndex, queries: NDArray[np.uint8], weights: NDArray[np.float32] | None
) -> tuple[float, Hits]:
    begin = time.process_time()
    hits = index.nearest(queries, K, weights=weights)
    return time.process_time() - begin, hits


def beside_faiss(options: Options, bits: int, target: float) -> list[Figure]:
    n, batches = (200_000, 4) if options.quick else (1_000_000, 24)
    rng = np.random.default_rng(bits)
    codes = clustered(n + batches * BATCH, bits, rng)
    codes, queries = codes[:n], codes[n:]
    weights = query_weights(len(queries), bits, rng)
    index = BitIndex(bits)
    index.add_codes(codes)
    peer = Faiss(codes, queries, K)
    timed(index, queries[:2], weights[:2])
    peer.seconds(0, 2)
    ratios, plain, bad = [], [], 0
    for batch in range(batches):
        some = slice(batch * BATCH, (batch + 1) * BATCH)
        theirs, total = peer.seconds(some.start, some.stop)
        ours, hits = timed(index, queries[some], weights[some])
        unweighted, simple = timed(index, queries[some], None)
        assert round(-float(simple.scores.sum())) == round(total)
        ratios.append(theirs / ours)
        plain.append(theirs / unweighted)
        bad += wrong(codes, queries[some], weights[some], hits)
    peer.close()
    alone = [timed(index, queries[i], weights[i])[0] for i in range(40)]
    what = f"{n:,} codes of {bits} bits"
    against = "FAISS IndexBinaryFlat, unweighted; CPU seconds, one thread, in turns"
    figures = [
        Figure(
            f"{what}: weighted top-100, queries a second over FAISS's",
            float(np.median(ratios)),
            ">=",
            None if options.quick else target,
            against,
            float(np.std(ratios, ddof=1)),
        ),
        Figure(
            f"{what}: plain top-100, queries a second over FAISS's",
            float(np.median(plain)),
            spread=float(np.std(plain, ddof=1)),
        ),
        Figure(f"{what}: queries unlike brute force", bad, "<=", 0, f"of {len(queries)}"),
    ]
    limit = 1.0 if bits == 64 and not options.quick else None
    figures.append(
        Figure(f"{what}: one query alone, ms", 1e3 * float(np.median(alone)), "<=", limit)
    )
    rows: Any = index._state.rows
    figures.append(
        Figure(f"{what}: bytes a code", rows.memory / n, "<=", 1.5 * bits / 8, "codes and cells")
    )
    return figures


def growth(options: Options) -> list[Figure]:
    """Time the search by cells beside the scan, from 1 to 30 million codes of 48 bits."""
    sizes = (1, 3) if options.quick else (1, 2, 3, 5, 10, 20, 30)
    rng = np.random.default_rng(0)
    cells, scans, figures = [], [], []
    batches, compared = (2, 1) if options.quick else (20, 4)
    for millions in sizes:
        n = millions * 1_000_000
        codes = clustered(n + batches * BATCH, 48, rng)
        codes, queries = codes[:n], codes[n:]
        weights = query_weights(len(queries), 48, rng)
        index = BitIndex(48)
        index.add_codes(codes)
        plain = scanned(codes, 48)
        ratios, spent = [], np.zeros((2, 2))
        bad = 0
        for one in (index, plain):
            timed(one, queries[:2], weights[:2])
        for first in range(0, len(queries), BATCH):
            some = slice(first, first + BATCH)
            both = [weights[some], None]
            found = [[timed(one, queries[some], each) for each in both] for one in (index, plain)]
            times = np.array([[seconds for seconds, _ in one] for one in found])
            ratios.append(times[1] / times[0])
            spent += times
            if millions in (1, 10) and first < compared * BATCH:
                bad += wrong(codes, queries[some], weights[some], found[0][0][1])
        cells.append(1e3 * spent[0, 0] / len(queries))
        scans.append(1e3 * spent[1, 0] / len(queries))
        if millions in (3, 10):
            what = f"{n:,} codes of 48 bits"
            target = 5.0 if millions == 10 else None
            for number, kind in enumerate(("weighted", "plain")):
                ours, theirs = 1e3 * spent[:, number] / len(queries)
                each = [ratio[number] for ratio in ratios]
                figures.append(
                    Figure(
                        f"{what}: {kind} search by cells, queries a second over its own scan",
                        float(np.median(each)),
                        ">=",
                        target,
                        f"{ours:.3g} against {theirs:.3g} CPU ms a query",
                        float(np.std(each, ddof=1)),
                    )
                )
            rows: Any = index._state.rows
            figures.append(Figure(f"{what}: bytes a code", rows.memory / n, "<=", 9.0))
        if millions in (1, 10):
            what = f"{n:,} codes of 48 bits: queries by cells unlike brute force"
            figures.append(Figure(what, bad, "<=", 0, f"of {compared * BATCH}"))
        del index, plain, codes
    if not options.quick:
        for name, times in (("cells", cells), ("scan", scans)):
            options.settings[f"ms a query by {name}"] = [round(one, 3) for one in times]
        curve_plot(
            [Series("search", sizes, cells), Series("scan", sizes, scans)],
            path=PLOTS / "peers-faiss_binary-run-growth.svg",
            title="Weighted top-100, 48 bits, one thread",
            x_label="million codes",
            y_label="CPU ms a query",
        )
    return figures


def learning(options: Options) -> list[Figure]:
    """Time class weights of the paper's size, and encoding."""
    n = 20_000 if options.quick else 160_000
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 81, n)
    labels = [{str(one), str(other)} for one, other in zip(classes, classes // 2, strict=True)]
    X = (rng.standard_normal((81, 64))[classes] + rng.standard_normal((n, 64))).astype(np.float32)
    codes = ITQCodes(bits=48, random_state=0).fit(X[:5000]).encode(X)
    model = BitWeights(bits=48, random_state=0)
    begin = time.process_time()
    model.fit(codes, labels, X)
    spent = time.process_time() - begin
    figures = [
        Figure(
            f"class weights, 81 classes, 48 bits, {n:,} codes: CPU s",
            spent,
            "<=",
            None if options.quick else 5.0,
            f"{len(model.energy_) - 1} rounds",
        )
    ]
    vectors = rng.standard_normal((2000, 256)).astype(np.float32)
    linear = ITQCodes(bits=48, rounds=2, random_state=0).fit(vectors)
    quick = {"epochs": 1, "batches": 0, "random_state": 0}
    deep = DeepBeliefCodes(bits=48, **quick).fit(vectors, classes[:2000])
    for name, encoder, most in (("linear", linear, 0.05), ("deep", deep, 0.3)):
        encoder.encode(vectors[:64])
        begin = time.process_time()
        encoder.encode(vectors)
        spent = 1e3 * (time.process_time() - begin) / len(vectors)
        what = f"encoding 256 numbers to 48 bits, {name}: CPU ms a picture"
        figures.append(Figure(what, spent, "<=", most, "paper 3: 0.7 ms" if name == "deep" else ""))
    return figures


def measure(options: Options) -> list[Figure]:
    options.settings |= {"batch": BATCH, "k": K, "flip": FLIP}
    return [
        *beside_faiss(options, 64, 1.5),
        *beside_faiss(options, 48, 4.0),
        *growth(options),
        *learning(options),
    ]


if __name__ == "__main__":
    main("peers/faiss_binary/run", measure)
