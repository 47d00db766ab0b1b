"""A collection where a small mark says what is alike and the loud colours do not."""

from contextlib import contextmanager

import numpy as np
from PIL import Image

from lookalike.collection import Collection
from tests.collection.colours import Colours

CLICKS = {
    "rot": {f"{n}.png": 1.0 + n for n in range(1, 60, 2)},
    "grün": {f"{n}.png": 2.0 for n in range(0, 60, 2)},
}


def labels(count=60):
    return {f"{number}.png": ["rot" if number % 2 else "grün"] for number in range(count)}


@contextmanager
def striped(folder, gate):
    """Make the collection of sixty pictures in a folder."""
    rng = np.random.default_rng(0)
    (folder / "p").mkdir()
    for number in range(60):
        pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
        pixels[0, 0] = (250, 0, 0) if number % 2 else (0, 250, 0)
        Image.fromarray(pixels).save(folder / "p" / f"{number}.png")
    with Collection.create(folder / "c", features=[Colours()], gate=gate) as collection:
        collection.add([folder / "p"])
        yield collection
