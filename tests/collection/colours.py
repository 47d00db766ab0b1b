"""A cheap feature and tiny pictures for the tests of collections."""

from pathlib import Path

import numpy as np
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.fingerprint import fingerprint
from lookalike.features.base import unit_rows


class Colours:
    """Describe a picture by the mean colour of each cell of a coarse grid."""

    name = "colours"
    sparse = False
    decode_side = None

    def __init__(self, cells=4):
        self.cells = cells
        self.dimension = 3 * cells * cells
        self.fingerprint = fingerprint({"kind": "colours", "cells": cells}, {})

    def describe(self, images):
        small = [np.asarray(image.resize((self.cells, self.cells)), np.float32) for image in images]
        return unit_rows(np.stack(small).reshape(len(images), -1) + 1)

    def save(self, path):
        save_arrays(path, {}, kind="colours/1", manifest={"cells": self.cells})

    @classmethod
    def load(cls, path):
        return cls(load_arrays(path, kind="colours/1")[1]["cells"])


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
