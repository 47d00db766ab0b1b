"""Sum up, over all votes, how much of each of their pictures turns a query."""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import LOOP, njit


@njit(**LOOP)
def vote_weights(
    kernels: NDArray[np.float64],
    anchors: NDArray[np.int64],
    sides: NDArray[np.int64],
    steps: NDArray[np.float64],
    stops: NDArray[np.int64],
    widths: NDArray[np.int64],
    trust: NDArray[np.float64],
    faint: float,
    weights: NDArray[np.float64],
) -> None:
    """Write the weight of each picture of each vote near a query; the others get 0.

    ``kernels`` are those of the anchors with the query, a row for each width; ``widths`` is the
    row of each vote. A vote's pictures stand together and end at ``stops``. A vote whose steps
    all turn the query by less than ``faint`` is passed over.
    """
    start = np.uint64(0)
    for vote in range(np.uint64(stops.size)):
        stop = np.uint64(stops[vote])
        kernel = kernels[np.uint64(widths[vote])]
        near = False
        up, down = 0.0, 0.0
        picked, rejected = 0, 0
        for place in range(start, stop):
            turn = trust[vote] * steps[place] * kernel[np.uint64(anchors[place])]
            near = near or abs(turn) > faint
            weights[place] = turn
            if sides[place] > 0:
                up += turn
                picked += 1
            elif sides[place] < 0:
                down += turn
                rejected += 1
        if not near:
            weights[start:stop] = 0.0
            start = stop
            continue
        for place in range(start, stop):
            turn = weights[place]
            if sides[place] == 0:
                continue
            if picked == 0 or rejected == 0:
                # What it compared was deleted.
                weights[place] = 0.0
            elif sides[place] < 0:
                weights[place] = turn - up / rejected
            elif picked == 1:
                weights[place] = turn - down
            else:
                weights[place] = (up - turn) / (picked - 1) - down / picked
        start = stop
