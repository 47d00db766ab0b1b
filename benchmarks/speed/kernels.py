"""How fast similarities in kernels learn and search, beside the paper's support vectors."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.core.seeds import generator, loop_state
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.index import DenseIndex
from lookalike.similarity import MultiKernelSimilarity
from lookalike.similarity.kernels import Kernel
from lookalike.similarity.operator import learn_coefficients
from lookalike.supervision import Relevance, TripletSampler

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
CLASSES, WIDTH, C = 50, 64, 0.1
VIEWS, VIEW = 9, 50
FOUR = "rbf:0.5,rbf:1,rbf:2,cosine"


@njit(nogil=True, fastmath=True)
def support_vector_steps(
    K: NDArray[np.float32],
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    found: NDArray[np.uint32],
    tau: NDArray[np.float32],
) -> int:
    """Algorithm 1 as printed: both scores by Eq. 19, a sum over the support vectors."""
    count = 0
    for t in range(triplets.shape[0]):
        image, more, less = triplets[t]
        near, far = K[image, more], K[image, less]
        for s in range(count):
            i, j, k = found[s]
            near += tau[s] * K[image, i] * (K[j, more] - K[k, more])
            far += tau[s] * K[image, i] * (K[j, less] - K[k, less])
        loss = np.float32(1) - near + far
        norm = K[image, image] * (K[more, more] - 2 * K[more, less] + K[less, less])
        if loss > 0 and norm > 0:
            found[count] = triplets[t]
            tau[count] = min(aggressiveness, loss / norm)
            count += 1
    return count


@njit(nogil=True, fastmath=True)
def arranged_steps(
    K: NDArray[np.float32],
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    found: NDArray[np.uint32],
    tau: NDArray[np.float32],
) -> int:
    """Take the same steps, with the difference of two rows made first to stay in the cache."""
    count = 0
    difference = np.empty(K.shape[0], np.float32)
    for t in range(triplets.shape[0]):
        image, more, less = triplets[t]
        for r in range(K.shape[0]):
            difference[r] = K[more, r] - K[less, r]
        row = K[image]
        margin = difference[image]
        for s in range(count):
            margin += (
                tau[s] * row[found[s, 0]] * (difference[found[s, 1]] - difference[found[s, 2]])
            )
        loss = np.float32(1) - margin
        norm = row[image] * (K[more, more] - 2 * K[more, less] + K[less, less])
        if loss > 0 and norm > 0:
            found[count] = triplets[t]
            tau[count] = min(aggressiveness, loss / norm)
            count += 1
    return count


def kernel_and_triplets(
    pictures: int, steps: int
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return kernel values and triplets of pictures in overlapping classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(pictures) % CLASSES
    X = rng.normal(size=(CLASSES, WIDTH))[labels] + 1.5 * rng.normal(size=(pictures, WIDTH))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    K = Kernel.of("speed", "rbf:1").fitted("speed", X).square("speed", X)
    return K, TripletSampler(Relevance.of(labels)).draw(loop_state(generator(0)), steps)


def cpu(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def least(K: NDArray[np.float32], triplets: NDArray[np.uint32]) -> float:
    """Return the least time of three: other work of the machine only adds."""
    return min(cpu(partial(learn_coefficients, K, triplets, C)) for _ in range(3))


def against_support_vectors(options: Options) -> list[Figure]:
    steps = 20_000 if options.quick else 100_000
    K, triplets = kernel_and_triplets(2000, steps)
    found, tau = np.empty((steps, 3), np.uint32), np.empty(steps, np.float32)
    for run in (support_vector_steps, arranged_steps):
        run(K, triplets[:2], np.float32(C), found, tau)
    learn_coefficients(K, triplets[:2], C)
    ours = least(K, triplets)
    printed = cpu(lambda: support_vector_steps(K, triplets, np.float32(C), found, tau))
    arranged = cpu(lambda: arranged_steps(K, triplets, np.float32(C), found, tau))
    count = arranged_steps(K, triplets, np.float32(C), found, tau)
    A, _ = learn_coefficients(K, triplets, C)
    again = np.zeros(A.shape)
    np.add.at(again, (found[:count, 0], found[:count, 1]), tau[:count])
    np.add.at(again, (found[:count, 0], found[:count, 2]), -tau[:count])
    options.settings["support vectors"] = count
    where = f"n = 2,000, {steps:,} triplets, kernel values at hand, one thread, same run"
    return [
        Figure("steps/s", steps / ours, ">=", None, where),
        Figure(
            "steps over the support-vector form",
            printed / ours,
            ">=",
            None if options.quick else 20,
            f"Eq. 19 as printed, compiled; {where}",
        ),
        Figure(
            "steps over the support-vector form arranged for the cache",
            arranged / ours,
            ">=",
            None,
            where,
        ),
        Figure(
            "largest difference of a coefficient, share of the largest",
            float(np.abs(again - A).max() / np.abs(A).max()),
            "<=",
            1e-3,
            "the support-vector form",
        ),
    ]


def views(pictures: int, labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return nine views of 50 numbers, at unit length each, as the nine descriptors have."""
    rng = np.random.default_rng(1)
    blocks = []
    for _ in range(VIEWS):
        centres = rng.normal(size=(int(labels.max()) + 1, VIEW))
        rows = centres[labels] + 3 * rng.normal(size=(pictures, VIEW))
        blocks.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return np.hstack(blocks).astype(np.float32)


