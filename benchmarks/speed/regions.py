"""Speed of searching by words and of learning a sparse similarity, on made-up words.

Pictures have 2,500 words of 500,000, drawn by Zipf's law with a flat head. The search is beside
scipy's sparse product in the same run, each on one core. All times are of the processor, so that
others on the machine do not count; those of learning are halved, as it runs on two cores. `--quick`
uses a twentieth of the pictures and triplets.
"""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.index import SparseIndex
from lookalike.similarity.sparse_matrix import Mask
from lookalike.similarity.sparse_objective import Objective

WORDS = 500_000
WORDS_A_PICTURE = 2_500
CORES = 2
PICTURES_AT_ONCE = 5_000


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


def searching(options: Options, rng: np.random.Generator) -> list[Figure]:
    counts = (2_500, 5_000) if options.quick else (10_000, 30_000, 100_000)
    rows = rows_of(max(counts), rng)
    queries = rows_of(20, rng)
    neighbours = rng.integers(0, WORDS, (WORDS, 2)).astype(np.int32)
    mask = Mask.of(WORDS, neighbours)
    M = mask.matrix(np.concatenate([np.ones(WORDS), np.full(len(mask.pairs), 0.1)]))
    turned = sp.csr_matrix(queries @ M, dtype=np.float32)
    turned.sort_indices()

    figures = []
    for count in counts:
        plain, learned, scipys = milliseconds(rows[:count], queries, turned)
        name, goal = f"{count:,} pictures", 30.0 if count == max(counts) else None
        figures += [
            Figure(f"search among {name}, tf-idf, ms", plain, "<=", goal),
            Figure(f"search among {name}, learned, ms", learned, "<=", 3 * plain, "3 × tf-idf"),
            Figure(f"search among {name}, times as fast as scipy", scipys / plain, ">=", 1.0),
        ]
    return figures


def milliseconds(
    rows: sp.csr_matrix, queries: sp.csr_matrix, turned: sp.csr_matrix
) -> tuple[float, float, float]:
    """Return how long a search takes by tf-idf, by a learned query, and by scipy's product."""
    index = SparseIndex(WORDS)
    index.add(rows)
    columns = rows.T.tocsr()
    index.search(queries[:1], 10)

    def median(work: Callable[[int], object]) -> float:
        times = []
        for at in range(queries.shape[0]):
            start = time.process_time()
            work(at)
            times.append(time.process_time() - start)
        return 1000 * float(np.median(times))

    return (
        median(lambda at: index.search(queries[at : at + 1], 10)),
        median(lambda at: index.search(turned[at : at + 1], 10)),
        median(lambda at: np.argpartition(-(queries[at] @ columns).toarray()[0], 10)),
    )


def learning(options: Options, rng: np.random.Generator) -> list[Figure]:
    pictures, triplets = (1_000, 100_000) if options.quick else (5_000, 2_000_000)
    rows = rows_of(pictures, rng)
    mask = Mask.of(WORDS, rng.integers(0, WORDS, (WORDS, 2)).astype(np.int32))
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
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"{triplets:,} triplets, {mask.size:,} unknowns"
    return [
        Figure(f"objective and gradient, {name}, s", seconds, "<=", 20.0),
        Figure("products of pairs, once, s", prepared),
        Figure("memory at most, GB", memory, "<=", 6.0),
    ]


def measure(options: Options) -> list[Figure]:
    rng = np.random.default_rng(0)
    return learning(options, rng) + searching(options, rng)


if __name__ == "__main__":
    main("speed/regions", measure)
