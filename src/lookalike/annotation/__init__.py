"""Annotate pictures: vectors and words come in, words ranked for any picture go out."""

import typing

from lookalike.core.lazy import exports as _exports

if typing.TYPE_CHECKING:
    from lookalike.annotation.base import Annotator
    from lookalike.annotation.ensemble import Ensemble
    from lookalike.annotation.linear import LinearRanker
    from lookalike.annotation.neighbours import NearestNeighbours
    from lookalike.annotation.one_vs_rest import OneVsRest
    from lookalike.annotation.parts import Parts
    from lookalike.annotation.registry import ANNOTATORS
    from lookalike.annotation.ridge import Ridge
    from lookalike.annotation.wsabie import WSABIE

__all__ = [
    "ANNOTATORS",
    "WSABIE",
    "Annotator",
    "Ensemble",
    "LinearRanker",
    "NearestNeighbours",
    "OneVsRest",
    "Parts",
    "Ridge",
    "Tag",
]

__getattr__ = _exports(
    __name__,
    {
        "ANNOTATORS": "registry",
        "WSABIE": "wsabie",
        "Annotator": "base",
        "Ensemble": "ensemble",
        "LinearRanker": "linear",
        "NearestNeighbours": "neighbours",
        "OneVsRest": "one_vs_rest",
        "Parts": "parts",
        "Ridge": "ridge",
        "Tag": "tag",
    },
)
