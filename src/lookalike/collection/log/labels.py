"""Events in which people give words to pictures or refuse them."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from sqlite3 import Connection
from typing import NamedTuple, Self

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import Event, Position, event, pictures_text
from lookalike.collection.store import changes, people
from lookalike.collection.store import labels as stored
from lookalike.collection.store import log as rows
from lookalike.collection.store.labels import Change, LabelSource
from lookalike.collection.store.queries import Ref
from lookalike.core.errors import InvalidInput
from lookalike.core.text import first_control, label_name, shown, word_key


class Last(NamedTuple):
    """The last event that gave a picture a word or refused it, and the word as it was written."""

    number: int
    shows: bool
    word: str


@event("label", undoable=True, touches={"labels"}, icon="tag")
@dataclass(frozen=True)
class Label(Event):
    """A word that pictures show, or do not; which pictures stands in the changes."""

    word: str
    shows: bool
    pictures: int
    changes: str

    @property
    def new_words(self) -> int:
        """One word, but for favourites, which teach nothing."""
        return int(word_key(self.word) != stored.FAVOURITE)

    def settle(self, at: Position) -> None:
        """Let the pictures have the word, or be refused it, as was last said of them."""
        settle(at.connection, word_key(self.word), [picture for picture, *_ in at.changes()])

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the event, or None once all its pictures were erased."""
        return self if changes.are_left(at.connection, at.number) else None

    def sentence(self) -> str:
        """Return what happened."""
        many, word = pictures_text(self.pictures), f"“{shown(self.word)}”"
        if self.pictures == 1:
            return f"Tagged with {word}" if self.shows else f"Does not show {word}"
        return f"Tagged {many} with {word}" if self.shows else f"{many} do not show {word}"


@event("import", undoable=True, touches={"labels"}, icon="tag")
@dataclass(frozen=True)
class Import(Event):
    """Labels that a source gives pictures now, instead of those that it gave before."""

    source: LabelSource
    pictures: int
    given: int
    taken: int
    changes: str

    @property
    def about(self) -> str:
        """The source."""
        return f"source {self.source}"

    @property
    def new_words(self) -> int:
        """All that were given or taken away."""
        return self.given + self.taken

    def apply(self, at: Position) -> None:
        """Let the source give what it gave after the import."""
        self._check_last(at)
        done = [(picture, key, after) for picture, key, _, after in at.changes()]
        stored.set_layer(at.connection, self.source, done)

    def revert(self, at: Position) -> None:
        """Let the source give what it gave before the import.

        Raises
        ------
        InvalidInput
            If a later import of that source changed the same labels: that has to be undone first.
        """
        self._check_last(at)
        done = [(picture, key, before) for picture, key, before, _ in at.changes()]
        stored.set_layer(at.connection, self.source, done)

    def _check_last(self, at: Position) -> None:
        later = [row.number for row in rows.about(at.connection, self.about, since=at.number)]
        undone = rows.undone_among(at.connection, later)
        for number in reversed(later):
            if number not in undone and changes.overlap(at.connection, at.number, number):
                raise InvalidInput(
                    f"Collection.undo: event {number} imported labels of the same source later, "
                    f"over those of event {at.number}. Undo event {number} first."
                )

    def sentence(self) -> str:
        """Return what happened."""
        return (
            f"Imported labels from {self.source}: {self.given:,} given, {self.taken:,} taken "
            f"away, on {pictures_text(self.pictures)}"
        )


def _check_word(word: str) -> str:
    """Return a word as labels are spelled, or raise InvalidInput."""
    name = label_name(word) if isinstance(word, str) else ""
    if not name:
        raise InvalidInput(f"Collection.label: a word must be non-empty text; got {word!r:.80}.")
    if (sign := first_control(name)) is not None:
        raise InvalidInput(
            f"Collection.label: a word must not contain control characters; got {sign!r} in "
            f"{word!r:.80}. Leave it out."
        )
    return name


