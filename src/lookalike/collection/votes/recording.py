"""Record a vote: it is checked, learned from by every ranker, and a row of the log at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection

from lookalike.collection.log import events
from lookalike.collection.log.events import Event
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import pictures
from lookalike.collection.store.database import Database
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import check_ask, read_ask
from lookalike.collection.votes import steps
from lookalike.collection.votes.ledger import SNAPSHOT_EVERY, Ledger, Vote
from lookalike.collection.votes.preferences import Preferences
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput, NotFound

MOST_NAMED = 1000
"""Pictures that one vote may name."""


@dataclass(frozen=True)
class Verdict:
    """What a person says of the pictures found for a query."""

    ask: Ask
    picked: list[int]
    rejected: list[int]
    shown: list[int]
    who: str

    @classmethod
    def checked(
        cls,
        ask: Ask,
        picked: Iterable[int],
        rejected: Iterable[int],
        shown: Iterable[int],
        who: str,
    ) -> "Verdict":
        """Return a verdict that makes sense, or raise InvalidInput."""
        check_ask(ask)
        good, bad = _ids("picked", picked), _ids("rejected", rejected)
        if not good and not bad:
            raise InvalidInput("Collection.vote: pick or reject at least one picture.")
        if both := set(good) & set(bad):
            raise InvalidInput(f"Collection.vote: {min(both)} is both picked and rejected.")
        return cls(ask, good, bad, _ids("shown", shown), who)

    def check_there(self, database: Database) -> None:
        """Raise NotFound if a picture or an example is not in the collection."""
        refs = [*self.picked, *self.rejected, *self.ask.like, *self.ask.unlike]
        numbers = {ref for ref in refs if isinstance(ref, int)}
        tokens = {ref for ref in refs if isinstance(ref, str)}
        lost = [str(number) for number in sorted(numbers - pictures.known(database, numbers))]
        lost += [token for token in sorted(tokens) if not _is_kept(database, token)]
        if lost:
            raise NotFound(
                f"Collection.vote: there is no picture or query {lost[0]:.80}. It may have been "
                f"removed."
            )


def record_vote(
    database: Database,
    connection: Connection,
    rankers: Sequence[Ranker],
    ledger: Ledger,
    verdict: Verdict,
    key: str | None,
) -> Event:
    """Add a vote to the log, with what it teaches each ranker.

    Nobody else can write meanwhile: what is read here is what this vote comes after. A person who
    says again what holds already gets the event in which it was said.
    """
    verdict.check_there(database)
    subject = str(verdict.ask)
    said = ledger.saying(subject, verdict.picked, verdict.rejected, verdict.who)
    if said is not None:
        return events.event(database, said)
    taught = {str(ranker.id): _teach(ranker.votes, ledger, verdict).written() for ranker in rankers}
    body = {
        "subject": subject,
        "like": list(verdict.ask.like),
        "unlike": list(verdict.ask.unlike),
        "picked": verdict.picked,
        "rejected": verdict.rejected,
        "shown": verdict.shown,
        "taught": taught,
    }
    event = events.append(connection, "vote", body, who=verdict.who, key=key, about=subject)
    if _is_snapshot_due(len(ledger.votes)) and ledger.damaged is None:
        ledger.keep(connection)
    return events.shown(event)


def _is_snapshot_due(votes: int) -> bool:
    """Return whether a snapshot is taken at so many votes: every sixteenth of them or so.

    It holds all votes, so taken every so many it would slow down with the log.
    """
    return votes > 0 and votes % max(SNAPSHOT_EVERY, 1 << max(votes.bit_length() - 4, 0)) == 0


def _teach(preferences: Preferences, ledger: Ledger, verdict: Verdict) -> steps.Taught:
    """Return what a verdict teaches a ranker, as far as that has described its pictures."""
    subject = str(verdict.ask)
    earlier = ledger.verdicts(subject)
    known = preferences.source.held({*verdict.picked, *verdict.rejected, *earlier})
    good, bad = steps.sides(verdict.picked, verdict.rejected, earlier, known)
    compared = [0, *good, *bad]
    if not bad and not good:
        return steps.Taught.nothing()
    is_whole_list = bool(verdict.shown) and {*verdict.shown} <= {*compared, *earlier}
    try:
        geometry = preferences.geometry(
            verdict.ask, compared, who=verdict.who, second_view=not is_whole_list
        )
    except NotFound:  # an example that this ranker has not described
        return steps.Taught.nothing()
    return steps.learn(compared, 1 + len(good), geometry, preferences.width)


def teach_earlier_votes(
    database: Database, connection: Connection, ranker: Ranker, ledger: Ledger
) -> None:
    """Let a ranker that came after some votes learn from them, in the order they were given.

    What they teach is added to the log, as it is with every vote.
    """
    if all(ranker.id in vote.taught for vote in ledger.votes):
        return
    so_far, preferences = Ledger(), ranker.votes.following(Ledger())
    lessons: dict[str, object] = {}
    for vote in ledger.votes:
        taught = vote.taught.get(ranker.id)
        if taught is None:
            shown = events.event(database, vote.number).body["shown"]
            verdict = Verdict(
                read_ask(vote.subject), list(vote.picked), list(vote.rejected), shown, vote.who
            )
            taught = _teach(preferences, so_far, verdict)
            lessons[str(vote.number)] = taught.written()
        so_far = so_far.added([_with(vote, ranker.id, taught)])
        preferences = preferences.following(so_far)
        if len(lessons) == SNAPSHOT_EVERY:
            _append_lessons(connection, ranker, lessons)
            lessons = {}
    if lessons:
        _append_lessons(connection, ranker, lessons)


def _append_lessons(connection: Connection, ranker: Ranker, lessons: dict[str, object]) -> None:
    events.append(connection, events.TEACH, {"ranker": ranker.id, "votes": lessons})


def _with(vote: Vote, ranker: int, taught: steps.Taught) -> Vote:
    return replace(vote, taught=vote.taught | {ranker: taught})


def _is_kept(database: Database, token: str) -> bool:
    return database.row("SELECT 1 FROM usable_queries WHERE token = ?", token) is not None


def _ids(name: str, given: Iterable[int]) -> list[int]:
    found = list(given)[: MOST_NAMED + 1]
    if len(found) > MOST_NAMED or not all(is_whole(n) and 0 < n < 2**62 for n in found):
        raise InvalidInput(
            f"Collection.vote: {name} must be at most {MOST_NAMED} ids of pictures; "
            f"got {found!r:.80}."
        )
    return list(dict.fromkeys(found))
