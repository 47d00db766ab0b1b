"""Speed of searching by words and of learning a sparse similarity, on made-up words.

Pictures have 2,500 words of 500,000, drawn by Zipf's law with a flat head; each word has two near
words, one of them mutually, which makes 1.25 million unknowns. The search is beside scipy's sparse
product and bm25s in the same run, each on one core. All times are of the processor, so that others
on the machine do not count; those of learning are halved, as it runs on two cores. `--quick` uses a
twentieth of the pictures and triplets.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
from environments import ONE_THREAD, interpreter

from bench import Figure, Options, main
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.index import SparseIndex
from lookalike.similarity import SparseSimilarity
from lookalike.similarity.sparse_matrix import Mask
from lookalike.similarity.sparse_objective import Objective

WORDS = 500_000
WORDS_A_PICTURE = 2_500
CORES = 2
PICTURES_AT_ONCE = 5_000
ITERATIONS = 60
PAPER_CORE_SECONDS = 7 * 3600 * 12 / 19.1e6
"""Of the paper's learning for a triplet, with 2-NN on Oxford5K: 7 hours on 12 cores, 19.1 million
triplets."""
ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / "benchmarks" / "peers" / "bm25s"
PLOT = ROOT / "docs" / "benchmarks" / "speed-regions-growth.svg"


def rows_of(count: int, rng: np.random.Generator) -> sp.csr_matrix:
    """Return unit rows of words; the r-th most common has weight 1 / (r + 20,000)."""
    if count > PICTURES_AT_ONCE:
        parts = [rows_of(PICTURES_AT_ONCE, rng) for _ in range(count // PICTURES_AT_ONCE)]
        return sp.csr_matrix(sp.vstack(parts, format="csr"))
    shares = 1 / (np.arange(WORDS) + 20_000)
    drawn = rng.choice(WORDS, (count, WORDS_A_PICTURE), p=shares / shares.sum())
    values = np.full(drawn.size, 1 / np.sqrt(WORDS_A_PICTURE), np.float32)
    ends = np.arange(count + 1) * WORDS_A_PICTURE
    rows = sp.csr_matrix((values, drawn.ravel().astype(np.int32), ends), shape=(count, WORDS))
    rows.sum_duplicates()
    return rows


def near_words(rng: np.random.Generator) -> np.ndarray:
    """Return two near words of each word: its partner, and any other."""
    every = np.arange(WORDS)
    return np.stack([every ^ 1, rng.integers(0, WORDS, WORDS)], axis=1).astype(np.int32)


def searching(options: Options, rng: np.random.Generator) -> list[Figure]:
    counts = (2_500, 5_000) if options.quick else (10_000, 30_000, 100_000)
    rows = rows_of(max(counts), rng)
    queries = rows_of(20, rng)
    mask = Mask.of(WORDS, near_words(rng))
    M = mask.matrix(np.concatenate([np.ones(WORDS), np.full(len(mask.pairs), 0.1)]))
    turned = sp.csr_matrix(queries @ M, dtype=np.float32)
    turned.sort_indices()

    figures, times = [], dict[str, list[float]]()
    for count in counts:
        measured = milliseconds(rows[:count], queries, turned)
        for side, value in measured.items():
            times.setdefault(side, []).append(value)
        name, goal = f"{count:,} pictures", 30.0 if count == max(counts) else None
        plain, learned = measured["tf-idf"], measured["learned"]
        figures += [
            Figure(f"search among {name}, tf-idf, ms", plain, "<=", goal),
            Figure(f"search among {name}, learned, ms", learned, "<=", 3 * plain, "3 × tf-idf"),
            *(
                Figure(f"search among {name}, times as fast as {side}", took / plain, ">=", 1.0)
                for side, took in measured.items()
                if side not in ("tf-idf", "learned")
            ),
        ]
    if not options.quick:
        curve_plot(
            [Series(side, np.array(counts), np.array(took)) for side, took in times.items()],
            path=PLOT,
            title="milliseconds of a search, 2,500 words a picture",
            x_label="pictures",
            y_label="CPU ms, one core",
            logarithmic=True,
        )
    return figures


def milliseconds(
    rows: sp.csr_matrix, queries: sp.csr_matrix, turned: sp.csr_matrix
) -> dict[str, float]:
    """Return how long a search takes by tf-idf, by a learned query, and by the peers."""
    result, first = ours(rows, queries, turned)
    columns = rows.T.tocsr()
    result["scipy"] = median(
        lambda at: np.argpartition(-(queries[at] @ columns).toarray()[0], 10), queries
    )
    took, best = run_bm25s(columns, queries)
    result["bm25s"] = 1000 * float(np.median(took))
    # Pictures that score the same may stand in another order.
    for at, ids in enumerate(best):
        scores = np.sort((rows[ids] @ queries[at].T).toarray()[:, 0])[::-1]
        if not np.allclose(scores, first[at], atol=1e-4):
            raise RuntimeError(f"bm25s found other pictures for query {at}: {scores}, {first[at]}")
    return result


def ours(
    rows: sp.csr_matrix, queries: sp.csr_matrix, turned: sp.csr_matrix
) -> tuple[dict[str, float], np.ndarray]:
    index = SparseIndex(WORDS)
    index.add(rows)
    first = index.search(queries, 10).scores
    times = {
        name: median(lambda at, some=some: index.search(some[at : at + 1], 10), queries)
        for name, some in (("tf-idf", queries), ("learned", turned))
    }
    return times, first


def median(work: Callable[[int], object], queries: sp.csr_matrix) -> float:
    times = []
    for at in range(queries.shape[0]):
        start = time.process_time()
        work(at)
        times.append(time.process_time() - start)
    return 1000 * float(np.median(times))


def run_bm25s(columns: sp.csr_matrix, queries: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds of each query by bm25s with its compiled scorer, and what it found.

    It is given the same weights as the scores of its own index, and a query's word as often as the
    query has it.
    """
    python = interpreter("bm25s", PEER / "requirements.txt")
    often = np.rint(queries.data * np.sqrt(WORDS_A_PICTURE)).astype(int)
    ends = np.concatenate([[0], np.cumsum(often)])[queries.indptr]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = {
            "data": columns.data,
            "rows": columns.indices,
            "starts": columns.indptr.astype(np.int64),
            "words": np.repeat(queries.indices, often),
            "ends": ends,
        }
        for part, array in given.items():
            np.save(folder / f"{part}.npy", array)
        subprocess.run([str(python), str(PEER / "peer.py"), name], check=True, env=ONE_THREAD)
        return np.load(folder / "seconds.npy"), np.load(folder / "best.npy")


