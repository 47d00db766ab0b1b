"""Tests pass parts in: few patch what is inside."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent

MAX_PATCHES = 60


def patches(source):
    """Lines of a test that set an attribute of something else for a while."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        call.lineno
        for call in calls
        if (isinstance(call.func, ast.Attribute) and call.func.attr in ("setattr", "patch"))
        or (isinstance(call.func, ast.Name) and call.func.id == "patch")
    ]


def test_few_tests_patch_what_is_inside():
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in patches(path.read_text(encoding="utf-8"))
    ]
    assert len(found) <= MAX_PATCHES, found


def test_a_patch_is_noticed():
    assert patches('monkeypatch.setattr(module, "part", other)') == [1]
    assert patches('with mock.patch("module.part"):\n    pass') == [1]
    assert patches('with patch("module.part"):\n    pass') == [1]
    assert patches('stand_in(Collection, search=other)\nsettings["patch"] = 1') == []
