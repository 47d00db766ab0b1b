"""Run every benchmark and rewrite docs/benchmarks.md and docs/benchmarks/ with their tables.

``python benchmarks/run_all.py [--quick] [--all] [--data DIR] [NAME…]`` runs those whose code
changed since they were measured, or ``--all``; with names such as ``speed/oasis`` only those are
run. The page keeps the results of the others, each with the commit that it was measured at.
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
from headlines import summary

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
RESULTS = DOCS / "benchmarks"


MAX_BARS = 30

SUBJECTS = {
    "similarity": (
        *("papers/oasis", "papers/oasis_fresh_data", "papers/omks", "papers/networks"),
        *("speed/oasis", "speed/kernels"),
    ),
    "words": (
        *("papers/wsabie", "papers/words", "papers/start_words"),
        *("peers/lightfm/run", "speed/wsabie"),
    ),
    "codes": ("papers/qah", "peers/faiss_binary/run", "speed/codes"),
    "votes": ("papers/live", "speed/votes", "trust/poison", "trust/obedience"),
    "objects": ("papers/sparse", "papers/same_object", "peers/regions/run", "speed/regions"),
    "pictures": ("papers/duplicates", "speed/embedding", "speed/views", "speed/visterms"),
}
"""Benchmarks by what they are about; the others stand with their drawer."""

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


def commit() -> str:
    """Return the commit that is measured, with a + where files differ from it."""
    where = ["git", "-C", str(HERE.parent)]
    head = subprocess.run(
        [*where, "rev-parse", "--short=10", "HEAD"], check=True, stdout=subprocess.PIPE, text=True
    )
    changed = subprocess.run(
        [*where, "diff", "--quiet", "HEAD", "--", "src", "benchmarks"], check=False
    )
    return head.stdout.strip() + ("+" if changed.returncode else "")


def age(result: dict[str, Any]) -> str:
    """Return how a result is older than the code it measures, or "" if it is not."""
    measured = result.get("commit")
    if measured is None:
        return "measured before commits were recorded"
    done = subprocess.run(
        ["git", "-C", str(HERE.parent), "diff", "--quiet", measured.rstrip("+"), "--"]
        + [str(file) for file in result.get("code", ["src"])],
        check=False,
        stderr=subprocess.DEVNULL,
    )
    return f"measured at {measured}; its code has changed since" if done.returncode else ""


def plot(result: dict[str, Any], path: Path) -> bool:
    """Draw each figure with a target as a bar, unless there are too many: value over target."""
    figures = [Figure(**entry) for entry in result["figures"]]
    shown = [figure for figure in figures if figure.target]
    if not 0 < len(shown) <= MAX_BARS:
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
    parser.add_argument("--all", action="store_true", help="also what did not change")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    options = ["--quick"] if arguments.quick else []
    options += ["--data", str(arguments.data)] if arguments.data else []
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for script in scripts():
        name = script.relative_to(HERE).with_suffix("").as_posix()
        place = RESULTS / f"{name.replace('/', '-')}.json"
        if arguments.names:
            if name not in arguments.names:
                continue
        elif not arguments.all and place.exists() and not age(json.loads(place.read_text("utf-8"))):
            continue
        result = run(script, options)
        if result is None:
            failed += 1
        else:
            result["commit"] = commit()
            place.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", "utf-8")
    write_page()
    return 1 if failed else 0


def subject_of(name: str) -> str:
    """Return the page that has the figures of a benchmark; by default that of its drawer."""
    found = [subject for subject, names in SUBJECTS.items() if name in names]
    return found[0] if found else name.partition("/")[0]


def write_page() -> None:
    """Write the newest results: a page for each subject, and one that opens with a short table."""
    results, pages = dict[str, dict[str, Any]](), dict[str, list[str]]()
    for kept in sorted(RESULTS.glob("*.json")):
        result = json.loads(kept.read_text("utf-8"))
        results[result["name"]] = result
        pieces = pages.setdefault(subject_of(result["name"]), [])
        pieces += ["", table(result)]
        older = age(result)
        pieces += ["", f"**Older than its code**: {older}." if older else f"At {result['commit']}."]
        picture = kept.with_suffix(".svg")
        if plot(result, picture):
            pieces += ["", f"![{result['name']}]({picture.name})"]
        for drawn in sorted(RESULTS.glob(f"{kept.stem}-*.svg")):
            pieces += ["", f"![{drawn.stem}]({drawn.name})"]
    for subject, pieces in pages.items():
        head = [f"# Benchmarks: {subject}", "", "Written by `make bench`."]
        text = "\n".join([*head, *pieces]) + "\n"
        (RESULTS / f"{subject}.md").write_text(text, encoding="utf-8")
    older = sum(bool(age(result)) for result in results.values())
    opening = [
        "# Benchmarks",
        "",
        "Written by `make bench`; every figure was measured beside what it is compared with, in "
        f"one run. Python {platform.python_version()}, {platform.machine()}. A ratio is ours over "
        "the peer's. The commands need the project installed (`make bench`).",
        "",
        f"Of {len(results)} benchmarks {older} are older than their code, and may give other "
        "figures now; they are marked below, and `make bench` measures them again.",
        "",
        summary(results),
        "",
        "All figures, by subject:",
        "",
    ]
    for subject in sorted(pages):
        names = ", ".join(
            f"{name} (older than its code)" if age(results[name]) else name
            for name in sorted(results)
            if subject_of(name) == subject
        )
        opening.append(f"- [{subject}](benchmarks/{subject}.md): {names}")
    opening += ["", "What was tried on the way to a decision stands in [notes](benchmarks/notes/)."]
    (DOCS / "benchmarks.md").write_text("\n".join(opening) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
