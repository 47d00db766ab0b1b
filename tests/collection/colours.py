"""A cheap feature and tiny pictures for the tests of collections."""

from pathlib import Path

import numpy as np
from PIL import Image

from lookalike.core.fingerprint import fingerprint
from lookalike.core.vectors import unit_rows
from lookalike.features import Feature, StartWords, Vocabulary, pack_vector, unpack_vectors


class Colours(Feature):
    """Describe a picture by the mean colour of each cell of a coarse grid."""

    name = "colours"

    def __init__(self, cells=4):
        self.cells = cells
        self.dimension = 3 * cells * cells

    @property
    def fingerprint(self):
        return fingerprint({"kind": "colours", "cells": self.cells}, {})

    def record(self, image):
        small = np.asarray(image.resize((self.cells, self.cells)), np.float32)
        return pack_vector(unit_rows(small.reshape(1, -1) + 1))

    def vectors(self, records):
        return unpack_vectors(records, self.dimension, sparse=False)


class Fine(Colours):
    """The same with more cells, under a name of its own."""

    name = "fine"

    def __init__(self, cells=5):
        super().__init__(cells)


PALETTE = {"rot": (220, 40, 40), "grün": (40, 200, 60), "blau": (40, 60, 220)}


def picture(path, colour, seed):
    """Write a small noisy picture of a colour; the same arguments give the same bytes."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(-90, 90, (12, 16, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return Path(path)


def album(folder, count=8):
    """Write ``count`` pictures of each colour into a folder named after it."""
    return [
        picture(folder / name / f"{name}-{number}.png", colour, 100 * place + number)
        for place, (name, colour) in enumerate(PALETTE.items())
        for number in range(count)
    ]


CALLED = Vocabulary(
    [(["crimson", "red"], [0]), (["lawn"], [1]), (["sky"], [2]), (["nature"], [1, 2])], 3
)


class Shades(Colours):
    """The same, knowing words for the colours of the palette from the start."""

    name = "shades"

    @property
    def fingerprint(self):
        return fingerprint({"kind": "shades", "cells": self.cells}, {})

    @property
    def start_words(self):
        shades = np.array([*PALETTE.values()], np.float32) - 100
        W = np.tile(shades / np.linalg.norm(shades, axis=1, keepdims=True), self.cells**2)
        return StartWords(CALLED, lambda: (W, np.zeros(3, np.float32)), scale=4.0)
