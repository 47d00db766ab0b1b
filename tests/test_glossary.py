"""The words of docs/glossary.md are the words of the code."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from lookalike.collection.log.event import KINDS

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = ROOT / "src" / "lookalike" / "collection"
ROOMS = ("log", "nouns", "store")
STAGES = (
    *("core", "images", "features", "supervision", "similarity", "annotation", "codes"),
    *("index", "evaluate", "collection", "service"),
)

GONE = frozenset({"told", "tagger", "naming", "say", "correction", "asked", "kept"})
"""Words that no name of these rooms, and no public name, has a part of."""

NO_NAMES = frozenset({"found", "told", "asked", "said"})
"""Participles that name nothing: no variable, parameter, field, function or class is called so."""

SUPERLATIVES = frozenset({"MOST", "LEAST", "LONGEST", "LARGEST", "SMALLEST", "SHORTEST", "ENOUGH"})
"""Limits are called MAX_ and MIN_."""

GONE_KINDS = frozenset({"tag", "correction", "say"})
GONE_CLASSES = frozenset({"Verdict"})


def parts(name):
    """Words that a name is made of, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names(path):
    """Names of a module, its classes and its functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [path.stem, *(node.name for node in ast.walk(tree) if isinstance(node, kinds))]


def refused(name):
    """Whether a name has a word that is gone."""
    return bool(parts(name) & GONE) or name in GONE_CLASSES


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_use_no_word_that_is_gone(room):
    found = {
        path.relative_to(COLLECTION).as_posix(): [name for name in names(path) if refused(name)]
        for path in sorted((COLLECTION / room).glob("*.py"))
    }
    assert len(found) > 5
    assert not {path: wrong for path, wrong in found.items() if wrong}


@pytest.mark.parametrize("stage", STAGES)
def test_public_names_use_no_word_that_is_gone(stage):
    module = importlib.import_module(f"lookalike.{stage}")
    assert not [name for name in getattr(module, "__all__", ()) if refused(name)]


def test_the_face_of_a_collection_uses_no_word_that_is_gone():
    path = COLLECTION / "collection.py"
    assert "label" in names(path)
    assert not [name for name in names(path) if refused(name)]


def bound_names(path):
    """Every name that a module binds: variables, parameters, fields, functions, classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("stage", STAGES)
def test_names_are_no_participles_and_no_superlatives(stage):
    wrong = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in sorted((ROOT / "src" / "lookalike" / stage).rglob("*.py"))
        for name in bound_names(path)
        if name.strip("_").lower() in NO_NAMES or set(name.split("_")) & SUPERLATIVES
    }
    assert not wrong


@pytest.mark.parametrize("name", ["say_many", "Tagger", "told", "Verdict", "corrections_naming"])
def test_the_check_of_words_sees_them(name):
    assert refused(name)


def test_every_kind_of_event_has_its_line():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = text.partition("## Kinds of events")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)) == set(KINDS)
    assert not GONE_KINDS & set(KINDS)
