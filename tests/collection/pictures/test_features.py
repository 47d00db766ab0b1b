"""A feature added to a collection: described in steps that are kept, while searches go on."""

import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike import images
from lookalike.collection import Ask, Collection
from lookalike.core.errors import CollectionError, DecoderFailed, InvalidInput
from lookalike.features import Views, Visterms
from tests.collection.beside import counted_votes
from tests.collection.colours import PALETTE, Colours, Fine, picture
from tests.collection.teaching import QUICK, words


def test_all_pictures_are_described_by_it(collection):
    before = collection.search(1, 9)
    told = []
    info = collection.add_feature(Fine(), progress=lambda done, total: told.append((done, total)))
    assert (info.name, info.ready, info.pictures, info.undescribed) == ("fine", True, 24, 0)
    assert told[0] == (0, 24)
    assert told[-1] == (24, 24)
    assert collection.search(1, 9) == before
    with Collection.create(collection.path.parent / "neu", features=[Fine()]) as fresh:
        fresh.add([collection.path.parent / "bilder"])
        assert [(m.path, m.score) for m in collection.search(1, 9, by="fine")] == [
            (m.path, m.score) for m in fresh.search(collection.pictures.get(1).places[0], 9)
        ]
    assert collection.log.history(1)[0].kind == "feature"
    assert collection.log.history(1)[0].body == {"name": "fine", "feature": "fine"}


def test_new_pictures_are_described_by_all(collection, pictures):
    collection.add_feature(Fine())
    picture(pictures / "neu.png", (9, 9, 9), 999)
    collection.add([pictures])
    assert all(info.pictures == 25 for info in collection.models.rankers())
    assert len(collection.search(1, 99, by="fine")) == 24
    collection.remove([1])
    assert len(collection.search(2, 99, by="fine")) == 23


def test_earlier_votes_teach_it(collection, pictures):
    for query in (1, 2, 9, 10, 17):
        good, bad = query + 1, (query + 11) % 24 + 1
        collection.vote(Ask((query,)), picked=[good], rejected=[bad], shown=[good, bad])
    undone = collection.vote(Ask((3,)), rejected=[5])
    collection.undo(undone.number)
    token = collection.queries.keep(
        (pictures / "rot" / "rot-0.png").read_bytes(), box=(0, 0, 1, 0.5)
    )
    collection.vote(Ask((token,)), picked=[18], rejected=[2])
    collection.add_feature(Fine())
    standing = collection.votes.standing("fine")
    assert (standing.votes, standing.judged) == (6, 5)
    # As if they had been there from the start.
    with Collection.create(collection.path.parent / "neu", features=[Fine()]) as fresh:
        fresh.add([pictures])
        ids = {row.places[0]: row.id for row in fresh.pictures.all()}
        same = {row.id: ids[row.places[0]] for row in collection.pictures.all()}
        for vote in counted_votes(collection)[:5]:
            good, bad = ([same[n] for n in side] for side in (vote.picked, vote.rejected))
            query = Ask((same[int(vote.subject)],))
            fresh.vote(query, picked=good, rejected=bad, shown=[*good, *bad])
        ours = counted_votes(collection)
        theirs = counted_votes(fresh)
        for one, other in zip(ours[:5], theirs, strict=True):
            np.testing.assert_allclose(one.taught[2].steps, other.taught[1].steps, atol=1e-9)
            assert one.taught[2].right == other.taught[1].right
    collection.log.check()
    assert "lessons" not in {event.kind for event in collection.log.history(100)}
    found = collection.search(Ask((1,)), 9, by="fine")
    with Collection.open(collection.path, features=[Colours(), Fine()]) as again:
        assert again.search(Ask((1,)), 9, by="fine") == found
    collection.undo(1)
    assert collection.votes.standing("fine").votes == 5
    collection.undo(collection.log.history(1)[0].number)
    assert collection.search(Ask((1,)), 9, by="fine") == found


def test_searches_go_on_meanwhile(collection):
    entered, leave, found = threading.Event(), threading.Event(), []

    def slow(*given, **named):
        entered.set()
        leave.wait(300)
        return images.decode(*given, **named)

    collection.pictures.decode_with(slow)
    adding = threading.Thread(target=lambda: collection.add_feature(Fine()))
    adding.start()
    assert entered.wait(300)
    with Collection.open(collection.path, features=[Colours()]) as other:
        found.append(other.search(1, 9))
        other.vote(Ask((1,)), picked=[2], rejected=[20])
        with pytest.raises(CollectionError, match="24 pictures still to be described"):
            other.search(1, by="fine")
        assert [info.ready for info in other.models.rankers()] == [True, False]
    found.append(collection.search(1, 9))
    leave.set()
    adding.join(300)
    assert len(found) == 2
    assert collection.search(1, by="fine")
    assert collection.votes.standing("fine").votes == 1