def many_kernels(options: Options) -> list[Figure]:
    blocks = {f"view{number}": VIEW for number in range(VIEWS)}
    labels = np.arange(400) % 10
    X = views(400, labels)
    pairs = 10 * 40 * 39 // 5
    triplets = TripletSampler(Relevance.of(labels)).draw(loop_state(generator(0)), pairs)
    settings = {"kernels": FOUR, "blocks": blocks, "combine": "hedge", "random_state": 0}
    MultiKernelSimilarity(**settings).fit_triplets(X, triplets[:10])
    learned = cpu(lambda: MultiKernelSimilarity(**settings).fit_triplets(X, triplets))
    more = cpu(lambda: MultiKernelSimilarity(**settings).fit(X, labels))
    against = "400 pictures, 9 views of 50 numbers as objects-10 has, one thread"
    found = [
        Figure(
            "36 kernels, the paper's 3,120 triplets, CPU s to learn", learned, "<=", 15, against
        ),
        Figure("36 kernels, 150,000 triplets, CPU s to learn", more, "<=", None, against),
    ]
    count = 1024
    labels = np.arange(count) % 10
    # All kernels weigh the same, so that every one of them is in use.
    model = MultiKernelSimilarity(**{**settings, "combine": "uniform", "steps": 10_000})
    model.fit(views(count, labels), labels)
    items = views(10_000, np.arange(10_000) % 10)
    stored = model.stored_vectors(items)
    index = DenseIndex(stored.shape[1])
    index.add(stored)
    query = items[:1]
    index.search(model.query_vectors(query), k=50)
    times = [cpu(lambda: index.search(model.query_vectors(query), k=50)) for _ in range(20)]
    found.append(
        Figure(
            "36 kernels, one query against 10,000 pictures, ms",
            1000 * float(np.median(times)),
            "<=",
            50,
            f"1,024 landmarks, {stored.shape[1]} numbers stored; query's vector and search, CPU",
            1000 * float(np.std(times)),
        )
    )
    return found


def growth(options: Options) -> list[Figure]:
    steps = 5_000 if options.quick else 20_000
    pictures = [500, 1000, 2000, 4000]
    by_pictures = []
    for count in pictures:
        K, triplets = kernel_and_triplets(count, steps)
        learn_coefficients(K, triplets[:2], C)
        by_pictures.append(least(K, triplets))
    counts = [steps, 2 * steps, 4 * steps, 8 * steps]
    K, triplets = kernel_and_triplets(1000, counts[-1])
    by_steps = [least(K, triplets[:count]) for count in counts]
    if not options.quick:
        for name, x, y, label in (
            ("n", pictures, by_pictures, f"training pictures, {steps:,} triplets"),
            ("t", counts, by_steps, "triplets, 1,000 training pictures"),
        ):
            curve_plot(
                [Series("OKS", x, y)],
                path=RESULTS / f"speed-kernels-{name}.svg",
                title="Time to learn with one kernel",
                x_label=label,
                y_label="CPU seconds",
            )
    return [
        Figure(
            f"exponent of time in {what}",
            float(np.polyfit(np.log(x), np.log(y), 1)[0]),
            "<=",
            None,
            "1 is linear",
        )
        for what, x, y in (("pictures", pictures, by_pictures), ("triplets", counts, by_steps))
    ]


def measure(options: Options) -> list[Figure]:
    return [*against_support_vectors(options), *many_kernels(options), *growth(options)]


if __name__ == "__main__":
    main("speed/kernels", measure)
