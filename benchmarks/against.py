"""Compare benchmarks with an older commit: both versions in one run, in turns.

``python benchmarks/against.py REV [--rounds N] [--quick] [--data DIR] NAME…`` runs benchmarks such
as ``speed/votes`` of the commit REV and of the code that is here, each with its own scripts, and
prints a table for each: what both measured, and how many times as much it is now. The ratio is the
median of the rounds, with half the range beside it; what only one version measures is left out. The
first row, the CPU time of the whole script, says most on a machine that does other things as well;
the first round also compiles loops, so there should be three at least.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def check_out(commit: str, place: Path) -> None:
    """Write the files of a commit into a folder."""
    archive = ["git", "-C", str(ROOT), "archive", commit, "src", "benchmarks"]
    with subprocess.Popen(archive, stdout=subprocess.PIPE) as git:
        subprocess.run(["tar", "-x", "-C", str(place)], stdin=git.stdout, check=True)
    if git.returncode:
        raise SystemExit(f"against.py: there is no commit {commit!r} with src and benchmarks.")


def measured(place: Path, name: str, options: list[str]) -> dict[str, float]:
    """Run a benchmark of a version; return its figures by name, and the CPU time it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, str(place / "benchmarks" / f"{name}.py"), "--json", *options],
        env={**os.environ, "PYTHONPATH": str(place / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} in {place} failed with exit code {done.returncode}.")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(after[:2]) - sum(before[:2])
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    return {"CPU seconds": spent, **{figure["what"]: figure["value"] for figure in figures}}


def table(name: str, rounds: list[tuple[dict[str, float], dict[str, float]]], commit: str) -> str:
    """Return what both versions measured, and the ratios of the rounds."""
    lines = [f"### {name}", "", f"| figure | {commit} | now | ratio |", "|---|---:|---:|---:|"]
    for what in rounds[0][0]:
        pairs = [(old[what], new[what]) for old, new in rounds if what in old and what in new]
        ratios = [new / old for old, new in pairs if old]
        if not ratios:
            continue
        old, new = np.median(pairs, axis=0)
        spread = (max(ratios) - min(ratios)) / 2
        lines.append(f"| {what} | {old:.4g} | {new:.4g} | {np.median(ratios):.3f} ± {spread:.3f} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", metavar="REV")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    arguments = parser.parse_args()
    options = ["--data", str(arguments.data.resolve()), *(["--quick"] if arguments.quick else [])]
    with tempfile.TemporaryDirectory() as temporary:
        older = Path(temporary)
        check_out(arguments.commit, older)
        for name in arguments.names:
            rounds = [
                (measured(older, name, options), measured(ROOT, name, options))
                for _ in range(arguments.rounds)
            ]
            print(table(name, rounds, arguments.commit), flush=True)


if __name__ == "__main__":
    main()
