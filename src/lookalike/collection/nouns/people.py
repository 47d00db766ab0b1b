"""The people of a collection: who teaches everybody, and what each of them said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lookalike.collection.log import people as events
from lookalike.collection.log.entry import Entry, check_names
from lookalike.collection.log.event import Event
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.store import people
from lookalike.collection.store.people import OWNER, Proposal
from lookalike.core.errors import InvalidInput, LookalikeError, NotFound


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who voted or labelled, or who is trusted.

    Attributes
    ----------
    name : str
        Empty for the owner.
    trusted : bool
        Whether what they say teaches everybody; the owner's always does.
    votes, proposals : int
        Votes that count, and labels that wait to be accepted.
    paused : bool
        Whether their votes are used only in the searches they were given in, since with what was
        learned their own held-out votes rank worse.
    cost : float or None
        How much better labelled pictures held out rank without their votes (mean average
        precision); None without labels, and of somebody whose votes teach nobody else.
    """

    name: str
    trusted: bool
    votes: int
    proposals: int
    paused: bool
    cost: float | None


class People(Noun):
    """Who teaches everybody: the owner, and whom the owner trusts."""

    def all(self, by: str | None = None) -> list[Person]:
        """Return everybody, with what each costs or gains a ranker, by default the first."""
        ledger, waiting = self._session.rankers.ledger, self.proposals()
        try:
            judgement = self._session.rankers.get(by).votes.judgement
        except LookalikeError:
            judgement = None
        result = []
        for name in people.names(self._session.database):
            paused, cost = False, None
            if judgement is not None:
                layer = self._session.rankers.get(by, who=name).votes
                paused, cost = name in layer.standing.paused, judgement.cost(name)
            result.append(
                Person(
                    name=name,
                    trusted=name == OWNER or name in ledger.trusted,
                    votes=sum(vote.who == name for vote in ledger.votes),
                    proposals=sum(one.person == name for one in waiting),
                    paused=paused,
                    cost=cost,
                )
            )
        return result

    def trust(self, name: str, *, who: str = OWNER, key: str | None = None) -> Entry:
        """Let what a person said, and will say, teach everybody."""
        return self._record(events.Trust(_person(name), trusts=True), name, who, key, trusts=True)

    def revoke(self, name: str, *, who: str = OWNER, key: str | None = None) -> Entry:
        """Let what a person said teach only that person; searches of others are as without it."""
        return self._record(events.Trust(_person(name), trusts=False), name, who, key, trusts=False)

    def accept(self, name: str, *, who: str = OWNER, key: str | None = None) -> Entry:
        """Let the labels that a person has proposed so far count for everybody."""
        person = _person(name)
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                if not self.proposals(person):
                    raise NotFound(f"Collection.people: {name} has proposed no label that waits.")
                entry.append(events.Acceptance(person))
        return entry.result

    def proposals(self, name: str | None = None, picture: int | None = None) -> list[Proposal]:
        """Return the labels of people who are not trusted that wait to be accepted.

        Of one person or of one picture, where these are given. A label is accepted singly by
        giving it as the owner or somebody trusted, and rejected by refusing it.
        """
        return people.proposals(self._session.database, name, picture)

    def undo(
        self,
        name: str,
        kinds: Iterable[str] = events.UNDOABLE,
        *,
        since: str = "",
        who: str = OWNER,
        key: str | None = None,
    ) -> Entry:
        """Undo what a person said in one event, which can itself be undone.

        Parameters
        ----------
        name : str
        kinds : iterable of {"votes", "tags", "refusals", "albums", "removals", "others"}
            Others are what was undone, restored, rated, told apart or discarded of somebody else's,
            and the default ranker.
        since : str
            Only what was said from this time on, in UTC as the log writes it.
        who, key
            As for ``Collection.remove``.
        """
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                events.undo_person(
                    entry, name, events.undoable(entry.connection, name, kinds, since)
                )
        return entry.result

    def preview(
        self, name: str, kinds: Iterable[str] = events.UNDOABLE, *, since: str = ""
    ) -> dict[str, int]:
        """Return how much of each kind :meth:`undo` would undo.

        A tag on 39 pictures is 39 tags, and so with refusals and removals.
        """
        result = events.undoable(self._session.database, name, kinds, since)
        return {kind: sum(some.values()) for kind, some in result.items()}

    def _record(self, event: Event, name: str, who: str, key: str | None, *, trusts: bool) -> Entry:
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                if (name in people.trusted(entry.connection)) == trusts:
                    is_now = "trusted already" if trusts else "not trusted"
                    raise InvalidInput(f"Collection.people: {name} is {is_now}.")
                entry.append(event)
        return entry.result


def _person(name: str) -> str:
    check_names(name)
    if name == OWNER:
        raise InvalidInput("Collection.people: the owner is always trusted; name somebody else.")
    return name
