"""Layers of people: who teaches whom, whose labels count, and all of a person undone at once."""

import pytest

from lookalike.collection import Ask
from lookalike.core.errors import InvalidInput, NotFound
from tests.collection.beside import beside


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


@pytest.mark.parametrize("again", ["the same", "the opposite"])
@pytest.mark.parametrize("change", ["trust", "accept"])
def test_whoever_said_something_twice_of_a_picture_can_be_trusted(collection, again, change):
    first = collection.label([1, 2], "Hund", who="Ada")
    if again == "the same":
        collection.undo(first.number)
    else:
        collection.label([1, 2], "Hund", shows=False, who="Ada")
    collection.label([1, 2], "hund", who="Ada")
    getattr(collection.people, change)("Ada")
    assert dict(collection.labels.used()) == {"hund": 2}
    collection.undo(collection.log.history(1)[0].number)
    assert dict(collection.labels.used()) == {}


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
        "tags": 2,
        "refusals": 1,
        "albums": 0,
        "removals": 0,
        "others": 0,
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


def test_what_a_person_did_to_albums_is_undone_at_once(collection):
    collection.albums.save("Mine", pictures=[1, 2])
    collection.albums.save("Ada's", pictures=[5], who="Ada")
    collection.albums.save("Built on", pictures=[6], who="Ada")
    collection.albums.add("Built on", [7])
    collection.albums.add("Mine", [3, 4], who="Ada")
    collection.albums.take_out("Mine", [1], who="Ada")
    collection.albums.rename("Mine", "Hers", who="Ada")
    before = {album.name: {*album.pictures} for album in collection.albums.all()}
    collection.albums.save("Lost", pictures=[8])
    collection.albums.delete("Lost", who="Ada")
    assert collection.people.preview("Ada", ["albums"]) == {"albums": 6}
    event = collection.people.undo("Ada", ["albums"])
    # What somebody else added to since stays, with what they added.
    assert {album.name: {*album.pictures} for album in collection.albums.all()} == {
        "Mine": {1, 2},
        "Built on": {7},
        "Lost": {8},
    }
    collection.undo(event.number)
    assert {album.name: {*album.pictures} for album in collection.albums.all()} == before
    collection.log.check()


def test_what_a_person_tags_is_at_once_theirs(collection):
    """They find it by its word and are suggested it; nobody else is, until it is accepted."""
    collection.label([1, 2, 3], "Hund", who="Ada")
    collection.label([4, 5], "Katze")
    collection.label(4, "Katze", shows=False, who="Ada")

    def given(word, who):
        matches = collection.search_word(word, 99, who=who)
        return {match.id for match in matches if match.source == "given"}

    assert given("hund", "Ada") == {1, 2, 3}
    assert given("hund", "") == given("hund", "Bea") == set()
    assert (given("katze", "Ada"), given("katze", "Bea")) == ({5}, {4, 5})
    assert collection.words.count("Hund", who="Ada").tagged == 3
    assert collection.words.count("Hund", who="Bea").tagged == 0

    def suggested(picture, who):
        return {one.word for one in collection.suggest(picture, who=who)}

    assert "Hund" in suggested(6, "Ada")
    assert "Hund" not in suggested(6, "") | suggested(6, "Bea") | suggested(1, "Ada")
    collection.people.accept("Ada")
    assert given("hund", "Bea") == {1, 2, 3}
    assert "Hund" in suggested(6, "Bea")


def test_proposals_are_answered_one_by_one(collection):
    collection.label([1, 2, 3], "Hund", who="Ada")
    collection.label(1, "hund", who="Bea")

    def waiting(**which):
        return {(one.person, one.picture) for one in collection.people.proposals(**which)}

    assert waiting(picture=1) == {("Ada", 1), ("Bea", 1)}
    assert waiting(name="Bea") == {("Bea", 1)}
    accepted = collection.label(1, "Hund")
    collection.label(2, "Hund", shows=False)
    assert waiting() == {("Ada", 3)}
    assert dict(collection.labels.used()) == {"Hund": 1}
    collection.undo(accepted.number)
    assert waiting(picture=1) == {("Ada", 1), ("Bea", 1)}


