"""The figures a reader wants first, taken from the results of the benchmarks."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Headline(NamedTuple):
    """A figure of a benchmark, and what it is compared with.

    ``other`` names the peer's figure in the same benchmark; ``pattern`` finds the peer's value, or
    ours and the peer's, in what the figure was measured against. ``is_ratio`` says that the figure
    itself is ours over the peer's.
    """

    name: str
    figure: str
    peer: str = ""
    other: str = ""
    pattern: str = ""
    is_ratio: bool = False


_PAIR = r"^([\d.,]+) against ([\d.,]+)"
_TIMES = r"([\d.]+) ms / ([\d.]+) ms"

HEADLINES = (
    Headline(
        "papers/oasis",
        "objects-50, mAP: OASIS, default settings",
        "cosine",
        "objects-50, mAP: cosine",
    ),
    Headline(
        "papers/oasis",
        "objects-50, mAP: OASIS, default settings",
        "shrinkage LDA",
        "objects-50, mAP: shrinkage LDA",
    ),
    Headline(
        "papers/oasis",
        "groceries, mAP: OASIS, default settings",
        "cosine",
        "groceries, mAP: cosine",
    ),
    Headline(
        "papers/omks",
        "classic views, objects-50, mAP of OMKS over OASIS-Best",
        "OASIS",
        is_ratio=True,
    ),
    Headline(
        "papers/live",
        "groceries, all ten, 0% wrong: gain in P@10 on other queries after 200 votes",
        "Rocchio, P@10",
        pattern=r"ours ([\d.]+), Rocchio ([\d.]+)",
    ),
    Headline(
        "papers/words",
        "snapshots: WSABIE, MAP",
        "commonest words",
        "snapshots: commonest words, MAP",
    ),
    Headline(
        "peers/lightfm/run",
        "examples/s over LightFM's, first pass, default settings",
        "LightFM",
        pattern=_PAIR,
        is_ratio=True,
    ),
    Headline(
        "peers/lightfm/run",
        "clipart, embedding, p@1 on test",
        "LightFM",
        pattern=r"LightFM ([\d.]+)",
    ),
    Headline(
        "peers/faiss_binary/run",
        "1,000,000 codes of 64 bits: weighted top-100, queries a second over FAISS's",
        "FAISS IndexBinaryFlat",
        is_ratio=True,
    ),
    Headline(
        "peers/faiss_flat/run",
        "100,000 × 256, learned queries: top-50, queries a second over FAISS's",
        "FAISS IndexFlatIP",
        is_ratio=True,
    ),
    Headline("papers/start_words", "lite0, objects: P@10 of a word as a query, nothing taught"),
    Headline("papers/duplicates", "copies, embedding: recall"),
    Headline("papers/duplicates", "copies, embedding: precision"),
    Headline("speed/oasis", "steps/s over C at d=10,000", "the same loop in C", is_ratio=True),
    Headline(
        "speed/wsabie",
        "top 10 of 15,952 words, a picture alone, ms",
        "the paper",
        pattern=r"paper: ([\d.]+) ms",
    ),
    Headline("speed/embedding", "pictures a second, file to vector and thumbnail"),
    Headline(
        "speed/codes", "search with codes / without", "exact search", pattern=_TIMES, is_ratio=True
    ),
    Headline("speed/service", "vote to new ranking, ms"),
    Headline("speed/start_up", "CPU time of lookalike search", "import numpy", is_ratio=True),
    Headline("trust/kills", "kills survived without loss"),
    Headline("trust/io_errors", "events lost or collections damaged"),
)


def summary(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the figures that were measured."""
    lines = ["| figure | ours | peer | ratio | command |", "|---|---:|---|---:|---|"]
    for one in HEADLINES:
        figures = results.get(one.name, {"figures": ()})["figures"]
        own = next((entry for entry in figures if entry["what"] == one.figure), None)
        if own is not None:
            lines.append(_row(one, own, {entry["what"]: entry["value"] for entry in figures}))
    return "\n".join(lines)


def _row(one: Headline, own: Mapping[str, Any], values: Mapping[str, float]) -> str:
    ours, peer = own["value"], values.get(one.other)
    found = re.search(one.pattern, own["against"]) if one.pattern else None
    if found is not None:
        *first, last = (float(text.replace(",", "")) for text in found.groups())
        ours, peer = (first[0] if first else ours), last
    elif one.is_ratio:
        ours = None
    ratio = own["value"] if one.is_ratio else ours / peer if peer else None
    shown = ["" if value is None else f"{value:.4g}" for value in (ours, peer, ratio)]
    beside = f"{one.peer} {shown[1]}".strip()
    command = f"`python benchmarks/{one.name}.py`"
    return f"| {one.figure} | {shown[0]} | {beside} | {shown[2]} | {command} |"
