"""Run every benchmark and rewrite docs/benchmarks.md with their tables and plots.

``python benchmarks/run_all.py [--quick] [--data DIR] [NAME…]``; with names such as
``speed/oasis`` only those are run, and the page keeps the results of the others.
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from matplotlib import rcParams
from matplotlib.figure import Figure as Canvas

from bench import Figure, table

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
RESULTS = DOCS / "benchmarks"


MOST_BARS = 30

rcParams["svg.hashsalt"] = "lookalike"  # the same plot is the same file
rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the size


def scripts() -> list[Path]:
    patterns = ("papers/*.py", "peers/*/run.py", "speed/*.py", "trust/*.py")
    return [path for pattern in patterns for path in sorted(HERE.glob(pattern))]


def run(script: Path, options: list[str]) -> dict[str, Any] | None:
    name = script.relative_to(HERE).with_suffix("").as_posix()
    print(f"{name} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, str(script), "--json", *options],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        print(f"{name} failed with exit code {done.returncode}", file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def plot(result: dict[str, Any], path: Path) -> bool:
    """Draw each figure with a target as a bar, unless there are too many: value over target."""
    figures = [Figure(**entry) for entry in result["figures"]]
    shown = [figure for figure in figures if figure.target]
    if not 0 < len(shown) <= MOST_BARS:
        return False
    canvas = Canvas(figsize=(9, 0.45 * len(shown) + 1.2), layout="constrained")
    axes = canvas.subplots()
    names = [f"{figure.what}  ({figure.sense} {figure.target:g})" for figure in shown]
    ratios = [figure.value / figure.target for figure in shown if figure.target]
    colours = ["#1b7f5c" if figure.reached else "#c2410c" for figure in shown]
    errors = [(figure.spread or 0) / abs(figure.target) for figure in shown if figure.target]
    axes.barh(names, ratios, color=colours, xerr=errors, height=0.6)
    axes.axvline(1, color="#333333", linewidth=1, linestyle="--")
    axes.set_xlabel("value / target (dashed: the target; orange: missed)")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    canvas.savefig(path, metadata={"Date": None})
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="benchmarks to run, such as speed/oasis (default: all)"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    options = ["--quick"] if arguments.quick else []
    options += ["--data", str(arguments.data)] if arguments.data else []
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for script in scripts():
        name = script.relative_to(HERE).with_suffix("").as_posix()
        if arguments.names and name not in arguments.names:
            continue
        result = run(script, options)
        if result is None:
            failed += 1
        else:
            kept = RESULTS / f"{name.replace('/', '-')}.json"
            kept.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", "utf-8")
    write_page()
    return 1 if failed else 0


def write_page() -> None:
    """Return the newest result of each benchmark as Markdown."""
    pieces = [
        "# Benchmarks",
        "",
        "Written by `make bench`; every figure was measured beside what it is compared with, in "
        f"one run. Python {platform.python_version()}, {platform.machine()}.",
    ]
    for kept in sorted(RESULTS.glob("*.json")):
        result = json.loads(kept.read_text("utf-8"))
        pieces += ["", table(result)]
        picture = kept.with_suffix(".svg")
        if plot(result, picture):
            pieces += ["", f"![{result['name']}](benchmarks/{picture.name})"]
        for drawn in sorted(RESULTS.glob(f"{kept.stem}-*.svg")):
            pieces += ["", f"![{drawn.stem}](benchmarks/{drawn.name})"]
    (DOCS / "benchmarks.md").write_text("\n".join(pieces) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
