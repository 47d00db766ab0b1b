"""A feature of one's own, as another package would bring it."""

import numpy as np
from PIL import ImageStat

from lookalike.core.fingerprint import fingerprint
from lookalike.features import Feature, pack_vector, unpack_vectors


class Brightness(Feature):
    """Describe a picture by how bright it is."""

    name = "brightness"
    dimension = 2

    def __init__(self, *, angle: float = 1.0) -> None:
        self.angle = angle

    @property
    def fingerprint(self):
        return fingerprint({"kind": "brightness/1", "angle": self.angle}, {})

    def record(self, image):
        turn = self.angle * ImageStat.Stat(image.convert("L")).mean[0] / 255
        return pack_vector(np.array([[np.cos(turn), np.sin(turn)]], np.float32))

    def vectors(self, records):
        return unpack_vectors(records, self.dimension, sparse=False)
