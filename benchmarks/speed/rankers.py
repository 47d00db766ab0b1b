"""Two features in one collection: what a search by one costs, and what both take in memory.

The same 10,000 pictures in three collections, described by one feature, by another and by both
(real vectors of the default model, mixed, and a shorter projection of them). Searches by the first
feature are timed in turns in the collection that has it alone and in the one that has both; memory
is that of a fresh process after a search by each of its rankers.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
from oasis import embedded

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection.store.rankers import keep_record
from lookalike.collection.training.growing import grow
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import silent
from lookalike.core.vectors import Vectors, unit_rows
from lookalike.features import Feature, pack_vector, unpack_vectors
from lookalike.images import thumbnail
from lookalike.index import DenseIndex

FOUND = 50


class Rows(Feature):
    """Vectors that were made elsewhere."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name  # type: ignore[misc]
        self.dimension = dimension

    @property
    def fingerprint(self) -> str:
        """The name of the way vectors are made."""
        return fingerprint({"kind": self.name, "dimension": self.dimension}, {})

    def record(self, image: Image.Image) -> bytes:
        """Return nothing of a picture: all records are there."""
        raise NotImplementedError

    def vectors(self, records: list[bytes]) -> Vectors:
        """Return the vectors of records."""
        return unpack_vectors(records, self.dimension, sparse=False)


FEATURES = {"long": Rows("rows", 1280), "short": Rows("rows", 640)}
Rows.name, Rows.file_kind = "rows", "rows/1"


def make(place: Path, vectors: dict[str, NDArray[np.float32]]) -> None:
    """Fill a collection with vectors, as if pictures had been indexed."""
    small = thumbnail(Image.radial_gradient("L"), 64)
    with Collection.create(place, features={name: FEATURES[name] for name in vectors}) as store:
        opened = store._session
        rankers = {row.id: vectors[row.name] for row in opened.rankers.rows()}
        with opened.database.transaction() as connection:
            for n in range(1, len(next(iter(vectors.values()))) + 1):
                connection.execute(
                    "INSERT INTO all_pictures VALUES (?1, ?2, 'JPEG', 640, 480, 9, NULL, '2026', "
                    "row_sum(?2, 'JPEG', 640, 480, 9, NULL, '2026'))",
                    (n, f"{n:064x}"),
                )
                connection.execute(
                    "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                    "VALUES (?1, ?2, 9, 0, row_sum(?2, CAST(?1 AS BLOB)))",
                    (f"/{n}.jpg", n),
                )
                connection.execute(
                    "INSERT INTO thumbnails VALUES (?1, ?2, row_sum(?1, ?2))", (n, small)
                )
                for ranker, rows in rankers.items():
                    keep_record(connection, ranker, n, pack_vector(rows[n - 1]))
        for row in opened.rankers.rows():
            feature = opened.rankers.parts.feature(row)
            grow(opened, row, feature, silent)
            opened.rankers.save_cache(opened.rankers.get(row.name))


def memory(place: Path) -> float:
    """Return the megabytes that a fresh process takes for a collection once it searches."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", str(place)], capture_output=True, check=True
    )
    return float(json.loads(done.stdout))


def report_memory(place: str) -> None:
    """Print the megabytes that a collection's rankers take, after a search by each."""

    def resident() -> float:
        text = Path("/proc/self/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    names = Path(place).name.split("-")
    # What the first search of a process loads, compiled loops above all, is not a ranker's.
    index = DenseIndex(2)
    index.add(np.eye(2))
    index.search([1.0, 0.0], k=1)
    with Collection.open(place, features=[FEATURES[name] for name in names]) as store:
        before = resident()
        for name in names:
            store.search(1, FOUND, by=name)
        print(json.dumps(resident() - before))


def measure(options: Options) -> list[Figure]:
    count = 2000 if options.quick else 10_000
    files = sorted((options.data / "objects" / "images").glob("*/*.jpg"))
    real, rng = embedded(files), np.random.default_rng(0)
    first, second = rng.integers(0, len(real), (2, count))
    share = rng.uniform(0.5, 1, (count, 1)).astype(np.float32)
    long = unit_rows(share * real[first] + (1 - share) * real[second])
    short = unit_rows(long @ rng.normal(size=(1280, 640)).astype(np.float32))
    rows = {"long": long, "short": short}
    with tempfile.TemporaryDirectory() as temporary:
        places = {names: Path(temporary) / "-".join(names) for names in KINDS}
        for names, place in places.items():
            make(place, {name: rows[name] for name in names})
        taken = {names: memory(place) for names, place in places.items()}
        stores = [
            Collection.open(places[names], features=[FEATURES[name] for name in names])
            for names in (("long",), ("long", "short"))
        ]
        stores[1].search(1, FOUND, by="short")
        spent: list[list[float]] = [[], []]
        for query in rng.integers(1, count, 400).tolist():
            for times, store in zip(spent, stores, strict=True):
                begin = time.perf_counter()
                store.search(query, FOUND, by="long")
                times.append(time.perf_counter() - begin)
        for store in stores:
            store.close()
    ratios = np.median(np.array(spent)[:, 20:].reshape(2, 4, -1), axis=2)
    each = ratios[1] / ratios[0]
    alone = taken["long",] + taken["short",]
    both = taken["long", "short"]
    options.settings |= {"pictures": count, "found": FOUND}
    return [
        Figure(
            "search by one of two features / by the only one",
            float(np.median(each)),
            "<=",
            1.05,
            f"{1000 * ratios[1].mean():.2f} ms / {1000 * ratios[0].mean():.2f} ms",
            float(each.std()),
        ),
        Figure(
            "memory of both features / the sum of each alone",
            both / alone,
            "<=",
            1.05,
            f"{both:.1f} MB / {taken['long',]:.1f} + {taken['short',]:.1f} MB",
        ),
    ]


KINDS = (("long",), ("short",), ("long", "short"))

if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        report_memory(sys.argv[2])
    else:
        main("speed/rankers", measure)
