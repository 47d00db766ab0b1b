"""WSABIE compared with LightFM: examples per second, precision at equal time, threads, Figure 2.

LightFM (PyPI: rectools-lightfm) is trained in a separate environment, which the first run creates;
see the README next to this file. ``--quick`` evaluates on the validation parts, so that only a full
run uses the test parts.
"""

import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from descents import a_pass, begun, best_words, curve, lessons, passes
from environment import Course, Peer
from sides import DIMENSION, OURS, SETTINGS, SIDES, THEIRS, budget, real_tasks, warm_up

from bench import Figure, Options, main
from lookalike.evaluate.plots import Series, curve_plot
from tagged_sets import Task, clipart, synthetic

NAME = "peers/lightfm/run"
PLOTS = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"
DRAWS = {"its default": 10, "raised": 100}


def settings() -> dict[str, Any]:
    """Load the settings chosen by tune.py."""
    chosen: dict[str, Any] = json.loads(SETTINGS.read_text("utf-8"))
    return chosen


def spread(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def speed(options: Options, task: Task) -> list[Figure]:
    """Time both sides in turns on one thread, with the same passes over the same pictures."""
    epochs, repeats = (1, 2) if options.quick else (3, 3)
    n = task.train.vectors.shape[0]
    kinds: dict[str, int | None] = {"default settings": None}
    if not options.quick:
        kinds |= {f"{draws} words drawn at most": draws for draws in DRAWS.values()}
    rates: dict[str, list[tuple[list[float], list[float]]]] = {kind: [] for kind in kinds}
    judged: dict[str, list[tuple[float, float]]] = {}
    asked = {"test": task.test.vectors}
    with Peer(task.train.vectors, task.train.has, asked) as peer:
        for seed in range(repeats):
            for kind, draws in kinds.items():
                given = {} if draws is None else {"max_sampled": draws}
                course = peer.train(
                    settings={"no_components": DIMENSION, **given}, seed=seed, epochs=epochs
                )
                mine, descent = passes(task, epochs, seed, max_trials=draws)
                rates[kind].append((list(course.epoch_seconds), mine))
                for name, best in (
                    (THEIRS, course.ranked["test"][-1]),
                    (OURS, best_words(descent, task.test)),
                ):
                    judged.setdefault(f"{name}, {kind}", []).append(task.test.precision(best))
    figures = []
    for kind, runs in rates.items():
        spans = {"first pass": slice(0, 1)}
        if epochs > 1:
            spans[f"{epochs} passes"] = slice(None)
        for span, chosen in spans.items():
            theirs, ours = (
                [n * len(run[side][chosen]) / sum(run[side][chosen]) for run in runs]
                for side in (0, 1)
            )
            ratios = [one / two for one, two in zip(ours, theirs, strict=True)]
            figures.append(
                Figure(
                    f"examples/s over LightFM's, {span}, {kind}",
                    float(np.median(ratios)),
                    ">=",
                    10.0 if kind == "default settings" and span == "first pass" else None,
                    f"{np.median(ours):,.0f} against {np.median(theirs):,.0f} a CPU second, "
                    "one thread, same run",
                    spread(ratios),
                )
            )
    for what, pairs in judged.items():
        for k, values in zip((1, 10), zip(*pairs, strict=True), strict=True):
            figures.append(
                Figure(
                    f"synthetic, p@{k} after {epochs} passes: {what}",
                    float(np.mean(values)),
                    spread=spread(list(values)),
                )
            )
    return figures


def on_threads(options: Options, task: Task) -> list[Figure]:
    """Time two threads on one model beside one thread, pass by pass in turns.

    What the machine allows at most is measured in between: two models that share nothing, on a
    thread each.
    """
    epochs = 3
    shared, apart = [], []
    pictures = lessons(task)
    for seed in range(3 if options.quick else 15):
        model, one = begun(task, seed)
        _, two = begun(task, seed, threads=2)
        pair = [begun(task, seed + 100 * at)[1] for at in (1, 2)]
        rate = model.learning_rate
        spent = np.zeros(3)
        with ThreadPoolExecutor(2) as pool:
            for epoch in range(epochs):
                at = time.perf_counter()
                a_pass(one, pictures, rate, epoch, epochs)
                marks = [at, time.perf_counter()]
                a_pass(two, pictures, rate, epoch, epochs)
                marks.append(time.perf_counter())
                turns = [pool.submit(a_pass, each, pictures, rate, epoch, epochs) for each in pair]
                for turn in turns:
                    turn.result()
                marks.append(time.perf_counter())
                spent += np.diff(marks)
        shared.append(spent[0] / spent[1])
        apart.append(2 * spent[0] / spent[2])
    against = f"one thread, same run, {epochs} passes in turns"
    return [
        Figure(
            "two threads over one, examples a wall second",
            float(np.median(shared)),
            ">=",
            1.7,
            against,
            spread(shared),
        ),
        Figure(
            "two models on a thread each over one, examples a wall second",
            float(np.median(apart)),
            against=f"{against}: what the machine allows",
            spread=spread(apart),
        ),
    ]


def at_equal_time(options: Options, task: Task, chosen: Mapping[str, Any]) -> list[Figure]:
    """Train both sides for the same CPU seconds with settings chosen on validation.

    LightFM gets the budget, or as long as ours took if that was longer. Both are judged at the
    moment at which they were best on the validation part.
    """
    part = "validation" if options.quick else "test"
    parts = tuple(dict.fromkeys(("validation", part)))
    precisions: dict[str, list[tuple[float, float]]] = {OURS: [], THEIRS: []}
    seconds: dict[str, list[float]] = {OURS: [], THEIRS: []}
    for seed in range(10, 11 if options.quick else 15):
        allowed = budget(task)
        for name in (OURS, THEIRS):
            limit = 10 * allowed if name == OURS else allowed
            course = SIDES[name](task, chosen[name], seed, limit, parts)
            values = [task.validation.average_precision(one) for one in course.ranked["validation"]]
            best = course.ranked[part][int(np.argmax(values))]
            precisions[name].append(getattr(task, part).precision(best))
            seconds[name].append(float(course.seconds[-1]))
            allowed = max(allowed, seconds[name][-1])
    figures = []
    for at, k in enumerate((1, 10)):
        ours, theirs = ([pair[at] for pair in precisions[name]] for name in (OURS, THEIRS))
        mean = float(np.mean(theirs))
        figures.append(
            Figure(
                f"{task.name}, p@{k} on {part}",
                float(np.mean(ours)),
                ">=",
                None if options.quick else mean,
                f"LightFM {mean:.4f} ± {spread(theirs) or 0:.4f}; CPU seconds "
                f"{np.mean(seconds[OURS]):.1f} against {np.mean(seconds[THEIRS]):.1f}",
                spread(ours),
            )
        )
    return figures


def figure_2(options: Options, task: Task, rates: Mapping[str, float], seconds: float) -> Figure:
    """Plot precision against training time for the three losses; return WARP's lead over OWPC."""
    courses = {loss: curve(task, loss, rate, seconds, 0) for loss, rate in rates.items()}
    firsts = {
        loss: [task.validation.precision(best)[0] for best in course.ranked["validation"]]
        for loss, course in courses.items()
    }
    if not options.quick:
        curve_plot(
            [
                Series(loss.upper(), courses[loss].seconds, values)
                for loss, values in firsts.items()
            ],
            path=PLOTS / f"{NAME.replace('/', '-')}-{task.name.replace(', ', '-')}.svg",
            title=f"Training time of the three losses: {task.name}",
            x_label="CPU seconds of training, one thread",
            y_label="precision at 1, validation part",
            logarithmic=True,
        )
    goal = 0.9 * max(firsts["owpc"])
    reached = {loss: _first_time(courses[loss], values, goal) for loss, values in firsts.items()}
    return Figure(
        f"{task.name}: WARP's speed-up over OWPC to p@1 of {goal:.3f}",
        reached["owpc"] / reached["warp"],
        against=f"{reached['warp']:.3g} against {reached['owpc']:.3g} CPU seconds; "
        "the best p@1: " + ", ".join(f"{loss} {max(found):.3f}" for loss, found in firsts.items()),
    )


def _first_time(course: Course, values: list[float], goal: float) -> float:
    at = np.flatnonzero(np.array(values) >= goal)
    return float(course.seconds[at[0]]) if len(at) else float("inf")


def measure(options: Options) -> list[Figure]:
    chosen = settings()
    warm_up()
    made = synthetic(train=20_000, held_out=2_000) if options.quick else synthetic()
    figures = [*on_threads(options, made), *speed(options, made)]
    rates = chosen["figure 2"]
    if options.quick:
        task = clipart(options.data, "visterms")
        options.settings["chosen"] = chosen[task.name]
        return [*figures, *at_equal_time(options, task, chosen[task.name])]
    figures.append(figure_2(options, made, rates[made.name], 60.0))
    for task in real_tasks(options.data):
        figures += at_equal_time(options, task, chosen[task.name])
        if task.name in rates:
            figures.append(figure_2(options, task, rates[task.name], budget(task)))
    options.settings["chosen"] = chosen
    return figures


if __name__ == "__main__":
    main(NAME, measure)
