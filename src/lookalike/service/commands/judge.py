"""The command ``lookalike judge``: people compare two rankings, side by side and blind."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.service.options import AsJson, from_home
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import RatedRankings


def judge(
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="Folder of the collection.")
    ],
    *,
    against: Annotated[
        str,
        typer.Option(metavar="WHAT", help="What to compare with: cosine, or the name of a ranker."),
    ] = "cosine",
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The ranker to judge.", show_default="the first"),
    ] = None,
    queries: Annotated[int, typer.Option(min=1, max=1000, help="Pictures to search with.")] = 25,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="Pictures of each ranking.")] = 10,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8701,
    results: Annotated[
        bool, typer.Option("--results", help="Show what was rated so far, and stop.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With --results: write Figure 3B and a CSV file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let people compare what was learned with another ranking, side by side and blind.

    Serves a page on this computer where raters, by name, mark which pictures are relevant; which
    list is which is not said. Ratings are kept, so that a rater can stop and go on later.
    """
    from lookalike.collection import Collection

    screen, place = Screen(as_json), from_home(collection)
    command = f"lookalike judge {place}" + (f" --against {against}" if against != "cosine" else "")
    command += f" --by {by}" if by else ""
    if out is not None and not results:
        raise InvalidInput("judge: --out is where --results are written; give --results, too.")
    with Collection.open(place) as store:
        if results:
            figures = store.ratings.figures(against=against, by=by)
            if figures is None:
                raise InvalidInput(
                    f"judge: nobody has compared {place} with {against} yet. Run {command}, and "
                    f"open the page."
                )
            _show(figures, against, screen, out)
            return
        # Both rankings are looked up now, so that a mistake shows before anybody rates.
        store.ratings.next("-", against=against, by=by, queries=queries, k=k)
        from lookalike.service.commands.serve import address_of, listening, run
        from lookalike.service.web.app import make_app
        from lookalike.service.web.settings import Settings

        settings = Settings(port=port)
        with listening(settings) as door:
            start = address_of(settings.host, door)
            options = f"against={against}&queries={queries}&k={k}" + (f"&by={by}" if by else "")

            def announce() -> None:
                screen.say(
                    f"Compare {counted(queries, 'query', 'queries')} at {start}judge?{options}",
                    f"Then: {command} --results. Stop with Ctrl-C.",
                )
                screen.result({"address": f"{start}judge?{options}", "collection": place})

            run(make_app(store, settings), door, announce)


def _show(figures: "RatedRankings", against: str, screen: Screen, out: Path | None) -> None:
    sides = {"learned": figures.learned, against: figures.other}
    columns = ["k", *(f"{name} {part}" for name in sides for part in ("P@k", "95 %"))]
    rows = [
        [
            k + 1,
            *(
                cell
                for one in sides.values()
                for cell in (f"{one.mean[k]:.3f}", f"{one.low[k]:.3f} to {one.high[k]:.3f}")
            ),
        ]
        for k in range(len(figures.learned.mean))
    ]
    raters = ", ".join(f"{name} ({count})" for name, count in figures.raters.items())
    screen.say(
        f"{counted(figures.queries, 'query', 'queries')} rated by {raters}.",
        "No two raters judged the same picture, so there is no κ."
        if figures.kappa is None
        else f"Agreement of raters, the mean of Cohen's κ: {figures.kappa:.2f}.",
    )
    screen.table(columns, rows, title="Precision at top k")
    files: list[Path] = []
    if out is not None:
        from lookalike.service.reproduction import write_ratings

        files = write_ratings(figures, against, from_home(out))
        screen.say(f"Figure 3B is in {out}.")
    screen.result(
        {
            "raters": figures.raters,
            "queries": figures.queries,
            "kappa": figures.kappa,
            "precision": {
                name: {"mean": one.mean, "low": one.low, "high": one.high}
                for name, one in sides.items()
            },
            "files": files,
        }
    )
