"""What history says of learning: which models are used, and why others are not."""

import pytest

from lookalike.collection.log.models import Learn, Rollback
from lookalike.collection.log.removals import Removal

USED = {"published": True, "model": 2, "pictures": 50}
NOT_USED = {"published": False, "model": None, "pictures": 50}
TOO_FEW = {"published": False, "model": None, "pictures": 0}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"similarity": USED, "words": USED}, "new similarity and new words"),
        ({"similarity": NOT_USED}, "no improvement, so not used"),
        ({"similarity": USED, "codes": USED}, "new similarity and new codes"),
        (
            {"similarity": NOT_USED, "codes": TOO_FEW},
            "no improvement, so not used; codes not used, too few pictures or tags",
        ),
        (
            {"similarity": USED, "codes": NOT_USED},
            "new similarity; codes not used, too many candidates",
        ),
        ({"codes": NOT_USED}, "codes not used, too many candidates"),
        (
            {"similarity": {**NOT_USED, "gained": "mAP +0.01"}, "words": {**USED, "gained": "P"}},
            "new words; similarity not clearly better, so not used",
        ),
        (
            {"similarity": {**NOT_USED, "gained": "mAP +0.01"}, "words": TOO_FEW},
            "similarity not clearly better, so not used",
        ),
    ],
)
def test_learning_says_what_is_used_and_why_codes_are_not(body, text):
    assert Learn.read(body).sentence().split(": ", 1)[1] == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"pictures": 1}, "Removed a picture"),
        ({"pictures": 2, "words": 1}, "Removed 2 pictures; 1 tag went to the one kept"),
        ({"pictures": 1, "words": 3}, "Removed a picture; 3 tags went to the one kept"),
    ],
)
def test_a_removal_says_what_went_to_the_one_kept(body, text):
    assert Removal.read({"changes": "", **body}).sentence() == text


def test_learning_says_what_it_learned_from():
    def sentence(body):
        return Learn.read({"similarity": USED, **body}).sentence()

    assert sentence({"words_since": 1}) == "Learned from 1 new or rejected tag: new similarity"
    assert (
        sentence({"words_since": 1, "labels": 1}) == "Learned from tags or folders: new similarity"
    )


def test_history_says_what_of_the_learned_is_used():
    used = Learn.read({"similarity": {"published": True}, "words": {"published": False}})
    unused = Learn.read({"similarity": {"published": False}, "words": None})
    for event in (used, unused):
        assert ("new similarity" in event.sentence()) == (event is used)
        assert ("not used" in event.sentence()) != (event is used)
        assert "words" not in event.sentence()
    rolled = Rollback.read({"models": {"similarity": 3, "words": None}})
    assert rolled.sentence().startswith("Went back")
