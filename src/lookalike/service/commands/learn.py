"""The command ``lookalike learn``: train the similarity and the annotator."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.service.figures import COMMONEST, COSINE, figures_table
from lookalike.service.options import HERE, AsJson, CollectionPath, Seed, or_another, read_settings
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Learned

SHOWN_UNMATCHED = 10


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} must be above 0 and below 1.")
    return value


def learn(
    *,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--tags",
            "--labels",
            metavar="FILE",
            help="A .csv, .tsv or .json file of labels.",
        ),
    ] = None,
    folders: Annotated[
        bool,
        typer.Option(
            "--folders",
            help="Use each picture's folder as its label, beside labels from other sources.",
        ),
    ] = False,
    clicks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .csv file of queries and the files chosen."),
    ] = None,
    hold_back: Annotated[
        float,
        typer.Option(
            callback=_share,
            help="Share of the labelled pictures held out for evaluation; above 0, below 1.",
        ),
    ] = 0.2,
    threshold: Annotated[
        float,
        typer.Option(min=0, help="Ignore co-click relevance at or below this."),
    ] = 0.0,
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="What learns the similarity: {similarities}."),
    ] = "oasis",
    words: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What learns words: {annotators}; or auto, the best of wsabie, ridge and linear "
            "on held-out pictures.",
        ),
    ] = "auto",
    feature: Annotated[
        str | None,
        typer.Option(metavar="RANKER", help="The ranker to train.", show_default="the first"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method. Repeatable."),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Learn binary codes that find candidates: {encoders}. Alone, learn nothing else.",
        ),
    ] = None,
    bits: Annotated[
        int | None, typer.Option(min=1, help="Bits of a code.", show_default="64")
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Candidates of a search by codes.",
            show_default="enough for a recall of .98",
        ),
    ] = None,
    seed: Seed = 0,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Learn what is similar and which words fit, from labels, folders or clicks.

    Labels and folders train the similarity and the annotator; clicks train only the similarity.
    Each new model is evaluated on held-out pictures. A similarity is used only if it ranks better
    than the one it would replace by more than chance; an annotator if it ranks at least as well,
    the first if it ranks words better than by how common they are. Without a source, the labels or
    clicks given before are used again. Labels that people gave by hand always count, and stay;
    what a file or the folders gave before is replaced, which lookalike undo takes back.

    With codes, searches keep codes in memory and vectors on disk: codes find candidates, and all
    that was learned ranks them. How many of the best pictures are found is measured and shown.
    """
    from lookalike.collection import Collection

    chosen = read_settings(settings)
    if labels is None and clicks is None and not folders and codes is None:
        _check_place(collection)
    screen = Screen(as_json)
    stop = "The collection is unchanged; run the same command again to learn."
    bar, other = screen.bar("Learning"), partial(or_another, option="--feature")
    with kept(stop), Collection.open(collection) as store, other(store), bar as progress:
        in_use = {
            model.kind: f"in use ({model.method})"
            for model in store.models.all()
            if model.current and model.ranker == (feature or store.models.rankers()[0].name)
        }
        learned = store.learn(
            None if labels is None else _labels(labels),
            folders=folders,
            clicks=None if clicks is None else _clicks(clicks),
            threshold=threshold,
            method=method,
            words=words,
            feature=feature,
            settings=chosen,
            hold_back=hold_back,
            codes=codes,
            bits=bits,
            candidates=candidates,
            random_state=seed,
            progress=progress,
        )
        weights = store.models.view_weights(feature)
    show_learned(screen, learned, in_use)
    if learned.codes is not None:
        result = learned.codes
        screen.say(f"Codes: {'' if result.figures else 'nothing learned. '}{result.reason}")
    if learned.labels is not None:
        body = learned.labels.body
        screen.say(
            f"{counted(body['given'], 'label')} given and {body['taken']:,} taken away, on "
            f"{counted(body['pictures'], 'picture')}. To take that back: lookalike undo "
            f"{learned.labels.number}."
        )
    if weights:
        screen.table(
            ["view", "weight"],
            [[name, f"{100 * share:.1f} %"] for name, share in weights.items()],
            title="Views",
            numbers=["weight"],
        )
    if learned.unmatched:
        shown = learned.unmatched[:SHOWN_UNMATCHED]
        rest = len(learned.unmatched) - len(shown)
        screen.table(
            ["picture"],
            [[name] for name in shown] + ([[f"… and {rest:,} more"]] if rest else []),
            title=f"{counted(len(learned.unmatched), 'picture')} not in the collection",
        )
    screen.result({"collection": collection, **asdict(learned), "views": weights})


def show_learned(
    screen: Screen, learned: "Learned", in_use: Mapping[str, str] | None = None
) -> None:
    """Show the outcome of learning, beside what was in use before, by kind of model."""
    names = {"similarity": COSINE, "words": COMMONEST, **(in_use or {})}
    for kind, what, trial in (
        ("similarity", "Ranking", learned.similarity),
        ("words", "Words", learned.words),
    ):
        if trial is None:
            continue
        if trial.before is None or trial.after is None:
            screen.say(f"{what}: no new model. {trial.reason}")
            continue
        judged = f"new ({trial.method})"
        figures_table(
            screen, trial.before, trial.after, what=what, baseline=names[kind], judged=judged
        )
        noun = "word" if trial is learned.words else "label"
        screen.say(
            f"Learned from {counted(trial.pictures, 'picture')} with "
            f"{counted(trial.labels, noun)}.",
            trial.reason,
        )
        if trial.gain is not None and trial.gain.pictures != trial.after.queries:
            screen.say(
                f"Few labels are judged in turns: each of the {trial.gain.pictures:,} was held out "
                f"once, {trial.after.queries:,} of them from the new model (the table)."
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


def _check_place(place: Path) -> None:
    """Raise an error if there is nothing to learn from."""
    from lookalike.collection import Collection

    with Collection.open(place) as store:
        if not store.labels.all() and not store.models.all():
            raise InvalidInput(
                f"learn: {place} has nothing to learn from yet. Give --tags FILE, --folders "
                f"or --clicks FILE."
            )
