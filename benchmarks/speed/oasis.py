"""Steps per second of the OASIS loop, compared with the same loop in C; threads and scaling."""

import ctypes
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.core.seeds import loop_state
from lookalike.similarity import OASIS
from lookalike.similarity.training import GivenTriplets, Ranker, Stepper, run_together

PAPER_STEPS_A_SECOND = 160e6 / (4000 * 60)
FLAGS = {"-O3 -march=native": [], "-O3 -march=native -ffast-math": ["-ffast-math"]}


def compile_c(folder: Path) -> dict[str, ctypes.CDLL]:
    source = Path(__file__).with_name("oasis_steps.c")
    libraries = {}
    for number, (name, more) in enumerate(FLAGS.items()):
        target = folder / f"oasis{number}.so"
        subprocess.run(
            [
                "gcc",
                "-O3",
                "-march=native",
                *more,
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                str(target),
            ],
            check=True,
        )
        libraries[name] = ctypes.CDLL(str(target))
    return libraries


def bags(rng: np.random.Generator, rows: int, width: int, non_zeros: int) -> sp.csr_matrix:
    """Return unit rows with about ``non_zeros`` entries, frequent words oftener than rare ones."""
    popularity = 1.0 / np.arange(10, width + 10)
    popularity /= popularity.sum()
    lengths = np.clip(rng.poisson(non_zeros, size=rows), 1, width)
    columns = [
        np.sort(rng.choice(width, length, replace=False, p=popularity)) for length in lengths
    ]
    values = rng.random(int(lengths.sum())).astype(np.float32) + np.float32(0.1)
    matrix = sp.csr_matrix(
        (values, np.concatenate(columns), np.r_[0, np.cumsum(lengths)]), shape=(rows, width)
    )
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1.0 / norms) @ matrix, dtype=np.float32)


def timed(run: Callable[[], None]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def against_c(options: Options, width: int, non_zeros: int, steps: int) -> list[Figure]:
    rng = np.random.default_rng(0)
    vectors = bags(rng, 2000, width, non_zeros)
    triplets = rng.integers(0, 2000, (steps, 3)).astype(np.uint32)
    stepper = Stepper(vectors, aggressiveness=0.1, symmetric=False, dissimilarity=False)
    W = np.eye(width, dtype=np.float32)
    arguments = [array.ctypes.data_as(ctypes.c_void_p) for array in (*stepper._rows, triplets)]
    room = [array.ctypes.data_as(ctypes.c_void_p) for array in stepper._room]

    def restart() -> None:
        W.fill(0)
        np.fill_diagonal(W, 1)

    def ours() -> None:
        stepper.take(W, triplets)

    def theirs(library: ctypes.CDLL) -> None:
        library.oasis_steps(
            W.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(width),
            *arguments,
            ctypes.c_size_t(steps),
            ctypes.c_float(0.1),
            *room,
        )

    with tempfile.TemporaryDirectory() as folder:
        libraries = compile_c(Path(folder))
        stepper.take(W, triplets[:1])
        rounds: list[dict[str, float]] = []
        for _ in range(3 if options.quick else 7):
            seconds = {}
            restart()
            seconds["ours"] = timed(ours)
            for name, library in libraries.items():
                restart()
                seconds[name] = timed(lambda library=library: theirs(library))
            rounds.append(seconds)
    speed = np.median([steps / seconds["ours"] for seconds in rounds])
    figures = [
        Figure(
            f"steps/s at d={width:,}, {non_zeros} non-zeros",
            float(speed),
            ">=",
            None,
            f"paper: {PAPER_STEPS_A_SECOND:.0f} steps/s at d=10,000",
        )
    ]
    for name in FLAGS:
        ratios = [seconds[name] / seconds["ours"] for seconds in rounds]
        figures.append(
            Figure(
                f"steps/s over C at d={width:,}",
                float(np.median(ratios)),
                ">=",
                0.95 if name == "-O3 -march=native" else None,
                f"the same loop in C, gcc {name}, one thread, same run",
                float(np.std(ratios)),
            )
        )
    return figures


def on_threads(options: Options, width: int, non_zeros: int, steps: int) -> Figure:
    rng = np.random.default_rng(1)
    vectors = bags(rng, 2000, width, non_zeros)
    source = GivenTriplets(rng.integers(0, 2000, (steps, 3)).astype(np.uint32))
    rankers = [
        Ranker(
            np.eye(width, dtype=np.float32),
            Stepper(vectors, aggressiveness=0.1, symmetric=False, dissimilarity=False),
            source,
            loop_state(rng),
        )
        for _ in range(2)
    ]
    run_together(rankers, 1)
    ratios = []
    for _ in range(3 if options.quick else 7):
        one = timed(lambda: run_together(rankers[:1], steps))
        two = timed(lambda: run_together(rankers, steps))
        ratios.append(2 * one / two)
    return Figure(
        f"two rankers on two threads over one, d={width:,}",
        float(np.median(ratios)),
        ">=",
        1.7,
        "one ranker on one thread, same run",
        float(np.std(ratios)),
    )


def growth(width: int, non_zeros: int, steps: int) -> Figure:
    rng = np.random.default_rng(2)
    vectors = bags(rng, 2000, width, non_zeros)
    stepper = Stepper(vectors, aggressiveness=0.1, symmetric=False, dissimilarity=False)
    W = np.eye(width, dtype=np.float32)
    counts = [steps, 2 * steps, 4 * steps, 8 * steps]
    triplets = rng.integers(0, 2000, (counts[-1], 3)).astype(np.uint32)
    seconds = [
        min(timed(lambda n=n: stepper.take(W, triplets[:n])) for _ in range(3)) for n in counts
    ]
    exponent = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
    return Figure("exponent of time in steps", exponent, "<=", 1.1, "1 is linear")


def peak_of_a_fit(width: int, non_zeros: int, steps: int) -> float:
    """Fit in this process; return its peak memory relative to that of W and the data."""
    rng = np.random.default_rng(3)
    vectors = bags(rng, 2000, width, non_zeros)
    labels = np.arange(2000) % 50
    plain = {"positive": "no", "normalize": False, "blend": 1.0, "random_state": 0}
    OASIS(steps=10, **plain).fit(bags(rng, 100, 100, 10), labels[:100])
    data = vectors.data.nbytes + vectors.indices.nbytes + vectors.indptr.nbytes
    before = memory_now("VmRSS") - data
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    OASIS(steps=steps, **plain).fit(vectors, labels)
    return (memory_now("VmHWM") - before) / (4 * width * width + data)


def memory_now(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(what)))


def memory(width: int, non_zeros: int, steps: int) -> Figure:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        peak = pool.apply(peak_of_a_fit, (width, non_zeros, steps))
    return Figure(
        f"peak memory of a fit over W and data, d={width:,}", peak, "<=", 1.5, "1 is W and data"
    )


def measure(options: Options) -> list[Figure]:
    scale = 1 if options.quick else 4
    return [
        *against_c(options, 10_000, 66, 10_000 * scale),
        *against_c(options, 1_000, 37, 100_000 * scale),
        on_threads(options, 1_000, 37, 100_000 * scale),
        on_threads(options, 10_000, 66, 10_000 * scale),
        growth(1_000, 37, 10_000 * scale),
        memory(10_000, 66, 5_000),
    ]


if __name__ == "__main__":
    main("speed/oasis", measure)