def test_interrupted_before_it_is_fitted_it_is_not_ready(collection):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    collection.pictures.decode_with(interrupted)
    with pytest.raises(KeyboardInterrupt):
        collection.add_feature(Visterms())
    with pytest.raises(CollectionError, match="visterms is not ready: 24 pictures still"):
        collection.search(1, by="visterms")
    with pytest.raises(InvalidInput, match="before it has described all pictures"):
        collection.models.set_default("visterms")
    assert collection.search(1)


def test_a_decoder_that_does_not_start_is_no_fault_of_the_pictures(collection):
    def decode(*_, **__):
        raise CollectionError("Cannot start the process that decodes pictures.")

    collection.pictures.decode_with(decode)
    with pytest.raises(CollectionError, match="Cannot start"):
        collection.add_feature(Fine())
    collection.pictures.decode_with(None)
    info = collection.add_feature(Fine())
    assert (info.ready, info.undescribed) == (True, 0)


def test_a_fault_of_the_decoder_leaves_a_picture_out_of_the_sample(collection):
    failed = []

    def decode(*given, **named):
        if not failed:
            failed.append(1)
            raise DecoderFailed("no such module")
        return images.decode(*given, **named)

    collection.pictures.decode_with(decode)
    assert collection.add_feature(Visterms(dimension=16, colours=4)).ready


def test_interrupted_it_goes_on_where_it_stopped(collection, set_limits):
    decoded, most = [], 10

    def counted(*given, **named):
        if len(decoded) == most:
            raise KeyboardInterrupt
        decoded.append(1)
        return images.decode(*given, **named)

    collection.pictures.decode_with(counted)
    set_limits(batch=4)
    with pytest.raises(KeyboardInterrupt):
        collection.add_feature(Fine(), threads=1)
    with pytest.raises(CollectionError, match="not ready"):
        collection.search(1, by="fine")
    kept = collection.models.rankers()[1].pictures
    assert kept >= 8
    assert collection.search(1)
    decoded.clear()
    most = 24
    assert collection.add_feature(Fine()).ready
    assert len(decoded) == 24 - kept


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[0] = sys.argv[2]
from colours import Colours, Fine
from lookalike.collection import Collection
from lookalike.collection.pictures import describing
describing.BATCH_PICTURES = 5
left = [int(sys.argv[3])]
import sqlite3
connect = sqlite3.connect
class Dying(sqlite3.Connection):
    def execute(self, sql, *values):
        if sql == "COMMIT":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(sql, *values)
sqlite3.connect = lambda *a, **k: connect(*a, factory=Dying, **k)
with Collection.open(Path(sys.argv[1]), features=[Colours()]) as collection:
    collection.add_feature(Fine(), threads=1)
