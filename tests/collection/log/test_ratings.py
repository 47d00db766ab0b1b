"""Ratings: two rankings side by side, blind; kept, resumed and undone."""

import pytest

from lookalike.collection import Ask, Collection
from lookalike.core.errors import InvalidInput
from lookalike.features.registry import FEATURES
from tests.collection.colours import Colours


def shown(comparison):
    return {*comparison.left, *comparison.right}


def test_raters_compare_blind_and_go_on_where_they_stopped(collection, register):
    register(FEATURES, Colours)
    path = collection.path
    queries, sides = [], []
    for rater in ("Ada", "Grace"):
        for number in range(3):
            one = collection.ratings.next(rater, queries=4, k=3)
            assert (one.number, one.count) == (number + 1, 4)
            collection.ratings.rate(rater, one.query, one.left[:1], shown=sorted(shown(one)), k=3)
            queries.append(one.query)
            learned = tuple(m.id for m in collection.search(one.query, k=3))
            plain = tuple(m.id for m in collection.search(one.query, k=3, learned=False))
            assert {one.left, one.right} == {learned, plain}
            rating = collection.log.history(1)[0].body
            sides.append(rating.get("learned_left", True))
            assert (one.left if sides[-1] else one.right) == learned
    assert len(set(queries[:3])) == 3
    collection.close()
    with Collection.open(path) as again:
        last = again.ratings.next("Ada", queries=4, k=3)
        assert last.number == 4
        assert last.query not in queries[:3]
        again.ratings.rate("Ada", last.query, [], k=3)
        assert again.ratings.next("Ada", queries=4, k=3) is None
        assert again.ratings.next("Grace", queries=4, k=3).number == 4
        figures = again.ratings.figures()
        assert figures.raters == {"Ada": 4, "Grace": 3}
        assert len(figures.learned.mean) == 3
        assert -1 <= figures.kappa <= 1


def test_the_learned_ranking_stands_on_either_side_by_chance(collection):
    sides = []
    for rater in map(str, range(30)):
        one = collection.ratings.next(rater, k=2)
        collection.ratings.rate(rater, one.query, [], k=2)
        sides.append(collection.log.history(1)[0].body.get("learned_left", True))
    assert 5 < sum(sides) < 25


def test_figures_follow_what_was_marked_and_undoing_takes_it_back(collection):
    collection.vote(Ask((1,)), picked=[9])
    learned = [match.id for match in collection.search(1, k=2)]
    plain = [match.id for match in collection.search(1, k=2, learned=False)]
    assert learned[0] == 9 != plain[0]
    assert collection.ratings.figures() is None
    entry = collection.ratings.rate("Ada", 1, [9], k=2)
    figures = collection.ratings.figures()
    assert figures.learned.mean[0] == 1.0
    assert figures.other.mean[0] == 0.0
    assert figures.kappa is None
    collection.ratings.rate("Ada", 1, plain, k=2)
    assert collection.ratings.figures().other.mean == (1.0, 1.0)
    collection.undo(collection.log.history(1)[0].number)
    assert collection.ratings.figures().learned.mean[0] == 1.0
    collection.undo(entry.number)
    assert collection.ratings.figures() is None


def test_an_erased_picture_leaves_ratings(collection):
    one = collection.ratings.next("Ada", k=3)
    collection.ratings.rate("Ada", one.query, one.left, k=3)
    gone = one.left[0]
    collection.remove([gone])
    collection.bin.empty([gone])
    assert str(gone) not in str(collection.log.history(1, before=10**6)[-1].body.get("relevant"))
    figures = collection.ratings.figures()
    assert len(figures.learned.mean) in (2, 3)
    collection.log.check()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rater": " "}, "name"),
        ({"rater": "x" * 65}, "name"),
        ({"rater": "a\nb\x00"}, "name"),
        ({"relevant": [1]}, "among those"),
        ({"shown": [2, 3]}, "have changed"),
        ({"against": "nothing"}, "nothing"),
        ({"k": 0}, "k must be"),
    ],
)
def test_what_cannot_be_rated_is_refused_and_nothing_is_kept(collection, given, message):
    settings = {"rater": "Ada", "query": 1, "relevant": [], "k": 3, **given}
    before = collection.log.history(1)
    with pytest.raises(InvalidInput, match=message):
        collection.ratings.rate(**settings)
    assert collection.log.history(1) == before


def test_a_ranker_is_not_compared_with_itself(collection):
    name = collection.models.rankers()[0].name
    with pytest.raises(InvalidInput, match="cannot be compared with itself"):
        collection.ratings.next("Ann", against=name)
