"""A collection searched by regions: what lies like the query comes first, and it learns."""

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from lookalike.collection import Ask, Collection
from lookalike.features.regions import Regions
from tests.collection.beside import current_ranker


def blobs(seed):
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (24, 32), dtype=np.uint8))
    return rough.resize((256, 192), Image.Resampling.BICUBIC).convert("RGB")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects")
    for thing in range(4):
        (folder / f"{thing}").mkdir()
        for shift in range(4):
            moved = blobs(thing).crop((6 * shift, 4 * shift, 220 + 6 * shift, 170 + 4 * shift))
            moved.save(folder / f"{thing}" / f"{thing}-{shift}.png")
    features = {"regions": Regions(dimension=200)}
    with Collection.create(folder / "c", features=features) as collection:
        collection.add([folder])
        yield collection


def names(matches):
    return [match.path.name[0] for match in matches]


def test_the_same_thing_is_found_and_checked_by_place(store):
    for thing in range(4):
        found = store.search(blobs(thing), 4, by="regions")
        assert names(found) == [str(thing)] * 4
        assert 0.61 < found[0].score < 1  # six regions that lie alike, or more
    assert store.search(blobs(0), 1, learned=False)[0].score <= 1.001


def test_known_pictures_and_parts_of_them_are_checked_too(store):
    own = store.search(blobs(2), 1)[0].id
    found = store.search(Ask((own,)), 3)
    assert names(found) == ["2"] * 3
    assert 0.61 < found[0].score < 1
    token = store.queries.keep_region(own, (0.1, 0.1, 0.9, 0.9))
    assert names(store.search(Ask((token,)), 4)) == ["2"] * 4


def test_several_pictures_are_ranked_without_the_check(store):
    ids = [match.id for match in store.search(blobs(1), 2)]
    found = store.search(Ask(tuple(ids)), 2)
    assert names(found) == ["1"] * 2
    assert found[0].score <= 1.001


def test_words_that_speak_for_each_other_are_learned_through_the_gate(store):
    learned = store.learn(folders=True, method="sparse", hold_back=0.5)
    assert learned is not None
    assert names(store.search(blobs(3), 4)) == ["3"] * 4


def test_a_picture_without_regions_finds_nothing_by_place(store):
    found = store.search(Image.new("RGB", (64, 64), "grey"), 3)
    assert all(match.score <= 0 for match in found)


def test_votes_teach_regions_and_a_query_stays_sparse(tmp_path):
    """What is picked for one view is nearer to other views of it, by few words."""
    for thing in range(6):
        for shift in range(3):
            moved = blobs(thing).crop((9 * shift, 6 * shift, 210 + 9 * shift, 160 + 6 * shift))
            moved.save(tmp_path / f"{thing}-{shift}.png")
    with Collection.create(tmp_path / "c", features=[Regions(dimension=2000)]) as opened:
        opened.add([tmp_path])
        ids = {path.name[:3]: opened.pictures.find(path) for path in tmp_path.glob("*.png")}

        def score(query, picture):
            found = opened.search(Ask((ids[query],)), 18, learned=True)
            return next(match.score for match in found if match.id == ids[picture])

        before = score("0-2", "3-0")
        asked = Ask((ids["0-0"],))
        opened.vote(asked, picked=[ids["3-0"]], rejected=[ids["4-0"]], shown=list(ids.values()))
        opened.vote(Ask((ids["0-1"],)), picked=[ids["3-1"]], rejected=[ids["5-1"]])
        assert opened.search(asked, 1)[0].id == ids["3-0"]
        assert score("0-2", "3-0") > before
        ranker = current_ranker(opened)
        query = ranker.query(ranker.vectors(np.array([ids["0-2"]])))
        assert sp.issparse(query)
        assert query.nnz < 1000
