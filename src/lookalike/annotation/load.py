"""Read a model of any kind from its file."""

from pathlib import Path

from lookalike.annotation.base import Annotator
from lookalike.annotation.linear import LinearRanker
from lookalike.annotation.neighbours import NearestNeighbours
from lookalike.annotation.one_vs_rest import OneVsRest
from lookalike.annotation.wsabie import WSABIE
from lookalike.core.arrays import stored_kind
from lookalike.core.errors import DamagedFile

_KINDS: dict[str, type[Annotator]] = {
    kind.file_kind: kind for kind in (WSABIE, LinearRanker, OneVsRest, NearestNeighbours)
}


def load_annotator(path: str | Path) -> Annotator:
    """Read a model that the ``save`` of an annotator with one file wrote."""
    found = stored_kind(Path(path))
    if found not in _KINDS:
        raise DamagedFile(f"{path} holds {found!r:.80}, which is no annotator.")
    return _KINDS[found].load(path)
