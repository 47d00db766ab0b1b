"""The cost of the nine classic views for a picture of 640 × 480, on one thread, view by view."""

import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike.features import Views
from lookalike.features.descriptors.pixels import pixels_of
from lookalike.features.views import CLASSIC, GLOBAL, LOCAL, WORDS
from lookalike.images import decode, find_pictures, read_bytes

LIMIT = 400


def measure(options: Options) -> list[Figure]:
    """Time each view and all of them on photographs, decoded and scaled beforehand."""
    paths = find_pictures([options.data / "covers"]).paths
    chosen = paths[:: max(1, len(paths) // (12 if options.quick else 60))]
    images = [
        decode(read_bytes(path)).image.resize((640, 480), Image.Resampling.LANCZOS)
        for path in chosen
    ]
    views = Views(views=CLASSIC, components=min(50, len(images) - 1)).fit(images)
    views.describe(images[:1])
    every = [_cpu(lambda image=image: views.record(image)) for image in images]
    found = [
        Figure(
            "CPU ms a picture of 640 × 480, all nine views, median",
            float(np.median(every)),
            "<=",
            LIMIT,
            "the issue's limit",
            float(np.std(every)),
        ),
        Figure("the slowest picture", max(every)),
    ]
    pixels = [pixels_of(image) for image in images]
    shares = {"scaling to 500 pixels": [_cpu(lambda it=it: pixels_of(it)) for it in images]}
    for name, (describe, _) in (*GLOBAL.items(), *LOCAL.items()):
        shares[name] = [_cpu(lambda it=it, call=describe: call(it)) for it in pixels]
    for name, (local, _) in WORDS.items():
        points = [LOCAL[local][0](it) for it in pixels]
        shares[f"{name}: words of its points"] = [
            _cpu(lambda it=it, words=views.words_[name]: words.row(it)) for it in points
        ]
    options.settings.update(pictures=len(images))
    for name, times in shares.items():
        found.append(Figure(f"of which {name}", float(np.median(times))))
    return found


def _cpu(work) -> float:  # noqa: ANN001
    """Return the milliseconds of this thread that a call takes, the least of three."""
    times = []
    for _ in range(3):
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return 1000 * min(times)


if __name__ == "__main__":
    main("speed/views", measure)
