"""FAISS's side: load rows, then answer each line on stdin with the CPU seconds of one search."""

import sys
import time

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
folder, k = sys.argv[1], int(sys.argv[2])
rows, queries = np.load(f"{folder}/rows.npy"), np.load(f"{folder}/queries.npy")
width = rows.shape[1]
binary = rows.dtype == np.uint8
index = faiss.IndexBinaryFlat(8 * width) if binary else faiss.IndexFlatIP(width)
index.add(rows)
print("ready", flush=True)
for line in sys.stdin:
    first, last = map(int, line.split())
    begin = time.process_time()
    scores, _ = index.search(queries[first:last], k)
    print(time.process_time() - begin, float(scores.sum(dtype=np.float64)), flush=True)
