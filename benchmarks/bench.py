"""The command line and output that all benchmarks share.

``python benchmarks/<drawer>/<name>.py [--quick] [--json] [--data DIR]`` prints a table of figures,
each with its target and what it is compared with; ``--json`` prints a JSON object instead.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Figure:
    """One measured number, its target if it has one, and what it was compared with."""

    what: str
    value: float
    sense: Literal[">=", "<="] = ">="
    target: float | None = None
    against: str = ""
    spread: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None where there is no target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.sense == ">=" else self.value <= self.target


@dataclass
class Options:
    """The command line arguments, and the settings a script reports."""

    quick: bool
    data: Path
    settings: dict[str, Any] = field(default_factory=dict)


def main(name: str, measure: Callable[[Options], list[Figure]]) -> None:
    """Parse the command line, measure, and print the figures."""
    parser = argparse.ArgumentParser(prog=f"benchmarks/{name}.py")
    parser.add_argument("--quick", action="store_true", help="run a smaller version in under 50 s")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a table"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(__file__).resolve().parents[2] / "shared" / "data",
        help="folder of the picture sets (default: ../shared/data next to the project)",
    )
    arguments = parser.parse_args()
    options = Options(quick=arguments.quick, data=arguments.data)
    begin = time.perf_counter()
    figures = measure(options)
    result = {
        "name": name,
        "figures": [asdict(figure) for figure in figures],
        "settings": {"quick": options.quick, **options.settings},
        "seconds": round(time.perf_counter() - begin, 1),
        "code": code_used(),
    }
    print(json.dumps(result, ensure_ascii=False) if arguments.json else table(result))


def code_used() -> list[str]:
    """Return the files of the project that were imported, relative to its folder."""
    files = {
        Path(module.__file__).resolve()
        for name, module in list(sys.modules.items())
        if (name == "__main__" or name.partition(".")[0] == "lookalike")
        and getattr(module, "__file__", None)
    }
    return sorted(str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))


def table(result: dict[str, Any]) -> str:
    """Return the figures of one benchmark as a Markdown table."""
    lines = [
        f"### {result['name']}",
        "",
        "| figure | value | target | reached | against |",
        "|---|---:|---:|:-:|---|",
    ]
    for entry in result["figures"]:
        figure = Figure(**entry)
        spread = "" if figure.spread is None else f" ± {figure.spread:.3g}"
        target = "" if figure.target is None else f"{figure.sense} {figure.target:g}"
        reached = {None: "", True: "yes", False: "**no**"}[figure.reached]
        value = f"{figure.value:.4g}{spread}"
        lines.append(f"| {figure.what} | {value} | {target} | {reached} | {figure.against} |")
    settings = ", ".join(f"{key}: {value}" for key, value in result["settings"].items())
    return "\n".join([*lines, "", f"{settings}; {result['seconds']} s"])
