"""What checksums cost: opening and searching with and without them, in turns in one process.

An index of 100,000 vectors of length 256 is opened, and opened and searched once; its mapped form
likewise, also opened and asked for the scores of 1,000 vectors far apart, as after a search by
codes, and searched and asked again, since its vectors are checked whenever they are read; and a
collection of small pictures is opened and searched for 50 matches with all that is shown of them,
whose rows have checksums of their own. Without: the same code, with a file that was written
without sums, and where a file or a row counts as having none; the loop that sums up vectors while
it computes their lengths does only that. CPU time, which other work on the
machine disturbs least, by one thread of BLAS, since others count while they wait: the median of the
ratios of runs in turns. Files are written anew in each of several rounds, since where they are in
memory changes the ratio by several hundredths.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias
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
from lookalike.core._fast import F32, F64, LOOP, njit, prefetch
from lookalike.core.arrays import load_arrays
from lookalike.index import DenseIndex, MappedIndex
from lookalike.index._fast.row_sums import AHEAD
from lookalike.index.checked_rows import CheckedRows
from lookalike.index.dense import _SMALL, DenseRows
from lookalike.index.growing import GrowingArray

MAX_RATIO = 1.05
RANKED = 1000


@njit(**LOOP, fastmath={"reassoc", "contract"})
def measure_rows(vectors: F32, lengths: F64) -> None:
    """Write the length of each vector, as the loop does that also sums them up."""
    ahead = AHEAD // (4 * vectors.shape[1]) + 1
    for i in range(vectors.shape[0]):
        vector, squares = vectors[i], np.float32(0)
        prefetch(vectors, min(i + ahead, vectors.shape[0] - 1))
        for j in range(vector.size):
            squares += vector[j] * vector[j]
        lengths[i] = np.sqrt(np.float64(squares))


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
        patch.object(arrays._File, "_checked", lambda file: nullcontext(arrays._ignore)),
        patch.object(sums, "is_sound", lambda *values: True),
        patch.object(DenseRows, "arrays", lambda rows: {"vectors": rows.vectors}),
        patch.object(DenseIndex, "_manifest", lambda *given: given[-1]),
        patch.object(DenseIndex, "_check_file", lambda *given: None),
        patch.object(CheckedRows, "_checked", lambda rows, places: rows._rows[places]),
        patch.object(CheckedRows, "whole", lambda rows: rows._rows),
    ):
        yield


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


Times: TypeAlias = dict[str, list[tuple[float, float]]]
"""Of what was measured, the seconds with checksums and without, in pairs."""


def compare(
    times: Times,
    what: str,
    work: Callable[[], object],
    pairs: int,
    without: Callable[[], object] | None = None,
) -> None:
    """Measure a call beside the same, or another, without checksums; each comes first in turn."""
    plain = without or work

    def plainly() -> float:
        with unchecked():
            return cpu(plain)

    cpu(work), plainly()
    for pair in range(pairs):
        if pair % 2:
            own = cpu(work)
            times.setdefault(what, []).append((own, plainly()))
        else:
            other = plainly()
            times.setdefault(what, []).append((cpu(work), other))


def figure(what: str, pairs: list[tuple[float, float]]) -> Figure:
    """Return the median of the ratios, and its standard error (that of a normal sample's)."""
    own, other = np.array(pairs).T
    ratios = own / other
    apart = 1.4826 * np.median(np.abs(ratios - np.median(ratios)))
    return Figure(
        f"{what}: with checksums / without",
        float(np.median(ratios)),
        "<=",
        MAX_RATIO,
        f"{1000 * np.median(own):.2f} / {1000 * np.median(other):.2f} ms",
        float(1.2533 * apart / np.sqrt(len(ratios))),
    )


def of_indexes(times: Times, folder: Path, vectors: int, pairs: int) -> None:
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
        often: int = 1,
    ) -> None:
        large = vectors * 256 > _SMALL
        plainly = open_without_sums if kind is DenseIndex and large else kind.open
        # A mapped one has its sums in the file either way, and does not look at them.
        file = summed if kind is MappedIndex else plain
        compare(
            *(times, what, lambda: then(kind.open(summed)), often * pairs),
            without=lambda: then(plainly(file)),
        )

    both("opening an index", DenseIndex)
    both("opening the index and searching once", DenseIndex, search)
    both("opening a mapped index", MappedIndex, often=10)
    both("opening the mapped index and searching once", MappedIndex, search)
    ranking = f"ranking {RANKED:,} vectors"
    both(f"opening the mapped index and {ranking}", MappedIndex, rank, 10)
    opened = MappedIndex.open(summed)
    with unchecked():
        other = MappedIndex.open(summed)
    compare(
        *(times, "searching the mapped index again", lambda: search(opened), pairs),
        without=lambda: search(other),
    )
    compare(
        *(times, f"{ranking} of the mapped index again", lambda: rank(opened), 10 * pairs),
        without=lambda: rank(other),
    )


def small_pictures(place: Path, count: int) -> Path:
    """Write pictures that differ."""
    place.mkdir()
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(place / f"{number}.png")
    return place


def of_collections(times: Times, folder: Path, pictures: int, pairs: int) -> None:
    """Compare collections, whose rows have checksums of their own."""
    with Collection.create(folder / "c", features=[Colours()]) as store:
        store.add([small_pictures(folder / "pictures", pictures)])

    def open_and_search() -> None:
        with Collection.open(folder / "c") as store:
            store.pictures.facts_of(store.search(1, 50))

    compare(times, "opening a collection and searching once", open_and_search, pairs)
    with Collection.open(folder / "c") as store:

        def search() -> None:
            for number in range(1, 21):
                store.pictures.facts_of(store.search(number, 50))

        compare(times, "20 searches of a collection", search, pairs)


def measure(options: Options) -> list[Figure]:
    vectors, pictures = (10_000, 100) if options.quick else (100_000, 500)
    rounds, pairs = (1, 10) if options.quick else (8, 10)
    times: Times = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
            of_indexes(times, Path(name), vectors, pairs)
            of_collections(times, Path(name), pictures, pairs)
    options.settings |= {"vectors": f"{vectors} × 256", "pictures": pictures}
    options.settings |= {"rounds": rounds, "pairs a round": pairs}
    return [figure(what, pairs) for what, pairs in times.items()]


if __name__ == "__main__":
    main("trust/checksums", measure)
