"""Finding the same thing on the command line: a vocabulary, a box, and why two pictures match."""

import json

import numpy as np
import pytest
from PIL import Image

from lookalike import Collection
from lookalike.features import Visterms
from lookalike.features.regions import Regions
from lookalike.similarity import Cosine


def blobs(seed):
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (24, 32), dtype=np.uint8))
    return rough.resize((256, 192), Image.Resampling.BICUBIC).convert("RGB")


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """Four things, each in three pictures, beside each other with another in the last."""
    folder = tmp_path_factory.mktemp("things")
    for thing in range(4):
        for shift in range(2):
            moved = blobs(thing).crop((6 * shift, 4 * shift, 220 + 6 * shift, 170 + 4 * shift))
            moved.save(folder / f"{thing}-{shift}.png")
    scene = Image.new("RGB", (512, 192), "grey")
    scene.paste(blobs(0), (0, 0))
    scene.paste(blobs(1), (256, 0))
    scene.save(folder / "scene.png")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory, things, model, run):
    """A collection by look and, with a vocabulary of its own, by regions."""
    words = tmp_path_factory.mktemp("words") / "words"
    ran = run("vocabulary", things, "--words", 150, "--out", words, "--json")
    assert ran.code == 0
    assert ran.json["words"] == 150
    assert ran.json["fingerprint"] == Regions.load(words).fingerprint
    assert [path.name for path in words.parent.iterdir()] == ["words"]
    place = words.with_name("store")
    assert run("index", things, "-c", place, "--model", model).code == 0
    asked = ("index", things, "-c", place, "--feature", "regions", "--vocabulary", words)
    assert run(*asked).code == 0
    with Collection.open(place) as opened:
        assert opened.features["regions"].fingerprint == ran.json["fingerprint"]
    return place


def found(ran):
    assert ran.code == 0
    return [match["path"].rpartition("/")[2] for match in ran.json["matches"]]


def test_the_time_is_said_beforehand(run, things, tmp_path):
    ran = run("vocabulary", things, "--words", 40, "--out", tmp_path / "words")
    assert "Learning up to 40 words from 9 pictures takes about" in ran.out
    assert f"40 words are in {tmp_path / 'words'}" in ran.out.replace("\n", "")


def test_a_box_finds_the_thing_in_it(run, things, store):
    asked = ("search", things / "scene.png", "-c", store, "--by", "regions", "-k", 3, "--json")
    assert set(found(run(*asked, "--box", "0,0,256,192"))) == {"0-0.png", "0-1.png", "scene.png"}
    assert set(found(run(*asked, "--box", "256,-9,999,210"))) == {"1-0.png", "1-1.png", "scene.png"}


def test_a_box_must_lie_in_the_picture(run, things, store):
    asked = ("search", things / "scene.png", "-c", store, "--by", "regions")
    ran = run(*asked, "--box", "600,0,50,50")
    assert ran.code == 1
    assert "lies outside" in ran.err
    assert "512 × 192 pixels" in ran.err
    for box in ("1,2,3", "1,2,0,4", "a,b,c,d", "0,0,nan,5"):
        assert run(*asked, "--box", box).code == 2
    assert run("search", "--word", "dog", "-c", store, "--box", "0,0,9,9").code == 2


def test_what_matches_is_explained(run, things, store, tmp_path):
    sheet = tmp_path / "found.html"
    asked = ("search", things / "2-0.png", "-c", store, "--by", "regions", "-k", 2, "--explain")
    ran = run(*asked, "--sheet", sheet, "--json")
    best = ran.json["matches"][0]["why"]
    assert found(ran)[0] == "2-1.png"
    assert best["regions"] >= 6
    assert best["agreeing"] > 0.6
    first, second = best["matches"][0]["places"]
    assert np.allclose(np.subtract(first, second), (6, 4), atol=2)
    assert sum(match["share"] for match in best["matches"]) == pytest.approx(1, abs=0.01)
    page = sheet.read_text()
    assert page.count("<img") == 1 + 2 + 2
    assert f"{best['regions']} regions" in page
    table = run(*asked).out
    assert str(best["regions"]) in table
    assert "of the score" in table


