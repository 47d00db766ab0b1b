"""Run inside the peers' environment: describe pictures, and write regions and times to a file.

``python peer.py NAME INPUT.npz OUTPUT.npz``; the input has grey pictures under "0", "1", ….
"""

import os
import sys
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pyhesaff(grey: Array) -> tuple[Array, Array]:
    """Regions as x, y and the matrix from the unit circle, with their SIFT."""
    import pyhesaff as peer

    found, rows = peer.detect_feats_in_image(np.repeat(grey[:, :, None], 3, axis=2).copy())
    zero = np.zeros(len(found))
    shapes = np.stack([found[:, 2], zero, found[:, 3], found[:, 4]], axis=1)
    # Its ellipse is that of the described patch: 3·sqrt(3) times the scale.
    return np.hstack([found[:, :2], shapes / (3 * np.sqrt(3))]), rows


def pycolmap(grey: Array) -> tuple[Array, Array]:
    """Regions of COLMAP's SIFT with affine shapes, where this version offers them."""
    import pycolmap as peer

    options = peer.SiftExtractionOptions()
    options.estimate_affine_shape = True
    options.upright = True
    try:
        sift = peer.Sift(options=options, device=peer.Device.cpu)
    except TypeError:
        feature = peer.FeatureExtractionOptions()
        feature.sift = options
        feature.use_gpu = False
        sift = peer.Sift(feature, device=peer.Device.cpu)
    points, rows = sift.extract(grey.astype(np.float32) / 255)
    scale, angle = points[:, 2], points[:, 3]
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    return np.stack([points[:, 0], points[:, 1], c, -s, s, c], axis=1), rows


def main() -> None:
    name, source, target = sys.argv[1:]
    pictures = np.load(source)
    describe = {"pyhesaff": pyhesaff, "pycolmap": pycolmap}[name]
    describe(pictures["0"])
    results = {}
    for key in pictures.files:
        before = time.process_time()
        regions, rows = describe(pictures[key])
        results[f"seconds_{key}"] = time.process_time() - before
        results[f"regions_{key}"] = np.asarray(regions, np.float32)
        results[f"rows_{key}"] = np.asarray(rows, np.float32)
    np.savez(target, **results)


main()
