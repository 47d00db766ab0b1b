"""What a collection was told, in any order, against a plain replay of the log."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lookalike.collection import Ask, Collection
from lookalike.collection.votes import ledger as ledgers
from lookalike.core.errors import InvalidInput, NotFound
from tests.collection.colours import Colours, album
from tests.collection.votes.inside import ranker_of

PICTURES = st.integers(1, 6)
WORDS = st.sampled_from(["katze", "KATZE", "hund"])
PEOPLE = st.sampled_from(["", "b"])


class Told(RuleBasedStateMachine):
    """Says things to a collection and to a list; what counts is read from the list each time."""

    made = None

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        shutil.copytree(self.made, self.place / "sammlung")
        self.collection = Collection.open(self.place / "sammlung", features=[Colours()])
        self.log = []

    def teardown(self):
        self.collection.close()
        shutil.rmtree(self.place)

    def add(self, event, *what):
        assert event.number <= len(self.log) + 1
        if event.number == len(self.log) + 1:
            self.log.append(what)

    def undone(self):
        gone = set()
        for number, (kind, *what) in reversed(list(enumerate(self.log, 1))):
            if kind == "undo" and number not in gone:
                gone.add(what[0])
        return gone

    def counting(self):
        gone = self.undone()
        found = [(n, *what) for n, what in enumerate(self.log, 1) if n not in gone]
        resets = [n for n, kind, *_ in found if kind == "reset"]
        start = max(resets, default=0)
        return [what for what in found if what[1] != "vote" or what[0] > start]

    @property
    def removed(self):
        return {what[0] for _, kind, *what in self.counting() if kind == "removal"}

    @rule(query=PICTURES, picture=PICTURES, good=st.booleans(), who=PEOPLE)
    def vote(self, query, picture, good, who):
        side = {"picked" if good else "rejected": [picture]}
        if self.removed & {query, picture}:
            with pytest.raises(NotFound):
                self.collection.vote(Ask((query,)), who=who, **side)
            return
        event = self.collection.vote(Ask((query,)), who=who, **side)
        self.add(event, "vote", query, picture, 1 if good else -1, who)

    @rule(picture=PICTURES, word=WORDS, shows=st.booleans())
    def say(self, picture, word, shows):
        if picture in self.removed:
            with pytest.raises(NotFound):
                self.collection.label(picture, word, shows=shows)
            return
        event = self.collection.label(picture, word, shows=shows)
        self.add(event, "say", picture, word, shows)

    @precondition(lambda self: self.log)
    @rule(back=st.integers(0, 12))
    def undo(self, back):
        number = max(len(self.log) - back, 1)
        if number in self.undone():
            with pytest.raises(InvalidInput):
                self.collection.undo(number)
            return
        self.add(self.collection.undo(number), "undo", number)

    @rule()
    def reset(self):
        self.add(self.collection.votes.reset(), "reset")

    @rule(picture=st.integers(4, 6))
    def remove(self, picture):
        if picture not in self.removed:
            self.collection.remove([picture])
            self.log.append(("removal", picture))

    @rule()
    def open_again(self):
        self.collection.close()
        self.collection = Collection.open(self.place / "sammlung", features=[Colours()])

    @invariant()
    def words_are_those_said_last(self):
        said, removed = {}, self.removed
        for _, kind, *what in self.counting():
            if kind == "say" and what[0] not in removed:
                said[what[0], what[1].casefold()] = what[2]
        database = self.collection._session.database
        for table, column, shows in (("labels", "label", True), ("refusals", "word", False)):
            rows = database.rows(
                f"SELECT picture, {column} FROM {table} JOIN pictures ON id = picture"
            )
            found = [(picture, word.casefold()) for picture, word in rows]
            assert sorted(found) == sorted(key for key in said if said[key] == shows)

    @invariant()
    def votes_are_those_that_count(self):
        counting = [what for what in self.counting() if what[1] == "vote"]
        ledger = self.collection._session.rankers.ledger
        assert [vote.number for vote in ledger.votes] == [what[0] for what in counting]
        for query in range(1, 7):
            said = {}
            for _, _, asked, picture, sign, who in counting:
                if asked == query:
                    said[picture, who] = sign
            for who in ("", "b"):
                own = {picture: sign for (picture, speaker), sign in said.items() if speaker == who}
                shared = {picture: sign for (picture, speaker), sign in said.items() if not speaker}
                assert self.collection.votes.verdicts(Ask((query,)), who) == shared | own
        history = self.collection.log.history(1000)
        assert {event.number for event in history if event.undone} == self.undone()

    @invariant()
    def another_reader_finds_the_same(self):
        with Collection.open(self.collection.path, features=[Colours()]) as other:
            ours, theirs = (ranker_of(it).votes for it in (self.collection, other))
            assert ledgers.packed(ours.ledger.votes) == ledgers.packed(theirs.ledger.votes)
            assert ours.ledger.records == theirs.ledger.records
            assert self.collection.votes.standing() == other.votes.standing()
            assert self.collection.search(1, 9) == other.search(1, 9)


def test_what_was_told_is_what_a_replay_finds(tmp_path, set_limits):
    set_limits(snapshot_every=3)
    album(tmp_path / "bilder", 2)
    with Collection.create(tmp_path / "sammlung", features=[Colours()]) as made:
        made.add([tmp_path / "bilder"])
    Told.made = tmp_path / "sammlung"
    several = settings(
        max_examples=20,
        stateful_step_count=30,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Told, settings=several)
