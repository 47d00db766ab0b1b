"""Run inside the peer's environment: score queries with bm25s over a matrix that is given.

``python peer.py FOLDER`` reads ``data.npy``, ``rows.npy`` and ``starts.npy`` (the scores of words,
column by column) and ``words.npy`` and ``ends.npy`` (the words of the queries); it writes
``seconds.npy`` and the ids of the ten best of each query, ``best.npy``.
"""

import sys
import time
from pathlib import Path

import bm25s
import numpy as np


def main() -> None:
    folder = Path(sys.argv[1])
    data, rows, starts, words, ends = (
        np.load(folder / f"{name}.npy") for name in ("data", "rows", "starts", "words", "ends")
    )
    peer = bm25s.BM25(backend="numba", dtype="float32", int_dtype="int32")
    count = int(rows.max()) + 1
    peer.scores = {"data": data, "indices": rows, "indptr": starts, "num_docs": count}
    peer.vocab_dict = {str(word): word for word in range(len(starts) - 1)}
    peer.unique_token_ids_set = set(range(len(starts) - 1))
    peer.nonoccurrence_array = None
    peer.activate_numba_scorer()
    seconds, best = [], []
    for number in (0, *range(len(ends) - 1)):
        own = words[ends[number] : ends[number + 1]]
        start = time.process_time()
        scores = peer.get_scores_from_ids(own)
        ten = np.argpartition(-scores, 10)[:10]
        seconds.append(time.process_time() - start)
        best.append(ten[np.argsort(-scores[ten])])
    np.save(folder / "seconds.npy", seconds[1:])
    np.save(folder / "best.npy", best[1:])


main()
