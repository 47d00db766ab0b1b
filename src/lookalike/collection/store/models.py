"""What was learned, as the tables keep it: how each model was made and judged, which are in use."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, now, numbers
from lookalike.core.evidence import Difference
from lookalike.core.text import counted


@dataclass(frozen=True, slots=True)
class Figures:
    """How well held-back pictures rank each other, or words (paper 1, section 5.1).

    ``queries`` is how many of them have something to be found, and so could be judged.
    """

    mean_average_precision: float
    precision_at_1: float
    precision_at_10: float
    queries: int


@dataclass(frozen=True)
class Gain:
    """How much better held-out pictures rank each other by what was learned, paired by query.

    Few labels are cross-validated, so ``pictures`` may be more than were held out from the model.
    """

    mean_average_precision: Difference
    precision_at_1: Difference
    pictures: int

    @property
    def is_certain(self) -> bool:
        """Whether more is found by more than chance, and the first is right about as often."""
        return self.mean_average_precision.is_gain and not self.precision_at_1.is_loss

    @property
    def is_better(self) -> bool:
        """Whether more is found, and the first is right about as often."""
        return self.mean_average_precision.mean > 0 and not self.precision_at_1.is_loss

    def __str__(self) -> str:
        return (
            f"mean average precision {self.mean_average_precision}, "
            f"precision at 1 {self.precision_at_1}, judged by {counted(self.pictures, 'picture')}"
        )

    @property
    def short(self) -> str:
        """The same in fewer letters, for a line of the page."""
        return (
            f"mAP {self.mean_average_precision}, P@1 {self.precision_at_1}, "
            f"judged by {counted(self.pictures, 'picture')}"
        )

    @property
    def fault(self) -> str:
        """What keeps the similarity from being used, as a verb phrase."""
        if self.mean_average_precision.is_loss:
            return "ranks worse than the one in use"
        if self.mean_average_precision.mean > 0 and self.precision_at_1.is_loss:
            return "loses too many first matches"
        return "is not clearly better than the one in use"


def gain_text(before: Figures | None, after: Figures | None, gain: Gain | None) -> str:
    """Return what a model gained, as the gate saw it; words are compared without an error."""
    if gain is not None:
        return gain.short
    if before is None or after is None:
        return ""
    average = after.mean_average_precision - before.mean_average_precision
    first = after.precision_at_1 - before.precision_at_1
    judged = counted(after.queries, "picture")
    return f"mAP {average:+.3f}, P@1 {first:+.3f}, judged by {judged}"


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """How many candidates binary codes find for a search, and how many of the best are among them.

    Attributes
    ----------
    candidates : int
        Pictures that codes find; those are ranked by all that was learned.
    chosen : bool
        Whether their number was chosen by the recall, and not given.
    recall : float
        The share of the ``nearest`` pictures of an exact search that is among them, the mean over
        ``queries`` pictures that the codes were not learned from.
    nearest, queries, pictures : int
        ``pictures`` are those searched among.
    bits : int
        The length of a code.
    fingerprint : str
        That of the codes.
    learned : bool
        Whether codes are asked with the query as the similarity turns it: whichever needs fewer
        candidates.
    """

    candidates: int
    chosen: bool
    recall: float
    nearest: int
    queries: int
    pictures: int
    bits: int
    fingerprint: str
    learned: bool = False

    def __str__(self) -> str:
        return (
            f"recall@{self.nearest} of exact search {self.recall:.3f} with "
            f"{counted(self.candidates, 'candidate')} of {counted(self.pictures, 'picture')}, on "
            f"{counted(self.queries, 'held-out query', 'held-out queries')}"
        )


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What was learned once, and how it was judged.

    Attributes
    ----------
    number : int
    kind : str
        ``similarity``, ``words`` or ``codes``.
    method : str
        What it was learned by, as ``oasis``.
    ranker : str
        The ranker it was learned for.
    made : str
        When, in UTC.
    settings : dict
    before, after : Figures or None
        What was in use then and what was learned, on the pictures held out; None for codes.
    published, current : bool
        Whether it came into use, and whether it is in use now.
    codes : CodeFigures or None
        How well codes find candidates; None for other models.
    gain : Gain or None
        What decided whether a similarity is used; None for words, and for models of older versions.
    """

    number: int
    kind: str
    method: str
    ranker: str
    made: str
    settings: dict[str, Any]
    before: Figures | None
    after: Figures | None
    published: bool
    current: bool
    codes: CodeFigures | None = None
    gain: Gain | None = None

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty for codes."""
        return gain_text(self.before, self.after, self.gain)


Ids = NDArray[np.int64]

Kind: TypeAlias = Literal["similarity", "words", "codes"]

IN_USE: dict[Kind, str] = {"similarity": "similarity", "words": "annotator", "codes": "codes"}
"""The column of a ranker that names the model in use."""


@dataclass(frozen=True)
class NewModel:
    """A model to be kept, whether it is published or not.

    ``settings`` are the learner's as JSON; ``held_back`` and ``learned_from`` the pictures it was
    judged by and learned from. ``figures`` are those of before and after, or those of codes;
    ``gain`` is what decided whether a similarity is published.
    """

    number: int
    kind: Kind
    method: str
    published: bool
    source: str
    threshold: float
    settings: str
    figures: tuple[Figures, Figures] | CodeFigures
    held_back: Ids
    learned_from: Ids
    gain: Gain | None = None


def models(database: Database) -> list[ModelRow]:
    """Return what was learned, oldest first."""
    current = {
        number
        for pair in database.rows("SELECT similarity, annotator, codes FROM rankers")
        for number in pair
    }
    names = dict(database.rows("SELECT id, name FROM rankers"))
    rows = database.rows(
        "SELECT number, kind, method, ranker, made, settings, figures, published FROM models "
        "ORDER BY number"
    )
    found = []
    for number, kind, method, ranker, made, settings, figures, published in rows:
        with database.parsing(f"model {number}"):
            stored = json.loads(figures)
            judged, gain = _figures(stored), _gain(stored)
            known = dict(json.loads(settings))
        found.append(
            ModelRow(
                number=number,
                kind=kind,
                method=method,
                ranker=names.get(ranker, ""),
                made=made,
                settings=known,
                before=None if isinstance(judged, CodeFigures) else judged[0],
                after=None if isinstance(judged, CodeFigures) else judged[1],
                published=bool(published),
                current=number in current,
                codes=judged if isinstance(judged, CodeFigures) else None,
                gain=gain,
            )
        )
    return found


def in_use(database: Database, ranker: int) -> dict[Kind, int]:
    """Return the numbers of the models that a ranker uses."""
    row = database.row("SELECT similarity, annotator, codes FROM rankers WHERE id = ?", ranker)
    found = zip(IN_USE, row or (None, None, None), strict=True)
    return {kind: int(number) for kind, number in found if number is not None}


def before_the_last_run(database: Database) -> dict[tuple[int, Kind], tuple[int | None, bool]]:
    """Return what was in use before the last run of ``learn``, for each ranker and kind it changed.

    That is a number, None for none, and whether its file is kept.
    """
    rankers = database.rows("SELECT id, similarity, annotator, codes FROM rankers")
    current = {
        (ranker, kind): number
        for ranker, *pair in rankers
        for kind, number in zip(IN_USE, pair, strict=True)
        if number is not None
    }
    rows = database.rows(
        "SELECT number, run, previous, previous IS NULL OR "
        "EXISTS (SELECT 1 FROM models WHERE number = m.previous AND file IS NOT NULL) "
        "FROM models AS m WHERE number IN (SELECT value FROM json_each(?))",
        numbers(current.values()),
    )
    found = {number: (run, previous, bool(kept)) for number, run, previous, kept in rows}
    known = {place: found.get(number, (0, None, True)) for place, number in current.items()}
    last = max((run for run, _, _ in known.values()), default=0)
    return {
        place: (previous, kept) for place, (run, previous, kept) in known.items() if run == last
    }


def settings_of(database: Database, number: int) -> tuple[str, str]:
    """Return the method a model was learned by, and its settings as JSON."""
    row = database.row("SELECT method, settings FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        if row is None:
            return "", "{}"
        return str(row[0]), json.dumps(dict(json.loads(row[1])), sort_keys=True)


def source_of(database: Database, number: int | None) -> tuple[str, float]:
    """Return what a model was learned from, and the threshold of its clicks."""
    row = database.row("SELECT source, threshold FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return ("", 0.0) if row is None else (str(row[0]), float(row[1]))


def last_model(database: Database, kind: Kind, ranker: int | None = None) -> int | None:
    """Return the number of what was learned last, published or not, by a ranker or by any."""
    rows = database.rows(
        "SELECT max(number) FROM models WHERE kind = ?1 AND (?2 IS NULL OR ranker = ?2)",
        *(kind, ranker),
    )
    return None if rows[0][0] is None else int(rows[0][0])


def model_files(database: Database) -> list[int]:
    """Return the numbers of the models whose files are kept."""
    rows = database.rows("SELECT number FROM models WHERE file IS NOT NULL")
    return [number for (number,) in rows]


def next_model(database: Database) -> int:
    """Return the number of the model to be learned next."""
    row = database.row("SELECT seq FROM sqlite_sequence WHERE name = 'models'")
    return 1 if row is None else int(row[0]) + 1


def sides(database: Database, number: int | None) -> tuple[Ids, Ids] | None:
    """Return the pictures a model was judged by and those it learned from."""
    row = database.row("SELECT held_back, learned_from FROM models WHERE number = ?", number)
    if row is None:
        return None
    with database.parsing(f"model {number}"):
        return np.frombuffer(row[0], "<i8"), np.frombuffer(row[1], "<i8")


def keep_run(
    connection: Connection, ranker: int, run: Sequence[NewModel], previous: Mapping[Kind, int]
) -> None:
    """Store how the models of a run were learned and judged, and use those that are published.

    ``previous`` are the models in use so far; of each kind, the file of that one is kept too.
    """
    for model in run:
        before = previous.get(model.kind)
        connection.execute(
            "INSERT INTO models (number, ranker, kind, method, run, file, previous, published, "
            "source, threshold, settings, figures, held_back, learned_from, made) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(model.number, ranker, model.kind, model.method, run[0].number),
                f"models/{model.number}.safetensors" if model.published else None,
                *(before, model.published, model.source, model.threshold, model.settings),
                _figures_text(model.figures, model.gain),
                model.held_back.astype("<i8").tobytes(),
                model.learned_from.astype("<i8").tobytes(),
                now(),
            ),
        )
        if model.published:
            use_model(connection, ranker, model.kind, model.number)
            connection.execute(
                "UPDATE models SET file = NULL "
                "WHERE kind = ? AND ranker = ? AND number NOT IN (?, ?)",
                (model.kind, ranker, model.number, before or 0),
            )


def use_model(connection: Connection, ranker: int, kind: Kind, number: int | None) -> None:
    """Make a ranker use a model, or none."""
    connection.execute(
        f"UPDATE rankers SET {IN_USE[kind]} = ? WHERE id = ?",  # noqa: S608
        (number, ranker),
    )


def go_back(connection: Connection, ranker: int, kind: Kind, number: int | None) -> None:
    """Make a ranker use an earlier model, or none, and keep no file of later ones."""
    use_model(connection, ranker, kind, number)
    connection.execute(
        "UPDATE models SET file = NULL WHERE kind = ? AND ranker = ? AND number > ?",
        (kind, ranker, number or 0),
    )


def drop_models(connection: Connection, ranker: int) -> None:
    """Make a ranker use none of what was learned any more, and keep no file of it."""
    for kind in IN_USE:
        use_model(connection, ranker, kind, None)
    connection.execute("UPDATE models SET file = NULL WHERE ranker = ?", (ranker,))


def code_figures(database: Database, number: int) -> CodeFigures:
    """Return how many candidates the model of codes ``number`` finds, and how well."""
    row = database.row("SELECT figures FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        found = None if row is None else _figures(json.loads(row[0]))
        if not isinstance(found, CodeFigures):
            raise ValueError(f"model {number} has no figures of codes")
    return found


def _figures_text(figures: tuple[Figures, Figures] | CodeFigures, gain: Gain | None) -> str:
    if isinstance(figures, CodeFigures):
        return json.dumps(asdict(figures))
    before, after = map(asdict, figures)
    # Older versions read what they know of the second, and no third.
    return json.dumps([before, after if gain is None else {**after, "gain": asdict(gain)}])


def _gain(stored: Any) -> Gain | None:
    kept = stored[1].get("gain") if isinstance(stored, list) else None
    if kept is None:
        return None
    average, first = (
        Difference(float(kept[name]["mean"]), float(kept[name]["error"]))
        for name in ("mean_average_precision", "precision_at_1")
    )
    return Gain(average, first, int(kept["pictures"]))


def _figures(stored: Any) -> tuple[Figures, Figures] | CodeFigures:
    if isinstance(stored, dict):
        return CodeFigures(
            candidates=int(stored["candidates"]),
            chosen=bool(stored["chosen"]),
            recall=float(stored["recall"]),
            nearest=int(stored["nearest"]),
            queries=int(stored["queries"]),
            pictures=int(stored["pictures"]),
            bits=int(stored["bits"]),
            fingerprint=str(stored["fingerprint"]),
            learned=bool(stored["learned"]),
        )
    before, after = map(_ranked, stored)
    return before, after


def _ranked(stored: dict[str, float]) -> Figures:
    means = ("mean_average_precision", "precision_at_1", "precision_at_10")
    first, second, third = (float(stored[name]) for name in means)
    return Figures(first, second, third, int(stored["queries"]))
