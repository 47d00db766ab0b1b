import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from lookalike.collection import Ask, Collection
from lookalike.collection.search.exporting import KIND, recipe_beside
from lookalike.collection.store.rankers import records
from lookalike.collection.votes.preferences import Preferences
from lookalike.core.arrays import load_arrays
from lookalike.core.errors import InvalidInput
from lookalike.core.fingerprint import fingerprint
from lookalike.features import Feature, pack_vector, unpack_vectors
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import Colours, album
from tests.collection.teaching import QUICK, learn
from tests.gates import OPEN

VOTES = {"votes_near", "votes_width", "votes_move", "votes_strength"}
EVERYWHERE = "votes_matrix"


class Wide(Feature):
    """Colours in a few of ten thousand columns, as visterms are."""

    name = "wide"
    sparse = True

    def __init__(self, dimension=10_000):
        self.dimension = dimension

    @property
    def fingerprint(self):
        return fingerprint({"kind": "wide", "dimension": self.dimension}, {})

    def record(self, image):
        row = sp.csr_matrix(Colours().describe([image]))
        columns = row.indices * (self.dimension // 48)
        return pack_vector(sp.csr_matrix((row.data, columns, row.indptr), (1, self.dimension)))

    def vectors(self, records):
        return unpack_vectors(records, self.dimension, sparse=True)


def vote(collection):
    """Prefer a picture of the query's own colour to one of another."""
    for query in (2, 7, 11, 19, 23):
        good, bad = query + (1 if query % 8 else -1), 1 + (query + 9) % 24
        collection.vote(Ask((query,)), picked=[good], rejected=[bad])
    assert collection.votes.standing().strength == 1


def exported(collection, folder):
    path = folder / "out" / "gelernt.safetensors"
    collection.export(path)
    return path, load_arrays(path, kind=KIND)


def check_recipe(collection, path, manifest):
    """See that the recipe finds what a search finds, for queries that nobody voted on."""
    ids = sorted(row.id for row in collection.pictures.all())
    feature = collection.features[collection.models.rankers()[0].name]
    raw = feature.vectors(records(beside(collection).database, 1, ids))
    room = {}
    exec(manifest["recipe"], room)
    outside = Image.linear_gradient("L").convert("RGB")
    queries = [1, 4, 13, 24, outside]
    described = feature.vectors([feature.record(outside)])
    stack = sp.vstack if sp.issparse(raw) else np.vstack
    asked = stack([raw[[ids.index(n) for n in queries[:-1]]], described])
    asked = sp.csr_matrix(asked) if sp.issparse(raw) else asked
    best, scores = room["search"](path, raw, asked, k=len(ids))
    assert isinstance(best, np.ndarray)
    for row, query in enumerate(queries):
        found = [
            (ids[place], score)
            for place, score in zip(best[row], scores[row], strict=True)
            if ids[place] != query
        ]
        expected = collection.search(query, len(ids))
        assert [number for number, _ in found] == [match.id for match in expected]
        assert [score for _, score in found] == pytest.approx(
            [match.score for match in expected], abs=1e-4
        )
    return room


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("voted", [False, True])
def test_the_recipe_finds_what_a_search_finds(collection, tmp_path, learned, voted):
    if learned:
        assert learn(collection).similarity.published
    if voted:
        vote(collection)
    path, (arrays, manifest) = exported(collection, tmp_path)
    assert set(arrays) == {*("W" * learned), *((*VOTES, EVERYWHERE) if voted else ())}
    assert (manifest["similarity"], manifest["votes"]) == (
        "oasis" if learned else "cosine",
        5 * voted,
    )
    assert (manifest["model"] is not None) == learned
    assert manifest["fingerprint"] == current_ranker(collection).space.fingerprint
    assert manifest["dimension"] == 48
    for name, array in arrays.items():
        assert array.dtype == np.float32
        assert array.shape[1:] in ((48,), ()) if name in VOTES else array.shape[1] == 48
    check_recipe(collection, path, manifest)


def test_a_similarity_that_is_not_symmetric(collection, tmp_path):
    settings = {**QUICK, "positive": "no", "steps": 500}
    told = collection.learn(folders=True, settings=settings)
    assert told.similarity.published, told.similarity.reason
    vote(collection)
    path, (arrays, manifest) = exported(collection, tmp_path)
    assert not np.allclose(arrays["W"], arrays["W"].T, atol=1e-3)
    check_recipe(collection, path, manifest)


def test_raw_vectors_are_brought_into_the_space(tmp_path, set_limits):
    set_limits(reduced=8, min_to_reduce=12)
    album(tmp_path / "bilder")
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([tmp_path / "bilder"])
        learn(collection)
        vote(collection)
        path, (arrays, manifest) = exported(collection, tmp_path)
        assert arrays["reduction"].shape == (8, 48)
        assert arrays["reduction_mean"].shape == (48,)
        assert arrays["W"].shape == (8, 8)
        room = check_recipe(collection, path, manifest)
        # A vector of zeros says nothing of a picture.
        assert not room["search"](path, np.zeros((2, 48)), np.ones((1, 48)))[1].any()


@pytest.mark.parametrize(("dimension", "learned"), [(480, False), (480, True), (10_000, False)])
def test_sparse_and_wide_vectors(tmp_path, dimension, learned):
    album(tmp_path / "bilder")
    with Collection.create(tmp_path / "c", features=[Wide(dimension)], gate=OPEN) as collection:
        collection.add([tmp_path / "bilder"])
        if learned:
            assert learn(collection).similarity.published
        path, (arrays, manifest) = exported(collection, tmp_path)
        check_recipe(collection, path, manifest)
        vote(collection)
        path, (arrays, manifest) = exported(collection, tmp_path)
        assert set(arrays) == {*("W" * learned), *VOTES}
        assert path.stat().st_size < 5e6
        check_recipe(collection, path, manifest)


def test_what_searches_do_without_is_left_out(collection, tmp_path, monkeypatch):
    vote(collection)
    with Collection.open(collection.path, features=[Colours()]) as again:
        shut = replace(collection.votes.standing(), strength=0.0)
        monkeypatch.setattr(Preferences, "standing", shut)
        path, (arrays, manifest) = exported(again, tmp_path)
        assert arrays == {}
        assert (manifest["votes"], manifest["strength"]) == (5, 0.0)
        check_recipe(again, path, manifest)


def test_the_same_bytes_again_and_from_another_process(collection, tmp_path):
    learn(collection)
    vote(collection)
    first, second, third = (tmp_path / f"{n}.safetensors" for n in "abc")
    collection.export(first)
    collection.export(second)
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[3]);"
        "from colours import Colours; from lookalike.collection import Collection;"
        "Collection.open(sys.argv[1], features=[Colours()]).export(Path(sys.argv[2]))"
    )
    here = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", program, collection.path, third, here], check=True)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    pages = {recipe_beside(path).read_bytes() for path in (first, second, third)}
    assert len(pages) == 1


