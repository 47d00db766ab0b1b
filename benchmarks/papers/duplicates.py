"""How well near-duplicates are found: copies of photographs, skin tones, and 100,000 pictures.

Of every third picture of ``objects`` five copies are made: half the size, JPEG quality 30, cropped
by 3 and by 5 % at every side, and all of it (two thirds of the size, cropped by 3 %, WebP at
quality 50). Pairs of pictures in one group are right if they are of the same photograph. The
defaults of ``Collection.duplicates`` were chosen on the photographs whose name has an even
checksum; the others are judged here, and those chosen on stand beside them. Caltech-101 holds some
photographs twice, which count as wrong. In the demo set a pair is right if it differs in the skin
tone alone.

For 100,000 pictures the vectors are drawn at random, fifty around each of 2,000 centres, one in
twenty a copy of another; thumbnails are 20,000 pictures of soft noise, so that now and then two
others share one.
"""

import resource
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.collection import Collection, Duplicates
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.search import duplicates
from lookalike.collection.search.near import NearCopies
from lookalike.collection.store.database import Database
from lookalike.core.progress import silent
from lookalike.features import Embedding, Feature, Views, Visterms
from lookalike.images import emoji_samples
from lookalike.index import DenseIndex

MANY, SCENES = 100_000, 20_000
TONES = {"1f3fb", "1f3fc", "1f3fd", "1f3fe", "1f3ff"}


def cropped(image: Image.Image, share: float) -> Image.Image:
    width, height = image.size
    across, down = round(share * width), round(share * height)
    return image.crop((across, down, width - across, height - down))


def scaled(image: Image.Image, share: float) -> Image.Image:
    width, height = image.size
    return image.resize((round(share * width), round(share * height)), Image.Resampling.BICUBIC)


COPIES: dict[str, tuple[Callable[[Image.Image], Image.Image], int]] = {
    "half.jpg": (lambda image: scaled(image, 0.5), 90),
    "recompressed.jpg": (lambda image: image, 30),
    "crop3.jpg": (lambda image: cropped(image, 0.03), 90),
    "crop5.jpg": (lambda image: cropped(image, 0.05), 90),
    "all.webp": (lambda image: cropped(scaled(image, 2 / 3), 0.03), 50),
}


def write_copies(classes: Iterable[Path], folder: Path) -> None:
    """Write pictures and the copies of every third into a folder."""
    for place in classes:
        inside = folder / place.name
        inside.mkdir(parents=True)
        for number, file in enumerate(sorted(place.iterdir())):
            (inside / file.name).write_bytes(file.read_bytes())
            if number % 3 == 0:
                with Image.open(file) as image:
                    whole = image.convert("RGB")
                for name, (change, quality) in COPIES.items():
                    change(whole).save(inside / f"{file.stem}__{name}", quality=quality)


def photograph(path: Path) -> str:
    return f"{path.parent.name}/{path.stem.partition('__')[0]}"


