"""FAISS's side: load codes, then answer each line on stdin with the CPU seconds of one search."""

import sys
import time

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
folder, bits, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
index = faiss.IndexBinaryFlat(bits)
index.add(np.load(f"{folder}/codes.npy"))
queries = np.load(f"{folder}/queries.npy")
print("ready", flush=True)
for line in sys.stdin:
    first, last = map(int, line.split())
    begin = time.process_time()
    distances, _ = index.search(queries[first:last], k)
    print(time.process_time() - begin, int(distances.sum()), flush=True)
