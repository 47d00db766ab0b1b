"""The parts of docs/extending.md, installed from outside, work in every layer."""

import ast
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.collection.colours import album

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"

MAX_LINES = 30


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder on the path with the page's parts, as pip would install them."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "my_parts.py").write_text("\n\n".join(blocks("python")), "utf-8")
    info = folder / "my_parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts\nVersion: 1.0\n")
    (info / "RECORD").write_text("my_parts.py,,\n")
    (info / "top_level.txt").write_text("my_parts\n")
    (toml,) = blocks("toml")
    points = re.sub(r'\[project\.entry-points\."(.+)"\]', r"[\1]", toml).replace('"', "")
    (info / "entry_points.txt").write_text(points)
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    album(folder, 6)
    return folder


def environment(*folders):
    import os

    source = Path(__file__).resolve().parents[1] / "src"
    path = os.pathsep.join([*map(str, folders), str(source)])
    return {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}


ONE_BY_ONE = """
import json, sys
from lookalike.service.command_line import main

for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        print("\\x1e", end.code or 0)
"""


def commands(*given, within, code=0):
    """Run commands in a process of their own, and return what each wrote; the last ends so."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, json.dumps(given)],
        env=environment(*within),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    *answers, rest = re.split("\x1e (\\d+)\n", done.stdout)
    assert not rest, done.stdout
    assert answers[1::2] == [*("0" for _ in given[1:]), str(code)], done.stdout
    return answers[::2]


def test_each_part_is_short():
    classes = [
        node
        for block in blocks("python")
        for node in ast.parse(block).body
        if isinstance(node, ast.ClassDef)
    ]
    assert {node.name for node in classes} == {"Palette", "Spread", "HalfRows", "HalfIndex"}
    for block in blocks("python"):
        code = [line for line in block.splitlines() if line.strip()]
        body = [line for line in code if not line.startswith(("import", "from"))]
        assert len(body) <= MAX_LINES, body[0]


def test_the_parts_pass_their_checks(outside):
    run = "import sys, my_parts; my_parts.test_my_parts(); sys.exit('pytest' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", run],
        env=environment(outside),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_commands_and_the_page(outside, pictures, tmp_path):
    place = str(tmp_path / "c")
    within, query = [outside], str(pictures / "rot" / "rot-0.png")
    names = ("--feature", "palette", "--index", "half", "-c", place)
    # Another feature beside it, and both on the page.
    more = ("--feature", "visterms", "--set", "dimension=8", "--set", "colours=3")
    _, learned, found, features, methods, _ = commands(
        ("index", str(pictures), *names),
        ("learn", "--folders", "--method", "spread", "--set", "floor=0.1", "-c", place, "--json"),
        ("search", query, "--by", "palette", "-c", place, "--json"),
        ("index", "--help"),
        ("learn", "--help"),
        ("index", str(pictures), *more, "-c", place),
        within=within,
    )
    assert json.loads(learned)["similarity"]["after"] is not None
    assert len(json.loads(found)["matches"]) == 10
    assert "palette" in features
    assert "spread" in methods
    server = subprocess.Popen(
        [
            *(sys.executable, "-c", "from lookalike.service.command_line import main; main()"),
            *("serve", place, "--port", "0", "--json"),
        ],
        env=environment(*within),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = json.loads(server.stdout.readline())["address"].rstrip("/")
        for ranker, name in (("palette", "palette"), ("visterms", "Details")):
            with urllib.request.urlopen(f"{address}/api/search?like=1&by={ranker}") as answer:
                assert len(json.load(answer)["matches"]) > 5
            with urllib.request.urlopen(f"{address}/search?like=1&by={ranker}") as page:
                assert f"selected>{name}</option>" in page.read().decode()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def test_without_the_package_the_rest_goes_on(outside, pictures, tmp_path):
    place, query = str(tmp_path / "c"), str(pictures / "rot" / "rot-0.png")
    visterms = ("--feature", "visterms", "--set", "dimension=8", "--set", "colours=3")
    by_palette = ("search", query, "--by", "palette", "-c", place)
    commands(
        ("index", str(pictures), *visterms, "-c", place),
        ("index", str(pictures), "--feature", "palette", "-c", place),
        within=[outside],
    )
    found, told = commands(("search", query, "-c", place, "--json"), by_palette, within=[], code=1)
    assert len(json.loads(found)["matches"]) == 10
    assert "the feature 'palette' of the package my-parts is not installed" in " ".join(
        told.split()
    )
    assert "pip install my-parts" in " ".join(told.split())
    (again,) = commands((*by_palette, "--json"), within=[outside])
    assert len(json.loads(again)["matches"]) == 10
