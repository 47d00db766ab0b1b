"""Heavy packages wait until they are needed, so that a start takes no time."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

HEAVY = {
    *("numpy", "scipy", "numba", "sklearn", "PIL", "onnx", "onnxruntime", "matplotlib"),
    *("safetensors", "sqlite3"),
}

LIST = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}), sep='\\n')"


def loaded(code):
    """List the top-level modules a fresh interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LIST}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_is_light():
    modules = loaded("import lookalike; lookalike.__version__, dir(lookalike)")
    assert "lookalike" in modules
    assert not modules & (HEAVY | {"typer", "rich"})


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["index", "--help"], ["demo", "-h"], ["nonsense"]]
)
def test_command_line_is_light(arguments):
    code = (
        "import sys, io, contextlib\n"
        f"sys.argv = ['lookalike', *{arguments!r}]\n"
        "from lookalike.service.command_line import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()\n"
    )
    modules = loaded(code)
    assert "typer" in modules
    assert not modules & HEAVY


def test_the_check_sees_what_is_loaded():
    assert "numpy" in loaded("import lookalike; lookalike.Collection")


def test_a_search_is_light(tmp_path):
    """Nothing heavy for what is stored: neither compiled loops nor models nor learners."""
    from tests.service.pictures import draw

    for number in range(3):
        draw(tmp_path / "photos" / f"{number}.png", (90 * number, 90, 200), number)
    place = tmp_path / "store"
    code = (
        "import sys, io, contextlib\n"
        "from lookalike.service.command_line import main\n"
        "sys.argv = ['lookalike', *{!r}, '-c', {!r}]\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "assert {!r} in out.getvalue(), out.getvalue()\n"
    )
    indexed = loaded(code.format(["index", str(tmp_path / "photos")], str(place), "3"))
    assert "onnxruntime" in indexed
    for asked in (["search", str(tmp_path / "photos" / "0.png")], ["search", "--word", "photos"]):
        modules = loaded(code.format(asked, str(place), "2.png"))
        assert {"numpy", "sqlite3"} <= modules
        slow = {"scipy", "numba", "sklearn", "onnx", "onnxruntime", "matplotlib", "fastapi"}
        assert not modules & (slow | {"httpx", "uvicorn", "jinja2", "cv2"})


def test_the_client_is_light():
    modules = loaded("import lookalike; lookalike.Client")
    slow = {"scipy", "numba", "sklearn", "onnx", "onnxruntime", "matplotlib", "fastapi"}
    assert "httpx" in modules
    assert not modules & (slow | {"uvicorn", "jinja2"})


def test_learned_similarities_and_annotators_are_light():
    modules = loaded("import lookalike.similarity.oasis, lookalike.annotation.ridge")
    assert not modules & {"scipy", "numba", "sklearn"}


def test_learning_draws_nothing(tmp_path):
    """Neither plots nor what only papers compare with."""
    from tests.service.pictures import draw, write_model

    assert "matplotlib" not in loaded("import lookalike.evaluate")
    for number in range(18):
        draw(tmp_path / "photos" / "abc"[number % 3] / f"{number}.png", (12 * number, 9, 9), number)
    write_model(tmp_path / "model.onnx")
    place = str(tmp_path / "store")
    commands = [
        ["index", str(tmp_path / "photos"), "--model", str(tmp_path / "model.onnx"), "-c", place],
        ["learn", "--folders", "-c", place],
    ]
    code = (
        "import sys\n"
        "from lookalike.service.command_line import app\n"
        f"for command in {commands!r}:\n"
        "    app(command, standalone_mode=False)\n"
        "assert 'lookalike.evaluate' in sys.modules\n"
        "assert 'lookalike.similarity.oasis' in sys.modules\n"
        "papers = ('evaluate.reproduce', 'evaluate.plots', 'similarity.lmnn', 'similarity.itml')\n"
        "assert not [name for name in papers if f'lookalike.{name}' in sys.modules]\n"
    )
    assert "matplotlib" not in loaded(code)


def test_what_make_installs_is_locked():
    """Each version in requirements.lock is one that pyproject.toml admits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").split()
    locked = dict(line.split("==") for line in lines)
    extras = project["optional-dependencies"].values()
    for text in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        wanted = Requirement(text)
        if wanted.name != "lookalike":
            assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)]), text
