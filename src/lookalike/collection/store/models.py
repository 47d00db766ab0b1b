"""What was learned, as the tables keep it: how each model was made and judged, which are in use."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, now, numbers
from lookalike.collection.store.teachers import Teachers, in_place_of
from lookalike.core.evidence import Difference
from lookalike.core.stored import Stored
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

    @property
    def is_no_worse(self) -> bool:
        """Whether as much is found, and the first is right about as often."""
        return self.mean_average_precision.mean >= 0 and not self.precision_at_1.is_loss

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


def _gain_text(before: Figures | None, after: Figures | None, gain: Gain | None) -> str:
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
class Trial:
    """What learning one thing came to: a similarity, words or codes.

    Attributes
    ----------
    before, after : Figures or None
        What was in use and what was newly learned, on the pictures held out; None for codes, and
        where nothing could be learned.
    published : bool
        Whether what was learned is used. A similarity must be better in mean average precision by
        more than chance and no worse in precision at 1 by more than one standard error, both of
        the paired differences; ``reason`` has them. Words must be at least as good in both; the
        first words must be better, in mean average precision, than ranking them by how common
        they are. Codes must need no more than half of the pictures as candidates, or the number of
        candidates was given.
    reason : str
        Why it is published or not, or why nothing could be learned, in a sentence.
    pictures, labels : int
        Pictures of which something is known, held-back ones among them; labels, queries or words.
        For codes, pictures that they were learned from, and labels that weigh their bits.
    held_back : int
        Pictures not learned from.
    model : int or None
        The number of the new model, if it was published.
    method : str
        What learned it, as ``oasis``, ``ridge`` or ``s3plh``; empty where nothing could be learned.
    tried : dict
        For words, the figures of every annotator that was trained to choose from, by name.
    gain : Gain or None
        What decided whether a similarity is used; None for others.
    figures : CodeFigures or None
        How well codes find candidates; None for others.
    retired : bool
        Whether what was in use ranks worse than the start, so that searches go back to that.
    """

    before: Figures | None
    after: Figures | None
    published: bool
    reason: str
    pictures: int
    labels: int
    held_back: int
    model: int | None = None
    method: str = ""
    tried: dict[str, Figures] = field(default_factory=dict)
    gain: Gain | None = None
    figures: CodeFigures | None = None
    retired: bool = False

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty for codes, and where nothing was learned."""
        return _gain_text(self.before, self.after, self.gain)

    @classmethod
    def failed(cls, why: str, pictures: int = 0, labels: int = 0) -> "Trial":
        """Return the trial of something that could not be learned."""
        return cls(None, None, False, why, pictures, labels, 0)


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
    people : tuple of str
        Those besides the owner whose labels it learned from.
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
    people: tuple[str, ...] = ()

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty for codes."""
        return _gain_text(self.before, self.after, self.gain)


Ids = NDArray[np.int64]

NO_IDS = np.zeros(0, np.int64)

Kind: TypeAlias = Literal["similarity", "words", "codes"]

IN_USE: dict[Kind, str] = {"similarity": "similarity", "words": "annotator", "codes": "codes"}
"""The column of a ranker that names the model in use."""


@dataclass(frozen=True)
class NewModel:
    """What was learned once, to be kept whether it is published or not.

    ``model`` is None where nothing could be learned, and nothing is kept. ``settings`` are the
    learner's; ``held_back`` and ``learned_from`` the pictures it was judged by and learned from.
    """

    kind: Kind
    trial: Trial
    model: Stored | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    threshold: float = 0.0
    held_back: Ids = field(default_factory=lambda: NO_IDS)
    learned_from: Ids = field(default_factory=lambda: NO_IDS)
    number: int = 0

    def numbered(self, number: int) -> "NewModel":
        """Return the same with the number that its row and file get."""
        model = number if self.trial.published else None
        return replace(self, number=number, trial=replace(self.trial, model=model))


def models(database: Database) -> list[ModelRow]:
    """Return what was learned, oldest first."""
    current = {
        number
        for (ranker,) in database.rows("SELECT id FROM rankers")
        for number in in_use(database, ranker).values()
    }
    names = dict(database.rows("SELECT id, name FROM rankers"))
    rows = database.rows(
        "SELECT number, kind, method, ranker, made, settings, figures, published, people "
        "FROM models ORDER BY number"
    )
    stored = []
    for number, kind, method, ranker, made, settings, figures, published, taught in rows:
        with database.parsing(f"model {number}"):
            before, after, gain, codes = _figures(figures)
            own, whose = dict(json.loads(settings)), tuple(json.loads(taught))
        stored.append(
            ModelRow(
                *(number, kind, method, names.get(ranker, ""), made, own, before, after),
                published=bool(published),
                current=number in current,
                codes=codes,
                gain=gain,
                people=whose,
            )
        )
    return stored


def in_use(database: Database, ranker: int) -> dict[Kind, int]:
    """Return the numbers of the models that a ranker uses."""
    row = database.row("SELECT similarity, annotator, codes FROM rankers WHERE id = ?", ranker)
    other = in_place_of(database)
    named = zip(IN_USE, row or (None, None, None), strict=True)
    used = {kind: other.get(number, number) for kind, number in named}
    return {kind: int(number) for kind, number in used.items() if number is not None}


def before_the_last_run(database: Database) -> dict[tuple[int, Kind], tuple[int | None, bool]]:
    """Return what was in use before the last run of ``learn``, for each ranker and kind it changed.

    That is a number, None for none, and whether its file is kept.
    """
    current = {
        (ranker, kind): number
        for (ranker,) in database.rows("SELECT id FROM rankers")
        for kind, number in in_use(database, ranker).items()
    }
    rows = database.rows(
        "SELECT number, run, previous, previous IS NULL OR "
        "EXISTS (SELECT 1 FROM models WHERE number = m.previous AND file IS NOT NULL) "
        "FROM models AS m WHERE number IN (SELECT value FROM json_each(?))",
        numbers(current.values()),
    )
    result = {number: (run, previous, bool(is_kept)) for number, run, previous, is_kept in rows}
    known = {place: result.get(number, (0, None, True)) for place, number in current.items()}
    last = max((run for run, _, _ in known.values()), default=0)
    return {
        place: (previous, is_kept)
        for place, (run, previous, is_kept) in known.items()
        if run == last
    }


def settings_of(database: Database, number: int) -> tuple[str, dict[str, Any]]:
    """Return the method a model was learned by, and its settings."""
    row = database.row("SELECT method, settings FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return ("", {}) if row is None else (str(row[0]), dict(json.loads(row[1])))


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
    """Return the pictures a model was judged by and those it learned from; None for no model."""
    if number is None:
        return None
    row = database.row("SELECT held_back, learned_from FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        if row is None:
            raise ValueError("it is missing")
        return np.frombuffer(row[0], "<i8"), np.frombuffer(row[1], "<i8")


def keep_run(
    connection: Connection,
    ranker: int,
    run: Iterable[NewModel],
    previous: Mapping[Kind, int],
    teachers: Teachers,
) -> None:
    """Store how the models of a run were learned and judged, and use those that are published.

    ``previous`` are the models in use so far; of each kind, the file of that one is kept too, and
    that of the last one before which learned from the owner alone. ``teachers`` are those whose
    labels the run learned from.
    """
    learned = [new for new in run if new.model is not None]
    for new in learned:
        trial, before = new.trial, previous.get(new.kind)
        connection.execute(
            "INSERT INTO models (number, ranker, kind, method, run, file, previous, published, "
            "source, threshold, settings, figures, held_back, learned_from, made, people, seen) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(new.number, ranker, new.kind, trial.method, learned[0].number),
                f"models/{new.number}.safetensors" if trial.published else None,
                *(before, trial.published, new.source, new.threshold),
                json.dumps(new.settings, sort_keys=True),
                _figures_text(trial),
                new.held_back.astype("<i8").tobytes(),
                new.learned_from.astype("<i8").tobytes(),
                now(),
                json.dumps(dict(teachers.people) if new.source == "labels" else {}),
                teachers.seen,
            ),
        )
        if trial.published:
            use_model(connection, ranker, new.kind, new.number)
            connection.execute(
                "UPDATE models SET file = NULL "
                "WHERE kind = ?1 AND ranker = ?2 AND number NOT IN (?3, ?4, (SELECT "
                "ifnull(max(number), 0) FROM models WHERE kind = ?1 AND ranker = ?2 "
                "AND number <= ?4 AND file IS NOT NULL AND people = '{}'))",
                (new.kind, ranker, new.number, before or 0),
            )
        elif trial.retired:
            go_back(connection, ranker, new.kind, None)


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
        codes = None if row is None else _figures(row[0])[3]
        if codes is None:
            raise ValueError(f"model {number} has no figures of codes")
    return codes


def _figures_text(trial: Trial) -> str:
    """Return the figures of a trial as JSON: those of codes, or before and after with the gain."""
    if trial.figures is not None:
        return json.dumps(asdict(trial.figures))
    if trial.before is None or trial.after is None:
        raise ValueError("the trial has no figures")
    gain = {} if trial.gain is None else {"gain": asdict(trial.gain)}
    return json.dumps([asdict(trial.before), {**asdict(trial.after), **gain}])


def _figures(text: str) -> tuple[Figures | None, Figures | None, Gain | None, CodeFigures | None]:
    """Return what ``_figures_text`` wrote."""
    stored = json.loads(text)
    if isinstance(stored, dict):
        types = CodeFigures.__annotations__
        return None, None, None, CodeFigures(**{name: types[name](stored[name]) for name in types})
    before, after = (_ranked(side) for side in stored)
    gain = stored[1].get("gain")
    return before, after, None if gain is None else _gain(gain), None


def _ranked(stored: dict[str, float]) -> Figures:
    means = ("mean_average_precision", "precision_at_1", "precision_at_10")
    first, second, third = (float(stored[name]) for name in means)
    return Figures(first, second, third, int(stored["queries"]))


def _gain(stored: dict[str, Any]) -> Gain:
    average, first = (
        Difference(float(stored[name]["mean"]), float(stored[name]["error"]))
        for name in ("mean_average_precision", "precision_at_1")
    )
    return Gain(average, first, int(stored["pictures"]))
