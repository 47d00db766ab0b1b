"""Record a vote: it is checked, learned from by every ranker, and an event of the log at once."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.votes import Lessons, Taught, Vote
from lookalike.collection.store import pictures
from lookalike.collection.store import queries as stored
from lookalike.collection.store.database import Database
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import check_ask
from lookalike.collection.votes import steps
from lookalike.collection.votes.ledger import SNAPSHOT_EVERY, Ledger
from lookalike.collection.votes.preferences import Preferences
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput, NotFound

MAX_NAMED = 1000
"""Pictures that one vote may name."""


def checked_vote(
    ask: Ask, picked: Iterable[int], rejected: Iterable[int], shown: Iterable[int], who: str
) -> Vote:
    """Return a vote that makes sense, or raise InvalidInput."""
    check_ask(ask)
    good, bad = _ids("picked", picked), _ids("rejected", rejected)
    if not good and not bad:
        raise InvalidInput("Collection.vote: pick or reject at least one picture.")
    if both := set(good) & set(bad):
        raise InvalidInput(f"Collection.vote: {min(both)} is both picked and rejected.")
    return Vote(ask.like, ask.unlike, good, bad, _ids("shown", shown), who=who)


def _check_there(vote: Vote, database: Database) -> None:
    """Raise NotFound if a picture or an example is not in the collection."""
    refs = [*vote.picked, *vote.rejected, *vote.like, *vote.unlike]
    numbers = {ref for ref in refs if isinstance(ref, int)}
    tokens = {ref for ref in refs if isinstance(ref, str)}
    lost = [str(number) for number in sorted(numbers - pictures.existing_ids(database, numbers))]
    lost += [token for token in sorted(tokens) if not stored.is_usable(database, token)]
    if lost:
        raise NotFound(
            f"Collection.vote: there is no picture or query {lost[0]:.80}. It may have been "
            f"removed."
        )


def record_vote(
    database: Database,
    entry: NewEntry,
    rankers: Mapping[int, Preferences],
    ledger: Ledger,
    vote: Vote,
) -> None:
    """Add a vote to the log, with what it teaches each ranker over the layers of its person.

    Nobody else can write meanwhile: what is read here is what this vote comes after. A person who
    says again what holds already gets the entry in which it was said.
    """
    _check_there(vote, database)
    number = ledger.saying(vote.subject, vote.picked, vote.rejected, vote.who)
    if number is not None:
        entry.repeat(number)
        return
    taught = {ranker: _teach(own, vote) for ranker, own in rankers.items()}
    entry.append(replace(vote, taught=taught))
    if _is_snapshot_due(len(ledger.votes)) and ledger.damaged is None:
        ledger.keep(entry.connection)


def _is_snapshot_due(votes: int) -> bool:
    """Return whether a snapshot is taken at so many votes: every sixteenth of them or so.

    It holds all votes, so taken every so many it would slow down with the log.
    """
    return votes > 0 and votes % max(SNAPSHOT_EVERY, 1 << max(votes.bit_length() - 4, 0)) == 0


def _teach(preferences: Preferences, vote: Vote) -> Taught:
    """Return what a vote teaches a ranker, as far as that has described its pictures.

    It has what its person said of the same query before, and nobody else's word: so it stays
    whole when another is trusted no more.
    """
    earlier = preferences.ledger.word_of(vote.who, vote.subject)
    known = preferences.source.held({*vote.picked, *vote.rejected, *earlier})
    good, bad = steps.sides(vote.picked, vote.rejected, earlier, known)
    compared = [0, *good, *bad]
    if not bad and not good:
        return Taught()
    is_whole = bool(vote.shown) and {*vote.shown} <= {*compared, *earlier}
    try:
        geometry = preferences.turns.geometry(vote.ask, compared, preferences.source, who=vote.who)
    except NotFound:  # an example that this ranker has not described
        return Taught()
    return steps.learn(compared, 1 + len(good), geometry, preferences.width, is_whole=is_whole)


def teach_earlier_votes(
    entry: NewEntry, ranker: int, preferences: Preferences, ledger: Ledger
) -> None:
    """Let a ranker that came after some votes learn from them, in the order they were given.

    What they teach is added to the log, as it is with every vote.
    """
    if all(ranker in vote.taught for vote in ledger.votes):
        return
    so_far = Ledger(trusted=ledger.trusted)
    people: dict[str, Preferences] = {}
    lessons: dict[int, Taught] = {}
    for vote in ledger.votes:
        taught = vote.taught.get(ranker)
        if taught is None:
            known = people.get(vote.who, preferences)
            people[vote.who] = known.following(so_far.layer(vote.who))
            taught = _teach(people[vote.who], vote)
            lessons[vote.number] = taught
        so_far = so_far.added([vote.with_taught(ranker, taught)])
        if len(lessons) == SNAPSHOT_EVERY:
            entry.append(Lessons(ranker, lessons))
            lessons = {}
    if lessons:
        entry.append(Lessons(ranker, lessons))


def _ids(name: str, given: Iterable[int]) -> tuple[int, ...]:
    ids = list(given)[: MAX_NAMED + 1]
    if len(ids) > MAX_NAMED or not all(is_whole(n) and 0 < n < 2**62 for n in ids):
        raise InvalidInput(
            f"Collection.vote: {name} must be at most {MAX_NAMED} ids of pictures; got {ids!r:.80}."
        )
    return tuple(dict.fromkeys(int(n) for n in ids))
