"""Paper 4 on sights and covers: regions by tf-idf, re-ranked, expanded, and learned.

Sights (`landmarks`): the paper's protocol, three random splits, the query's own picture not in the
database. Covers are looked for among references and distractors. Vocabularies come from the
pictures searched among. `--quick` uses fewer pictures and words.
"""

import csv
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.evaluate import read_landmarks
from lookalike.evaluate.reproduce.sparse import training_labels
from lookalike.evaluate.reproduce.sparse_data import Search, Sights
from lookalike.evaluate.reproduce.vectors import Pictures
from lookalike.features import Regions
from lookalike.features.region_records import unpack_regions
from lookalike.index import Hits, SparseIndex, SpatialCheck, SpatialExpansion, why_alike
from lookalike.similarity import SparseSimilarity


class Asked:
    """A query as rerankers see it."""

    def __init__(
        self, index: SparseIndex, records: list[bytes], vector: Any, record: bytes
    ) -> None:
        self.index, self.kept, self.vector, self.record = index, records, vector, record

    def vectors(self, ids: Any) -> Any:
        """Return vectors of items."""
        return self.index.take(ids)

    def records(self, ids: Any) -> list[bytes]:
        """Return records of items."""
        return [self.kept[number] for number in ids]

    def scores(self, vectors: Any, ids: Any) -> Any:
        """Return scores by tf-idf."""
        return self.index.scores(vectors, ids)


def sights(options: Options) -> list[Figure]:
    landmarks = read_landmarks(options.data / "landmarks")
    words = 5_000 if options.quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        described = Sights.described(
            landmarks, Regions(dimension=words, upright=True), Path(folder)
        )
    start, expansion = Search.of(described), SpatialExpansion()
    tf_idf = start.judged(None, False).mean()
    expanded = start.judged(expansion, False).mean()
    neighbours = described.feature.word_neighbours(2)
    gains = []
    for split in range(1 if options.quick else 3):
        rows, labels = training_labels(landmarks, np.random.default_rng(split))
        model = SparseSimilarity(random_state=split).set_neighbours(neighbours)
        search = Search.of(described, model.fit(described.vectors[rows], labels))
        gains.append((search.judged(None, False).mean(), search.judged(expansion, False).mean()))
    learned, both = np.mean(gains, axis=0)
    spread = np.std(gains, axis=0)
    options.settings["words"] = words
    return [
        Figure("landmarks: mAP, tf-idf", tf_idf),
        Figure("landmarks: mAP, learned", learned, ">=", tf_idf, "tf-idf", spread[0]),
        Figure("landmarks: gain of learning, per cent", 100 * (learned / tf_idf - 1), ">=", 10),
        Figure("landmarks: mAP, tf-idf + SR + QE", expanded),
        Figure("landmarks: mAP, learned + SR + QE", both, ">=", learned, "learned", spread[1]),
        Figure("landmarks: gain with SR + QE, per cent", 100 * (both / expanded - 1), ">=", 3),
        *explained(described),
    ]


def explained(described: Sights) -> list[Figure]:
    """Return the share of the score that comes from regions that lie alike, for right pairs."""
    check, shares, verified = SpatialCheck(), [], []
    for place, query in enumerate(described.landmarks.queries):
        own = unpack_regions(described.query_records[place])
        x = described.feature.vectors([described.query_records[place]])
        for picture in sorted(query.truth.good - {query.picture})[:10]:
            record = described.records[picture]
            y = described.vectors[picture : picture + 1]
            why = why_alike(own, unpack_regions(record), x, y)
            shares.append(why.agreeing)
            if sum(match.agrees for match in why.matches) >= check.least:
                verified.append(why.agreeing)
    what = "share of a right pair's score that lies alike"
    return [
        Figure(what, float(np.median(some)), ">=", 0.8, f"median of {len(some)} {which}pairs")
        for some, which in ((shares, ""), (verified, "verified "))
        if some
    ]


def records_of(feature: Regions, files: list[Path]) -> list[bytes]:
    pictures = Pictures(files, feature.decode_side)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda at: feature.record(pictures[at]), range(len(files))))


def covers(options: Options) -> list[Figure]:
    folder = options.data / "covers"
    with (folder / "groundtruth.csv").open() as file:
        truth = list(csv.DictReader(file))[:: 4 if options.quick else 1]
    database = sorted([*(folder / "reference").glob("*"), *(folder / "distractors").glob("*")])
    queries = [folder / row["query"] for row in truth]
    feature = Regions(dimension=5_000 if options.quick else 20_000)
    feature.fit(Pictures(database, feature.decode_side))
    records, asked = records_of(feature, database), records_of(feature, queries)
    index = SparseIndex(feature.dimension)
    index.add(feature.vectors(records))
    vectors = feature.vectors(asked)
    hits = index.search(vectors, 50)
    wanted = [database.index(folder / row["relevant"]) for row in truth]
    first = float((hits.ids[:, 0] == wanted).mean())
    checked = [
        SpatialCheck()
        .rerank(
            Asked(index, records, vectors[at : at + 1], asked[at]),
            Hits(hits.ids[at : at + 1], hits.scores[at : at + 1]),
        )
        .ids[0, 0]
        for at in range(len(queries))
    ]
    return [
        Figure("covers: top-1, tf-idf", first),
        Figure("covers: top-1, SR", float((np.array(checked) == wanted).mean()), ">=", 0.97),
    ]


def measure(options: Options) -> list[Figure]:
    figures = []
    for part in (covers, sights):
        start = time.perf_counter()
        figures += part(options)
        options.settings[part.__name__] = f"{time.perf_counter() - start:.0f} s"
        print(*figures[-3:], sep="\n", file=sys.stderr)
    return figures


if __name__ == "__main__":
    Image.MAX_IMAGE_PIXELS = None
    main("papers/sparse", measure)
