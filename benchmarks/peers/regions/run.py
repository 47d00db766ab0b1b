"""Regions beside those of pyhesaff, pycolmap and OpenCV's SIFT, on pictures that are tilted.

A picture is compressed to 1/2 and 1/3 along x or y, as a plane seen from the side.
A match is the mutual nearest neighbour by RootSIFT that is 1.25 times nearer than the second; it is
correct within 3 pixels of where the tilt puts it. A region is repeated if one lies within 3 pixels
and is at most 1.4 times larger or smaller. The harness computes both from what each side returns.
"""

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from environments import ONE_THREAD, interpreter

from bench import Figure, Options, main
from lookalike.features.hessian_affine import hessian_affine
from lookalike.features.regions import difference_of_gaussians

Array = NDArray[Any]
Found = tuple[Array, Array]

HERE = Path(__file__).resolve().parent
SIZE = (640, 480)
NEAR = 3.0
RATIO = 0.8


def tilted(grey: Array, tilt: int, turn: int) -> tuple[Array, Array]:
    """Return a picture compressed by ``tilt`` along x (turn 0) or y (90), and the map to it."""
    height, width = grey.shape
    blur, along_x = 0.8 * math.sqrt(tilt**2 - 1), turn == 0
    blurred = cv2.GaussianBlur(
        grey, (0, 0), sigmaX=blur if along_x else 0.01, sigmaY=0.01 if along_x else blur
    )
    x, y = (tilt, 1) if along_x else (1, tilt)
    squeeze = np.array([[1 / x, 0, 0], [0, 1 / y, 0]])
    size = (math.ceil(width / x), math.ceil(height / y))
    small = cv2.warpAffine(blurred, squeeze, size, flags=cv2.INTER_LINEAR)
    return small, np.vstack([squeeze, [0, 0, 1]])


def rooted(rows: Array) -> Array:
    sums = np.abs(rows).sum(axis=1, keepdims=True)
    return np.sqrt(np.abs(rows) / np.where(sums > 0, sums, 1)).astype(np.float32)


def compare(first: Found, second: Found, matrix: Array) -> tuple[int, int, float]:
    """Return matches, correct ones, and the share of repeated regions."""
    (one, rows_one), (two, rows_two) = first, second
    if min(len(one), len(two)) < 2:
        return 0, 0, 0.0
    places = one[:, :2] @ matrix[:2, :2].T + matrix[:2, 2]
    products = rooted(rows_one) @ rooted(rows_two).T
    best = products.argmax(axis=1)
    top = -np.partition(-products, 1, axis=1)[:, :2]
    distances = np.sqrt(np.maximum(2 - 2 * top, 0))
    mutual = products.argmax(axis=0)[best] == np.arange(len(one))
    is_match = mutual & (distances[:, 0] < RATIO * distances[:, 1])
    gaps = np.linalg.norm(places - two[best, :2], axis=1)
    correct = is_match & (gaps < NEAR)
    sizes = np.sqrt(np.abs(np.linalg.det(one[:, 2:].reshape(-1, 2, 2))))
    sizes *= math.sqrt(abs(np.linalg.det(matrix[:2, :2])))
    others = np.sqrt(np.abs(np.linalg.det(two[:, 2:].reshape(-1, 2, 2))))
    near = np.linalg.norm(places[:, None] - two[None, :, :2], axis=2) < NEAR
    alike = np.abs(np.log(sizes[:, None] / others[None])) < math.log(1.4)
    repeated = (near & alike).any(axis=1).sum() / min(len(one), len(two))
    return int(is_match.sum()), int(correct.sum()), float(repeated)


def ours(kind: str) -> Callable[[Array], Found]:
    def describe(grey: Array) -> Found:
        find = difference_of_gaussians if kind == "sift" else hessian_affine
        found = find(grey, upright=kind != "turned", most=100_000)
        return np.hstack([found.places, found.shapes.reshape(-1, 4)]), found.descriptors

    return describe


def run_ours(kind: str, pictures: list[Array]) -> tuple[list[Found], list[float]]:
    describe = ours(kind)
    describe(pictures[0])
    results, seconds = [], []
    for grey in pictures:
        before = time.process_time()
        results.append(describe(grey))
        seconds.append(time.process_time() - before)
    return results, seconds


def run_peer(name: str, pictures: list[Array]) -> tuple[list[Found], list[float]]:
    python = interpreter("regions", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **{str(k): grey for k, grey in enumerate(pictures)})
        command = [str(python), str(HERE / "peer.py"), name, str(source), str(target)]
        subprocess.run(command, check=True, env=ONE_THREAD, capture_output=True)
        read = np.load(target)
        results = [(read[f"regions_{k}"], read[f"rows_{k}"]) for k in range(len(pictures))]
        return results, [float(read[f"seconds_{k}"]) for k in range(len(pictures))]


def measure(options: Options) -> list[Figure]:
    cv2.setNumThreads(1)
    folder = options.data / "landmarks" / "images"
    files = sorted(folder.glob("*.jpg"))[:: 60 if options.quick else 12]
    pictures = [np.asarray(Image.open(file).convert("L").resize(SIZE)) for file in files]
    views = [
        (at, tilt, tilted(grey, tilt, turn))
        for at, grey in enumerate(pictures)
        for tilt in (2, 3)
        for turn in (0, 90)
    ]
    everything = [*pictures, *(view for _, _, (view, _) in views)]
    options.settings.update(pictures=len(pictures), size="640 × 480", directions="x, y")
    sides = {"ours": run_ours("upright", everything)}
    sides["ours, turned"] = run_ours("turned", everything)
    sides["OpenCV SIFT"] = run_ours("sift", everything)
    for name in ("pyhesaff", "pycolmap"):
        try:
            sides[name] = run_peer(name, everything)
        except subprocess.CalledProcessError as error:
            options.settings[name] = error.stderr.decode()[-200:].strip().replace("\n", " ")
    figures, best = [], {}
    for name in (*[one for one in sides if "ours" not in one], "ours, turned", "ours"):
        if name not in sides:
            continue
        results, seconds = sides[name]
        mean = 1000 * float(np.mean(seconds[: len(pictures)]))
        regions = np.mean([len(result[0]) for result in results[: len(pictures)]])
        target = 250 if name == "ours" else None
        figures.append(
            Figure(f"{name}: ms a picture", mean, "<=", target, f"{regions:.0f} regions")
        )
        for tilt in (2, 3):
            counts = [
                compare(results[at], results[len(pictures) + place], matrix)
                for place, (at, own, (_, matrix)) in enumerate(views)
                if own == tilt
            ]
            matches, correct, repeated = np.array(counts, float).sum(axis=0)
            values = {
                "correct matches": correct / len(counts),
                "share of matches that are correct": correct / max(matches, 1),
                "repeatability": repeated / len(counts),
            }
            for what, value in values.items():
                if name == "pyhesaff":
                    best[tilt, what] = value
                goal = (
                    best.get((tilt, what)) if name == "ours" and what != "repeatability" else None
                )
                figures.append(
                    Figure(
                        f"{name}: tilt {tilt}, {what}",
                        float(value),
                        ">=",
                        goal,
                        "pyhesaff" if goal is not None else "",
                    )
                )
    return figures


if __name__ == "__main__":
    main("peers/regions/run", measure)
