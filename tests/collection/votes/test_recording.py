import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Ask, Collection, Filter
from lookalike.collection.log.votes import Taught
from lookalike.collection.votes import ledger as ledgers
from lookalike.collection.votes import recording
from lookalike.collection.votes.ledger import Record
from lookalike.collection.votes.spread import EVIDENCE
from lookalike.collection.votes.steps import FOLDS, fold_of
from lookalike.collection.votes.turning import LIMIT
from lookalike.core.errors import DamagedFile, InvalidInput, NotFound, UnreadablePicture
from tests.collection.beside import stored_rows
from tests.collection.colours import PALETTE, Colours, picture
from tests.collection.votes.inside import ledger_of, ranker_of
from tests.reference import votes as reference


def ids(collection, colour):
    return [p.id for p in collection.pictures.all() if p.places[0].parent.name == colour]


def order(collection, ask, k=30):
    return [match.id for match in collection.search(ask, k)]


def scores(collection, ask):
    return {match.id: match.score for match in collection.search(ask, 30)}


def again(collection):
    """Open the same collection as another process would."""
    return Collection.open(collection.path, features=[Colours()])


def state(collection):
    """What votes taught, to the last bit."""
    return ledgers.packed(ledger_of(collection).votes)


def test_a_vote_changes_the_next_search(collection):
    ask = Ask((1,))
    first = order(collection, ask)
    low, high = first[-1], first[0]
    before = scores(collection, ask)
    collection.vote(ask, picked=[low], rejected=[high], shown=first)
    after = scores(collection, ask)
    assert after[low] > before[low]
    assert high not in after
    assert first != order(collection, ask)


def test_what_was_picked_comes_first_and_what_was_rejected_is_left_out(collection):
    ask = Ask((1,))
    first = order(collection, ask)
    picked, rejected = [first[-1], first[12]], [first[0], first[3]]
    collection.vote(ask, picked=picked, rejected=rejected)

    def obeyed(store):
        found = order(store, ask)
        assert {*found[:2]} == {*picked}
        assert sorted([*found, *rejected]) == sorted(first)
        pages = [m.id for start in (0, 5, 10, 15, 20) for m in store.search(ask, 5, offset=start)]
        assert pages == found
        assert [m.id for m in store.search(ask, 30, min_score=2)] == found[:2]
        among = Filter(pictures=(picked[0], rejected[0], first[5]))
        assert [m.id for m in store.search(ask, 30, where=among)] == [picked[0], first[5]]

    obeyed(collection)
    collection.learn(folders=True, settings={"steps": 300, "blend": 0.5})
    obeyed(collection)
    with again(collection) as other:
        obeyed(other)
    assert [m.id for m in collection.search(1, 30, learned=False)] == first


def test_what_is_learned_reaches_other_queries(collection):
    # Whoever takes green for red says what colours alone do not.
    red, green, blue = (ids(collection, colour) for colour in PALETTE)
    before = scores(collection, Ask((red[1],)))
    collection.vote(Ask((red[0],)), picked=green[:4], rejected=blue[:4])
    after = scores(collection, Ask((red[1],)))
    gained = np.mean([after[n] - before[n] for n in green[4:]])
    lost = np.mean([after[n] - before[n] for n in blue[4:]])
    assert gained > lost
    assert collection.search(red[1], 30, learned=False) != []
    plain = {m.id: m.score for m in collection.search(red[1], 30, learned=False)}
    assert plain == before


def test_nothing_stored_is_touched_by_a_vote(collection):
    collection.search(1)
    index = ranker_of(collection).index
    vectors, scales = index.vectors, index.scales
    collection.vote(Ask((1,)), picked=[2], rejected=[9])
    collection.search(1)
    now = ranker_of(collection).index
    assert now is index
    assert now.vectors.base is vectors.base or np.shares_memory(now.vectors, vectors)
    assert np.array_equal(now.scales, scales)


