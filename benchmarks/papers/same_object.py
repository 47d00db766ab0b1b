"""The same object by look, by regions, and by both: `things` among other pictures, in a collection.

N-S of UKBench: how many of the first four are views of the query, which is one of them. The rule of
the search by both was chosen on the objects of even place; those of odd place judge it. `--quick`
takes 40 objects and as many other pictures.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike import Collection
from lookalike.features import Embedding, Regions

OTHERS = ("objects/images", "groceries", "snapshots", "clipart")
MAX_OTHERS = 11_000
VIEWS = 4


def other_files(data: Path, most: int) -> list[Path]:
    files = [
        file
        for name in OTHERS
        for file in sorted((data / name).rglob("*"))
        if file.suffix in (".jpg", ".png")
    ]
    return files[:: max(1, len(files) // most)][:most]


def score(store: Collection, objects: dict[int, str], by: str) -> tuple[float, float]:
    """Return N-S and its standard error."""
    values = []
    for number, name in objects.items():
        matches = store.search(number, VIEWS - 1, by=by)
        values.append(1 + sum(objects.get(match.id) == name for match in matches))
    return float(np.mean(values)), float(np.std(values) / np.sqrt(len(values)))


def measure(options: Options) -> list[Figure]:
    folders = sorted(folder for folder in (options.data / "things").iterdir() if folder.is_dir())
    chosen = folders[::2][:40] if options.quick else folders
    own = [file for folder in chosen for file in sorted(folder.glob("*.jpg"))]
    others = other_files(options.data, len(own) if options.quick else MAX_OTHERS)
    words = 10_000 if options.quick else 50_000
    options.settings.update(things=len(own), others=len(others), words=words)
    with tempfile.TemporaryDirectory() as folder:
        features = {"look": Embedding(), "object": Regions(dimension=words)}
        with Collection.create(Path(folder) / "c", features=features) as store:
            store.add([*own, *others])
            judged = {store.pictures.find(file): file.parent.name for file in own}
            if not options.quick:
                odd = {one.name for one in folders[::2]}
                judged = {number: name for number, name in judged.items() if name in odd}
            found = {by: score(store, judged, by) for by in ("look", "object", "together")}
    name = f"things among {len(own) + len(others):,}, N-S"
    alone = max(found["look"][0], found["object"][0])
    return [
        Figure(f"{name}: by look", found["look"][0], spread=found["look"][1]),
        Figure(f"{name}: by object", found["object"][0], ">=", 3.9, spread=found["object"][1]),
        Figure(
            *(f"{name}: together less the better alone", found["together"][0] - alone, ">=", 0.001),
            against=f"{alone:.3f}, the better alone",
            spread=found["together"][1],
        ),
    ]


if __name__ == "__main__":
    main("papers/same_object", measure)
