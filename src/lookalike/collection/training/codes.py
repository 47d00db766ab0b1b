"""Learn binary codes, and measure how many of the best pictures are among their candidates."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.codes.registry import ENCODERS
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.store.labels import Labels
from lookalike.collection.store.models import NO_IDS, CodeFigures, Ids, NewModel, Trial
from lookalike.core.checks import check_whole
from lookalike.core.codes import check_bits
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.supervision import Relevance

if TYPE_CHECKING:
    from lookalike.codes.hamming import HammingSimilarity
    from lookalike.collection.ranking.candidates import Candidates
    from lookalike.index.bits import BitIndex

BITS = 64
"""The length of a code where none is asked for."""

RECALL = 0.98
"""The share of the best pictures that is to be among the candidates, on average."""

NEAREST = 50
"""How many pictures of an exact search are looked for among the candidates."""

QUERIES = 200
"""Pictures held out to search with, where there are enough."""

MIN_PICTURES = 2 * NEAREST
"""Pictures from which codes are learned."""

MAX_TO_FIT = 20_000
"""Pictures that codes are learned from at most, labelled ones first."""


@dataclass(frozen=True)
class CodesWanted:
    """The codes to learn; ``candidates`` are chosen by their recall where None are given."""

    encoder: str
    bits: int = BITS
    candidates: int | None = None
    random_state: int | None = 0

    def __post_init__(self) -> None:
        check_bits("learn", self.bits)
        ENCODERS.get(self.encoder)
        if self.candidates is not None:
            check_whole("learn", "candidates", self.candidates, 1)


def teach_codes(
    wanted: CodesWanted, ranker: Ranker, labels: Labels, gate: Gate, progress: Progress
) -> NewModel:
    """Learn codes on most pictures, and measure by the others what an exact search would find.

    Pictures that share a label say what the bits are worth; an encoder that needs no labels can
    do without. Where nothing can be learned, the trial says why.
    """
    ids = ranker.plain.ids
    if len(ids) < MIN_PICTURES:
        return _failed(
            f"learn: codes need at least {MIN_PICTURES} pictures; there are {len(ids)}. Every "
            f"search is exact until then."
        )
    rng = generator(wanted.random_state)
    held = np.sort(rng.choice(ids, min(QUERIES, len(ids) // 5), replace=False))
    train = _sample(np.setdiff1d(ids, held), labels, rng)
    relevance = Relevance.of([set(labels.get(number, ())) for number in train.tolist()])
    learnable = relevance.trainable() is None
    if ENCODERS.get(wanted.encoder).needs_labels and not learnable:
        others = [name for name in ENCODERS.names if not ENCODERS.get(name).needs_labels]
        return _failed(
            f"learn: the codes {wanted.encoder} learn from labels. {relevance.trainable()} Label "
            f"pictures, or choose codes that need no labels: {', '.join(others)}."
        )
    # Only who learns codes needs what they are made of.
    from lookalike.codes.hamming import HammingSimilarity

    model = HammingSimilarity(
        encoder=wanted.encoder, bits=wanted.bits, margins=True, random_state=wanted.random_state
    )
    try:
        model.fit(ranker.vectors(train), relevance if learnable else None, progress=progress)
    except InvalidInput as error:
        return _failed(f"learn: {error}")
    figures = measure(model, wanted, ranker, held)
    return _new_model(model, wanted, figures, held, train, published=gate.passes_codes(figures))


def measure_again(codes: Candidates, ranker: Ranker, database: Database) -> NewModel:
    """Measure the codes in use again, beside what a ranker finds now."""
    wanted = CodesWanted(**models.settings_of(database, codes.number)[1])
    held, train = models.sides(database, codes.number) or (NO_IDS, NO_IDS)
    held = held[np.isin(held, ranker.plain.ids)]
    if not held.size:
        held = ranker.plain.ids[:QUERIES]
    figures = measure(codes.similarity, wanted, ranker, held)
    return _new_model(codes.similarity, wanted, figures, held, train, published=True)


def _failed(why: str) -> NewModel:
    return NewModel("codes", Trial.failed(why))


def _new_model(
    model: HammingSimilarity,
    wanted: CodesWanted,
    figures: CodeFigures,
    held: Ids,
    train: Ids,
    *,
    published: bool,
) -> NewModel:
    reason = (
        f"Searches use codes to find candidates: {figures}."
        if published
        else f"The codes are not used: {figures}, which spares too little. Give more bits, "
        f"other codes, or the number of candidates."
    )
    weights = model.weights_
    trial = Trial(
        before=None,
        after=None,
        published=published,
        reason=reason,
        pictures=len(train),
        labels=0 if weights is None else len(weights.classes_),
        held_back=len(held),
        method=wanted.encoder,
        figures=figures,
    )
    source = "" if weights is None else "labels"
    return NewModel(
        "codes", trial, model, asdict(wanted), source, held_back=held, learned_from=train
    )


def measure(
    model: HammingSimilarity, wanted: CodesWanted, ranker: Ranker, held: Ids
) -> CodeFigures:
    """Measure how many candidates are needed to have the best pictures of an exact search."""
    from lookalike.collection.ranking.candidates import Candidates
    from lookalike.index.bits import BitIndex

    fingerprint = model.encoder_.fingerprint
    figures = CodeFigures(1, False, 1.0, NEAREST, len(held), 1, model.bits, fingerprint)
    index = BitIndex(model.bits, fingerprint=fingerprint)
    index = Candidates(0, model, index, figures).over(ranker.plain).index
    either = [
        np.sort(_ranks(model, index, ranker, held, learned=learned)) for learned in (False, True)
    ]
    place = ceil(RECALL * len(either[0])) - 1
    learned = bool(either[1][place] < either[0][place])
    ranks = either[learned]
    count = wanted.candidates
    if count is None:
        count = _rounded(int(ranks[place]))
    count = min(max(count, NEAREST), len(index))
    return replace(
        figures,
        candidates=count,
        chosen=wanted.candidates is None,
        recall=float(np.searchsorted(ranks, count, side="right") / len(ranks)),
        pictures=len(index),
        learned=learned,
    )


def _ranks(
    model: HammingSimilarity, index: BitIndex, ranker: Ranker, held: Ids, *, learned: bool
) -> NDArray[np.int64]:
    """Return the places that codes give to the best pictures of exact searches, all in a row."""
    vectors = ranker.vectors(held)
    hits = ranker.index.search(ranker.query(vectors), NEAREST, exclude=held[:, None])
    queries = ranker.query_vector(vectors, learned=learned)
    ones = np.unpackbits(model.codes(queries), axis=1, count=model.bits)
    weights = model.bit_weights(queries)
    # As inner products with the bits: the distances less a constant.
    signed = np.where(ones, weights, -weights)
    ranks = []
    for row, number in enumerate(held.tolist()):
        scores = index.scores(signed[row : row + 1], index.ids)[0]
        best = hits.ids[row][hits.ids[row] >= 0]
        # Ids rise, as the codes were made in their order.
        own = scores[np.searchsorted(index.ids, best)]
        others = np.sort(-scores[index.ids != number])
        ranks.append(np.searchsorted(others, -own, side="right"))
    return np.concatenate(ranks).astype(np.int64)


def _rounded(count: int) -> int:
    """Return a number rounded up to two digits.

    Examples
    --------
    >>> _rounded(7), _rounded(1234)
    (7, 1300)
    """
    step = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // step) * step


def _sample(ids: Ids, labels: Labels, rng: np.random.Generator) -> Ids:
    """Return at most ``MAX_TO_FIT`` pictures to learn from, labelled ones first."""
    if len(ids) <= MAX_TO_FIT:
        return ids
    labelled = np.array([bool(labels.get(number)) for number in ids.tolist()])
    order = np.lexsort((rng.permutation(len(ids)), ~labelled))
    return np.sort(ids[order[:MAX_TO_FIT]])