def test_the_same_again_is_one_vote(collection):
    first = collection.vote(Ask((1,)), picked=[2], rejected=[9], key="a")
    assert collection.vote(Ask((1,)), picked=[2], rejected=[9], key="a") == first
    assert collection.vote(Ask((1,)), picked=[2], rejected=[9]) == first
    assert collection.vote(Ask((1,)), rejected=[9]).number == first.number
    assert collection.vote(Ask((1,)), picked=[3], key="a").number == first.number
    assert collection.votes.standing().votes == 1
    assert len(collection.log.history()) == 1
    other = collection.vote(Ask((1,)), picked=[2], rejected=[9], who="b")
    assert other.number != first.number


def test_the_last_word_counts(collection):
    ask = Ask((1,))
    collection.vote(ask, picked=[2, 3], rejected=[9])
    assert collection.votes.verdicts(ask) == {2: 1, 3: 1, 9: -1}
    collection.vote(ask, picked=[9])
    assert collection.votes.verdicts(ask)[9] == 1
    collection.vote(ask, rejected=[9], who="somebody else")
    # Each sees their own word.
    assert collection.votes.verdicts(ask)[9] == 1
    assert collection.votes.verdicts(ask, "somebody else")[9] == -1
    collection.people.trust("somebody else")
    assert collection.votes.verdicts(ask)[9] == 1
    assert 9 not in collection.votes.verdicts(ask, "a third")
    assert collection.votes.verdicts(Ask((2,))) == {}


def test_undoing_gives_back_what_was_before(collection):
    ask = Ask((1,))
    collection.vote(ask, picked=[2], rejected=[9])
    before, found = state(collection), collection.search(ask, 30)
    event = collection.vote(ask, picked=[10], rejected=[3])
    changed, other = state(collection), collection.search(ask, 30)
    assert changed != before
    undoing = collection.undo(event.number)
    assert state(collection) == before
    assert collection.search(ask, 30) == found
    redone = collection.undo(undoing.number)
    assert state(collection) == changed
    assert collection.search(ask, 30) == other
    collection.undo(redone.number)
    assert state(collection) == before
    assert [e.undone for e in collection.log.history()] == [False, True, False, True, False]


def test_undoing_is_refused_where_it_makes_no_sense(collection):
    event = collection.vote(Ask((1,)), picked=[2])
    collection.undo(event.number, key="k")
    assert collection.undo(event.number, key="k").kind == "undo"
    with pytest.raises(InvalidInput, match="already undone"):
        collection.undo(event.number)
    with pytest.raises(NotFound, match="no event 99"):
        collection.undo(99)
    collection.remove([3])
    collection.bin.empty()
    with pytest.raises(InvalidInput, match="erased can be added again"):
        collection.undo(collection.log.history(1)[0].number)


def test_a_reset_and_its_undoing(collection):
    ask = Ask((1,))
    start = collection.search(ask, 30)
    collection.vote(ask, picked=[10], rejected=[3])
    voted, found = state(collection), collection.search(ask, 30)
    event = collection.votes.reset()
    assert collection.search(ask, 30) == start
    assert collection.votes.standing().votes == 0
    assert collection.votes.verdicts(ask) == {}
    collection.undo(event.number)
    assert state(collection) == voted
    assert collection.search(ask, 30) == found


