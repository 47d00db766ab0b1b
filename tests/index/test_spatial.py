"""Spatial checks, expansion by what agrees, and why two pictures match."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.features.region_records import RegionRecord, pack_regions
from lookalike.index import Hits, SparseIndex, SpatialCheck, SpatialExpansion, why_alike
from lookalike.index._fast.spatial import best_hypothesis, pair_signatures
from lookalike.index.spatial import (
    agreeing_regions,
    agreement,
    likely_pairs,
    mapped,
    same_words,
)
from tests.reference import regions as reference

WORDS = 400


def record_of(rng, n=40, size=(400, 300)):
    words = rng.permutation(WORDS)[:n, None].astype(np.int32)
    places = rng.random((n, 2)) * (np.array(size) - 80) + 40
    turns = rng.random(n) * 0.2
    shapes = np.stack(
        [np.stack([np.cos(turns), -np.sin(turns)], 1), np.stack([np.sin(turns), np.cos(turns)], 1)],
        axis=1,
    ) * rng.uniform(4, 12, (n, 1, 1))
    ones = np.ones((n, 1), np.float32)
    return RegionRecord(size, words, ones, places.astype(np.float32), shapes.astype(np.float32))


def seen_again(rng, record, select, matrix, others=15):
    """Return the first regions as an affine view has them, and other regions besides."""
    noise = record_of(rng, others, record.size)
    places = (
        record.places[:select] @ matrix[:, :2].T + matrix[:, 2] + rng.normal(0, 0.7, (select, 2))
    )
    shapes = matrix[:, :2] @ record.shapes[:select]
    return RegionRecord(
        record.size,
        np.concatenate([record.words[:select], noise.words]),
        np.ones((select + others, 1), np.float32),
        np.concatenate([places, noise.places]).astype(np.float32),
        np.concatenate([shapes, noise.shapes]).astype(np.float32),
    )


VIEW = np.array([[0.8, 0.1, 20], [-0.15, 0.7, 40]])


def test_regions_that_lie_alike_are_found_with_their_map():
    rng = np.random.default_rng(0)
    one = record_of(rng)
    two = seen_again(rng, one, 20, VIEW)
    found = agreement(one, two)
    right = {(k, k) for k in range(20)}
    assert len(right & set(map(tuple, found.pairs.tolist()))) >= 18
    corners = np.array([[50, 50], [300, 60], [80, 250]], np.float32)
    np.testing.assert_allclose(
        mapped(found.matrix, corners), corners @ VIEW[:, :2].T + VIEW[:, 2], atol=8
    )
    np.testing.assert_allclose(found.mapped_back(mapped(found.matrix, corners)), corners, atol=1e-3)


def test_a_perspective_view_is_found_by_a_homography():
    rng = np.random.default_rng(1)
    one = record_of(rng, 60)
    H = np.array([[0.9, 0.05, 10], [0.02, 0.85, 12], [0.0009, 0.0004, 1]])
    two = seen_again(rng, one, 50, VIEW)
    two.places[:50] = mapped(H, one.places[:50])
    # Each region's shape is the homography's derivative at its centre.
    for k in range(50):
        at = mapped(H, one.places[k] + np.array([[0, 0], [1, 0], [0, 1]]))
        two.shapes[k] = np.stack([at[1] - at[0], at[2] - at[0]], axis=1) @ one.shapes[k]
    found = agreement(one, two)
    assert len(found) >= 45
    assert abs(found.matrix[2, 0]) > 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_words_in_random_places_do_not_agree(seed):
    rng = np.random.default_rng(seed)
    one = record_of(rng)
    two = record_of(rng)
    two.words[:] = one.words
    assert len(agreement(one, two)) < 6


@pytest.mark.parametrize("count", [0, 2])
def test_too_few_regions_agree_on_nothing(count):
    rng = np.random.default_rng(2)
    one = record_of(rng)
    few = RegionRecord(
        *(one.size, *(part[:count] for part in (one.words, one.weights, one.places, one.shapes)))
    )
    assert len(agreement(one, few)) == len(agreement(few, one)) == 0


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_the_loops_equal_their_references(seed):
    rng = np.random.default_rng(seed)
    one, two = record_of(rng, 12), record_of(rng, 14)
    one.words[:], two.words[:] = rng.integers(0, 6, (12, 1)), rng.integers(0, 6, (14, 1))
    pairs = same_words(one, two)
    assert set(map(tuple, pairs.tolist())) == reference.same_words(
        one.words[:, 0], two.words[:, 0], 12
    )
    best = np.zeros(6, np.float32)
    given_to = one.places, one.shapes, two.places, two.shapes
    most = best_hypothesis(pairs, *given_to, 60.0, 10.0, 1000, best)
    counts = [reference.agreeing(pairs, one, two, 60.0, k) for k in range(len(pairs))]
    assert most == max(counts, default=0)


class BitQuery:
    """A query over records of regions; vectors are plain counts of words."""

    def __init__(self, query, items):
        self.items = items
        self.index = SparseIndex(WORDS)
        self.index.add(sp.vstack([row_of(item) for item in items]))
        self.vector, self.record = row_of(query), pack_regions(query)

    def vectors(self, ids):
        return self.index.take(ids)

    def records(self, ids):
        return [pack_regions(self.items[number]) for number in ids]

    def scores(self, vectors, ids):
        return self.index.scores(vectors, ids)


def row_of(record):
    counts = np.bincount(record.words[:, 0], minlength=WORDS).astype(np.float32)
    return sp.csr_matrix(counts / np.linalg.norm(counts))


def scene():
    """A query; pictures 0 and 1 show it, 2 has its words in other places, 3 continues 0."""
    rng = np.random.default_rng(3)
    query = record_of(rng)
    shown = seen_again(rng, query, 18, VIEW)
    also = seen_again(rng, query, 14, np.array([[1.1, 0, -5], [0, 1.1, -9]]))
    jumbled = seen_again(rng, query, 40, VIEW, 0)
    jumbled.places[:] = rng.permutation(jumbled.places)
    return BitQuery(query, [shown, also, jumbled, *(record_of(rng) for _ in range(6))])


def test_what_lies_alike_comes_first():
    asked = scene()
    hits = asked.index.search(asked.vector, 9)
    assert hits.ids[0, 0] == 2
    found = SpatialCheck().rerank(asked, hits)
    assert found.ids[0, :2].tolist() == [0, 1]
    rest = [number for number in hits.ids[0] if number not in (0, 1)]
    assert found.ids[0, 2:].tolist() == rest
    only = SpatialCheck(top=1).rerank(asked, hits)
    assert only.ids.tolist() == hits.ids.tolist()


def test_scores_say_how_many_regions_lie_alike():
    asked = scene()
    hits = asked.index.search(asked.vector, 9)
    check = SpatialCheck()
    found = check.rerank(asked, hits)
    counts = [len(check.agreements(asked, hits)[number]) for number in (0, 1)]
    for place, count in enumerate(counts):
        assert 0.5 < found.scores[0, place] < 1
        assert count <= agreeing_regions(float(found.scores[0, place])) < count + 0.6
    others = dict(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))
    for number, score in zip(found.ids[0, 2:].tolist(), found.scores[0, 2:].tolist(), strict=True):
        assert score == pytest.approx(others[number] / 2)
        assert agreeing_regions(score) == 0


def test_regions_of_other_words_are_paired_by_their_signatures():
    rng = np.random.default_rng(6)
    one = record_of(rng, 40)
    two = seen_again(rng, one, 20, VIEW)
    bits = rng.integers(0, 2**63, 40).astype(np.uint64)
    flipped = bits[:20] ^ np.uint64(2**5 + 2**40)
    two.words[:] += WORDS
    first = replace(one, signatures=bits)
    second = replace(two, signatures=np.append(flipped, rng.integers(0, 2**63, 15, np.uint64)))
    assert not len(same_words(first, second))
    pairs = {(k, k) for k in range(20)}
    assert len(pairs & set(map(tuple, likely_pairs(first, second).tolist()))) >= 18
    assert len(agreement(first, second)) >= 18
    assert len(agreement(one, second)) == 0


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_signatures_are_paired_as_the_reference_pairs_them(seed):
    rng = np.random.default_rng(seed)
    # Few bits, so that many are equally near.
    one, two = (rng.integers(0, 2**9, n, np.uint64) << np.uint64(50) for n in (12, 9))
    room = np.empty((20, 2), np.int64)
    count = pair_signatures(one, two, 0.8, room)
    assert list(map(tuple, room[:count].tolist())) == reference.like_signatures(one, two, 0.8)


def test_expansion_finds_what_only_a_hit_has_in_common():
    rng = np.random.default_rng(4)
    query = record_of(rng, 60)
    far = record_of(rng, 60)
    bridge = seen_again(rng, query, 30, VIEW, 0)
    inside = seen_again(rng, far, 30, VIEW, 0)
    joined = RegionRecord(
        query.size,
        *(
            np.concatenate([getattr(bridge, name), getattr(inside, name)])
            for name in ("words", "weights", "places", "shapes")
        ),
    )
    asked = BitQuery(query, [*(record_of(rng, 30) for _ in range(8)), joined, far])
    hits = asked.index.search(asked.vector, 10)
    found = SpatialExpansion().rerank(asked, hits)
    assert found.ids[0, 0] == 8
    before, after = (each.ids[0].tolist().index(9) for each in (hits, found))
    assert after <= before
    assert sorted(found.ids[0]) == sorted(hits.ids[0])


@pytest.mark.parametrize("reranker", [SpatialCheck(), SpatialExpansion()])
def test_records_that_are_not_of_regions_are_refused(reranker):
    asked = scene()
    hits = asked.index.search(asked.vector, 3)
    for record in (b"embedding", None):
        asked.record = record
        with pytest.raises(InvalidInput, match="by the feature regions"):
            reranker.rerank(asked, hits)


@pytest.mark.parametrize("reranker", [SpatialCheck(top=0), SpatialExpansion(sure=2)])
def test_settings_that_do_not_fit_are_refused(reranker):
    with pytest.raises(InvalidInput, match="whole number from"):
        reranker.rerank(scene(), Hits(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32)))


# Why two pictures match


def test_shares_sum_to_1_and_agreeing_words_have_most():
    rng = np.random.default_rng(5)
    one = record_of(rng)
    two = seen_again(rng, one, 20, VIEW)
    why = why_alike(one, two, row_of(one), row_of(two))
    assert sum(match.share for match in why.matches) == pytest.approx(1)
    assert why.score == pytest.approx(
        float((row_of(one) @ row_of(two).T).toarray()[0, 0]), rel=1e-5
    )
    assert why.agreeing > 0.6
    shares = [match.share for match in why.matches]
    assert shares == sorted(shares, reverse=True)
    assert all(match.words[0] == match.words[1] for match in why.matches)


def test_regions_with_like_signatures_alone_are_shown_without_a_share():
    rng = np.random.default_rng(8)
    one = record_of(rng, 40)
    two = seen_again(rng, one, 20, VIEW)
    bits = rng.integers(0, 2**63, 55, np.uint64)
    first = replace(one, signatures=bits[:40])
    second = replace(two, signatures=np.concatenate([bits[:20], bits[40:]]))
    second.words[5:15] += WORDS // 2
    second.words[5:15] %= WORDS
    why = why_alike(first, second, row_of(first), row_of(second))
    agreeing = [match for match in why.matches if match.agrees]
    assert len({match.places for match in agreeing}) >= 18
    assert sum(match.share == 0 for match in agreeing) >= 8
    assert sum(match.share for match in why.matches) == pytest.approx(1)


def test_near_words_are_explained_by_the_learned_matrix():
    rng = np.random.default_rng(6)
    one = record_of(rng, 10)
    two = seen_again(rng, one, 10, VIEW, 0)
    two.words[0] = np.setdiff1d(np.arange(WORDS), one.words)[0]
    M = sp.lil_matrix(sp.eye(WORDS))
    u, v = int(one.words[0, 0]), int(two.words[0, 0])
    M[u, v] = M[v, u] = 2.0
    why = why_alike(one, two, row_of(one), row_of(two), sp.csr_matrix(M))
    assert why.matches[0].words == (u, v)
    assert why.matches[0].share == pytest.approx(2 / 11, rel=1e-3)


def test_an_explanation_is_json_and_a_picture():
    rng = np.random.default_rng(7)
    one = record_of(rng)
    two = seen_again(rng, one, 20, VIEW)
    why = why_alike(one, two, row_of(one), row_of(two))
    said = json.loads(json.dumps(why.as_json(5)))
    assert len(said["matches"]) == 5
    assert said["sizes"] == [[400, 300], [400, 300]]
    pictures = Image.new("RGB", (800, 600), "white"), Image.new("L", (400, 300), "white")
    drawn = why.picture(*pictures)
    assert drawn.size == (640 + 12 + 400, 480)
    assert len(drawn.getcolors(10_000)) > 1


def test_pictures_without_a_word_in_common_have_nothing_to_say():
    rng = np.random.default_rng(8)
    one, two = record_of(rng, 5), record_of(rng, 5)
    two.words[:] = np.setdiff1d(np.arange(WORDS), one.words)[:5, None]
    why = why_alike(one, two, row_of(one), row_of(two))
    assert (why.score, why.matches) == (0.0, ())
    assert why.picture(Image.new("RGB", (9, 9)), Image.new("RGB", (9, 9))).size == (30, 9)
