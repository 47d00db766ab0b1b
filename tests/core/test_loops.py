"""Loops give the same bits when they are compiled as when they are loaded from Numba's cache."""

import ast
from pathlib import Path

import lookalike

SOURCES = Path(lookalike.__file__).parent

ALONE = {"exact_product", "_peaks"}
"""What has to give the same bits to all its callers, or only bounds: not inlined."""


def loops():
    """Return the file of each loop, its name, the options of its decorator, and what it calls."""
    for file in sorted(SOURCES.rglob("_fast/*.py")):
        for loop in ast.parse(file.read_text(encoding="utf-8")).body:
            decorators = loop.decorator_list if isinstance(loop, ast.FunctionDef) else []
            options = {
                keyword.arg
                for decorator in decorators
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "njit"
                for keyword in decorator.keywords
            }
            called = {
                ast.unparse(node.func) for node in ast.walk(loop) if isinstance(node, ast.Call)
            }
            if options:
                yield file, loop.name, options, called


def test_sums_in_any_order_are_part_of_the_loop_that_calls_for_them():
    # Compiled, a loop calls the function as it stands alone; loaded from the cache, the copy in
    # its own file, which LLVM may have vectorised otherwise. Then sums in any order differ, and
    # what was learned by the first run on a machine is not what the second learns.
    known = [*loops()]
    assert len(known) > 50
    called = {(file.parent, name) for file, _, _, names in known for name in names}
    apart = [
        f"{file.name}: {name}"
        for file, name, options, _ in known
        if "fastmath" in options
        and not options & {"inline", "forceinline"}
        and (file.parent, name) in called
        and name not in ALONE
    ]
    assert not apart, "add forceinline=True"