@pytest.mark.parametrize("every", [2, 256])
def test_reading_the_log_again_gives_the_same_bytes(collection, every, set_limits):
    set_limits(snapshot_every=every)
    rng = np.random.default_rng(0)
    numbers = []
    for turn in range(12):
        query, *others = rng.permutation(np.arange(1, 25))[:6].tolist()
        ask = Ask((query,), tuple(others[4:] if turn % 3 == 0 else ()))
        event = collection.vote(ask, picked=others[:2], rejected=others[2:4], shown=others[:4])
        numbers.append(event.number)
        if turn % 4 == 3:
            collection.undo(numbers[turn // 2])
    kept = state(collection)
    found = collection.search(Ask((5,)), 30)
    with again(collection) as other:
        assert state(other) == kept
        assert other.search(Ask((5,)), 30) == found
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone()[0] == (every == 2)
        connection.execute("DELETE FROM snapshots")
        connection.commit()
    with again(collection) as other:
        assert state(other) == kept


def test_a_vote_of_another_process_is_seen(collection):
    ask = Ask((1,))
    before = collection.search(ask, 30)
    with again(collection) as other:
        other.vote(ask, picked=[10], rejected=[2])
        found = other.search(ask, 30)
    assert collection.search(ask, 30) == found != before


def test_the_same_again_of_a_deleted_picture_is_refused(collection):
    collection.vote(Ask((4,)), picked=[1])
    collection.vote(Ask((5,)), rejected=[6])
    collection.remove([4, 6])
    with pytest.raises(NotFound):
        collection.vote(Ask((4,)), picked=[1])
    with pytest.raises(NotFound):
        collection.vote(Ask((5,)), rejected=[6])


def test_a_deleted_picture_teaches_no_more(collection):
    ask = Ask((1,))
    collection.vote(ask, picked=[2], rejected=[9])
    collection.vote(Ask((3,)), picked=[4], rejected=[9])
    collection.vote(Ask((9,)), picked=[10], rejected=[2])
    collection.remove([9])
    votes = ranker_of(collection).votes
    assert 9 not in votes.turns.lessons.places
    # Two votes have nothing left to compare, and the third was on a picture that is gone; that
    # what they picked is alike still holds.
    for number in votes.source.ids:
        assert not len(votes.turns.parts(votes.source.take([number]), votes.source.take([1]))[3])
    assert sum(votes.turns.spread.counts) == 2
    assert 9 not in order(collection, ask)
    with again(collection) as other:
        assert other.search(ask, 30) == collection.search(ask, 30)
    assert collection.log.history(1)[0].kind == "removal"
    with pytest.raises(NotFound):
        collection.search(Ask((9,)))
    collection.restore([9])
    assert 9 in ranker_of(collection).votes.turns.lessons.places
    assert collection.search(Ask((9,)))[0].id == 10


def test_a_picture_that_comes_changes_nothing_learned(collection, pictures):
    collection.vote(Ask((1,)), picked=[2], rejected=[9])
    before = scores(collection, Ask((1,)))
    picture(pictures / "neu.png", PALETTE["rot"], 999)
    collection.add([pictures])
    after = scores(collection, Ask((1,)))
    assert {n: after[n] for n in before} == pytest.approx(before, abs=1e-6)
    assert len(after) == len(before) + 1


def test_however_many_votes_a_ranking_stays_near_the_pictures(collection):
    green, blue = ids(collection, "grün"), ids(collection, "blau")
    red = ids(collection, "rot")
    for number in range(40):
        query = Ask((red[number % 4], red[4 + number % 3]))
        collection.vote(query, picked=green[:2], rejected=blue[:2], who=f"person {number}")
        collection.people.trust(f"person {number}")
    ranker = collection._session.rankers.get()
    vectors = ranker.plain.vectors
    lengths = np.linalg.norm(ranker.votes.turns.added(vectors), axis=1)
    assert LIMIT * 0.9 < lengths.max() <= LIMIT + 1e-6


def test_votes_of_others_change_nothing_until_they_are_trusted(collection):
    red, green = ids(collection, "rot"), ids(collection, "grün")
    collection.vote(Ask((green[0],)), picked=[green[1]], rejected=[red[0]])
    before = scores(collection, Ask((red[7],)))
    for query in red[:6]:
        others = [number for number in red if number != query][:3]
        collection.vote(Ask((query,)), picked=green[:3], rejected=others, who="contrary")
    assert scores(collection, Ask((red[7],))) == before
    own = {one.id: one.score for one in collection.search(Ask((red[7],)), 24, who="contrary")}
    assert own != before
    assert (collection.votes.standing().votes, collection.votes.standing(who="contrary").votes) == (
        1,
        7,
    )
    event = collection.people.trust("contrary")
    assert scores(collection, Ask((red[7],))) == own
    collection.people.revoke("contrary")
    assert scores(collection, Ask((red[7],))) == before
    collection.undo(collection.log.history(1)[0].number)
    assert collection.votes.standing().votes == 7
    collection.undo(event.number)
    assert scores(collection, Ask((red[7],))) == before
    with pytest.raises(NotFound, match="no vote of nobody"):
        collection.votes.reset(of="nobody")
    assert {event.who for event in collection.log.history(of="contrary")} == {"contrary"}


def test_a_person_is_paused_whose_own_votes_rank_worse():
    def is_worse(changes):
        record = Record()
        for change in changes:
            record = record.changed(Taught(right=(0.5, 0.5 + change)), 1)
        return record.is_worse

    assert not is_worse([])
    assert not is_worse([-0.1, -0.1, 0.1] * 2)
    assert is_worse([-0.1] * 5)
    assert not Record().changed(Taught(right=(0.0, None)), 1).judged


def test_votes_that_rank_others_worse_are_not_used(collection):
    red, blue = ids(collection, "rot"), ids(collection, "blau")
    start = collection.search(red[7], 30)
    green = ids(collection, "grün")
    for query in red[:6]:
        shown = [*green[:2], *blue[:2]]
        collection.vote(Ask((query,)), picked=green[:2], rejected=blue[:2], shown=shown)
    good = collection.votes.standing()
    assert good.after >= good.before
    assert good.strength == 1.0
    assert collection.search(red[7], 30) != start
    ranker = ranker_of(collection)
    spoiled = [
        replace(vote, taught={1: replace(vote.taught[1], right=(1.0, 0.5))})
        for vote in ranker.votes.ledger.votes
    ]
    paused = replace(ranker, votes=ranker.votes.following(ledgers.Ledger().added(spoiled)))
    assert paused.votes.standing.strength == 0.0
    assert "worse" in paused.votes.standing.reason
    vector = ranker.vectors(red[7:8])
    assert np.array_equal(paused.query(vector), ranker.similarity.query_vectors(vector))
    assert not np.array_equal(ranker.query(vector), paused.query(vector))


def test_votes_are_put_on_what_labels_taught(collection):
    collection.learn(folders=True, settings={"steps": 300, "blend": 0.5})
    ask = Ask((1,))
    before = scores(collection, ask)
    collection.vote(ask, picked=[20], rejected=[9])
    after = scores(collection, ask)
    assert after[20] > before[20]
    assert 9 not in after
    standing = collection.votes.standing()
    assert standing.labels_before is not None
    assert standing.labels_after is not None
    collection.rollback()
    assert collection.votes.standing().labels_before is None
    assert scores(collection, ask) != before
    assert {e.kind for e in collection.log.history()} == {"import", "learn", "vote", "rollback"}


def test_a_search_is_named_by_an_ask(collection):
    with pytest.raises(InvalidInput, match=r"by an Ask, as Ask\(\(5,\)\); got \[5\]"):
        collection.vote([5], picked=[2])


def test_bad_votes_are_refused(collection):
    ask = Ask((1,))
    for wrong in (
        lambda: collection.vote(ask),
        lambda: collection.vote(ask, picked=[2], rejected=[2]),
        lambda: collection.vote(ask, picked=["2"]),
        lambda: collection.vote(ask, picked=[True]),
        lambda: collection.vote(ask, picked=range(1, 3000)),
        lambda: collection.vote(ask, picked=[2], who="x" * 65),
        lambda: collection.vote(ask, picked=[2], key="\ud800"),
        lambda: collection.vote(Ask(()), picked=[2]),
        lambda: collection.vote(Ask([1]), picked=[2]),
        lambda: collection.vote(Ask(tuple(range(1, 80))), picked=[2]),
        lambda: collection.log.history(0),
        lambda: collection.label(1, "  "),
        lambda: collection.label(1, 7),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    for unknown in (
        lambda: collection.vote(ask, picked=[999]),
        lambda: collection.vote(Ask((999,)), picked=[2]),
        lambda: collection.vote(Ask(("u12",)), picked=[2]),
        lambda: collection.label(999, "x"),
        lambda: collection.search(Ask((999,))),
        lambda: collection.queries.thumbnail("u12"),
    ):
        with pytest.raises(NotFound):
            unknown()
    assert collection.log.history() == []


def test_a_rejection_alone_takes_a_picture_out(collection):
    ask = Ask((1,))
    before = order(collection, ask)
    collection.vote(ask, rejected=before[:1])
    assert before[0] not in order(collection, ask)
    assert collection.votes.standing().judged == 0


def test_words_are_labels_at_once(collection):
    tagged = collection.label(1, " Größe ")
    assert collection.labels.all()[1] == ["Größe"]
    assert collection.label(1, "GRÖSSE") == tagged
    refused = collection.label(1, "größe", shows=False)
    assert 1 not in collection.labels.all()
    assert (refused.kind, refused.body["shows"]) == ("label", False)
    collection.undo(refused.number)
    assert collection.labels.all()[1] == ["Größe"]
    collection.undo(tagged.number)
    assert 1 not in collection.labels.all()


def test_words_come_back_in_whatever_order_they_are_undone(collection):
    no = collection.label(1, "rot", shows=False)
    yes = collection.label(1, "rot")
    collection.undo(no.number)
    assert collection.labels.all()[1] == ["rot"]
    collection.undo(yes.number)
    assert 1 not in collection.labels.all()
    assert stored_rows(collection, "SELECT * FROM refusals") == []


def test_a_kept_query_is_searched_with_and_voted_on(collection, tmp_path):
    file = picture(tmp_path / "neu.png", PALETTE["rot"], 12345)
    token = collection.queries.keep(file.read_bytes())
    assert collection.queries.keep(file.read_bytes()) == token
    ask = Ask((token,))
    assert order(collection, ask) == [m.id for m in collection.search(file, 30)]
    collection.vote(ask, picked=[20], rejected=[1])
    with again(collection) as other:
        assert other.search(ask, 30) == collection.search(ask, 30)
    assert collection.queries.thumbnail(token)[:2] == b"\xff\xd8"
    with pytest.raises(UnreadablePicture):
        collection.queries.keep(b"no picture")


def test_a_region_goes_with_its_picture(collection):
    whole = collection.queries.keep(Image.new("RGB", (40, 30), "red"))
    part = collection.queries.keep_region(1, (0.0, 0.0, 0.5, 1.0))
    assert part != collection.queries.keep_region(1, (0.5, 0.0, 1.0, 1.0))
    assert collection.search(Ask((part,)), 3)
    for box in ((0.5, 0, 0.5, 1), (0, 0, 1, 2), (-1, 0, 1, 1)):
        with pytest.raises(InvalidInput, match="region"):
            collection.queries.keep_region(1, box)
    collection.remove([1])
    with pytest.raises(NotFound):
        collection.queries.thumbnail(part)
    with pytest.raises(NotFound):
        collection.search(Ask((part,)))
    assert collection.queries.thumbnail(whole)
    collection.restore([1])
    assert collection.search(Ask((part,)), 3)


def test_several_examples_and_some_against(collection):
    red, green, blue = (ids(collection, colour) for colour in PALETTE)
    ask = Ask((red[0], green[0]), (blue[0],))
    found = order(collection, ask)
    assert not {red[0], green[0], blue[0]} & set(found)
    assert set(found[-7:]) == set(blue[1:])


def test_a_changed_log_is_found(collection):
    for number in (2, 3, 4):
        collection.vote(Ask((1,)), picked=[20 + number], rejected=[number])
    collection.log.check()
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        connection.execute("UPDATE events SET body = replace(body, '0.', '9.') WHERE number = 2")
        connection.commit()
    with again(collection) as other:
        with pytest.raises(DamagedFile, match="from event 2 on"):
            other.log.check()
        assert other.votes.standing().votes == 1
        assert "event 2" in other.votes.standing().reason
        assert other.search(1)


def test_a_damaged_snapshot_is_as_none(collection, set_limits):
    set_limits(snapshot_every=1)
    for number in (2, 3, 4):
        collection.vote(Ask((1,)), picked=[number], rejected=[20 + number])
    kept = state(collection)
    with closing(sqlite3.connect(collection.path / "collection.sqlite")) as connection:
        connection.execute("UPDATE snapshots SET state = x'00112233'")
        connection.commit()
    with again(collection) as other:
        assert state(other) == kept


@pytest.mark.parametrize("learned", [False, True])
def test_searches_score_as_the_whole_matrix_says(collection, learned):
    if learned:
        collection.learn(folders=True, settings={"steps": 300, "blend": 0.5})
    red, green, blue = (ids(collection, colour) for colour in PALETTE)
    for query in red[:4]:
        shown = [*green[:2], *blue[:3]]
        collection.vote(Ask((query,)), picked=shown[:2], rejected=shown[2:], shown=shown)
    collection.vote(Ask((red[6],)), rejected=[red[5]])
    ranker = ranker_of(collection)
    assert ranker.votes.standing.strength == 1.0
    ids_, everyone = ranker.plain.ids.tolist(), ranker.plain.vectors.astype(float)
    row = dict(zip(ids_, everyone, strict=True))
    votes = []
    for vote in ranker.votes.ledger.votes:
        lesson = vote.taught[1]
        vectors = np.array([row[number or int(vote.subject)] for number in lesson.pictures])
        votes.append((vectors, lesson.picked, lesson.steps, lesson.width))
    query = red[7]
    asked = ranker.similarity.query_vectors(everyone[[ids_.index(query)]])[0].astype(float)
    unit = asked / np.linalg.norm(asked)
    everywhere = reference.everywhere(votes, unit, EVIDENCE)
    assert np.linalg.norm(everywhere) > 0.01
    turned = reference.turn(votes, row[query]) + everywhere
    turned *= min(1, LIMIT / np.linalg.norm(turned))
    assert np.abs(turned).max() > 0.01
    length = np.linalg.norm(asked)
    asked = asked + length * turned
    asked *= length / np.linalg.norm(asked)
    items = ranker.similarity.item_vectors(everyone)
    expected = {n: asked @ items[k] for k, n in enumerate(ids_) if n != query}
    assert scores(collection, Ask((query,))) == pytest.approx(expected, abs=1e-4)
    # Votes learned while the collection was another have another width.
    widths = [60.0, 60.0, *(vote[3] for vote in votes[2:])]
    other = [
        replace(vote, taught={1: replace(vote.taught[1], width=width)})
        for vote, width in zip(ranker.votes.ledger.votes, widths, strict=True)
    ]
    followed = ranker.votes.following(ledgers.Ledger().added(other))
    votes = [(*vote[:3], width) for vote, width in zip(votes, widths, strict=True)]
    expected = reference.turn(votes, row[query]) + everywhere
    expected *= min(1, LIMIT / np.linalg.norm(expected))
    assert np.abs(expected - turned).max() > 0.005
    given = ranker.plain.take(np.array([query]))
    np.testing.assert_allclose(followed.turns.turned(given)[0], expected, atol=1e-4)


def test_a_vote_after_a_deletion_leaves_out_what_is_gone(collection):
    ask = Ask((1,))
    collection.vote(ask, picked=[2, 3], rejected=[9, 10])
    collection.remove([2, 10])
    event = collection.vote(ask, picked=[4], rejected=[11], shown=[2, 12, 4, 10, 999])
    vote = ledger_of(collection).votes[-1]
    taught = vote.taught[1]
    assert vote.number == event.number
    assert not {2, 10, 999} & set(taught.pictures)
    assert taught.pictures == (0, 4, 3, 11, 9)


def test_queries_of_other_sizes_are_other_queries(collection):
    wide, high = (Image.new("RGB", size, (9, 9, 9)) for size in ((64, 32), (32, 64)))
    assert collection.queries.keep(wide) != collection.queries.keep(high)


def test_a_query_goes_with_a_picture_that_came_later(collection, tmp_path):
    path = picture(tmp_path / "neu" / "neu.png", (1, 200, 200), 5)
    token = collection.queries.keep(path.read_bytes())
    collection.add([path])
    assert collection.queries.keep(path.read_bytes()) == token
    collection.remove([path])
    with pytest.raises(NotFound):
        collection.queries.thumbnail(token)


def test_a_region_is_of_the_picture_that_was_added(collection, pictures):
    place = collection.pictures.get(1).places[0]
    copy = pictures / "kopie.png"
    copy.write_bytes(place.read_bytes())
    collection.add([copy])
    place.unlink()
    place.symlink_to(collection.pictures.get(9).places[0])
    assert collection.queries.keep_region(1, (0, 0, 0.5, 0.5))
    copy.unlink()
    with pytest.raises(UnreadablePicture):
        collection.queries.keep_region(1, (0, 0, 0.5, 0.6))


def test_votes_read_at_once_sum_to_the_same_bits(collection):
    for query, rejected in ((4, 1), (1, 17), (2, 1), (1, 9), (9, 4), (17, 2)):
        collection.vote(Ask((query,)), rejected=[rejected], picked=[query + 1])
        collection.vote(Ask((query + 2,)), rejected=[rejected])
    with again(collection) as other:
        ours, theirs = (ranker_of(it).votes for it in (collection, other))
        assert [*ours.turns.lessons.places] == [*theirs.turns.lessons.places]
        for query in range(1, 25):
            assert scores(collection, Ask((query,))) == scores(other, Ask((query,)))


def test_undoing_a_vote_does_not_read_the_log_again(collection, monkeypatch):
    first = collection.vote(Ask((1,)), picked=[2], rejected=[9])
    collection.vote(Ask((4,)), picked=[5], rejected=[17])
    collection.search(1)
    monkeypatch.setattr(ledgers.rows, "undone", None)
    collection.undo(first.number)
    assert collection.votes.verdicts(Ask((1,))) == {}
    assert [vote.subject for vote in ledger_of(collection).votes] == ["4"]
    monkeypatch.undo()
    with again(collection) as other:
        assert state(other) == state(collection)


def test_snapshots_get_rarer_as_votes_get_more():
    due = [votes for votes in range(40_000) if recording._is_snapshot_due(votes)]
    apart = np.diff(due)
    assert (due[0], due[1], apart.min()) == (256, 512, 256)
    assert (apart <= np.maximum(256, np.array(due[1:]) / 8)).all()
    assert len(due) < 100


def test_votes_that_contradict_each_other_leave_a_ranking_as_it_was(collection):
    ask = Ask((1,))
    first = order(collection, ask)
    for who, good, bad in (("Ada", 2, 9), ("Bea", 9, 2)):
        collection.vote(ask, picked=[good], rejected=[bad], who=who)
        collection.people.trust(who)
    # What one picks and another rejects is neither.
    assert collection.votes.verdicts(ask) == {}
    assert sorted(order(collection, ask)) == sorted(first)
    collection.vote(ask, picked=[9], rejected=[2], who="Ada")
    assert collection.votes.verdicts(ask) == {9: 1, 2: -1}
    ranker = ranker_of(collection)
    lengths = np.linalg.norm(ranker.votes.turns.turned(ranker.plain.vectors), axis=1)
    assert lengths.max() <= LIMIT + 1e-6


def test_who_corrects_one_search_by_several_thumbs_is_not_left_out(collection):
    red, green = ids(collection, "rot"), ids(collection, "grün")
    # Each thumb is a vote of its own, and all of them are about one search.
    for picked, rejected in (([green[0]], []), ([], [red[1]]), ([], [red[2]]), ([], [red[3]])):
        collection.vote(Ask((red[0],)), picked=picked, rejected=rejected)
    standing = collection.votes.standing()
    assert (standing.votes, standing.paused) == (4, ())
    with again(collection) as other:
        assert ledger_of(other).records == ledger_of(collection).records


def test_queries_asked_at_once_are_turned_as_each_alone(collection):
    for query, good, bad in ((1, 2, 9), (4, 5, 20), (9, 10, 3)):
        collection.vote(Ask((query,)), picked=[good], rejected=[bad])
    ranker = collection._session.rankers.get()
    votes, vectors = ranker.votes.turns, ranker.plain.vectors
    alone = np.vstack([votes.turned(vectors[row : row + 1]) for row in range(len(vectors))])
    assert np.linalg.norm(alone, axis=1).max() > 0.1
    np.testing.assert_allclose(votes.turned(vectors), alone, atol=1e-6)
    folds = {vote.subject: fold_of(vote.subject) for vote in ranker.votes.ledger.votes}
    (empty, *_) = {*range(FOLDS)} - {*folds.values()}
    query = ranker.similarity.query_vectors(vectors)
    # Votes of a part that has none: those of the others are all votes.
    for fold, is_same in ((empty, True), (folds["1"], False)):
        turned, others = votes.apart(vectors, query, fold, np.arange(0))
        np.testing.assert_allclose(turned, alone, atol=1e-6)
        assert np.allclose(others, alone[:1], atol=1e-6) == is_same


def test_one_person_voting_again_and_again_on_one_query_is_bounded(collection):
    ask = Ask((1,))
    collection.vote(ask, picked=[2], rejected=[9])
    once = collection._session.rankers.layer()
    # As after 10,000 votes, back and forth.
    turns = [
        replace(vote, number=vote.number + n, picked=vote.rejected, rejected=vote.picked)
        if n % 2
        else replace(vote, number=vote.number + n)
        for n in range(1, 10_001)
        for vote in once.votes
    ]
    many = once.added(turns)
    assert many.verdicts("1") == once.verdicts("1")
    assert len(many.thumbs["1"][""]) == 2
    ranker = collection._session.rankers.get()
    followed = ranker.votes.following(many)
    assert np.linalg.norm(followed.turns.turned(ranker.plain.vectors), axis=1).max() <= LIMIT + 1e-6
    assert followed.turns.lessons.places == ranker.votes.turns.lessons.places


def test_votes_only_by_thumbs_down(collection):
    asks = [Ask((query,)) for query in (1, 4, 9)]
    for ask in asks:
        collection.vote(ask, rejected=[20])
    for ask in asks:
        assert 20 not in order(collection, ask)
    standing = collection.votes.standing()
    assert (standing.votes, standing.judged, standing.strength) == (3, 0, 1.0)
    ranker = ranker_of(collection)
    assert np.isfinite(ranker.votes.turns.turned(ranker.plain.vectors)).all()
    with again(collection) as other:
        assert order(other, asks[0]) == order(collection, asks[0])


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\udce9"])
def test_control_characters_are_refused_in_words_and_names(collection, sign):
    with pytest.raises(InvalidInput, match="control"):
        collection.label(1, f"tea{sign}")
    with pytest.raises(InvalidInput, match="control"):
        collection.label(1, "tea", who=f"Ada{sign}")
    with pytest.raises(InvalidInput, match="control"):
        collection.vote(Ask((1,)), picked=[2], key=f"k{sign}")


@pytest.mark.parametrize("who", ["Bea", ""])
def test_what_a_malicious_person_taught_does_not_count_against_others_votes(collection, who):
    """The record of a person's votes stays as it is when the other is revoked."""
    red = ids(collection, "rot")
    good, bad = red[4:6], red[6:8]
    collection.people.trust("mal")
    if who:
        collection.people.trust(who)
    for query in red[:4]:
        collection.vote(Ask((query,)), picked=bad, rejected=good, who="mal")
    for query in red[:4]:
        collection.vote(Ask((query,)), picked=good, rejected=bad, shown=red[4:8], who=who)
    (record,) = (
        record for (_, name), record in ledger_of(collection).records.items() if name == who
    )
    assert record.judged == 4
    assert record.change >= 0
    collection.people.revoke("mal")
    assert collection.votes.standing(who=who).paused == ()
