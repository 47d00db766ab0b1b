"""Ranking words with WSABIE, the size of its model, and how training scales with words and n."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.annotation import WSABIE
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.supervision import Relevance

D, WIDTH, NON_ZEROS = 100, 10_000, 190
PAPER = {15_952: (1.0, 20), 109_444: (5.0, 170)}
PLOT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "speed-wsabie-growth.svg"


def bags(rng: np.random.Generator, rows: int) -> sp.csr_matrix:
    """Return unit rows with 190 entries of 10,000, frequent ones oftener than rare ones."""
    drawn = (WIDTH * rng.random((rows, NON_ZEROS), np.float32) ** 2).astype(np.int32)
    values = rng.random((rows, NON_ZEROS), np.float32) + np.float32(0.2)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    ends = np.arange(rows + 1) * NON_ZEROS
    matrix = sp.csr_matrix((values.ravel(), drawn.ravel(), ends), shape=(rows, WIDTH))
    matrix.sum_duplicates()
    return matrix


def named(rng: np.random.Generator, rows: int, words: int) -> Relevance:
    """Return a word for each picture; every word is used if there are enough pictures."""
    chosen = np.r_[np.arange(min(rows, words)), rng.integers(0, words, max(0, rows - words))]
    links = sp.csr_matrix(
        (np.ones(rows), rng.permutation(chosen), np.arange(rows + 1)), shape=(rows, words)
    )
    names = tuple(f"word {number}" for number in range(words))
    return Relevance(links, names, np.ones(rows, bool))


def model_of(rng: np.random.Generator, words: int) -> WSABIE:
    """Return a model of the given size, trained for one short pass."""
    rows = 64
    X = bags(rng, rows)
    return WSABIE(dimension=D, epochs=1, held_out=0, random_state=0).fit(X, named(rng, rows, words))


def ranking(options: Options, rng: np.random.Generator) -> list[Figure]:
    figures = []
    X = bags(rng, 64)
    for words, (target, paper) in PAPER.items():
        model = model_of(rng, words)
        with threadpool_limits(1):
            model.rank(X[:1], 10)
            single = []
            for _ in range(3 if options.quick else 10):
                for row in range(X.shape[0]):
                    begin = time.process_time()
                    model.rank(X[row], 10)
                    single.append(time.process_time() - begin)
            together = []
            for _ in range(3 if options.quick else 10):
                begin = time.process_time()
                model.rank(X, 10)
                together.append((time.process_time() - begin) / X.shape[0])
        figures += [
            Figure(
                f"top 10 of {words:,} words, a picture alone, ms",
                1e3 * float(np.median(single)),
                "<=",
                target,
                f"paper: {paper} ms; one thread, D = {D}",
                1e3 * float(np.std(single)),
            ),
            Figure(
                f"top 10 of {words:,} words, 64 pictures together, ms a picture",
                1e3 * float(np.median(together)),
                "<=",
                target,
                "one thread",
            ),
        ]
        figures += size(model, words)
    return figures


def size(model: WSABIE, words: int) -> list[Figure]:
    """Return the size of the file: the parameters, the words' text, and the rest."""
    from lookalike.annotation.words import pack_words

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        whole = path.stat().st_size
    parameters = 4 * D * (words + WIDTH)
    text = pack_words(model.words_).nbytes
    return [
        Figure(
            f"{words:,} words: bytes beside (Y + d)·D·4 and the words' text",
            whole - parameters - text,
            "<=",
            4096,
            f"{whole / 1e6:.1f} MB in all, of which {text / 1e3:.0f} kB are the words themselves "
            f"(compressed)",
        )
    ]


def growth(options: Options, rng: np.random.Generator) -> list[Figure]:
    """Train on random words: seconds of CPU for a million examples against Y and n.

    Each is measured in turns and counts by its least time: other work of the machine only adds.
    """
    n = 20_000 if options.quick else 100_000
    words = (1_000, 10_000) if options.quick else (1_000, 3_000, 10_000, 30_000, 100_000)
    sizes = (5_000, 20_000) if options.quick else (10_000, 30_000, 100_000, 300_000)
    X = bags(rng, n)
    cases = [(X, named(rng, n, count)) for count in words]
    for count in sizes:
        some = X[:count] if count <= n else sp.csr_matrix(sp.vstack([X] * (count // n)))
        cases.append((some, named(rng, count, 5_000)))
    turns = [[seconds_a_million(*case) for case in cases] for _ in range(1 if options.quick else 4)]
    by_words, by_n = np.split(np.min(turns, axis=0), [len(words)])
    if not options.quick:
        curve_plot(
            [
                Series("words Y", np.array(words), by_words),
                Series("pictures n", np.array(sizes), by_n),
            ],
            path=PLOT,
            title="CPU seconds for a million examples",
            x_label="words (of 100,000 pictures), or pictures (of 5,000 words)",
            y_label="seconds",
            logarithmic=True,
        )
    slope = float(np.polyfit(np.log(words), np.log(by_words), 1)[0])
    told = ", ".join(f"{count:,}: {s:.1f}" for count, s in zip(words, by_words, strict=True))
    figures = [
        Figure("exponent of time in the words Y, first pass", slope, "<=", 0.25, f"Y and s: {told}")
    ]
    slope = float(np.polyfit(np.log(sizes), np.log(by_n), 1)[0])
    told = ", ".join(f"{count:,}: {s:.1f}" for count, s in zip(sizes, by_n, strict=True))
    figures.append(
        Figure(
            "exponent of time an example in the pictures n, first pass",
            slope,
            "<=",
            0.1,
            f"n and s: {told}",
        )
    )
    return figures


def seconds_a_million(X: sp.csr_matrix, words: Relevance) -> float:
    begin = time.process_time()
    WSABIE(dimension=D, epochs=1, held_out=0, random_state=0).fit(X, words)
    return (time.process_time() - begin) / X.shape[0] * 1e6


def measure(options: Options) -> list[Figure]:
    rng = np.random.default_rng(0)
    options.settings |= {"D": D, "d": WIDTH, "non-zeros": NON_ZEROS}
    model_of(rng, 100)
    return [*ranking(options, rng), *growth(options, rng)]


if __name__ == "__main__":
    main("speed/wsabie", measure)
