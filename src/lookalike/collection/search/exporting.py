"""Write what was learned to one file, so that vectors kept elsewhere are searched with it."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.votes.turning import LIMIT
from lookalike.core.arrays import save_arrays, write_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.text import shown
from lookalike.similarity.base import Formula

KIND = "query_transform/3"

Arrays = dict[str, NDArray[Any]]


def export(session: Session, path: Path, by: str | None, who: str) -> None:
    """Write the similarity that searches use, and beside it how to use it.

    For vectors q and p as the feature makes them, brought into the space of the ranker, a search
    scores

        S(q, p) = (u(q) + s·|u(q)|·t(q))·v(p),

    where v gives what the similarity stores of a picture, times its scale, u what it asks with,
    and t how votes turn a query (:mod:`lookalike.collection.votes.turning`). What was said of
    a query itself does not go along. The file says whose layers it has: those of the owner and of
    trusted people, with those of ``who`` if they are neither.

    The same state gives the same bytes.

    Parameters
    ----------
    session : Session
    path : Path
        A name that ends in ``.safetensors``; a file there is replaced, and so is the recipe,
        whose name is that with ``.md`` put after it.
    by, who : str
        The ranker, and whose layers it has.
    """
    if path.suffix != ".safetensors":
        raise InvalidInput(
            f"export: the name of the file must end in .safetensors; got {path.name!r:.200}."
        )
    ranker = session.rankers.get(by, who=who)
    formula = ranker.similarity.formula()
    arrays = {**formula.arrays, **_votes(ranker), **_reduction(ranker)}
    manifest = _manifest(ranker, session.database, recipe(formula, arrays), who)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, arrays, kind=KIND, manifest=manifest)
        write_whole(recipe_beside(path), _page(manifest).encode())
    except OSError as error:
        raise InvalidInput(
            f"export: {path} cannot be written: {error.strerror or error}. Choose another path."
        ) from error


def recipe_beside(path: Path) -> Path:
    """Return the name of the page that says how to use an exported file."""
    return path.with_name(f"{path.name}.md")


def _votes(ranker: Ranker) -> Arrays:
    """Return what votes taught, as strong as searches use it."""
    strength = ranker.votes.standing.strength
    if not strength:
        return {}
    return {**ranker.votes.turns.formula(), "votes_strength": np.array([strength], np.float32)}


def _reduction(ranker: Ranker) -> Arrays:
    reduction = ranker.space.reduction
    if reduction is None:
        return {}
    return {"reduction_mean": reduction.mean_, "reduction": reduction.components_}


def _manifest(ranker: Ranker, database: Database, text: str, who: str) -> dict[str, Any]:
    feature, standing = ranker.space.feature, ranker.votes.standing
    return {
        "feature": feature.name,
        "feature_fingerprint": feature.fingerprint,
        "sparse": feature.sparse,
        "fingerprint": ranker.space.fingerprint,
        "dimension": ranker.space.dimension,
        "similarity": ranker.similarity.name,
        "model": ranker.number,
        "learned_from": models.source_of(database, ranker.number)[0],
        "votes": standing.votes,
        "strength": standing.strength,
        "layers": "mine" if who else "shared",
        "person": who,
        "recipe": text,
    }


def recipe(formula: Formula, arrays: Arrays) -> str:
    """Return how a file with these arrays is searched with, as a function in NumPy."""
    lines = [
        "import numpy as np",
        "from safetensors.numpy import load_file",
        "",
        "def search(path, vectors, queries, k=10):",
        "    f = load_file(path)",
        "    def dot(x, y):",
        '        product = x.multiply(y) if hasattr(x, "multiply") else x * y',
        "        return np.asarray(product.sum(axis=1)).ravel()",
    ]
    P, Q = "vectors", "queries"
    if "reduction" in arrays:
        lines += [
            "    def place(x):",
            '        z = (x - f["reduction_mean"]) @ f["reduction"].T * x.any(axis=1)[:, None]',
            "        return z / np.maximum(dot(z, z)[:, None] ** 0.5, 1e-30)",
        ]
        P, Q = f"place({P})", f"place({Q})"
    lines += [
        f"    P, Q = {P}, {Q}",
        f"    def stored(x): return {formula.stored}",
        f"    def scale(x): return {formula.scale}",
        f"    def query(x): return {formula.query}",
        f"    def query_scale(x): return {formula.query_scale}",
        "    scores = (stored(P) @ query(Q).T).T",
        '    scores = scores.toarray() if hasattr(scores, "toarray") else scores',
        "    scores = scores * query_scale(Q)[:, None]",
    ]
    everywhere = (
        '    moved = query(Q) @ f["votes_matrix"]',
        "    moved *= (size / np.maximum(dot(moved, query(Q)), 1e-30))[:, None]",
        "    turn = turn + moved - query(Q) / size[:, None]",
    )
    if "votes_near" in arrays:
        lines += [
            '    apart = f["votes_width"] * (1 - np.minimum(Q @ f["votes_near"].T, 1))',
            '    turn = np.exp(-(apart**2)) @ f["votes_move"]',
            "    size = np.maximum(dot(query(Q), query(Q)) ** 0.5, 1e-30)",
            *(everywhere if "votes_matrix" in arrays else ()),
            f"    cut = np.minimum({LIMIT} / np.maximum(dot(turn, turn) ** 0.5, 1e-12), 1)",
            "    length = size * query_scale(Q)",
            "    turn *= (cut * length * f['votes_strength'])[:, None]",
            "    grown = length**2 + 2 * query_scale(Q) * dot(query(Q), turn) + dot(turn, turn)",
            "    scores = scores + (stored(P) @ turn.T).T",
            "    scores *= (length / np.maximum(grown, 1e-30) ** 0.5)[:, None]",
        ]
    lines += [
        "    scores = scores * scale(P)",
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
        whose = "of the owner and of trusted people"
        if manifest["person"]:
            whose = f"{whose}, and of {shown(manifest['person'])}"
        taught.append(f"{manifest['votes']:,} {votes} {whose}")
    rows = " of a SciPy CSR matrix" if manifest["sparse"] else ""
    return f"""# Search with what was learned

The file beside this one holds {" and ".join(taught) or "nothing that was learned"}, for vectors
of the feature {manifest["feature"]} with the fingerprint `{manifest["feature_fingerprint"]}`.

`vectors` and `queries` are such vectors, a row each{rows}. The function returns, for each query,
the rows of the vectors most like it, best first, and their scores.

```python
{manifest["recipe"]}```

What was learned is on the side of the queries: an index that ranks by inner product can store
`stored(P) * scale(P)[:, None]` once.
"""
