"""What the documents name exists, and what exists and is public is documented."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

import pytest

import lookalike
from lookalike.core.stored import Stored

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "docs" / "papers.md"
STAGES = (
    "images",
    "features",
    "supervision",
    "similarity",
    "annotation",
    "codes",
    "index",
    "evaluate",
    "collection",
)

NUMBERED = {
    "1. OASIS": {"Eq.": 22, "Table": 5, "Fig.": 9},
    "2. WSABIE": {"Eq.": 10, "Alg.": 1, "Table": 8, "Fig.": 2},
    "3. Query-adaptive Hamming distance": {"Eq.": 13, "Alg.": 1, "Fig.": 6},
    "4. Sparse similarity": {"Eq.": 5, "Table": 4, "Fig.": 6},
    "5. OMKS": {"Eq.": 27, "Alg.": 2, "Table": 3, "Fig.": 4},
}
"""How many equations, algorithms, tables and figures each paper numbers."""

ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}
PLACES = re.compile(r"(Eq\.|Alg\.|Table|Fig\.) (\d+|[IV]+)(?:–(\d+))?")
"""An item or a run of them: "Eq. 3–5", "Table IV"."""


def documents():
    """Markdown files of the project, wherever they lie."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def sections(text):
    """Text under each heading of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section):
    """Cells of the table in a section, without its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def marks(text):
    """Everything in code marks, outside blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


@cache
def commands():
    from typer.main import get_command

    from lookalike.service.command_line import app

    return frozenset(get_command(app).commands)


@cache
def names_in(path):
    """Names of the test functions of a file, "Class::name" inside a class."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {f"{prefix}{n.name}" for n in inside if isinstance(n, ast.FunctionDef)}
    return names


