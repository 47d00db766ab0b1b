"""Oxford's protocol, its revisited form and UKBench's, by answers computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Truth, object_average_precision, object_map, ukbench_score
from lookalike.evaluate.landmarks import read_landmarks

TRUTH = Truth(frozenset({1, 2}), frozenset({3}), frozenset({4}))


@pytest.mark.parametrize(
    ("ranked", "positive", "ignored", "expected"),
    [
        ([1, 2], {1, 2}, (), 1.0),
        ([9, 1], {1}, (), 0.25),  # precision 0 before it, 1/2 at it
        ([4, 1], {1}, {4}, 1.0),  # junk does not count
        ([1, 9, 2], {1, 2}, (), (1 + (1 / 2 + 2 / 3) / 2) / 2),
        ([1], {1, 2}, (), 0.5),  # what is not ranked is not found
        ([], {1}, (), 0.0),
    ],
)
def test_average_precision_by_hand(ranked, positive, ignored, expected):
    found = object_average_precision(np.array(ranked, int), positive, ignored)
    assert found == pytest.approx(expected)


@given(st.permutations(range(8)), st.sets(st.integers(0, 7), min_size=1))
def test_average_precision_is_that_of_oxfords_program(ranked, positive):
    area, recall, precision, found = 0.0, 0.0, 1.0, 0
    for rank, picture in enumerate(ranked, 1):
        found += picture in positive
        now, exact = found / len(positive), found / rank
        area += (now - recall) * (precision + exact) / 2
        recall, precision = now, exact
    assert object_average_precision(ranked, positive) == pytest.approx(area)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("oxford", (0.25 + (1 / 2 + 2 / 3) / 2 + (2 / 3 + 3 / 4) / 2) / 3),
        ("medium", (0.25 + (1 / 2 + 2 / 3) / 2 + (2 / 3 + 3 / 4) / 2) / 3),
        ("easy", (0.25 + (1 / 2 + 2 / 3) / 2) / 2),
        ("hard", 0.25),
    ],
)
def test_levels_by_hand(level, expected):
    assert object_map([[9, 1, 4, 2, 3]], [TRUTH], level=level) == pytest.approx(expected)


def test_the_querys_own_picture_counts_or_not():
    assert object_map([[1, 9, 2, 3]], [TRUTH]) > object_map(
        [[1, 9, 2, 3]], [TRUTH], own=[1], query_in_database=False
    )
    assert object_map([[1, 2, 3]], [TRUTH], own=[1], query_in_database=False) == 1
    with pytest.raises(InvalidInput, match="own must be given"):
        object_map([[1]], [TRUTH], query_in_database=False)


def test_queries_without_positives_are_left_out():
    none = Truth(frozenset(), frozenset({1}), frozenset())
    assert object_map([[1], [1, 2]], [none, TRUTH], level="easy") == 1
    with pytest.raises(InvalidInput, match="no query"):
        object_map([[1]], [none], level="easy")


@pytest.mark.parametrize(
    ("ranked", "positive", "ignored", "words"),
    [([1, 1], {1}, (), "once"), ([1], (), (), "at least one"), ([1], {1}, {1}, "positive and")],
)
def test_rankings_that_cannot_be_judged_are_refused(ranked, positive, ignored, words):
    with pytest.raises(InvalidInput, match=words):
        object_average_precision(ranked, positive, ignored)


def test_ukbench_by_hand():
    objects = np.repeat([0, 1], 4)
    ranked = [[0, 1, 2, 3], [1, 5, 6, 0], [2, 7, 6, 5]]
    assert ukbench_score(ranked, objects) == pytest.approx((4 + 2 + 1) / 3)
    assert ukbench_score([[0, 1, -1, -1]], objects) == 2
    with pytest.raises(InvalidInput, match="at least 4"):
        ukbench_score([[0, 1, 2]], objects)


# The published layout


def layout(folder, **texts):
    """Six pictures and one query, its files as given."""
    (folder / "images").mkdir()
    (folder / "lists").mkdir()
    for name in "abcdef":
        Image.new("RGB", (8, 8)).save(folder / "images" / f"{name}.jpg")
    files = {
        "query": "oxc1_a 1.0 2.0 7.5 8",
        "good": "a\nb\n",
        "ok": "c\n",
        "junk": "d\n",
        **texts,
    }
    for kind, text in files.items():
        if text is not None:
            content = text if isinstance(text, bytes) else text.encode()
            (folder / "lists" / f"all_souls_1_{kind}.txt").write_bytes(content)
    return folder


def test_the_published_layout_is_read(tmp_path):
    read = read_landmarks(layout(tmp_path))
    (query,) = read.queries
    assert [path.stem for path in read.files] == list("abcdef")
    assert (query.name, query.landmark, query.picture) == ("all_souls_1", "all_souls", 0)
    assert query.box == (1.0, 2.0, 7.5, 8.0)
    assert query.truth == Truth(frozenset({0, 1}), frozenset({2}), frozenset({3}))
    labels = ["all_souls"] * 3 + [None, "background 4", "background 5"]
    assert read.labels() == labels


def test_names_without_a_picture_are_listed(tmp_path):
    folder = layout(tmp_path, ok="c\ngone\n")
    assert read_landmarks(folder).missing == ("gone",)
    with pytest.raises(InvalidInput, match="such as gone"):
        read_landmarks(folder, strict=True)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"junk": "a"}, "a is both good and junk"),
        ({"ok": "b"}, "b is both good and ok"),
        ({"query": "a 1 2 3"}, "four numbers; got 4"),
        ({"query": "a 1 2 x 4"}, "four numbers"),
        ({"query": "a 5 2 3 4"}, "right above left"),
        ({"query": "a nan 2 3 4"}, "right above left"),
        ({"query": "z 1 2 3 4"}, "picture z"),
        ({"ok": None}, "is missing"),
        ({"good": "x", "ok": ""}, "no good or ok"),
        ({"good": b"\xff\xfe"}, "UTF-8"),
        ({"query": None}, "no ground truth"),
    ],
)
def test_ground_truth_that_is_not_sound_is_refused(tmp_path, texts, words):
    with pytest.raises(InvalidInput, match=words):
        read_landmarks(layout(tmp_path, **texts))


def test_two_pictures_of_one_name_and_no_folder_are_refused(tmp_path):
    folder = layout(tmp_path)
    Image.new("RGB", (8, 8)).save(folder / "lists" / "a.png")
    with pytest.raises(InvalidInput, match="two pictures called a"):
        read_landmarks(folder)
    with pytest.raises(InvalidInput, match="not a folder"):
        read_landmarks(folder / "nowhere")
