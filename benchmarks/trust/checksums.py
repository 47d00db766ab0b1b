"""What checksums cost: opening and searching with and without them, in turns in one process.

An index of 100,000 vectors of length 256 is opened, and opened and searched once; its mapped form
likewise, also opened and asked for the scores of 1,000 vectors far apart, as after a search by
codes, and searched and asked again, since its vectors are checked whenever they are read; and a
collection of small pictures is opened and searched for 50 matches with all that is shown of them,
whose rows have checksums of their own. Without: the same code, with a file that was written
without sums, and where a file or a row counts as having none; the loop that sums up vectors while
it computes their lengths does only that. CPU time, which other work on the
machine disturbs least, by one thread of BLAS, since others count while they wait: the best of many
runs with them over the best of as many without, in turns.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from io_errors import Colours
from numpy.typing import NDArray

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection.store import sums
from lookalike.core import arrays
from lookalike.core._fast import F32, F64, LOOP, njit
from lookalike.core.arrays import load_arrays
from lookalike.index import DenseIndex, MappedIndex
from lookalike.index.dense import _SMALL, DenseRows
from lookalike.index.growing import GrowingArray

MOST = 1.05
RANKED = 1000


@njit(**LOOP, fastmath={"reassoc", "contract"})
def measure_rows(vectors: F32, lengths: F64) -> None:
    """Write the length of each vector, as the loop does that also sums them up."""
    half = vectors.shape[1] // 2
    for i in range(vectors.shape[0]):
        first, second = vectors[i, :half], vectors[i, half:]
        squares, others = 0.0, 0.0
        for j in range(half):
            squares += np.float64(first[j]) * np.float64(first[j])
            others += np.float64(second[j]) * np.float64(second[j])
        lengths[i] = np.sqrt(squares + others)


def open_without_sums(path: Path) -> DenseIndex:
    """Do what DenseIndex.open does with a large file, for one without sums."""
    read, manifest = load_arrays(path, kind=DenseIndex.file_kind)

    def rows(count: int, dimension: int) -> DenseRows:
        vectors: NDArray[np.float32] = DenseRows.stored(read, count, dimension)
        lengths = np.empty(count)
        measure_rows(vectors, lengths)
        assert np.isfinite(lengths).all()
        return DenseRows(GrowingArray(vectors), GrowingArray(lengths))

    return DenseIndex._opened(path, read, manifest, rows)


@contextmanager
def unchecked() -> Iterator[None]:
    """Let every file and row count as one without a checksum, and write indexes without sums."""
    with (
        patch.object(arrays._File, "checked_by", None),
        patch.object(sums, "is_sound", lambda *values: True),
        patch.object(DenseRows, "arrays", lambda rows: {"vectors": rows.vectors}),
        patch.object(DenseIndex, "_manifest", lambda *given: given[-1]),
    ):
        yield


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compared(
    what: str, work: Callable[[], object], pairs: int, without: Callable[[], object] | None = None
) -> Figure:
    """Return the time of a call beside that of the same, or of another, without checksums."""
    plain = without or work
    work()
    with unchecked():
        plain()
    times, plain_times = [], []
    for _ in range(pairs):
        times.append(cpu(work))
        with unchecked():
            plain_times.append(cpu(plain))
    best, least = min(times), min(plain_times)
    return Figure(
        f"{what}: with checksums / without",
        best / least,
        "<=",
        MOST,
        f"{1000 * best:.2f} / {1000 * least:.2f} ms",
    )


def of_indexes(folder: Path, vectors: int, pairs: int) -> Iterator[Figure]:
    """Compare indexes in files with checksums and without."""
    rng = np.random.default_rng(0)
    index = DenseIndex(256)
    index.add(rng.standard_normal((vectors, 256), dtype=np.float32))
    summed, plain = folder / "index.safetensors", folder / "plain.safetensors"
    index.save(summed)
    with unchecked():
        index.save(plain)
    del index
    query = rng.standard_normal(256, dtype=np.float32)
    some = rng.permutation(vectors)[:RANKED]

    def search(index: DenseIndex) -> object:
        return index.search(query, k=20)

    def rank(index: DenseIndex) -> object:
        return index.scores(query, some)

    def both(
        what: str,
        kind: type[DenseIndex],
        then: Callable[[DenseIndex], object] = lambda _: None,
        times: int = 1,
    ) -> Figure:
        large = vectors * 256 > _SMALL
        plainly = open_without_sums if kind is DenseIndex and large else kind.open
        return compared(
            what,
            lambda: then(kind.open(summed)),
            times * pairs,
            lambda: then(plainly(plain)),
        )

    yield both("opening an index", DenseIndex)
    yield both("opening the index and searching once", DenseIndex, search)
    yield both("opening a mapped index", MappedIndex, times=10)
    yield both("opening the mapped index and searching once", MappedIndex, search)
    ranking = f"ranking {RANKED:,} vectors"
    yield both(f"opening the mapped index and {ranking}", MappedIndex, rank, 10)
    opened = MappedIndex.open(summed)
    with unchecked():
        other = MappedIndex.open(plain)
    yield compared(
        "searching the mapped index again",
        *(lambda: search(opened), pairs, lambda: search(other)),
    )
    yield compared(
        f"{ranking} of the mapped index again",
        *(lambda: rank(opened), 10 * pairs, lambda: rank(other)),
    )


def small_pictures(place: Path, count: int) -> Path:
    """Write pictures that differ."""
    place.mkdir()
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(place / f"{number}.png")
    return place


def measure(options: Options) -> list[Figure]:
    vectors, pictures = (10_000, 100) if options.quick else (100_000, 500)
    pairs = 10 if options.quick else 40
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        found = list(of_indexes(folder, vectors, pairs))
        with Collection.create(folder / "c", features=[Colours()]) as store:
            store.add([small_pictures(folder / "pictures", pictures)])

        def open_and_search() -> None:
            with Collection.open(folder / "c") as store:
                store.facts_of(store.search(1, 50))

        found.append(compared("opening a collection and searching once", open_and_search, pairs))
        with Collection.open(folder / "c") as store:

            def search() -> None:
                for number in range(1, 21):
                    store.facts_of(store.search(number, 50))

            found.append(compared("20 searches of a collection", search, pairs))
    options.settings |= {"vectors": f"{vectors} × 256", "pictures": pictures, "pairs": pairs}
    return found


if __name__ == "__main__":
    main("trust/checksums", measure)
