"""Write what was learned to one file, so that vectors kept elsewhere are searched with it."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection import rows
from lookalike.collection.database import Database
from lookalike.collection.serving import Serving
from lookalike.collection.voting import Weights
from lookalike.core.arrays import save_arrays, write_whole
from lookalike.core.errors import InvalidInput

KIND = "query_transform/1"

WIDEST = 4096
"""The length of vectors up to which a W of as many rows and columns is made where none is."""

_BLOCK = 1024

Arrays = dict[str, NDArray[Any]]


def export(serving: Serving, database: Database, path: Path) -> None:
    """Write the similarity that searches use, and beside it how to use it.

    For vectors q and p as the feature makes them, brought into the space of the collection, a
    search scores

        S(q, p) = qᵀWp / (√(qᵀMq)·√(pᵀMp)),

    the roots only where the model is normalised: M is what was learned from labels or clicks, and
    W = M + D with what votes taught (:mod:`lookalike.collection.preferences`). Vectors of more
    than 4,096 numbers of which no model was learned have W = I + AᵀB, with a row of A and B for
    each query and picture that was voted on. What was said of a query itself does not go along.

    The same state gives the same bytes.

    Parameters
    ----------
    serving : Serving
    database : Database
    path : Path
        A name that ends in ``.safetensors``; a file there is replaced, and so is the recipe,
        whose name is that with ``.md`` put after it.
    """
    if path.suffix != ".safetensors":
        raise InvalidInput(
            f"export: the name of the file must end in .safetensors; got {path.name!r:.200}."
        )
    arrays = _arrays(serving)
    manifest = _manifest(serving, database, arrays)
    try:
        save_arrays(path, arrays, kind=KIND, manifest=manifest)
        write_whole(recipe_beside(path), _page(manifest).encode())
    except OSError as error:
        raise InvalidInput(
            f"export: {path} cannot be written: {error.strerror or error}. Name another place."
        ) from error


def recipe_beside(path: Path) -> Path:
    """Return the name of the page that says how to use an exported file."""
    return path.with_name(f"{path.name}.md")


def _arrays(serving: Serving) -> Arrays:
    arrays: Arrays = {}
    A, B = _taught(serving)
    model, width = serving.model, serving.space.dimension
    if model is None and width > WIDEST:
        arrays |= {"A": A.astype(np.float32), "B": B.astype(np.float32)}
    else:
        W = np.eye(width, dtype=np.float32) if model is None else model.W_.copy()
        for start in range(0, width if len(A) else 0, _BLOCK):
            W[start : start + _BLOCK] += A[:, start : start + _BLOCK].T @ B
        arrays["W"] = W
    if model is not None and model.normalized_:
        arrays["M"] = model.W_
    if serving.space.reduction is not None:
        arrays["mean"] = serving.space.reduction.mean_
        arrays["components"] = serving.space.reduction.components_
    return arrays


def _taught(serving: Serving) -> tuple[Weights, Weights]:
    """Return A and B whose product AᵀB is what votes taught, as strong as searches use it."""
    preferences = serving.preferences
    if preferences is None or not preferences.standing.strength:
        nothing = np.zeros((0, serving.space.dimension))
        return nothing, nothing
    A, B = preferences.halves()
    return A, preferences.standing.strength * B


def _manifest(serving: Serving, database: Database, arrays: Arrays) -> dict[str, Any]:
    feature, preferences = serving.space.feature, serving.preferences
    standing = None if preferences is None else preferences.standing
    return {
        "feature": feature.name,
        "feature_fingerprint": feature.fingerprint,
        "sparse": feature.sparse,
        "fingerprint": serving.space.fingerprint,
        "dimension": serving.space.dimension,
        "normalized": "M" in arrays,
        "model": serving.number,
        "learned_from": rows.source_of(database, serving.number)[0],
        "votes": 0 if standing is None else standing.votes,
        "strength": 0.0 if standing is None else standing.strength,
        "recipe": recipe(arrays, sparse=feature.sparse),
    }


def recipe(arrays: Arrays, *, sparse: bool) -> str:
    """Write how a file with these arrays is searched with, as a function in NumPy."""
    lines = [
        "import numpy as np",
        "from safetensors.numpy import load_file",
        "",
        "def search(path, vectors, queries, k=10):",
        "    f = load_file(path)",
    ]
    P, Q = "vectors", "queries"
    if "components" in arrays:
        lines += [
            "    def place(raw):",
            '        x = (raw - f["mean"]) @ f["components"].T * raw.any(axis=1, keepdims=True)',
            "        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)",
        ]
        P, Q = f"place({P})", f"place({Q})"
    lines += [f"    P, Q = {P}, {Q}"]
    if "W" in arrays:
        lines += ['    asked = Q @ f["W"]']
    else:
        lines += ['    asked = np.asarray(Q + (Q @ f["A"].T) @ f["B"])']
    scores = "(P @ asked.T).T"
    if "M" in arrays:
        own = 'np.einsum("ij,ij->i", x @ f["M"], x)'
        if sparse:
            own = 'np.asarray(x.multiply(x @ f["M"]).sum(axis=1)).ravel()'
        lines += [f"    p, q = [np.maximum({own}, 1e-30) ** 0.5 for x in (P, Q)]"]
        scores = f"{scores} / q[:, None] / p"
    lines += [f"    scores = {scores}"]
    lines += [
        '    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]',
        "    return best, np.take_along_axis(scores, best, axis=1)",
    ]
    return "\n".join(lines) + "\n"


def _page(manifest: dict[str, Any]) -> str:
    taught = []
    if manifest["model"] is not None:
        source = manifest["learned_from"] or "labels"
        taught.append(f"model {manifest['model']}, learned from {source}")
    if manifest["strength"]:
        votes = "vote" if manifest["votes"] == 1 else "votes"
        taught.append(f"what {manifest['votes']:,} {votes} taught")
    rows = " of a SciPy CSR matrix" if manifest["sparse"] else ""
    return f"""# Search with what was learned

The file beside this one holds {" and ".join(taught) or "nothing that was learned"}, for vectors
of the feature {manifest["feature"]} with the fingerprint `{manifest["feature_fingerprint"]}`.

`vectors` and `queries` are such vectors, a row each{rows}. The answer is, for each query, the
rows of the vectors most like it, best first, and their scores.

```python
{manifest["recipe"]}```

What was learned is on the side of the queries. To use an index that ranks by inner product, store
P in it (divided by p, where there is one) and ask it with `asked` (divided by q).
"""
