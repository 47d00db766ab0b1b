"""A collection with and without codes: what it takes in memory, and what a search costs.

200,000 pictures (real vectors of the default model, two mixed for each, reduced to 256) in one
collection; codes of 128 bits find candidates. Memory is that of a fresh process after 50 searches,
and less of what it took before it opened the collection: all that is resident, and the part of it
that is not of files. Searches are timed in turns.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
from oasis import embedded
from rankers import Rows

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection.store.rankers import keep_record
from lookalike.core.vectors import unit_rows
from lookalike.features import Reduction, pack_vector
from lookalike.images import thumbnail
from lookalike.index import BitIndex, DenseIndex

FOUND, BITS = 50, 128
FEATURE = Rows("rows", 256)


def make(place: Path, options: Options, count: int) -> None:
    """Fill a collection with vectors, as if pictures had been indexed."""
    files = sorted((options.data / "objects" / "images").glob("*/*.jpg"))
    real, rng = embedded(files), np.random.default_rng(0)
    reduced = Reduction(dimension=256).fit(real, parent="benchmark").apply(real)
    small = thumbnail(Image.radial_gradient("L"), 16)
    with Collection.create(place, features={"rows": FEATURE}) as store:
        opened = store._session
        with opened.database.transaction() as connection:
            for start in range(1, count + 1, 10_000):
                some = range(start, min(start + 10_000, count + 1))
                first, second = rng.integers(0, len(real), (2, len(some)))
                share = rng.uniform(0.5, 1, (len(some), 1)).astype(np.float32)
                mixed = share * reduced[first] + (1 - share) * reduced[second]
                noise = 0.02 * rng.standard_normal(mixed.shape).astype(np.float32)
                rows = unit_rows(mixed + noise)
                connection.executemany(
                    "INSERT INTO all_pictures VALUES (?1, ?2, 'JPEG', 64, 48, 9, NULL, '2026', "
                    "row_sum(?2, 'JPEG', 64, 48, 9, NULL, '2026'))",
                    [(n, f"{n:064x}") for n in some],
                )
                connection.executemany(
                    "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                    "VALUES (?1, ?2, 9, 0, row_sum(?2, CAST(?1 AS BLOB)))",
                    [(f"/{n}.jpg", n) for n in some],
                )
                connection.executemany(
                    "INSERT INTO thumbnails VALUES (?1, ?2, row_sum(?1, ?2))",
                    [(n, small) for n in some],
                )
                for n, row in zip(some, rows, strict=True):
                    keep_record(connection, 1, n, pack_vector(row))
        (row,) = opened.rankers.rows()
        store._session.rankers.parts.feature(row)
        with opened.database.transaction() as connection:
            connection.execute(
                "UPDATE rankers SET ready = 1, fingerprint = ? WHERE id = 1", (FEATURE.fingerprint,)
            )
        opened.rankers.save_cache(opened.rankers.get())


def memory(place: Path) -> list[float]:
    """Return the megabytes that a fresh process takes for a collection once it searches."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", str(place)], capture_output=True, check=True
    )
    return [float(one) for one in json.loads(done.stdout)]


def report_memory(place: str) -> None:
    """Print the megabytes that a collection takes: all, and what is not of files."""

    def resident() -> np.ndarray:
        text = Path("/proc/self/status").read_text()
        return np.array(
            [int(text.split(f"{name}:")[1].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")]
        )

    # What the first search of a process loads, compiled loops above all, is not the collection's.
    for index in (DenseIndex(8), BitIndex(8)):
        index.add(np.eye(8))
        index.search(np.ones((1, 8)), k=1)
    with Collection.open(place, features=[FEATURE]) as store:
        before = resident()
        for query in np.random.default_rng(1).integers(1, len(store), 50).tolist():
            store.search(query, FOUND)
        print(json.dumps((resident() - before).tolist()))


def measure(options: Options) -> list[Figure]:
    count = 20_000 if options.quick else 200_000
    with tempfile.TemporaryDirectory() as temporary:
        plain, coded = Path(temporary) / "plain", Path(temporary) / "coded"
        make(plain, options, count)
        shutil.copytree(plain, coded)
        with Collection.open(coded, features=[FEATURE]) as store:
            learned = store.learn(codes="itq", bits=BITS).codes
        if learned is None or learned.figures is None:
            raise SystemExit("no codes were learned")
        taken = {place: memory(place) for place in (plain, coded)}
        stores = [Collection.open(place, features=[FEATURE]) for place in (plain, coded)]
        spent: list[list[float]] = [[], []]
        for query in np.random.default_rng(2).integers(1, count, 100).tolist():
            for times, store in zip(spent, stores, strict=True):
                begin = time.perf_counter()
                store.search(query, FOUND)
                times.append(time.perf_counter() - begin)
        for store in stores:
            store.close()
    figures = learned.figures
    options.settings |= {"pictures": count, "found": FOUND, "bits": BITS, "codes": "itq"}
    ms = 1000 * np.median(np.array(spent)[:, 10:], axis=1)
    against = f"{taken[coded][0]:.1f} MB / {taken[plain][0]:.1f} MB"
    anonymous = f"{taken[coded][1]:.1f} MB / {taken[plain][1]:.1f} MB"
    return [
        Figure("recall@50 of exact search", figures.recall, ">=", 0.98),
        Figure("candidates of a search", figures.candidates, against=f"of {count:,} pictures"),
        Figure(
            "resident memory with codes / without",
            taken[coded][0] / taken[plain][0],
            "<=",
            0.5,
            against,
        ),
        Figure(
            "the same, less pages of files",
            taken[coded][1] / taken[plain][1],
            "<=",
            0.25,
            anonymous,
        ),
        Figure(
            "search with codes / without",
            float(ms[1] / ms[0]),
            "<=",
            1.0,
            f"{ms[1]:.2f} ms / {ms[0]:.2f} ms",
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        report_memory(sys.argv[2])
    else:
        main("speed/codes", measure)