def judged(groups: Iterable[Duplicates], truth: dict[int, Hashable]) -> tuple[float, float]:
    """Return recall and precision of pairs, among the pictures in ``truth``."""
    right = found = 0
    for group in groups:
        counts = Counter(truth[number] for number in group.pictures if number in truth)
        total = sum(counts.values())
        right += sum(count * (count - 1) // 2 for count in counts.values())
        found += total * (total - 1) // 2
    every = Counter(truth.values()).values()
    return right / sum(count * (count - 1) // 2 for count in every), right / max(found, 1)


def on_copies(
    name: str, feature: Feature, classes: list[Path], target: float | None
) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        write_copies(classes, Path(folder) / "pictures")
        with Collection.create(Path(folder) / "collection", features=[feature]) as store:
            store.add([Path(folder) / "pictures"])
            begin = time.perf_counter()
            groups = store.duplicates.find()
            seconds = time.perf_counter() - begin
            named: dict[int, Hashable] = {
                row.id: photograph(row.places[0]) for row in store.pictures.all()
            }
    halves = [
        {it: key for it, key in named.items() if zlib.crc32(str(key).encode()) % 2 == half}
        for half in (0, 1)
    ]
    chosen, others = (judged(groups, half) for half in halves)
    return [
        Figure(f"copies, {name}: {what}", other, ">=", target, f"chosen on: {own:.4f}")
        for what, other, own in zip(("recall", "precision"), others, chosen, strict=True)
    ] + [Figure(f"copies, {name}: s to find them", seconds, "<=", against=f"{len(named)} pictures")]


def on_skin_tones() -> list[Figure]:
    samples = emoji_samples()
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.create(Path(folder) / "collection", features=[Embedding()]) as store,
    ):
        store.add([sample.path for sample in samples])
        truth: dict[int, Hashable] = {}
        for row in store.pictures.all():
            parts = row.places[0].stem.split("-")
            truth[row.id] = "-".join(part for part in parts if part not in TONES)
        found = []
        for like in (duplicates.LIKE, 0.9, 0.8):
            recall, precision = judged(store.duplicates.find(like=like), truth)
            found += [
                Figure(f"skin tones, like {like}: recall", recall),
                Figure(f"skin tones, like {like}: precision", precision),
            ]
    return found


def soft_noise(seed: int) -> bytes:
    rough = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    buffer = BytesIO()
    image = Image.fromarray(rough).resize((256, 192), Image.Resampling.BICUBIC)
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def on_many(count: int) -> list[Figure]:
    """Find the copies among many drawn vectors, with all that is read of a collection."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((count // 50, 256))
    vectors = (centres[rng.integers(0, len(centres), count)] * 0.8).astype(np.float32)
    vectors += rng.standard_normal(vectors.shape, np.float32)
    copies, scene = count // 20, np.arange(count)
    vectors[-copies:] = vectors[:copies] + 0.15 * rng.standard_normal((copies, 256), np.float32)
    scene[-copies:] = scene[:copies]
    index = DenseIndex(256)
    ids = index.add(vectors, np.arange(1, count + 1))
    ranker = cast(Ranker, SimpleNamespace(plain=index, vectors=index.take))
    drawn = [soft_noise(seed) for seed in range(SCENES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "collection.sqlite"
        Database.create(path)
        database = Database(path)
        with database.transaction() as connection:
            rows: list[Any] = [
                (number, f"{number:064x}", "JPEG", 4000 - number % 100, 3000, number)
                for number in ids.tolist()
            ]
            connection.executemany(
                "INSERT INTO all_pictures VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, '2024-01-01', "
                "row_sum(?2, ?3, ?4, ?5, ?6, NULL, '2024-01-01'))",
                rows,
            )
            connection.executemany(
                "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                "VALUES (?2, ?1, 1, 1, row_sum(?1, CAST(?2 AS BLOB)))",
                [(number, f"/{number}.jpg") for number in ids.tolist()],
            )
            connection.executemany(
                "INSERT INTO thumbnails VALUES (?1, ?2, row_sum(?1, ?2))",
                [(number, drawn[scene[number - 1] % SCENES]) for number in ids.tolist()],
            )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        finder = NearCopies(duplicates.RADIUS)
        seconds = []
        for _ in range(2):
            begin = time.perf_counter()
            groups = duplicates.find(database, ranker, finder, duplicates.LIKE, set(), silent)
            seconds.append(time.perf_counter() - begin)
        database.close()
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    recall, precision = judged(groups, {int(it): int(scene[it - 1]) for it in ids})
    return [
        Figure(f"{count:,} pictures: s the first time", seconds[0], "<="),
        Figure(f"{count:,} pictures: s after a verdict", seconds[1], "<="),
        Figure(f"{count:,} pictures: MB more memory", memory, "<="),
        Figure(f"{count:,} pictures: recall", recall),
        Figure(f"{count:,} pictures: precision", precision),
    ]


def measure(options: Options) -> list[Figure]:
    options.settings |= {"radius": duplicates.RADIUS, "like": duplicates.LIKE}
    classes = sorted((options.data / "objects" / "images").iterdir())
    if options.quick:
        return [
            *on_copies("embedding", Embedding(), classes[::10], 0.95),
            *on_many(MANY // 10),
        ]
    return [
        *on_copies("embedding", Embedding(), classes, 0.95),
        *on_copies("visterms", Visterms(), classes[::5], None),
        *on_copies("views", Views(), classes[::25], None),
        *on_skin_tones(),
        *on_many(MANY),
    ]


if __name__ == "__main__":
    main("papers/duplicates", measure)