def test_by_look_and_object_together_unless_one_is_named(run, things, store):
    asked = ("search", things / "scene.png", "-c", store, "-k", 4, "--json")
    parts = {"0-0.png", "0-1.png", "1-0.png", "1-1.png"}
    assert set(found(run(*asked))) == set(found(run(*asked, "--by", "together"))) == parts
    scores = [match["score"] for match in run(*asked).json["matches"]]
    assert scores == sorted(scores, reverse=True)
    looks = [match["score"] for match in run(*asked, "--by", "embedding").json["matches"]]
    assert 1 > scores[0] > scores[-1] > 1.1 / 1.8 > max(looks) / 1.8
    objects = [match["score"] for match in run(*asked, "--by", "regions").json["matches"]]
    assert 1 > objects[0] > objects[-1] > 0.5


def test_a_collection_without_regions_says_how_to_get_them(run, photos, learned):
    picture = photos / "red" / "0.png"
    for extra in (("--explain",), ("--by", "together")):
        ran = run("search", picture, "-c", learned, *extra)
        assert ran.code == 1
        assert "--feature regions" in ran.err
    assert "has no ranker 'regions'" in run("search", picture, "-c", learned, "--by", "regions").err


def test_a_vocabulary_of_something_else_is_refused(run, things, store, model, tmp_path):
    other = tmp_path / "visterms"
    Visterms(dimension=4).fit([blobs(0), blobs(1)]).save(other)
    asked = ("index", things, "-c", tmp_path / "c", "--feature", "regions", "--vocabulary")
    assert "not a vocabulary of regions" in run(*asked, other).err
    Cosine().fit(np.eye(4, dtype=np.float32), [0, 0, 1, 1]).save(other)
    assert "not a vocabulary of regions" in run(*asked, other).err
    words = store.with_name("words")
    ran = run(*asked, words, "--set", "upright=true")
    assert "was learned with upright=False" in ran.err
    damaged = tmp_path / "damaged"
    damaged.write_bytes(words.read_bytes()[:-100])
    assert run(*asked, damaged).code == 1
    assert not (tmp_path / "c").exists()
    ran = run("index", things, "-c", tmp_path / "c", "--model", model, "--vocabulary", words)
    assert "works only with --feature regions" in ran.err


def test_no_ranker_may_be_called_together(run, things, store):
    ran = run("index", things, "-c", store, "--feature", "visterms", "--name", "together")
    assert "Choose another name" in ran.err


def test_a_vocabulary_goes_on_after_it_was_stopped(run, things, tmp_path, stand_in):
    asked = ("vocabulary", things, "--words", 60, "--out", tmp_path / "words")
    fit = Regions.fit

    def stopped(self, images, progress, *, checkpoint):
        fit(self, images, progress, checkpoint=checkpoint)
        raise KeyboardInterrupt

    stand_in(Regions, fit=stopped)
    ran = run(*asked)
    assert ran.code == 130
    assert "run the same command again" in ran.err
    kept = tmp_path / "words.unfinished"
    before = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert before.keys() == {"regions-00000", "words"}
    stand_in(Regions, fit=fit)
    assert run(*asked).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["words"]


def test_pictures_without_regions(run, things, store, tmp_path):
    Image.new("RGB", (64, 64), "grey").save(tmp_path / "grey.png")
    ran = run("vocabulary", tmp_path / "grey.png", "--out", tmp_path / "words")
    assert ran.code == 1
    assert "these 1 have 0" in ran.err
    asked = ("search", tmp_path / "grey.png", "-c", store, "--by", "regions", "--explain", "--json")
    ran = run(*asked)
    assert ran.code == 0
    assert all(match["why"]["regions"] == 0 for match in ran.json["matches"])
    assert json.loads(ran.out)["matches"]
