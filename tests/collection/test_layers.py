"""SQL stands in the store alone, behind functions with names."""

import ast
import re
from pathlib import Path

import pytest

import lookalike.collection

ROOT = Path(lookalike.collection.__file__).parent

SQL = re.compile(
    r"\s*(SELECT|INSERT (OR|INTO)|UPDATE \w+ SET|DELETE FROM|CREATE|ALTER TABLE|DROP|WITH|"
    r"PRAGMA|BEGIN|COMMIT|ROLLBACK|VACUUM)\b"
)


def modules():
    paths = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return [path for path in paths if not path.startswith("store/")]


def statements(source):
    """Return the lines of a module that hold SQL or run it."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and SQL.match(node.value):
            lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in (
            "execute",
            "executemany",
            "executescript",
        ):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("module", modules())
def test_sql_stands_in_the_store_alone(module):
    assert statements((ROOT / module).read_text()) == []


def test_sql_is_noticed():
    assert statements('rows("SELECT 1")') == [1]
    assert statements('x = f"DELETE FROM {table}"') == [1]
    assert statements("connection.execute(text)") == [1]
    assert statements('raise ValueError("Select a picture, or delete from the bin.")') == []