def label(entry: NewEntry, pictures: Sequence[int], word: str, *, shows: bool) -> None:
    """Record that pictures show what a word names, or that they do not.

    What holds already is not recorded again: the entry is the one in which it was said.
    """
    name = _check_word(word)
    if not pictures:
        raise InvalidInput(
            "Collection.label: there are no pictures to label. Name some, or use a filter that "
            "some pass."
        )
    key = word_key(name)
    if (number := _repeated(entry, key, pictures, shows)) is not None:
        entry.repeat(number)
        return
    before, after = (None, name) if shows else (name, None)
    entry.append(
        lambda digest: Label(name, shows, len(pictures), digest),
        [(picture, key, before, after) for picture in pictures],
    )


def import_labels(
    entry: NewEntry,
    source: LabelSource,
    new: Mapping[int, Iterable[str]],
    *,
    whole: bool = False,
) -> rows.Row | None:
    """Replace the labels that a source gives pictures, and record it; None if nothing changed.

    ``whole`` replaces those of all pictures; else of the pictures named. What other sources give,
    and above all what people said by hand, stays.
    """
    return record_import(
        entry, source, stored.layer_changes(entry.connection, source, new, whole=whole)
    )


def record_import(entry: NewEntry, source: LabelSource, done: list[Change]) -> rows.Row | None:
    """Record what changes in the labels of a source; None if nothing does."""
    if not done:
        return None
    pictures = len({picture for picture, *_ in done})
    given = sum(after is not None for *_, after in done)
    return entry.append(
        lambda digest: Import(source, pictures, given, len(done) - given, digest), done
    )


def settle(connection: Connection, key: str, pictures: Sequence[int]) -> None:
    """Let pictures have a word by hand, or be refused it, as was last said of them."""
    last = last_changes(connection, key, pictures)
    together: dict[tuple[bool | None, str], list[int]] = {}
    for picture in pictures:
        own = last.get(picture)
        state = (None, "") if own is None else (own.shows, own.word)
        together.setdefault(state, []).append(picture)
    for (shows, word), some in together.items():
        yes, no = word if shows else None, word if shows is False else None
        stored.set_by_hand(connection, key, some, yes=yes, no=no)


def last_changes(
    connection: Connection, key: str, pictures: Iterable[int], of: str | None = None
) -> dict[int, Last]:
    """Return what was last said of pictures and a word, of all that counts.

    By labelling, or by keeping one of some duplicates, which gets the words of the others. What
    people said who are not trusted counts once it was accepted; with ``of``, what that person
    said is returned alone.
    """
    answer = changes.of_word(connection, key, pictures)
    if of is None and any(who != people.OWNER for *_, who in answer):
        shared, up_to = {people.OWNER, *people.trusted(connection)}, people.accepted(connection)
        answer = [one for one in answer if one[-1] in shared or one[1] <= up_to.get(one[-1], 0)]
    elif of is not None:
        answer = [one for one in answer if one[-1] == of]
    undone = rows.undone_among(connection, sorted({number for _, number, *_ in answer}))
    return {
        picture: Last(number, after is not None, str(after if refused is None else refused))
        for picture, number, refused, after, _ in answer
        if number not in undone
    }


def _repeated(entry: NewEntry, key: str, pictures: Sequence[int], shows: bool) -> int | None:
    """Return the event in which the same was said last of the same pictures, if it still holds.

    A proposal holds while its person says nothing else.
    """
    connection, who = entry.connection, entry.who
    proposes = who not in {people.OWNER, *people.trusted(connection)}
    last = last_changes(connection, key, pictures, of=who if proposes else None)
    numbers = {own.number for own in last.values()}
    if len(last) < len(pictures) or len(numbers) != 1:
        return None
    (number,) = numbers
    if next(iter(last.values())).shows != shows or changes.count(connection, number) != len(
        pictures
    ):
        return None
    row = rows.read(connection, number)
    # A word that came from a duplicate is said anew: to undo that restores no duplicate.
    if row is None or row.kind != Label.kind:
        return None
    if proposes:
        return number
    holding = stored.count_by_hand(connection, key, pictures, shows=shows)
    return number if holding == len(pictures) else None
