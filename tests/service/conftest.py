import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from lookalike import Collection
from lookalike.features import FEATURES
from lookalike.service.command_line import app
from tests.gates import OPEN
from tests.service.brightness import Brightness
from tests.service.pictures import draw, write_model

TINTS = {"red": (30, -15, -15), "green": (-15, 30, -15), "blue": (-15, -15, 30)}


class Ran:
    """How a command ended."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.exception = result.exception

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def run():
    def call(*args):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        return Ran(result)

    return call


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Three folders of nine pictures each, which differ more in brightness than in tint."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for kind, (name, tint) in enumerate(TINTS.items()):
        for number in range(9):
            colour = rng.integers(58, 198, 1) + tint
            draw(folder / name / f"{number}.png", colour, 100 * kind + number)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small image model, so that describing and learning take no time."""
    path = tmp_path_factory.mktemp("model") / "colours.onnx"
    write_model(path)
    return path


@pytest.fixture(scope="session")
def learned(tmp_path_factory, photos, model, run):
    """A collection that learned from the folders, not to be changed."""
    place = tmp_path_factory.mktemp("store") / "learned"
    assert run("index", photos, "-c", place, "--model", model).code == 0
    with Collection.open(place, gate=OPEN) as store:
        told = store.learn(folders=True)
    assert told.similarity.published
    assert told.words.published
    return place


@pytest.fixture
def changeable(learned, tmp_path):
    """A copy of that collection."""
    return shutil.copytree(learned, tmp_path / "copy")


@pytest.fixture(scope="session")
def known_brightness():
    """A feature of another package, installed."""
    FEATURES.register(Brightness)
    yield
    del FEATURES._here["brightness"]


@pytest.fixture
def without_brightness(monkeypatch):
    """Let that package be gone: call it."""
    return lambda: monkeypatch.delitem(FEATURES._here, "brightness")


@pytest.fixture(scope="session")
def described_twice(tmp_path_factory, photos, learned, run, known_brightness):
    """That collection with a second ranker, brightness; not to be changed."""
    place = shutil.copytree(learned, tmp_path_factory.mktemp("two") / "store")
    assert run("index", photos, "-c", place, "--feature", "brightness").code == 0
    return place


@pytest.fixture
def two(described_twice, tmp_path):
    """A copy of the collection with two rankers."""
    return shutil.copytree(described_twice, tmp_path / "two")
