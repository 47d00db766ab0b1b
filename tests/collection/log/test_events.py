import pytest

from lookalike.collection import Ask
from lookalike.core.errors import InvalidInput, LookalikeError, NotFound


def test_a_long_chain_of_second_thoughts(collection):
    event = collection.vote(Ask((1,)), picked=[2], rejected=[9])
    for _ in range(400):
        event = collection.undo(event.number)
    assert collection.votes.standing().votes == 1
    assert [told.undone for told in collection.log.history(3)] == [False, True, False]
    assert not collection.log.history(1, before=2)[0].undone


@pytest.mark.parametrize("number", [0, -1, 2**62, 2**63 - 1])
def test_an_event_that_never_was(collection, number):
    with pytest.raises(NotFound, match="no event"):
        collection.undo(number)


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.queries.thumbnail("u\ud800"),
        lambda store: store.search(Ask(("u\ud800",))),
        lambda store: store.search(Ask((2**70,))),
        lambda store: store.search(Ask((1,), (-(2**63),))),
    ],
)
def test_what_cannot_be_stored_cannot_be_asked_for(collection, read):
    with pytest.raises(InvalidInput):
        read(collection)


@pytest.mark.parametrize("number", [2**63, 2**70, -(2**70)])
@pytest.mark.parametrize(
    "asked",
    [
        lambda collection, number: collection.undo(number),
        lambda collection, number: collection.log.history(before=number),
        lambda collection, number: collection.pictures.get(number),
        lambda collection, number: collection.pictures.thumbnail(number),
        lambda collection, number: collection.label(number, "x"),
        lambda collection, number: collection.remove([number]),
    ],
)
def test_numbers_beyond_all_others_are_refused(collection, asked, number):
    with pytest.raises(LookalikeError, match=r"too large|no picture|no event"):
        asked(collection, number)
