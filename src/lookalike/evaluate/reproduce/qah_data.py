"""The pictures of paper 3: a folder with labels, or NUS-WIDE as it is published."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress
from lookalike.core.vectors import unit_rows
from lookalike.evaluate.reproduce.vectors import Pictures, stored_vectors
from lookalike.evaluate.reproduce.wsabie_data import tagged_pictures
from lookalike.features import Reduction
from lookalike.features.descriptors.pixels import MAX_SIDE, pixels_of
from lookalike.features.descriptors.sift import sift
from lookalike.features.descriptors.words import learn_words

LABELS = Path("Groundtruth") / "TrainTestLabels"
PARTS = ("Train", "Test")

WORDS, NEAREST = 500, 4
"""The vocabulary of the paper, and the words that each descriptor counts for."""

LEARNED_FROM = 1000
"""Training pictures from whose descriptors words are learned."""

DIMENSION = 256

FeatureName = Literal["embedding", "bags"]
Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class CodedSet:
    """Vectors and labels to learn from and to be ranked; files of the test part, if there are any.

    Test pictures are in a random order, since ties are ranked by row.
    """

    train: Rows
    train_labels: Sequence[set[str]]
    test: Rows
    test_labels: Sequence[set[str]]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def is_nus_wide(data: Path) -> bool:
    """Return whether a folder is NUS-WIDE as it is published."""
    return (data / LABELS).is_dir()


def nus_wide(data: Path, *, random_state: int) -> CodedSet:
    """Read NUS-WIDE in the layout in which it is published.

    ``Groundtruth/TrainTestLabels/Labels_<concept>_Train.txt`` and ``…_Test.txt`` have 0 or 1 in a
    line for each picture; ``BoW_Train_int.dat`` and ``BoW_Test_int.dat``, in
    ``Low_Level_Features`` or beside it, the counts of 500 visual words. Pictures without a concept
    are left out of the test part, and teach the codes alone.
    """
    concepts = sorted(path.name[7:-10] for path in (data / LABELS).glob("Labels_*_Train.txt"))
    if len(concepts) < 2:
        raise InvalidInput(
            f"{data / LABELS} must contain Labels_<concept>_Train.txt and _Test.txt for at least "
            f"2 concepts; found {len(concepts)}."
        )
    parts: list[tuple[Rows, list[set[str]]]] = []
    for part in PARTS:
        counts = _numbers(_words_file(data, f"BoW_{part}_int.dat"), np.float32)
        has = [_numbers(data / LABELS / f"Labels_{one}_{part}.txt", np.uint8) for one in concepts]
        lengths = {len(column) for column in has} | {len(counts)}
        if len(lengths) != 1 or counts.ndim != 2:
            raise InvalidInput(
                f"{data}: every file of the part {part} must have a line for each picture; they "
                f"have {', '.join(f'{length:,}' for length in sorted(lengths))}."
            )
        columns = [np.flatnonzero(column.ravel()) for column in has]
        labels: list[set[str]] = [set() for _ in range(len(counts))]
        for concept, rows in zip(concepts, columns, strict=True):
            for row in rows:
                labels[row].add(concept)
        parts.append((unit_rows(np.sqrt(counts)), labels))
    (train, train_labels), (test, test_labels) = parts
    named = np.array([row for row, labels in enumerate(test_labels) if labels])
    order = np.random.default_rng(random_state).permutation(named)
    return CodedSet(
        train,
        train_labels,
        np.asarray(test[order], np.float32),
        [test_labels[row] for row in order],
        (),
        (
            f"NUS-WIDE in {data.name}: its own counts of {train.shape[1]} visual words, roots at "
            f"unit length; {len(test_labels) - len(named):,} test pictures have no concept.",
        ),
    )


def labelled_folder(
    data: Path,
    cache: Path,
    *,
    labels: Path | None,
    words: str | None,
    feature: FeatureName,
    random_state: int,
    progress: Progress,
) -> CodedSet:
    """Describe the pictures of a folder, and split them."""
    pictures = tagged_pictures(data, labels=labels, words=words, random_state=random_state)
    learned_from = sum(pictures.sizes[:2])
    if feature == "bags":
        vectors = soft_bags(pictures.files, learned_from, cache, random_state, progress)
        how = f"soft-weighted bags of {vectors.shape[1]} SIFT words"
    else:
        described = stored_vectors(
            pictures.files,
            learned_from,
            cache,
            feature="embedding",
            dimension=DIMENSION,
            random_state=random_state,
            progress=progress,
        )
        rows = np.asarray(described, np.float32)
        width = min(DIMENSION, learned_from - 1, rows.shape[1])
        reduction = Reduction(dimension=width).fit(rows[:learned_from], parent="reproduction")
        vectors = reduction.apply(rows)
        how = f"the default embedding, reduced to {width} numbers"
    named = [set(some) for some in pictures.words]
    order = np.random.default_rng(random_state).permutation(np.arange(learned_from, len(vectors)))
    return CodedSet(
        vectors[:learned_from],
        named[:learned_from],
        vectors[order],
        [named[row] for row in order],
        tuple(pictures.files[row] for row in order),
        (*pictures.notes, f"Pictures are described by {how}."),
    )


def soft_bags(
    files: Sequence[Path], train: int, cache: Path, random_state: int, progress: Progress
) -> Rows:
    """Return soft-weighted bags of SIFT words, learned from the first ``train`` pictures."""
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = fingerprint({"files": facts, "train": train, "seed": random_state, "by": "bags"}, {})
    path = cache / f"{key}.safetensors"
    try:
        return load_arrays(path, kind="experiment-bags/1")[0]["rows"]
    except (DamagedFile, KeyError):
        pass
    pictures = Pictures(files, MAX_SIDE)
    rng = np.random.default_rng(random_state)
    drawn = rng.permutation(train)[:LEARNED_FROM]
    described = [sift(pixels_of(pictures[int(row)])) for row in drawn]
    words = learn_words(described, WORDS, rng, lambda: None).words
    rows = np.empty((len(files), len(words)), np.float32)
    for at in range(len(files)):
        rows[at] = soft_bag(sift(pixels_of(pictures[at])), words)
        progress(at + 1, len(files))
    save_arrays(path, {"rows": rows}, kind="experiment-bags/1", manifest={})
    return rows


def soft_bag(descriptors: Rows, words: Rows) -> Rows:
    """Return the soft-weighted bag of a picture's descriptors, at unit length.

    t_k = Σ_i Σ_j sim(j, k) / 2^(i−1), over the descriptors j whose i-th nearest word is k, i up to
    4, sim the cosine (Jiang, Ngo and Yang, *Towards Optimal Bag-of-Features for Object
    Categorization and Semantic Video Retrieval*, 2007, Eq. 1; paper 3, section 6).
    """
    bag = np.zeros(len(words), np.float32)
    if len(descriptors):
        own, units = unit_rows(descriptors), unit_rows(words)
        squares = np.square(words).sum(axis=1) - 2 * descriptors @ words.T
        nearest = np.argsort(squares, axis=1, kind="stable")[:, :NEAREST]
        cosines = np.einsum("jd,jid->ji", own, units[nearest])
        np.add.at(bag, nearest, cosines / 2.0 ** np.arange(nearest.shape[1]))
    length = float(np.linalg.norm(bag))
    return bag / np.float32(length) if length else bag


def _words_file(data: Path, name: str) -> Path:
    for folder in (data / "Low_Level_Features", data / "NUS_WID_Low_Level_Features", data):
        places = sorted(folder.rglob(name)) if folder.is_dir() else []
        if places:
            return places[0]
    raise InvalidInput(
        f"{data} must contain Low_Level_Features/{name}, the counts of 500 visual words as "
        f"NUS-WIDE is published; it is missing."
    )


def _numbers(path: Path, dtype: type[np.generic]) -> NDArray[Any]:
    try:
        return np.atleast_1d(np.loadtxt(path, dtype=dtype))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} must have numbers in each line: {error}.") from error