def learning(options: Options, rng: np.random.Generator) -> list[Figure]:
    pictures, triplets = (1_000, 100_000) if options.quick else (5_000, 2_000_000)
    rows = rows_of(pictures, rng)
    neighbours = near_words(rng)
    mask = Mask.of(WORDS, neighbours)
    queries = rng.choice(pictures, pictures // 10, replace=False)
    drawn = np.stack(
        [rng.choice(queries, triplets), *rng.integers(0, pictures, (2, triplets))], axis=1
    ).astype(np.int32)
    start = time.process_time()
    objective = Objective.of(rows, mask, drawn, np.ones(triplets), 0.02)
    prepared = (time.process_time() - start) / CORES
    M = np.concatenate([np.ones(WORDS), np.zeros(len(mask.pairs))])
    objective.value(M)
    start = time.process_time()
    objective.value(M)
    seconds = (time.process_time() - start) / CORES
    del objective
    iterations = 3 if options.quick else ITERATIONS
    model = SparseSimilarity(iterations=iterations, random_state=0).set_neighbours(neighbours)
    start = time.process_time()
    model.fit_triplets(rows, drawn)
    whole = (time.process_time() - start) / triplets
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"{triplets:,} triplets, {mask.size:,} unknowns"
    return [
        Figure(f"objective and gradient, {name}, s", seconds, "<=", 20.0),
        Figure("products of pairs, once, s", prepared),
        Figure(
            f"{iterations} iterations, times as fast as the paper, by core and triplet",
            PAPER_CORE_SECONDS / whole,
            ">=",
            10.0,
            f"{whole * triplets / CORES:.0f} s on two cores",
        ),
        Figure("memory at most, GB", memory, "<=", 6.0),
    ]


def measure(options: Options) -> list[Figure]:
    rng = np.random.default_rng(0)
    return learning(options, rng) + searching(options, rng)


if __name__ == "__main__":
    main("speed/regions", measure)
