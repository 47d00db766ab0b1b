"""What checksums cost: opening and searching with and without them, in turns in one process.

An index of 100,000 vectors of length 256 is opened, and opened and searched once; its mapped form
likewise; and a collection of small pictures is opened and searched for 50 matches with all that is
shown of them, whose rows have checksums of their own. Without: the same code, where a file or a
row counts as having none. CPU time, which other work on the machine disturbs least: the best of
many runs with them over the best of as many without, in turns.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from io_errors import Colours

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection.store import sums
from lookalike.core import arrays
from lookalike.index import DenseIndex, MappedIndex

MOST = 1.05


@contextmanager
def unchecked() -> Iterator[None]:
    """Let every file and row count as one without a checksum."""
    with (
        patch.object(arrays._File, "checked_by", None),
        patch.object(sums, "is_sound", lambda *values: True),
    ):
        yield


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compared(what: str, work: Callable[[], object], pairs: int) -> Figure:
    """Return the time of a call beside that of the same without checksums."""
    work()
    with_them, without = [], []
    for _ in range(pairs):
        with_them.append(cpu(work))
        with unchecked():
            without.append(cpu(work))
    best, plain = min(with_them), min(without)
    return Figure(
        f"{what}: with checksums / without",
        best / plain,
        "<=",
        MOST,
        f"{1000 * best:.2f} / {1000 * plain:.2f} ms",
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
    pairs = 10 if options.quick else 20
    rng = np.random.default_rng(0)
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = DenseIndex(256)
        index.add(rng.standard_normal((vectors, 256), dtype=np.float32))
        index.save(folder / "index.safetensors")
        query = rng.standard_normal(256, dtype=np.float32)
        del index
        for kind, made in (("index", DenseIndex), ("mapped index", MappedIndex)):
            opened = [
                (f"opening an {kind}" if kind == "index" else f"opening a {kind}", None),
                (f"opening the {kind} and searching once", query),
            ]
            for what, asked in opened:

                def work(made: type[DenseIndex] = made, asked: object = asked) -> None:
                    it = made.open(folder / "index.safetensors")
                    if asked is not None:
                        it.search(query, k=20)

                found.append(compared(what, work, pairs))
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
