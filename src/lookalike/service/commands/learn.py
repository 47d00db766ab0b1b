"""The command ``lookalike learn``, and how what it learned is told."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.service.figures import figures_table
from lookalike.service.options import HERE, AsJson, Seed, Where
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Learned

SHOWN_UNMATCHED = 10


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not above 0 and below 1.")
    return value


def learn(
    *,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--tags",
            "--labels",
            metavar="FILE",
            help="A .csv, .tsv or .json file of tags or labels.",
        ),
    ] = None,
    folders: Annotated[
        bool,
        typer.Option(
            "--folders",
            help="Take the folder of a picture for its label, in place of labels given before.",
        ),
    ] = False,
    clicks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .csv file of queries and files chosen.")
    ] = None,
    hold_back: Annotated[
        float,
        typer.Option(
            callback=_share,
            help="The share of the labelled pictures kept for judging; above 0, below 1.",
        ),
    ] = 0.2,
    threshold: Annotated[
        float,
        typer.Option(
            min=0, help="How alike clicks must make two pictures, more than this, to count."
        ),
    ] = 0.0,
    seed: Seed = 0,
    collection: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Learn what similar means and what pictures are called, from tags, folders or clicks.

    Tags and folders teach both; clicks teach no words. What is learned is judged on pictures
    held back, before and after, and used only if it ranks at least as well as what it would
    replace; the first words, as ranking them by how common they are. Without a source, what was
    given before is used again.
    """
    from lookalike.collection import Collection

    if labels is None and clicks is None and not folders:
        _check_known(collection)
    screen = Screen(as_json)
    stop = "The collection is as it was before; run the same command again to learn."
    with kept(stop), Collection.open(collection) as store, screen.bar("Learning") as progress:
        learned = store.learn(
            None if labels is None else _labels(labels),
            folders=folders,
            clicks=None if clicks is None else _clicks(clicks),
            threshold=threshold,
            hold_back=hold_back,
            random_state=seed,
            progress=progress,
        )
    tell_learned(screen, learned)
    if learned.unmatched:
        shown = learned.unmatched[:SHOWN_UNMATCHED]
        rest = len(learned.unmatched) - len(shown)
        screen.table(
            ["not in the collection"],
            [[name] for name in shown] + ([[f"… and {rest:,} more"]] if rest else []),
            title=f"{len(learned.unmatched):,} rows name no picture of the collection",
        )
    screen.result({"collection": collection, **asdict(learned)})


def tell_learned(screen: Screen, learned: "Learned") -> None:
    """Show what learning came to, the similarity and the words."""
    for what, trial in (("Ranking", learned.similarity), ("Words", learned.words)):
        if trial is None:
            continue
        if trial.before is None or trial.after is None:
            screen.say(f"{what}: nothing new. {trial.reason}")
            continue
        figures_table(screen, trial.before, trial.after, what=what)
        names = "words" if trial is learned.words else "labels"
        screen.say(
            f"Learned from {trial.pictures:,} pictures with {trial.labels:,} {names}.",
            trial.reason,
        )


def _labels(path: Path) -> dict[str | Path, Sequence[str]]:
    from lookalike.supervision import read_labels

    return dict(read_labels(path).items())


def _clicks(path: Path) -> dict[str, dict[str | Path, float]]:
    from lookalike.supervision import read_clicks

    queries, files, weights = read_clicks(path)
    chosen: dict[str, dict[str | Path, float]] = {query: {} for query in queries}
    table = weights.tocoo()
    for row, column, weight in zip(table.row, table.col, table.data, strict=True):
        chosen[queries[row]][files[column]] = float(weight)
    return chosen


def _check_known(place: Path) -> None:
    """Refuse to learn from nothing."""
    from lookalike.collection import Collection

    with Collection.open(place) as store:
        if not store.labels() and not store.models():
            raise InvalidInput(
                f"learn: {place} knows nothing to learn from yet. Give --tags FILE, --folders "
                f"or --clicks FILE."
            )
