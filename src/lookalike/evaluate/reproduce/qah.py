"""Paper 3, query-adaptive Hamming distance: Figures 1 and 3 to 6, on pictures with labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.codes import S3PLH, BitWeights, DeepBeliefCodes, Encoder
from lookalike.core.progress import Progress, silent
from lookalike.evaluate.delta import delta_average_precision
from lookalike.evaluate.reproduce import qah_figures as figures
from lookalike.evaluate.reproduce.oasis_figures import Drawn, write_report
from lookalike.evaluate.reproduce.qah_data import (
    CodedSet,
    FeatureName,
    is_nus_wide,
    labelled_folder,
    nus_wide,
)
from lookalike.evaluate.tables import Table
from lookalike.supervision import Relevance

BITS = (32, 48)

DEEP = {"epochs": 10, "batches": 50}
QUICK = {"hidden": (64,), "epochs": 3, "batches": 1}

DRAWS = 3
"""How often codes are learned anew, for the error that their draw adds."""

MAX_QUERIES = 8000
BLOCK = 32
"""Queries whose distances to all codes are in memory at once."""

DESCRIBING = 100
"""The weight of describing the pictures in progress; codes count as 1."""

Part = tuple[NDArray[np.float32], Sequence[set[str]]]


@dataclass(frozen=True)
class Outcome:
    """ΔAP of each query by several distances, and how it came about.

    ``entire`` and ``upper`` have a row for each distance: ``plain``; ``paper``, by the paper's rule
    (section 5.2); ``chosen``, by the ``rule`` chosen on pictures held out; ``by_class`` and
    ``by_margin``, with one part of its weights alone. ``at`` is the mean number of pictures at each
    Hamming distance, ``weights`` those of the first queries.
    """

    entire: Mapping[str, NDArray[np.float64]]
    upper: Mapping[str, NDArray[np.float64]]
    at: NDArray[np.float64]
    rule: str
    codes: NDArray[np.uint8]
    weights: NDArray[np.float64]


def reproduce(
    data: Path,
    out: Path,
    *,
    labels: Path | None = None,
    words: str | None = None,
    feature: FeatureName = "embedding",
    quick: bool = False,
    random_state: int = 0,
    progress: Progress = silent,
) -> list[Table]:
    """Reproduce the experiments of paper 3, section 6.

    Parameters
    ----------
    data, labels, words
        NUS-WIDE as it is published, or pictures and their labels, as for
        :func:`~lookalike.evaluate.reproduce.wsabie_data.tagged_pictures`.
    feature : {"embedding", "bags"}
        The feature that describes pictures; bags of 500 SIFT words in the paper.
    quick : bool
        A small net, one draw of the codes, and 16 bits instead of 32.
    out, random_state, progress
        As for :func:`lookalike.evaluate.reproduce.oasis.reproduce`.

    Returns
    -------
    list of Table
        The number of pictures at each distance (Figure 3), the gains (Figure 4), and the gain of
        each class (Figure 5).

    Notes
    -----
    *Departures.* Pictures are described by the default embedding, reduced to 256 numbers as
    collections do, unless ``feature`` is ``bags`` or the data NUS-WIDE, whose published counts of
    words are not soft-weighted. The training and validation parts teach the codes and the weights;
    all test pictures are queries, up to 8,000. The paper's rule has its own row; beside it stands
    the rule chosen on a third of the training pictures. The codes are learned three times.
    """
    steps = (16, 48) if quick else BITS
    draws = 1 if quick else DRAWS
    total = DESCRIBING + 2 * len(steps) * draws
    if is_nus_wide(data):
        coded = nus_wide(data, random_state=random_state)
    else:
        coded = labelled_folder(
            data,
            out / "vectors",
            labels=labels,
            words=words,
            feature=feature,
            random_state=random_state,
            progress=lambda done, count: progress(DESCRIBING * done // count, total),
        )
    outcomes: dict[tuple[str, int], list[Outcome]] = {}
    done = DESCRIBING
    for bits in steps:
        for draw in range(draws):
            for name, encoder in _encoders(bits, quick, random_state + draw).items():
                train = coded.train, coded.train_labels
                result = outcome(encoder, train, (coded.test, coded.test_labels))
                outcomes.setdefault((name, bits), []).append(result)
                done += 1
                progress(done, total)
    every = {
        label for some in (coded.train_labels, coded.test_labels) for one in some for label in one
    }
    notes = (
        *coded.notes,
        f"{len(coded.train):,} pictures to learn from, {len(coded.test):,} test pictures, "
        f"{len(every):,} labels.",
    )
    first = outcomes["deep", 48][0]
    made = [
        figures.distances(first.at),
        figures.gains(outcomes, notes),
        figures.classes(first.entire["plain"], first.entire["chosen"], coded.test_labels),
    ]
    panels = figures.draw_all(outcomes, made[2], out)
    if coded.files:
        panels |= _examples(first, coded, out)
    heading = (
        "# Query-adaptive Hamming distance: Figures 1 and 3 to 6\n\n"
        "Jiang, Wang and Chang, *Lost in Binarization: Query-Adaptive Ranking for Similar Image "
        f"Search with Compact Codes* (2011), reproduced on the pictures in `{data.name}`."
    )
    errors = (
        "Errors are standard errors over the queries and, where codes are learned several times, "
        "over their draws."
    )
    write_report(out, heading, made, panels, values=["value"], errors=errors)
    return made


def outcome(encoder: Encoder, train: Part, test: Part, **settings: Any) -> Outcome:
    """Learn codes and class weights, and rank all test pictures for each of them."""
    encoder.fit(*train)
    learned, codes = encoder.encode(train[0]), encoder.encode(test[0])
    known = learned, train[1], train[0], encoder.values(train[0])
    own = {"bits": encoder.bits, "random_state": 0}
    model = BitWeights(**{**own, "rule": "chosen", **settings}).fit(*known)
    paper = BitWeights(**own, rule="paper").fit(*known)
    queries = np.arange(min(len(codes), MAX_QUERIES))

    def weights(rows: NDArray[np.intp]) -> dict[str, NDArray[Any] | None]:
        values = encoder.values(test[0][rows])
        queried = codes[rows], test[0][rows]
        return {
            "plain": None,
            "paper": paper.query_weights(codes[rows]),
            "chosen": model.query_weights(*queried, values),
            "by_class": model.query_weights(*queried),
            "by_margin": model.margin_weights(values),
        }

    entire, upper, at = compare(codes, encoder.bits, test[1], queries, weights)
    some = np.asarray(weights(queries[: figures.EXAMPLES])["chosen"], np.float64)
    rule = f"{model.rule_}, smoothing {model.smoothing_:g}, agreement {model.agreement_:g}"
    return Outcome(entire, upper, at, rule, codes, some)


def compare(
    codes: NDArray[np.uint8],
    bits: int,
    labels: Sequence[set[str]],
    queries: NDArray[np.intp],
    weights: Callable[[NDArray[np.intp]], Mapping[str, NDArray[Any] | None]],
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Rank all codes for queries, a block at a time, by each of several weights.

    Return ΔAP over entire lists and over their upper half by the name of the weights, and the mean
    number of codes at each Hamming distance; ``weights`` returns those of some queries, None for
    plain distances. Memory O(block · codes), whatever the number of queries.
    """
    relevance = Relevance.of(labels, len(codes))
    entire: dict[str, list[NDArray[np.float64]]] = {}
    upper: dict[str, list[NDArray[np.float64]]] = {}
    at = np.zeros(bits + 1)
    for start in range(0, len(queries), BLOCK):
        rows = queries[start : start + BLOCK]
        relevant = relevance.rows(rows)
        for name, some in weights(rows).items():
            scores = hamming_scores(codes, bits, rows, some)
            whole = delta_average_precision(scores, relevant, own=rows)
            half = delta_average_precision(scores, relevant, own=rows, upper=0.5)
            entire.setdefault(name, []).append(whole)
            upper.setdefault(name, []).append(half)
            if some is None:
                distances = np.rint(-scores.ravel() * bits).astype(np.int64)
                at += np.bincount(distances, minlength=bits + 1)
    # Each query is at distance 0 of itself.
    at[0] -= len(queries)
    joined = [
        {name: np.concatenate(parts) for name, parts in some.items()} for some in (entire, upper)
    ]
    return joined[0], joined[1], at / len(queries)