def test_an_export_says_whose_layers_it_has(collection, tmp_path):
    collection.vote(Ask((1,)), picked=[2], rejected=[20])
    collection.vote(Ask((3,)), picked=[4], rejected=[21], who="Ada")
    _, (_, shared) = exported(collection, tmp_path)
    assert (shared["layers"], shared["votes"]) == ("shared", 1)
    collection.export(tmp_path / "ada.safetensors", who="Ada")
    assert "2 votes of the owner and of trusted people, and of Ada" in recipe_beside(
        tmp_path / "ada.safetensors"
    ).read_text(encoding="utf-8")


def test_the_page_beside_holds_the_recipe(collection, tmp_path):
    collection.vote(Ask((1,)), picked=[2], rejected=[20])
    path, (_, manifest) = exported(collection, tmp_path)
    page = recipe_beside(path).read_text()
    assert page.count(f"```python\n{manifest['recipe']}```") == 1
    assert "holds 1 vote of the owner and of trusted people," in page
    assert collection.features["colours"].fingerprint in page
    assert str(tmp_path) not in page
    assert len(manifest["recipe"].splitlines()) <= 31


def test_a_place_that_cannot_be_is_refused(collection, tmp_path):
    with pytest.raises(InvalidInput, match="must end in"):
        collection.export(tmp_path / "x.bin")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be written"):
        collection.export(tmp_path / "file" / "x.safetensors")
    assert sorted(p.name for p in tmp_path.glob("*.safetensors*")) == []
