"""Describe the pictures of paper 2's experiments, knowing the training part only."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress
from lookalike.evaluate.reproduce.visterm_vectors import Pictures
from lookalike.evaluate.reproduce.wsabie_data import TaggedPictures
from lookalike.features import Described, Embedding, Feature, Vectors, Visterms, describe_files

KIND = "tagged-vectors/1"

FeatureName = Literal["visterms", "embedding"]


def picture_vectors(
    pictures: TaggedPictures,
    cache: Path,
    *,
    feature: FeatureName,
    dimension: int,
    random_state: int,
    progress: Progress,
) -> Vectors:
    """Describe all pictures, or read what an earlier run kept in ``cache`` of the same.

    The codebook of visterms, their palette and their weights come from the training part.

    Parameters
    ----------
    pictures : TaggedPictures
        Which.
    cache : Path
        A folder.
    feature : {"visterms", "embedding"}
        By what.
    dimension : int
        d of visterms.
    random_state : int
        Seeds the codebook.
    progress : callable
        Told the pictures described and in all.
    """
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in pictures.files]
    train = pictures.sizes[0]
    key = fingerprint(
        {"files": facts, "train": train, "seed": random_state, "d": dimension, "by": feature}, {}
    )
    path = cache / f"{key}.safetensors"
    try:
        arrays, manifest = load_arrays(path, kind=KIND)
        if feature == "embedding":
            return arrays["rows"]
        return sp.csr_matrix(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=manifest["shape"]
        )
    except (DamagedFile, KeyError, ValueError):
        pass
    described: Feature
    if feature == "embedding":
        described = Embedding()
    else:
        visterms = Visterms(dimension=dimension, random_state=random_state)
        visterms.fit(Pictures(pictures.files[:train], visterms.decode_side))
        described = visterms
    rows: list[Any] = []
    for outcome in describe_files(pictures.files, described):
        if not isinstance(outcome, Described):
            reason = getattr(outcome, "reason", "known already")
            raise InvalidInput(
                f"{outcome.path} cannot be read: {reason} Remove or mend it and run again."
            )
        rows.append(outcome.vector)
        progress(len(rows), len(pictures.files))
    if feature == "embedding":
        dense = np.asarray(np.stack(rows), dtype=np.float32)
        save_arrays(path, {"rows": dense}, kind=KIND, manifest={})
        return dense
    matrix = sp.csr_matrix(sp.vstack(rows, format="csr"), dtype=np.float32)
    kept = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    save_arrays(path, kept, kind=KIND, manifest={"shape": list(matrix.shape)})
    return matrix