def hamming_scores(
    codes: NDArray[np.uint8], bits: int, queries: NDArray[np.intp], weights: NDArray[Any] | None
) -> NDArray[np.float32]:
    """Return negative (weighted) Hamming distances of all codes to some, as a share of the most."""
    bytes_ = codes.shape[1]
    differing = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    scores = np.empty((len(queries), len(codes)), np.float32)
    for at, query in enumerate(queries):
        each = np.zeros(8 * bytes_)
        each[:bits] = 1 if weights is None else weights[at]
        tables = differing @ each.reshape(bytes_, 8).T / each.sum()
        apart = codes ^ codes[query]
        far = np.zeros(len(codes))
        for place in range(bytes_):
            far += tables[apart[:, place], place]
        # Sums of the same weights in another order are the same distance.
        scores[at] = -np.round(far, 9)
    return scores


def _encoders(bits: int, quick: bool, seed: int) -> dict[str, Encoder]:
    deep: dict[str, Any] = QUICK if quick else DEEP
    return {
        "S3PLH": S3PLH(bits=bits, random_state=seed),
        "deep": DeepBeliefCodes(bits=bits, random_state=seed, **deep),
    }


def _examples(one: Outcome, coded: CodedSet, out: Path) -> dict[int, list[Drawn]]:
    """Show what plain and query-adaptive distance rank first for a few queries."""
    sample = np.arange(min(figures.EXAMPLES, len(one.codes)))
    bits = one.weights.shape[1]
    scores = {
        "Hamming": hamming_scores(one.codes, bits, sample, None),
        "adaptive": hamming_scores(one.codes, bits, sample, one.weights),
    }
    return {
        1: [figures.examples(1, scores, coded, sample[:1], 10, out)],
        6: [figures.examples(6, scores, coded, sample[1:], 5, out)],
    }