def resolve(dotted):
    """Import the longest part of a dotted name that is a module, then look up the rest."""
    names = dotted.split(".")
    for length in range(len(names), 0, -1):
        module = ".".join(names[:length])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            continue
        for name in names[length:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


def public(name):
    """Find a name among what the stages export."""
    for stage in STAGES:
        module = importlib.import_module(f"lookalike.{stage}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"no stage exports {name}")


def wrong(mark):
    """Say what is wrong with a mark; None if what it names exists."""
    if re.fullmatch(r"lookalike(\.\w+)+", mark):
        try:
            resolve(mark)
        except (ModuleNotFoundError, AttributeError) as error:
            return str(error)
        return None
    if mark.startswith("lookalike "):
        return None if mark.split()[1] in commands() else "no such command"
    if re.match(r"(tests|benchmarks|docs|src)/", mark):
        path, _, name = mark.partition("::")
        if not (ROOT / path).exists():
            return "no such path"
        return "no such test" if name and name not in names_in(path) else None
    if re.fullmatch(r"\w+\(.*\)", mark):
        call = ast.parse(mark, mode="eval").body
        try:
            parameters = inspect.signature(public(call.func.id)).parameters
        except AttributeError as error:
            return str(error)
        unknown = [word.arg for word in call.keywords if word.arg not in parameters]
        return f"no parameter {unknown}" if unknown else None
    return "neither a name, a command, a path nor a call"


def test_what_the_map_of_the_papers_names_exists():
    found = {mark: wrong(mark) for mark in marks(PAPERS.read_text(encoding="utf-8"))}
    assert len(found) > 100
    assert not {mark: why for mark, why in found.items() if why}


@pytest.mark.parametrize(
    "mark",
    [
        "lookalike.similarity.OASES",
        "lookalike.similarities.OASIS",
        "lookalike.similarity.OASIS.score_them",
        "lookalike fly",
        "tests/test_docs.py::test_that_is_not_there",
        "tests/features/test_visterms.py::test_levels",
        "benchmarks/speed/nothing.py",
        "OASIS(patience=3)",
        "OASES(steps=3)",
        "W",
    ],
)
def test_the_check_of_names_sees_what_is_missing(mark):
    assert wrong(mark)


@pytest.mark.parametrize("paper", NUMBERED)
def test_no_numbered_item_of_a_paper_is_missing(paper):
    table = rows(sections(PAPERS.read_text(encoding="utf-8"))[paper])
    named = {kind: set() for kind in NUMBERED[paper]}
    for where, *_ in table:
        for kind, first, last in PLACES.findall(where):
            start = ROMAN[first] if first in ROMAN else int(first)
            named[kind] |= set(range(start, int(last or start) + 1))
    assert named == {kind: set(range(1, n + 1)) for kind, n in NUMBERED[paper].items()}


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_row_says_what_stands_for_it(paper):
    for row in rows(sections(PAPERS.read_text(encoding="utf-8"))[paper]):
        assert len(row) == 4, row
        _, what, code, test = row
        assert what, row
        assert re.search(r"cannot be repeated|^text|`", code), row
        assert "`lookalike." not in code or "`tests/" in test, row


def test_nothing_of_the_papers_is_left_for_later():
    text = PAPERS.read_text(encoding="utf-8")
    assert not re.search(r"not yet|planned|to do", text, flags=re.IGNORECASE)
    for paper in NUMBERED:
        for where, _, code, test in rows(sections(text)[paper]):
            alone = re.match(r"text|cannot be repeated", code) or re.search(r"`benchmarks/", code)
            assert alone or "`tests/" in test, (paper, where)


def exported():
    """Classes and functions the stages export, by full name."""
    for stage in STAGES:
        module = importlib.import_module(f"lookalike.{stage}")
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"{stage}.{name}", found


def undocumented(thing):
    """List what the docstring of a class or function leaves unsaid.

    A section of parameters must name all of them; without one, up to two speak for themselves
    and more must all be named in the text. Fields of a dataclass are left to its own words, unless
    they are the settings of a part.
    """
    text = inspect.cleandoc(thing.__doc__ or "")
    # A dataclass without a docstring is given its signature for one.
    if not text or text.startswith(f"{thing.__name__}("):
        return ["docstring"]
    if not text.partition("\n\n")[0].endswith("."):
        return ["opening sentence"]
    if inspect.isclass(thing):
        own = [name for name in vars(thing) if not name.startswith("_")]
        unsaid = [
            name
            for name in own
            if isinstance(vars(thing)[name], FunctionType | classmethod | staticmethod | property)
            and not inspect.getdoc(getattr(thing, name))
        ]
        if "__init__" not in vars(thing) or (is_dataclass(thing) and not issubclass(thing, Stored)):
            return unsaid
    else:
        unsaid = []
    parameters = list(inspect.signature(thing).parameters)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n---|\Z)", text, flags=re.M | re.S)
    if section:
        heads = " ".join(re.findall(r"^\S.*", section[1], flags=re.MULTILINE))
        return unsaid + [name for name in parameters if not re.search(rf"\b{name}\b", heads)]
    if len(parameters) > 2:
        return unsaid + [name for name in parameters if not re.search(rf"\b{name}\b", text)]
    return unsaid


def test_what_is_exported_is_documented():
    found = {name: undocumented(thing) for name, thing in exported()}
    assert len(found) > 40
    assert not {name: unsaid for name, unsaid in found.items() if unsaid}


def test_the_check_of_docstrings_sees_what_is_missing():
    class Bare:
        pass

    class Half:
        """Opens well."""

        def method(self):
            pass

    def many(first, second, third):
        """Take three and speak of first and second alone."""

    def section(first, second):
        """Open well.

        Parameters
        ----------
        first : int
            Not the second.
        """

    assert undocumented(Bare) == ["docstring"]
    assert undocumented(Half) == ["method"]
    assert undocumented(many) == ["third"]
    assert undocumented(section) == ["second"]


def test_readme_names_every_command():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert commands() >= {"index", "learn", "search", "evaluate", "demo", "reproduce"}
    assert not [name for name in sorted(commands()) if f"lookalike {name}" not in text]


def anchors(path):
    """Fragments the headings of a Markdown file can be reached by."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere():
    broken = []
    for document in documents():
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)[^)]*\)|src=\"([^\"]+)\"", text):
            target, _, fragment = (link[0] or link[1]).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            path = (document.parent / target).resolve() if target else document
            known = not fragment or path.suffix != ".md" or fragment in anchors(path)
            if not path.exists() or not path.is_relative_to(ROOT) or not known:
                broken.append((document.name, link))
    assert not broken


REGISTRIES = {
    "Feature": "lookalike.features.registry.FEATURES",
    "Similarity": "lookalike.similarity.registry.SIMILARITIES",
    "Annotator": "lookalike.annotation.registry.ANNOTATORS",
    "Encoder": "lookalike.codes.registry.ENCODERS",
    "Index": "lookalike.index.registry.INDEXES",
    "Reranker": "lookalike.index.registry.RERANKERS",
}


def architecture(heading):
    """Return the table of the first heading that ends so, by its first cells."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = next(part for name, part in sections(text).items() if name.endswith(heading))
    return {row[0]: row[1:] for row in rows(section)}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_architecture_lists_every_registered_part(kind):
    names = set(re.findall(r"[\w-]+", architecture("kinds of parts")[f"**{kind}**"][-1]))
    assert not set(resolve(REGISTRIES[kind])._own) - names


@pytest.mark.parametrize(
    "note", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda it: it.stem
)
def test_decisions_are_short(note):
    assert len(note.read_text(encoding="utf-8").split()) <= 650  # the rest: docs/benchmarks/notes


def test_architecture_lists_every_room_of_a_collection():
    there = ROOT / "src" / "lookalike" / "collection"
    rooms = {f"`{path.parent.name}/`" for path in there.glob("*/__init__.py")}
    listed = set(architecture("the folder tree"))
    assert rooms | {"`collection.py`"} == listed - {"room"}


def defined(path):
    """Names of the functions and classes of a file, "Class.name" inside a class."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return found


def walks():
    """Return the walks of docs/walks.md: the count of files said, and the hops."""
    text = (ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
    for name, section in sections(text).items():
        hops = re.findall(r"^\d+\. `([^`]+)`, `([^`]+)`:", section, flags=re.MULTILINE)
        yield pytest.param(int(re.search(r"^(\d+) files", section, re.M)[1]), hops, id=name)


@pytest.mark.parametrize(("count", "hops"), list(walks()))
def test_walks_lead_through_code_that_is_there(count, hops):
    source = ROOT / "src" / "lookalike"
    assert not [hop for hop in hops if hop[1] not in defined(source / hop[0])]
    assert count == len({path for path, _ in hops}) <= 10


def test_changelog_opens_with_this_version_or_unreleased():
    headings = re.findall(
        r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert re.match(rf"\[?(Unreleased|{re.escape(lookalike.__version__)})\b", headings[0])


MACHINE = re.compile(rb"(?<![\w.~])/(?:work|root|home)/")


def test_no_file_names_a_place_of_one_machine():
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a Git checkout")
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    if not files:
        pytest.skip("Git knows no files here")
    here = [file for file in files if file.is_file()]
    assert not [str(file) for file in here if MACHINE.search(file.read_bytes())]


def test_the_check_of_places_sees_them():
    home = b"/".join([b"", b"home", b"someone"])
    assert MACHINE.search(b'open("' + home + b'")')
    assert not MACHINE.search(b"https://example.org" + home)


SOURCES = sorted((ROOT / "src").rglob("*.py"))
UNPICKLER = ROOT / "src" / "lookalike" / "features" / "torch_file.py"

CODE_FROM_DATA = {
    "pickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "torch",
}
"""Modules that run or may run what a file says."""

NEVER_CALLED = {"eval", "exec", "__import__", "system", "popen", "read_pickle"}
ALWAYS_FALSE = {"allow_pickle", "shell"}


def dangers(source, *, may_unpickle=False):
    """List what would run foreign code: modules, calls and switches, by line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names = names or [alias.name for alias in node.names]
            modules = {str(name).partition(".")[0] for name in names} & CODE_FROM_DATA
            modules -= {"pickle"} if may_unpickle and isinstance(node, ast.Import) else set()
            found += [(node.lineno, name) for name in sorted(modules)]
        if isinstance(node, ast.Call):
            of = node.func.value if isinstance(node.func, ast.Attribute) else None
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
            plain = isinstance(of, ast.Name) and of.id in CODE_FROM_DATA
            if plain or name in NEVER_CALLED:
                found.append((node.lineno, name))
            for word in node.keywords:
                off = isinstance(word.value, ast.Constant) and word.value.value is False
                if word.arg in ALWAYS_FALSE and not off:
                    found.append((node.lineno, word.arg))
    return found


def test_nothing_runs_what_a_file_says():
    assert UNPICKLER in SOURCES
    found = {
        file.relative_to(ROOT).as_posix(): dangers(
            file.read_text(encoding="utf-8"), may_unpickle=file == UNPICKLER
        )
        for file in SOURCES
    }
    assert len(found) > 50
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib",
        "from torch.serialization import load",
        "eval(text)",
        "exec(text)",
        "os.system(line)",
        "numpy.load(path, allow_pickle=True)",
        "numpy.load(path, allow_pickle=trusted)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_the_check_of_sources_sees_dangers(source):
    assert dangers(source)


@pytest.mark.parametrize(
    "source", ["pickle.load(file)", "pickle.Unpickler(file)", "from pickle import load"]
)
def test_even_the_unpickler_is_restricted(source):
    assert dangers(source, may_unpickle=True)


OFFLINE = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        print(event, arguments)
        raise PermissionError(event)

sys.addaudithook(refuse)
"""

A_DAY_OF_WORK = """
import importlib, pkgutil
import lookalike
from lookalike.core.stored import Stored

for module in pkgutil.walk_packages(lookalike.__path__, "lookalike."):
    importlib.import_module(module.name)

from sklearn.datasets import load_digits
from lookalike.evaluate import evaluate_similarity
from lookalike.index import DenseIndex
from lookalike.similarity import OASIS

X, y = load_digits(return_X_y=True)
model = OASIS(steps=200, random_state=0).fit(X[:80], y[:80])
index = DenseIndex(X.shape[1])
index.add(model.item_vectors(X[:80]))
index.search(model.query_vectors(X[80:81]), 5)
evaluate_similarity(model, X[80:160], y[80:160])
"""


def offline(code):
    """Run code where every use of a socket is told and refused."""
    return subprocess.run(
        [sys.executable, "-c", OFFLINE + code], capture_output=True, text=True, check=False
    )


def test_importing_and_learning_use_no_network():
    done = offline(A_DAY_OF_WORK)
    assert done.returncode == 0, done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    "code", ["import socket; socket.socket()", "import socket; socket.getaddrinfo('a.invalid', 80)"]
)
def test_the_check_of_sockets_sees_them(code):
    done = offline(code)
    assert done.returncode
    assert done.stdout.startswith("socket.")
