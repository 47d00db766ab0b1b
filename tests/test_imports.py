"""Heavy packages wait until they are needed, so that a start takes no time."""

import subprocess
import sys

import pytest

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