"""


@pytest.mark.parametrize("step", [2, 5, 8, 10, 12])
def test_killed_it_goes_on_where_it_stopped(collection, step):
    collection.vote(Ask((1,)), picked=[20], rejected=[2])
    before = collection.search(1, 9)
    root = Path(__file__).parents[1]
    arguments = [sys.executable, "-c", KILLED, str(collection.path), str(root), str(step)]
    done = subprocess.run(arguments, check=False)
    assert done.returncode in (0, -signal.SIGKILL)
    with Collection.open(collection.path, features=[Colours()]) as left:
        assert left.search(1, 9) == before
        with suppress(InvalidInput):  # where all was done already
            left.add_feature(Fine())
    with Collection.open(collection.path, features=[Colours(), Fine()]) as again:
        assert len(again.search(1, 99, by="fine")) == 22
        assert again.votes.standing("fine").votes == 1
        assert sum(event.kind == "feature" for event in again.log.history()) == 1
        again.log.check()


def test_files_that_cannot_be_read_are_told_and_tried_again(collection, pictures):
    gone = collection.pictures.get(3).places[0]
    away = gone.rename(gone.with_name("weg"))
    changed = collection.pictures.get(4).places[0]
    picture(changed, (1, 2, 3), 77)
    info = collection.add_feature(Fine())
    assert (info.ready, info.pictures, info.undescribed) == (True, 22, 2)
    assert {
        (refused.path, refused.reason.split(":")[0])
        for refused in collection.pictures.undescribed("fine")
    } == {
        (gone, "cannot read it"),
        (changed, "it has changed since it was added"),
    }
    assert collection.pictures.undescribed() == []
    assert not {3, 4} & {match.id for match in collection.search(1, 99, by="fine")}
    assert {3, 4} <= {match.id for match in collection.search(1, 99)}
    # What is said of them counts where they are known.
    collection.vote(Ask((1,)), picked=[3], rejected=[20])
    collection.vote(Ask((3,)), picked=[1], rejected=[20])
    collection.learn(words(collection), feature="fine", settings=QUICK)
    away.rename(gone)
    info = collection.add_feature(Fine())
    assert (info.pictures, info.undescribed) == (23, 1)
    assert 3 in {match.id for match in collection.search(1, 99, by="fine")}


def test_an_empty_collection_takes_one_too(tmp_path, pictures):
    with Collection.create(tmp_path / "leer", features=[Colours()]) as empty:
        assert empty.add_feature(Fine()).ready
        empty.add([pictures])
        assert len(empty.search(1, 9, by="fine")) == 9


def test_a_feature_that_cannot_be_fitted_leaves_nothing_behind(collection, pictures):
    with pytest.raises(InvalidInput, match="components must be below"):
        collection.add_feature(Views())
    assert [info.name for info in collection.models.rankers()] == ["colours"]
    picture(pictures / "neu.png", (9, 9, 9), 999)
    assert collection.add([pictures]).added == 1
    assert "feature" not in [entry.kind for entry in collection.log.history()]


def test_a_ranker_is_removed_with_what_it_has_learned_and_can_come_again(collection):
    collection.vote(Ask((1,)), picked=[2], rejected=[12], shown=[2, 12])
    collection.add_feature(Fine())
    collection.learn(words(collection), feature="fine", settings=QUICK)
    before = collection.search(1, 9)
    event = collection.models.remove_ranker("fine")
    assert event.sentence == "Removed the ranker fine"
    assert [info.name for info in collection.models.rankers()] == ["colours"]
    assert collection.models.all() == []
    assert collection.search(1, 9) == before
    for name in ("fine", "colours"):
        with pytest.raises(InvalidInput):
            collection.models.remove_ranker(name)
    collection.log.check()
    assert not collection.upkeep.check().findings
    assert collection.add_feature(Fine()).ready
    # The first one can go as well; then the next is used by default.
    collection.models.remove_ranker("colours")
    assert collection.search(1, 9) == collection.search(1, 9, by="fine")
    collection.vote(Ask((1,)), picked=[3], rejected=[13], shown=[3, 13])
    with Collection.open(collection.path, features=[Fine()]) as again:
        assert again.search(1, 9) == collection.search(1, 9)
        assert not again.upkeep.check().findings


def test_the_default_ranker_is_chosen_and_undone(collection):
    token = collection.queries.keep(Image.new("RGB", (20, 20), PALETTE["rot"]))
    collection.add_feature(Fine())
    fine, colours = collection.search(1, 9, by="fine"), collection.search(1, 9)
    assert fine != colours
    event = collection.models.set_default("fine")
    assert event.sentence == "Searches take the ranker fine by default"
    assert [info.name for info in collection.models.rankers()] == ["fine", "colours"]
    assert collection.search(1, 9) == fine
    # What was searched with before is known again.
    assert collection.queries.keep(Image.new("RGB", (20, 20), PALETTE["rot"])) == token
    with Collection.open(collection.path, features=[Fine()]) as again:
        assert again.search(1, 9) == fine
    second = collection.models.set_default("colours")
    assert collection.search(1, 9) == colours
    collection.undo(second.number)
    assert collection.search(1, 9) == fine
    undo = collection.undo(event.number)
    assert collection.search(1, 9) == colours
    collection.undo(undo.number)
    assert collection.search(1, 9) == fine
    # If it goes, the oldest one is the default again.
    collection.models.remove_ranker("fine")
    assert collection.search(1, 9) == colours
    with pytest.raises(InvalidInput, match="no ranker 'fine'"):
        collection.models.set_default("fine")
    collection.log.check()
    assert not collection.upkeep.check().findings


def test_a_collection_is_made_with_features_by_their_names(tmp_path):
    with Collection.create(tmp_path / "one", features=["visterms"]) as made:
        assert [info.name for info in made.models.rankers()] == ["visterms"]
    with Collection.create(tmp_path / "two", features={"look": "visterms", "own": Fine()}) as made:
        assert [info.name for info in made.models.rankers()] == ["look", "own"]
    with pytest.raises(InvalidInput, match="nothing"):
        Collection.create(tmp_path / "three", features=["nothing"])
    assert not (tmp_path / "three").exists()
