"""Tables 1 to 8 of paper 2 and the k-NN of its section 6.4, the paper's figures beside ours."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lookalike.annotation.base import Annotator
from lookalike.annotation.neighbours import StoredPictures
from lookalike.annotation.wsabie import WSABIE
from lookalike.core.text import word_key
from lookalike.core.vectors import unit_rows
from lookalike.evaluate.reproduce import wsabie_paper as paper
from lookalike.evaluate.reproduce.wsabie_methods import (
    Judged,
    Study,
    seconds_to_rank,
    settings_of,
    words_by_use,
)
from lookalike.evaluate.tables import Cell, Table
from lookalike.supervision import TagTree

SHOWN_WORDS, SHOWN_NEIGHBOURS = 11, 8
EXAMPLES = 6
MAX_RANK = 200
"""Neighbours among which one is caught."""

MODELS = {"embedding": "W_iᵀVx", "linear": "w_iᵀx"}


def table_1(study: Study, name: str, notes: tuple[str, ...]) -> Table:
    """Return the numbers of pictures, words and siblings."""
    words = words_by_use(study.train)
    commonest = np.mean([words[0] in some for some in study.train.y])
    siblings: Cell = None
    if study.tree is not None:
        siblings = f"{study.tree.median_siblings(words):g}"
    ours: list[Cell] = [
        len(study.train),
        len(study.test),
        len(study.check),
        len(words),
        siblings,
        f"{100 * commonest:.2f}",
    ]
    rows: list[list[Cell]] = [
        [what, own, *theirs] for own, (what, *theirs) in zip(ours, paper.TABLE_1, strict=True)
    ]
    return Table(["number of", name, *paper.SETS], rows, title="Table 1: the data", notes=notes)


def table_2(study: Study, outcome: Mapping[str, Judged]) -> Table:
    """Compare the methods of section 6.3 with WSABIE."""
    rows: list[list[Cell]] = []
    for name, judged in outcome.items():
        theirs = paper.TABLE_2.get(name, ((None,) * 4, (None,) * 4))
        rows.append([name, *judged.percent(), *theirs[0], *theirs[1], settings_of(judged.model)])
    settings = len(study.plan.neighbours)
    return Table(
        ["algorithm", *paper.MEASURES, *_heads(paper.MEASURES), "chosen"],
        rows,
        title="Table 2: test part, in %",
        notes=(
            f"{_errors(study, outcome['WSABIE'])} Settings are those of largest mean average "
            f"precision on the validation part, of {settings} for each method, D and leaf.",
            *_no_tree(study),
        ),
        digits=2,
    )


def table_3(study: Study, model: WSABIE) -> Table:
    """Return the words nearest to the most frequent ones."""
    rows: list[list[Cell]] = []
    for word in words_by_use(study.train)[:SHOWN_WORDS]:
        near = [name for name, _ in model.related_words(word, SHOWN_NEIGHBOURS)]
        alike = _siblings(study.tree, word, near)
        shown = (f"*{name}*" if name in alike else name for name in near)
        rows.append([word, ", ".join(shown)])
    notes = [
        f"The {len(rows)} most frequent words; *siblings* are between asterisks. In the paper, on "
        f"Web-data: {'; '.join(paper.TABLE_3)}."
    ]
    return Table(["word", "nearest words"], rows, title="Table 3: nearest words", notes=notes)


def table_4(study: Study, outcome: Mapping[int, Judged]) -> Table:
    """Compare dimensions of the embedding."""
    rows: list[list[Cell]] = []
    for dimension, judged in outcome.items():
        theirs = paper.TABLE_4.get(dimension, (None,) * 4)
        rows.append([dimension, *judged.percent(), *theirs, settings_of(judged.model)])
    return Table(
        ["D", *paper.MEASURES, *_heads(paper.MEASURES)[:4], "chosen"],
        rows,
        title="Table 4: WSABIE by dimension, test part, in %",
        notes=_no_tree(study),
        digits=2,
    )


def table_5(outcome: Mapping[tuple[str, str], Judged]) -> Table:
    """Compare the WARP and the AUC loss."""
    rows: list[list[Cell]] = []
    for (model, loss), judged in outcome.items():
        theirs = paper.TABLE_5[model, loss]
        ours = judged.percent()[:2]
        shown = settings_of(judged.model)
        rows.append([MODELS[model], loss.upper(), *ours, *theirs[0], *theirs[1], shown])
    return Table(
        ["model", "loss", *paper.MEASURES[:2], *_heads(paper.MEASURES[:2]), "chosen"],
        rows,
        title="Table 5: WARP and AUC, test part, in %",
        digits=2,
    )


def table_6(study: Study, models: Mapping[str, Annotator]) -> Table:
    """Measure how long ranking takes and how large the models are."""
    rows: list[list[Cell]] = []
    for name, model in models.items():
        time, space, image_net, web = paper.TABLE_6[name]
        seconds = seconds_to_rank(model, study.test.X)
        each = 1000 * seconds / len(study.test)
        size = size_of(model) / 1e6
        rows.append([name, time, space, seconds, each, size, *image_net, *web])
    heads = [f"{one} {what}" for one in paper.SETS for what in ("time", "space")]
    return Table(
        ["algorithm", "time", "space", "s", "ms per picture", "MB", *heads],
        rows,
        title="Table 6: time and space to tag the test part",
        notes=(
            f"Ours: the 10 best words of {len(study.test):,} pictures, and the model's file. "
            f"n training pictures, Y words, d the length of a vector and d_ø its nonzero values, "
            f"D the dimension of the embedding ({study.plan.dimensions[0]} here, 100 in the "
            f"paper), p the depth of the tree.",
        ),
        digits=3,
    )


def table_7(study: Study, outcome: Mapping[tuple[int, ...], tuple[Judged, str]]) -> Table:
    """Compare ensembles of embeddings of several dimensions."""
    rows: list[list[Cell]] = []
    for dimensions, (judged, weights) in outcome.items():
        theirs = paper.TABLE_7.get(dimensions, (None,) * 4)
        name = " + ".join(f"WSABIE-{dimension}" for dimension in dimensions)
        rows.append([name, *judged.percent(), *theirs, weights])
    return Table(
        ["ensemble", *paper.MEASURES, *_heads(paper.MEASURES)[:4], "λ"],
        rows,
        title="Table 7: ensembles, test part, in %",
        notes=(
            "λ chosen from a grid by mean average precision on the validation part.",
            *_no_tree(study),
        ),
        digits=2,
    )


def table_of_neighbours(study: Study, outcome: Mapping[int | None, Judged]) -> Table:
    """Compare approximate k-NN by its leaves with exact k-NN (section 6.4)."""
    rows: list[list[Cell]] = []
    for leaf, judged in outcome.items():
        rows.append(
            [
                "all: exact" if leaf is None else f"{leaf:,}",
                *judged.percent(),
                seconds_to_rank(judged.model, study.test.X),
                settings_of(judged.model),
            ]
        )
    text = ", ".join(f"{leaf:,}: {value}" for leaf, value in paper.LEAVES.items())
    return Table(
        ["pictures in a leaf", *paper.MEASURES, "s", "chosen"],
        rows,
        title="Section 6.4: k-NN, test part, in %",
        notes=(
            f"p@1 in the paper, on ImageNet with 2.5 million training pictures: {text}, exact: "
            f"{paper.EXACT[0]}; on Web-data exact: {paper.EXACT[1]}.",
        ),
        digits=2,
    )


def table_of_missed_neighbours(study: Study) -> Table:
    """Return what missing the first neighbour costs (section 6.4), exactly.

    The word of the nearest neighbour that is caught is right as often as its words are true.
    """
    stored = StoredPictures(unit_rows(study.train.X), None)
    rows, _ = stored.nearest(study.test.X, MAX_RANK)
    right = np.array(
        [
            [len(set(study.train.y[row]) & set(true)) / len(study.train.y[row]) for row in near]
            for near, true in zip(rows, study.test.y, strict=True)
        ]
    ).mean(axis=0)
    ranks = np.arange(len(right))
    cells: list[list[Cell]] = []
    for (what, percent), theirs in paper.MISSED.items():
        share = percent / 100
        if what == "first":
            chances = np.where(ranks == 0, share, np.where(ranks == 1, 1 - share, 0.0))
            name = f"first caught in {percent} %, else the second"
        else:
            chances = share * (1 - share) ** ranks
            name = f"each caught in {percent} %"
        cells.append([name, 100 * float(chances @ right), theirs])
    return Table(
        ["neighbour", "p@1", "p@1 ImageNet"],
        cells,
        title="Section 6.4, missed neighbours: 1-NN that misses some, test part, in %",
        notes=("Ours is the expectation over what is missed; the paper's has all its k.",),
        digits=2,
    )


def table_8(study: Study, models: Mapping[str, Annotator]) -> Table:
    """Return the first words of three methods for some test pictures, drawn at random."""
    rng = np.random.default_rng([study.seed, 8])
    rows: list[list[Cell]] = []
    for at in np.sort(rng.permutation(len(study.test))[:EXAMPLES]):
        true = {word_key(word) for word in study.test.y[at]}
        for name, model in models.items():
            words = [model.words_[i] for i in model.rank(study.test.X[at : at + 1], k=10).words[0]]
            alike = {word for one in study.test.y[at] for word in _siblings(study.tree, one, words)}
            shown = [
                f"**{one}**" if word_key(one) in true else f"*{one}*" if one in alike else one
                for one in words
            ]
            rows.append([study.names[at] if study.names else str(at), name, ", ".join(shown)])
    return Table(
        ["picture", "method", "first ten words"],
        rows,
        title="Table 8: words of example pictures",
        notes=("Test pictures drawn at random; **true words**, and *siblings* of one.",),
    )


def size_of(model: Annotator) -> int:
    """Return the bytes of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.stat().st_size


def _heads(measures: tuple[str, ...]) -> list[str]:
    return [f"{measure} {one}" for one in paper.SETS for measure in measures]


def _siblings(tree: TagTree | None, word: str, others: list[str]) -> set[str]:
    if tree is None:
        return set()
    groups = tree.groups([word, *others]).astype(np.float32)
    shared = (groups[1:] @ groups[0].T).toarray()[:, 0] > 0
    return {other for other, is_sibling in zip(others, shared, strict=True) if is_sibling}


def _errors(study: Study, judged: Judged) -> str:
    share = judged.figures.precision[1]
    error = 100 * np.sqrt(share * (1 - share) / judged.figures.pictures)
    return (
        f"{judged.figures.pictures:,} test pictures, so the p@1 of WSABIE is known to "
        f"± {error:.2f} (standard error)."
    )


def _no_tree(study: Study) -> tuple[str, ...]:
    return () if study.tree else ("Without an isa file there is no sibling precision.",)
