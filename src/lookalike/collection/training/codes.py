"""Learn binary codes, and measure how many of the best pictures are among their candidates."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.codes.registry import ENCODERS
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.store.labels import Labels
from lookalike.collection.store.models import CodeFigures, Ids, Kind, NewModel
from lookalike.collection.training.trials import CodesTrial
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

LEAST_PICTURES = 2 * NEAREST
"""Pictures from which codes are learned."""

MOST_TO_FIT = 20_000
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

    @property
    def settings(self) -> str:
        """What is kept of it, as JSON."""
        return json.dumps(
            {
                "bits": self.bits,
                "candidates": self.candidates,
                "encoder": self.encoder,
                "random_state": self.random_state,
            }
        )

    @classmethod
    def read(cls, settings: str) -> CodesWanted:
        """Return what ``settings`` has kept."""
        return cls(**json.loads(settings))


@dataclass(frozen=True)
class CodesLesson:
    """Codes, how well they find candidates, and by which pictures that was measured.

    ``in_use`` says that they are those in use, measured again.
    """

    model: HammingSimilarity
    wanted: CodesWanted
    figures: CodeFigures
    held_back: Ids
    learned_from: Ids
    in_use: bool = False
    kind: Kind = "codes"

    @property
    def published(self) -> bool:
        """Whether searches are to use them: where that spares something, or it was asked for."""
        spares = 2 * self.figures.candidates < self.figures.pictures
        return self.in_use or not self.figures.chosen or spares

    @property
    def reason(self) -> str:
        """Why they are to be used or not, in a sentence."""
        if self.published:
            return f"Searches use codes to find candidates: {self.figures}."
        return (
            f"The codes are not used: {self.figures}, which spares too little. Give more bits, "
            f"other codes, or the number of candidates."
        )

    def trial(self, number: int) -> CodesTrial:
        """Return what came of it, as the model ``number``."""
        weights = self.model.weights_
        return CodesTrial(
            figures=self.figures,
            published=self.published,
            reason=self.reason,
            method=self.wanted.encoder,
            model=number if self.published else None,
            pictures=len(self.learned_from),
            labels=0 if weights is None else len(weights.classes_),
        )

    def row(self, number: int) -> NewModel:
        """Return what the store keeps of it, as the model ``number``."""
        return NewModel(
            number=number,
            kind="codes",
            method=self.wanted.encoder,
            published=self.published,
            source="labels" if self.model.weights_ is not None else "",
            threshold=0.0,
            settings=self.wanted.settings,
            figures=self.figures,
            held_back=self.held_back,
            learned_from=self.learned_from,
        )


def teach_codes(
    wanted: CodesWanted, ranker: Ranker, labels: Labels, progress: Progress
) -> CodesLesson | CodesTrial:
    """Learn codes on most pictures, and measure by the others what an exact search would find.

    Pictures that share a label say what the bits are worth; an encoder that needs no labels can
    do without. Where nothing can be learned, the trial says why.
    """
    ids = ranker.plain.ids
    if len(ids) < LEAST_PICTURES:
        return CodesTrial.failed(
            f"learn: codes need at least {LEAST_PICTURES} pictures; there are {len(ids)}. Every "
            f"search is exact until then."
        )
    rng = generator(wanted.random_state)
    held = np.sort(rng.choice(ids, min(QUERIES, len(ids) // 5), replace=False))
    train = _sample(np.setdiff1d(ids, held), labels, rng)
    relevance = Relevance.of([set(labels.get(number, ())) for number in train.tolist()])
    learnable = relevance.trainable() is None
    if ENCODERS.get(wanted.encoder).needs_labels and not learnable:
        others = [name for name in ENCODERS.names if not ENCODERS.get(name).needs_labels]
        return CodesTrial.failed(
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
        return CodesTrial.failed(f"learn: {error}")
    return CodesLesson(model, wanted, measured(model, wanted, ranker, held), held, train)


def measure_again(codes: Candidates, ranker: Ranker, database: Database) -> CodesLesson:
    """Measure the codes in use again, beside what a ranker finds now."""
    _, settings = models.settings_of(database, codes.number)
    wanted = CodesWanted.read(settings)
    held, learned_from = models.sides(database, codes.number) or (ranker.plain.ids[:0],) * 2
    held = held[np.isin(held, ranker.plain.ids)]
    if not held.size:
        held = ranker.plain.ids[:QUERIES]
    figures = measured(codes.similarity, wanted, ranker, held)
    return CodesLesson(codes.similarity, wanted, figures, held, learned_from, in_use=True)


def measured(
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
    asked = ranker.asked(vectors, learned=learned)
    ones = np.unpackbits(model.codes(asked), axis=1, count=model.bits)
    weights = model.bit_weights(asked)
    # As inner products with the bits: the distances less a constant.
    signed = np.where(ones, weights, -weights)
    ranks = []
    for row, number in enumerate(held.tolist()):
        scores = index.scores(signed[row : row + 1], index.ids)[0]
        best = hits.ids[row][hits.ids[row] >= 0]
        # Ids rise, as the codes were made in their order.
        found = scores[np.searchsorted(index.ids, best)]
        others = np.sort(-scores[index.ids != number])
        ranks.append(np.searchsorted(others, -found, side="right"))
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
    """Return at most ``MOST_TO_FIT`` pictures to learn from, labelled ones first."""
    if len(ids) <= MOST_TO_FIT:
        return ids
    labelled = np.array([bool(labels.get(number)) for number in ids.tolist()])
    order = np.lexsort((rng.permutation(len(ids)), ~labelled))
    return np.sort(ids[order[:MOST_TO_FIT]])
