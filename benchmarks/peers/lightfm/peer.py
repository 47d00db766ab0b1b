"""The peer's side: trains LightFM in its own environment, on one thread, as a job describes.

``python peer.py JOB.json``; the job names a file of arrays to read and one to write. The answer
holds, for some moments, the CPU seconds spent in training so far and the ten best words of each
picture. The right answers are not known here: the other side judges.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from lightfm import LightFM

SPACING = 1.1


def rows(arrays: Mapping[str, Any], name: str) -> sp.csr_matrix:
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return sp.csr_matrix((data, indices.astype(np.int32), indptr.astype(np.int32)), tuple(shape))


def best_words(model: LightFM, pictures: sp.csr_matrix, count: int) -> Any:
    """Rank by Σ_j x_j V_j · W_i + b_i; a picture's own bias moves no word past another."""
    places = pictures @ model.user_embeddings
    best = np.empty((pictures.shape[0], count), np.int32)
    for start in range(0, pictures.shape[0], 1000):
        some = slice(start, start + 1000)
        scores = places[some] @ model.item_embeddings.T + model.item_biases
        top = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
        best[some] = np.take_along_axis(top, order, axis=1)
    return best


def train(job: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Train for the job's epochs, or until its seconds are spent; rank now and then."""
    has = rows(arrays, "has").tocoo()
    pictures = {name: rows(arrays, name) * job["scale"] for name in ("train", *job["rank"])}
    model = LightFM(loss="warp", random_state=job["seed"], **job["settings"])
    count = min(10, has.shape[1])
    spent, mark = 0.0, 0.0
    each: list[float] = []
    seconds: list[float] = []
    ranked: dict[str, list[Any]] = {name: [] for name in job["rank"]}
    while len(each) < job["epochs"] and spent < job["seconds"]:
        begin = time.process_time()
        model.fit_partial(has, user_features=pictures["train"], epochs=1, num_threads=1)
        each.append(time.process_time() - begin)
        spent += each[-1]
        if spent >= min(mark, job["seconds"]) or len(each) == job["epochs"]:
            mark = SPACING * spent
            seconds.append(spent)
            for name in job["rank"]:
                ranked[name].append(best_words(model, pictures[name], count))
    return {
        "epoch_seconds": np.array(each),
        "seconds": np.array(seconds),
        **{name: np.stack(lists) for name, lists in ranked.items()},
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    with np.load(job["arrays"], allow_pickle=False) as arrays:
        answer = train(job, arrays)
    np.savez(job["answer"], **answer)


if __name__ == "__main__":
    main()
