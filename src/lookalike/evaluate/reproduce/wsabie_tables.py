"""Tables 1 to 7 of paper 2 and the k-NN of its section 6.4, the paper's figures beside ours."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lookalike.annotation.base import Annotator
from lookalike.annotation.wsabie import WSABIE
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
MODELS = {"embedding": "W_iᵀVx", "linear": "w_iᵀx"}


def table_1(study: Study, name: str, notes: tuple[str, ...]) -> Table:
    """Return the numbers of pictures, words and siblings."""
    words = words_by_use(study.train)
    siblings: Cell = None
    if study.tree is not None:
        siblings = f"{study.tree.median_siblings(words):g}"
    ours: list[Cell] = [
        len(study.train),
        len(study.test),
        len(study.check),
        len(words),
        siblings,
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
