"""Layers of people: who teaches whom, whose labels count, and all of a person undone at once."""

import pytest

from lookalike.collection import Ask
from lookalike.core.errors import InvalidInput, NotFound


def test_labels_of_others_are_proposals_until_they_are_accepted(collection):
    event = collection.label([1, 2], "Hund", who="Ada")
    assert collection.label([1, 2], "Hund", who="Ada").number == event.number
    assert dict(collection.labels.used()) == {}
    assert {(one.picture, one.word, one.shows) for one in collection.people.proposals()} == {
        (1, "Hund", True),
        (2, "Hund", True),
    }
    # Singly: somebody trusted says the same.
    collection.label(1, "Hund")
    assert dict(collection.labels.used()) == {"Hund": 1}
    accepted = collection.people.accept("Ada")
    assert dict(collection.labels.used()) == {"Hund": 2}
    assert collection.people.proposals() == []
    collection.undo(accepted.number)
    assert dict(collection.labels.used()) == {"Hund": 1}
    collection.people.trust("Ada")
    assert dict(collection.labels.used()) == {"Hund": 2}
    collection.people.revoke("Ada")
    assert dict(collection.labels.used()) == {"Hund": 1}
    with pytest.raises(NotFound, match="no label that waits"):
        collection.people.accept("Bea")


def test_refusals_of_others_take_nothing_away(collection):
    collection.label([1, 2, 3], "Hund")
    collection.label([1, 2, 3], "Hund", shows=False, who="Ada")
    assert dict(collection.labels.used()) == {"Hund": 3}


def test_all_of_a_person_is_undone_at_once_and_comes_back_at_once(collection):
    collection.people.trust("Ada")
    collection.vote(Ask((1,)), picked=[2], rejected=[9], who="Ada")
    collection.label([1, 2], "Hund", who="Ada")
    collection.label(3, "Hund")
    collection.label(3, "Hund", shows=False, who="Ada")
    before = [one.score for one in collection.search(Ask((4,)), 20)]
    assert collection.people.preview("Ada") == {
        "votes": 1,
        "tags": 1,
        "refusals": 1,
        "removals": 0,
    }
    count = len(collection.log.history(100))
    event = collection.people.undo("Ada")
    assert len(collection.log.history(100)) == count + 1
    assert (collection.votes.standing().votes, dict(collection.labels.used())) == (0, {"Hund": 1})
    assert sum(collection.people.preview("Ada").values()) == 0
    collection.undo(event.number)
    assert (collection.votes.standing().votes, dict(collection.labels.used())) == (1, {"Hund": 2})
    assert [one.score for one in collection.search(Ask((4,)), 20)] == before
    collection.people.undo("Ada", ["votes"])
    assert (collection.votes.standing().votes, dict(collection.labels.used())) == (0, {"Hund": 2})
    with pytest.raises(InvalidInput, match="nothing of this person"):
        collection.people.undo("Ada", since="9999")
    with pytest.raises(InvalidInput, match="Choose from votes"):
        collection.people.undo("Ada", ["jokes"])
    collection.log.check()


def test_who_is_trusted_is_listed(collection):
    collection.vote(Ask((1,)), picked=[2], rejected=[9], who="Ada")
    collection.label(1, "Hund", who="Ada")
    collection.vote(Ask((1,)), picked=[3])
    people = {one.name: one for one in collection.people.all()}
    assert (people[""].trusted, people[""].votes) == (True, 1)
    assert (people["Ada"].trusted, people["Ada"].votes, people["Ada"].proposals) == (False, 1, 1)
    collection.people.trust("Ada")
    with pytest.raises(InvalidInput, match="trusted already"):
        collection.people.trust("Ada")
    with pytest.raises(InvalidInput, match="always trusted"):
        collection.people.revoke("")


def test_a_vote_stays_whole_when_somebody_it_built_on_is_revoked(collection):
    collection.people.trust("Ada")
    collection.vote(Ask((1,)), picked=[2], rejected=[9], who="Ada")
    collection.vote(Ask((1,)), picked=[3], rejected=[10])
    collection.people.revoke("Ada")
    (vote,) = collection._session.rankers.layer().votes
    assert set(vote.taught[1].pictures) == {0, 3, 10}
    assert collection.votes.verdicts(Ask((1,))) == {3: 1, 10: -1}
