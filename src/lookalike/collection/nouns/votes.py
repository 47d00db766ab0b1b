"""What people voted on searches, and what that has taught."""

from __future__ import annotations

from lookalike.collection.log.entry import Entry, check_names
from lookalike.collection.log.votes import Reset
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors import queries
from lookalike.collection.votes.ledger import Standing
from lookalike.core.errors import (
    NotFound,
)


class Votes(Noun):
    """What people voted on searches, and what that has taught."""

    def verdicts(self, ask: Ask, who: str = "") -> dict[int, int]:
        """Return what was said of pictures found for a query: +1 for picked, -1 for rejected.

        A person's own word holds, else that of the owner and of trusted people.
        """
        queries.check_ask(ask)
        return self._session.rankers.layer(who).verdicts(str(ask))

    def of(self, ask: Ask, picture: int, who: str = "") -> list[int]:
        """Return the events in which a person voted on a picture for a query, the last first."""
        queries.check_ask(ask)
        return self._session.rankers.ledger.votes_on(str(ask), picture, who)

    def standing(self, by: str | None = None, who: str = "") -> Standing:
        """Return what votes have taught a ranker, how that was judged, and if searches use it.

        With ``who``, what that person's own votes have taught as well.
        """
        return self._session.rankers.get(by, who=who).votes.standing

    def reset(self, *, of: str | None = None, who: str = "", key: str | None = None) -> Entry:
        """Discard all votes given so far; undoing this event makes them count again.

        Parameters
        ----------
        of : str, optional
            Discard only the votes of the person with this name; one without a name is ``""``.
        who, key
            As for :meth:`vote`.
        """
        if of is not None:
            check_names(of)
            if not any(vote.who == of for vote in self._session.rankers.ledger.votes):
                raise NotFound(
                    f"Collection.reset_votes: no vote of {of or 'a person without a name'} counts."
                )
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                entry.append(Reset(of))
        return entry.result
