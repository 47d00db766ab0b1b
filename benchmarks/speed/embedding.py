"""The cost of the default embedding per picture, and how well it uses all cores."""

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike.features import Described, Embedding, describe_files
from lookalike.features.embedding import fit_square
from lookalike.images import decode, find_pictures, read_bytes


def measure(options: Options) -> list[Figure]:
    """Time one thread describing decoded pictures, then the whole pipeline on all cores."""
    paths = find_pictures([options.data / "objects" / "images"]).paths
    chosen = paths[:: max(1, len(paths) // (600 if options.quick else len(paths)))]
    embedding = Embedding()
    images = [
        decode(read_bytes(path), side=embedding.decode_side).image
        for path in chosen[:: max(1, len(chosen) // 200)]
    ]
    embedding.describe(images[:5])
    each = []
    fitting = []
    for image in images:
        begin = time.thread_time()
        fit_square(image, 224)
        middle = time.thread_time()
        embedding.describe([image])
        each.append(time.thread_time() - middle)
        fitting.append(middle - begin)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    outcomes = describe_files(chosen, [embedding], thumbnail_side=256)
    described = sum(isinstance(outcome, Described) for outcome in outcomes)
    wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    cores = os.cpu_count() or 1
    options.settings.update(pictures=described, cores=cores)
    return [
        Figure(
            "CPU ms a picture beyond decoding, median",
            1000 * float(np.median(each)),
            "<=",
            12,
            "the issue's limit",
            1000 * float(np.std(each)),
        ),
        Figure("of which fitting into the square", 1000 * float(np.median(fitting)), "<="),
        Figure("cores busy while indexing", cpu / wall, ">=", 0.85 * cores, f"{cores} cores"),
        Figure("pictures a second, file to vector and thumbnail", described / wall),
    ]


if __name__ == "__main__":
    main("speed/embedding", measure)
