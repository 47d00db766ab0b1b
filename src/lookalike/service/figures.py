"""Show what learning changed: the figures before and after."""

from typing import TYPE_CHECKING

from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Figures


def figures_table(
    screen: Screen, before: "Figures", after: "Figures", *, what: str = "Ranking"
) -> None:
    """Show what learning changed; ``what`` was judged of the pictures held back."""
    screen.table(
        ["", "before", "after", "change"],
        figures_rows(before, after),
        title=f"{what} of {after.queries:,} held-back pictures",
        numbers=["before", "after", "change"],
    )


def figures_rows(before: "Figures", after: "Figures") -> list[list[str]]:
    """Write the figures of :func:`figures_table`, a row each."""
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
