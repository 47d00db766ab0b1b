"""Choose each side's settings on the validation parts, and write them to settings.json.

``python benchmarks/peers/lightfm/tune.py --data DIR [--only NAME…]``: on each real set both sides
try as many settings, from lists of their own, for the same CPU seconds each: first the middle of
the lists or the library's defaults, then random ones, then steps from the best so far to a
neighbouring value. The three best are tried again with two more seeds. For Figure 2 each loss
gets the learning rate that is best at the end. The test parts are not looked at.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from descents import CURVE_SECONDS, LOSSES, curve
from sides import OURS, SETTINGS, SIDES, THEIRS, Chosen, budget, real_tasks, warm_up

from tagged_sets import Task, synthetic

RANDOM = 24
NEAR = 16
AGAIN = 3
SEEDS = 3
CURVES = "figure 2"
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

COLUMNS = ("as they are", "rms")
CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    THEIRS: {
        "columns": COLUMNS,
        "scale": (0.5, 1.0, 2.0, 4.0, 8.0),
        "learning_schedule": ("adagrad", "adadelta"),
        "learning_rate": (0.01, 0.02, 0.05, 0.1, 0.2),
        "max_sampled": (10, 30, 100, 300),
        "user_alpha": (0.0, 1e-6, 1e-5, 1e-4, 1e-3),
        "item_alpha": (0.0, 1e-6, 1e-5, 1e-4, 1e-3),
    },
    OURS: {
        "columns": COLUMNS,
        "learning_rate": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        "max_norm": (0.6, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
        "max_trials": (10, 30, 100, None),
        "epochs": (30, 60, 100, 200, 400),
    },
}
DEFAULTS: dict[str, Chosen] = {
    THEIRS: {
        "columns": "as they are",
        "scale": 1.0,
        "learning_schedule": "adagrad",
        "learning_rate": 0.05,
        "max_sampled": 10,
        "user_alpha": 0.0,
        "item_alpha": 0.0,
    },
    OURS: {
        "columns": "as they are",
        "learning_rate": 0.1,
        "max_norm": 2.0,
        "max_trials": None,
        "epochs": 30,
    },
}


def tried(name: str, task: Task, chosen: Chosen, seed: int) -> float:
    """Return the figure both sides are chosen by; 0 where it diverged or took too long."""
    try:
        course = SIDES[name](task, chosen, seed, budget(task), ("validation",))
    except RuntimeError:
        return 0.0
    return max(task.validation.average_precision(best) for best in course.ranked["validation"])


def near(chosen: Chosen, lists: Mapping[str, tuple[Any, ...]], rng: np.random.Generator) -> Chosen:
    """Move one setting to the value beside it in its list."""
    key = list(lists)[rng.integers(len(lists))]
    values = lists[key]
    at = values.index(chosen[key]) + (1 if rng.random() < 0.5 else -1)
    # A step over an end goes the other way.
    at = 1 if at < 0 else len(values) - 2 if at == len(values) else at
    return {**chosen, key: values[at]}


def best_of(name: str, task: Task) -> Chosen:
    rng = np.random.default_rng(0)
    lists = CHOICES[name]
    found: list[tuple[float, Chosen]] = []
    for trial in range(1 + RANDOM + NEAR):
        if trial == 0:
            chosen = DEFAULTS[name]
        elif trial <= RANDOM:
            chosen = {key: values[rng.integers(len(values))] for key, values in lists.items()}
        else:
            chosen = max(found, key=lambda one: one[0])[1]
            while any(chosen == before for _, before in found):
                chosen = near(chosen, lists, rng)
        found.append((tried(name, task, chosen, 0), chosen))
        tell(f"{task.name}, {name}: {found[-1][0]:.4f} {chosen}")
    found.sort(key=lambda one: -one[0])
    again = []
    for value, chosen in found[:AGAIN]:
        values = [tried(name, task, chosen, seed) for seed in range(1, SEEDS)]
        again.append((float(np.mean([value, *values])), chosen))
        tell(f"{task.name}, {name}: mean {again[-1][0]:.4f} {chosen}")
    return max(again, key=lambda one: one[0])[1]


def best_rates(task: Task, seconds: float) -> dict[str, float]:
    chosen = {}
    for loss in LOSSES:
        values = {}
        for rate in RATES:
            last = curve(task, loss, rate, seconds, 0).ranked["validation"][-1]
            values[rate] = task.validation.average_precision(last)
        chosen[loss] = max(values, key=lambda rate: values[rate])
        tell(f"{task.name}, {loss}: {values}")
    return chosen


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def keep(what: str, name: str, chosen: Any) -> None:
    kept = json.loads(SETTINGS.read_text("utf-8")) if SETTINGS.exists() else {}
    kept.setdefault(what, {})[name] = chosen
    SETTINGS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")


def main() -> None:
    everything = [*CHOICES, CURVES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=everything, choices=everything)
    arguments = parser.parse_args()
    warm_up()
    if CURVES in arguments.only:
        made = synthetic()
        keep(CURVES, made.name, best_rates(made, CURVE_SECONDS[made.name]))
    for task in real_tasks(arguments.data):
        for name in CHOICES:
            if name in arguments.only:
                keep(task.name, name, best_of(name, task))
        if CURVES in arguments.only and task.name in CURVE_SECONDS:
            keep(CURVES, task.name, best_rates(task, CURVE_SECONDS[task.name]))


if __name__ == "__main__":
    main()
