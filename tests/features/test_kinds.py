"""Words for kinds of what start words name: what the table says of them."""

from pathlib import Path

from lookalike.features import kinds as module
from lookalike.features.kinds import Kinds, kinds
from lookalike.features.start_words import imagenet


def test_a_kind_is_found_by_its_plural_too():
    assert kinds().of("hawksbill") == kinds().of("Hawksbills") == {"sea turtle": 0.8}
    assert not kinds().of("xyzzy")


def test_all_are_kinds_of_start_words_and_none_is_one():
    path = Path(module.__file__).with_name("kinds.tsv")
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    assert {start for start, _, _ in rows} <= {*imagenet().words}
    assert all(0 < float(sure) <= 1 for _, sure, _ in rows)
    words = [word for _, _, some in rows for word in some.split("; ")]
    assert len(words) > 9000
    assert not [word for word in words if imagenet().find(word) is not None]


def test_a_word_may_be_a_kind_of_several():
    both = Kinds([("bird", 0.5, ["crane"]), ("machine", 0.4, ["crane"])])
    assert both.of("cranes") == {"bird": 0.5, "machine": 0.4}