def test_a_key_of_a_request_is_the_persons_own(collection):
    """A stranger who guesses the key of the owner's next request does not take its place."""
    first = collection.label(1, "dog", who="Ada", key="1")
    collection.label(2, "cat", key="1")
    collection.label(3, "cat", key="1")
    assert dict(collection.labels.used()) == {"cat": 1}
    assert collection.label(1, "dog", who="Ada", key="1") == first
    assert collection.label(1, "dog", who="Bea", key="1").who == "Bea"


def test_undo_since_a_time(collection):
    collection.label(1, "Hund", who="Ada")
    (entry,) = collection.log.history(1)
    assert collection.people.preview("Ada", since=entry.at)["tags"] == 1
    assert collection.people.preview("Ada", since=entry.at[:10])["tags"] == 1
    assert collection.people.preview("Ada", since="9999-01-01")["tags"] == 0
    with pytest.raises(InvalidInput, match="as 2026-11-05"):
        collection.people.preview("Ada", since="yesterday")


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
    (vote,) = beside(collection).rankers.layer().votes
    assert set(vote.taught[1].pictures) == {0, 3, 10}
    assert collection.votes.verdicts(Ask((1,))) == {3: 1, 10: -1}


def test_all_else_a_person_did_is_undone_too(collection):
    """Also what they undid of somebody else's, and not what they undid of their own."""
    own = collection.label([1, 2], "Hund")
    collection.remove([5, 6])
    (removed,) = collection.log.history(1)
    collection.vote(Ask((1,)), picked=[3])
    before = dict(collection.labels.used())
    collection.undo(own.number, who="Ada")
    collection.restore([5], who="Ada")
    collection.votes.reset(who="Ada")
    collection.duplicates.tell_apart([10, 11], who="Ada")
    mine = collection.label([7, 8, 9], "Katze", who="Ada")
    back = collection.undo(mine.number, who="Ada")
    collection.undo(back.number, who="Ada")
    collection.undo(removed.number, who="Ada")
    counts = collection.people.preview("Ada")
    assert counts == {
        "votes": 0,
        "tags": 3,
        "refusals": 0,
        "albums": 0,
        "removals": 0,
        "others": 5,
    }

    def state():
        waiting = [one.picture for one in collection.people.proposals()]
        votes, there = collection.votes.standing().votes, len(collection)
        return dict(collection.labels.used()), votes, there, waiting

    after = state()
    assert after[:3] == ({}, 0, 24)
    event = collection.people.undo("Ada")
    assert state() == (before, 1, 22, [])
    assert sum(collection.people.preview("Ada").values()) == 0
    collection.undo(event.number)
    assert state() == after
    assert collection.people.preview("Ada") == counts
    collection.people.undo("Ada", ["others"])
    assert state()[:2] == (before, 1)
    collection.log.check()


def test_what_is_undone_with_a_person_names_the_event_that_undid_it(collection):
    first = collection.label(1, "Hund", who="Ada")
    collection.label(2, "Hund", who="Ada")
    event = collection.people.undo("Ada")
    with pytest.raises(InvalidInput, match=f"undo event {event.number}\\."):
        collection.undo(first.number)
    collection.undo(event.number)
    collection.undo(first.number)


def test_whoever_is_not_the_owner_takes_back_their_own_word_only(collection):
    collection.label(3, "Tasse")
    collection.people.trust("Ada")
    assert collection.labels.history(3, "Tasse", "Ada") == []
    said = collection.label(3, "Tasse", shows=False, who="Ada")
    assert [one.number for one in collection.labels.history(3, "Tasse", "Ada")] == [said.number]
    assert len(collection.labels.history(3, "Tasse")) == 2
    collection.people.revoke("Ada")
    assert dict(collection.labels.used()) == {"Tasse": 1}
