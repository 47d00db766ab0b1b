"""Whether the order of a paper's methods holds on other pictures."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy import stats


def order_notes(values: Mapping[str, Sequence[float]], title: str = "") -> list[str]:
    """Return whether a paper's order holds, each method against the next by a paired t-test.

    Parameters
    ----------
    values : mapping of str to sequence of float
        The mean average precision of each method, best first in the paper, on the same folds.
    title : str
        What they were measured on.

    Returns
    -------
    list of str
        One note, or none for fewer than two methods.
    """
    texts = []
    for (first, better), (second, worse) in pairwise(values.items()):
        change = np.subtract(better, worse)
        text = f"{first} over {second} {100 * change.mean():+.1f}"
        if len(change) > 1 and change.std() > 1e-12:
            text += f" (p = {stats.ttest_rel(better, worse).pvalue:.3f})"
        texts.append(text + ("" if change.mean() > 0 else ", where the order does not hold"))
    where = f", {title}" if title else ""
    return [f"The paper's order by mAP, paired over folds{where}: {'; '.join(texts)}."] * bool(
        texts
    )
