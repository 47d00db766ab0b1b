"""What people's own votes add: a ledger and rankers for each, of those who searched last."""

from collections import OrderedDict
from dataclasses import replace

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store.people import OWNER
from lookalike.collection.votes.ledger import Ledger

MAX_PEOPLE = 16
"""People whose layers are in memory; those who have not searched for the longest go."""


class Layers:
    """The layers of people, made from what all share when they are first used."""

    def __init__(self) -> None:
        self._votes: OrderedDict[str, tuple[Ledger, Ledger]] = OrderedDict()
        self._rankers: OrderedDict[tuple[int, str], tuple[Ranker, Ranker]] = OrderedDict()

    def votes(self, ledger: Ledger, who: str) -> Ledger:
        """Return the votes that teach a person: the owner's, those of trusted people, their own."""
        known = self._votes.pop(who, None)
        if known is None or known[0] is not ledger:
            known = ledger, ledger.layer(who, known)
        self._votes[who] = known
        while len(self._votes) > MAX_PEOPLE:
            self._votes.popitem(last=False)
        return known[1]

    def ranker(self, shared: Ranker, layer: Ledger, who: str) -> Ranker:
        """Return a ranker with what a person's own votes, which a layer has, add."""
        if who == OWNER or not any(vote.who == who for vote in layer.votes):
            return shared
        start, own = self._rankers.pop((shared.id, who), (shared, shared))
        if start is not shared:
            is_same = start.plain is shared.plain and start.similarity is shared.similarity
            known = own.votes.judged_by(shared.votes.judgement.held) if is_same else shared.votes
            own = replace(shared, votes=known)
        if own.votes.ledger is not layer:
            own = replace(own, votes=own.votes.following(layer))
        self._rankers[shared.id, who] = shared, own
        while len(self._rankers) > MAX_PEOPLE:
            self._rankers.popitem(last=False)
        return own
