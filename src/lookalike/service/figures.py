"""Show what learning changed: figures before and after."""

from typing import TYPE_CHECKING

from lookalike.core.text import counted
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Figures


COSINE, COMMONEST = "cosine", "commonest words"
"""What searches and words are compared with where nothing was learned."""


def figures_table(
    screen: Screen,
    before: "Figures",
    after: "Figures",
    *,
    what: str = "Ranking",
    baseline: str = "before",
    judged: str = "after",
) -> None:
    """Show what learning changed.

    ``what`` names what was evaluated on held-out pictures, ``baseline`` and ``judged`` the two that
    are compared.
    """
    screen.table(
        ["", baseline, judged, "change"],
        figures_rows(before, after),
        title=f"{what} on {counted(after.queries, 'held-out picture')}",
        numbers=[baseline, judged, "change"],
    )


def shown_score(score: float) -> float:
    """Return a score as it is shown: from 0 to 1, in the same order."""
    return min(max(score, 0.0), 1.0)


def figures_rows(before: "Figures", after: "Figures") -> list[list[str]]:
    """Return the rows of :func:`figures_table`, one per figure."""
    names = {
        "mean average precision": "mean_average_precision",
        "precision at 1": "precision_at_1",
        "precision at 10": "precision_at_10",
    }
    rows = []
    for words, name in names.items():
        first, second = getattr(before, name), getattr(after, name)
        rows.append([words, f"{first:.3f}", f"{second:.3f}", f"{second - first:+.3f}"])
    return rows
