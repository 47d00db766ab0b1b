"""Visterms: CPU time to describe a picture of 640 × 480, paper 1, section 3 (there 500 ms).

The pictures are synthetic, with smooth colours, edges and grain; the codebook is learned from
them. Decoding is not counted.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike.features import visterms
from lookalike.features._fast.kmeans import nearest
from lookalike.features._fast.visterms import count_colours, count_patterns
from lookalike.features.visterms import PATTERNS, UNIFORM, Visterms, blocks_in, level_sizes

SIZE = (640, 480)


def draw(seed: int) -> Image.Image:
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    smooth = image.resize(SIZE, Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(smooth)
    for _ in range(60):
        x, y = rng.integers(0, SIZE[0]), rng.integers(0, SIZE[1])
        box = (x, y, x + rng.integers(5, 150), y + rng.integers(5, 150))
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        (pen.ellipse if rng.random() < 0.5 else pen.rectangle)([int(v) for v in box], fill=colour)
    pixels = np.asarray(smooth.filter(ImageFilter.GaussianBlur(1)), np.float64)
    grain = rng.normal(0, rng.uniform(0, 12), pixels.shape)
    return Image.fromarray(np.clip(pixels + grain, 0, 255).astype(np.uint8))


def cpu(work: Callable[[Image.Image], object], images: list[Image.Image]) -> list[float]:
    """Return CPU milliseconds of all threads per picture, after one to warm up."""
    work(images[0])
    spent = []
    for image in images:
        begin = time.process_time()
        work(image)
        spent.append(1000 * (time.process_time() - begin))
    return spent


def measure(options: Options) -> list[Figure]:
    images = [draw(seed) for seed in range(20)]
    rounds = 1 if options.quick else 4
    figures, features = [], {}
    for dimension, target in ((10_000, 60.0), (1_000, None)):
        features[dimension] = feature = Visterms(dimension=dimension).fit(images)
        spent = cpu(lambda image, feature=feature: feature.describe([image]), images * rounds)
        figures.append(
            Figure(
                f"CPU ms a picture of 640×480, d={dimension:,}",
                statistics.median(spent),
                "<=",
                target,
                "500 ms in the paper (2010)" if target else "",
                statistics.pstdev(spent),
            )
        )
    options.settings |= split(features[10_000], images)
    return figures


def split(feature: Visterms, images: list[Image.Image]) -> dict[str, object]:
    """Return where the time goes at d=10,000, in CPU milliseconds per picture."""
    keys = visterms._colour_keys(feature.palette_)

    def levels(image: Image.Image) -> list[Image.Image]:
        return list(visterms._levels(image, feature.longest_side))

    def cells(level: Image.Image) -> np.ndarray:
        columns, rows = blocks_in(*level.size)
        return np.zeros((rows + 1, columns + 1, PATTERNS + len(keys)), np.uint16)

    made = {id(image): [(np.asarray(a), cells(a)) for a in levels(image)] for image in images}
    described = {id(image): visterms._blocks(image, feature.longest_side, keys) for image in images}
    parts = {
        "scaling": levels,
        "patterns": lambda image: [count_patterns(a, UNIFORM, c) for a, c in made[id(image)]],
        "colours": lambda image: [count_colours(a, keys, PATTERNS, c) for a, c in made[id(image)]],
        "assignment": lambda image: nearest(described[id(image)], feature._packed),
    }
    return {
        "blocks": sum(int(np.prod(blocks_in(*size))) for size in level_sizes(*SIZE, 1024)),
        "pictures": len(images),
        **{
            f"{name}_ms": round(statistics.median(cpu(part, images)), 2)
            for name, part in parts.items()
        },
    }


if __name__ == "__main__":
    main("speed/visterms", measure)
