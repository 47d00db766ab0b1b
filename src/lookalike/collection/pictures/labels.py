"""The words that people gave or refused a picture by hand, as the log tells."""

from sqlite3 import Connection

from lookalike.collection.answers import Event
from lookalike.collection.store import events
from lookalike.collection.store.database import Database
from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name, word_key


def subject_of(picture: int, word: str) -> str:
    """Return what events about a picture and a word are found by, however the word is written."""
    return f"picture {picture} {word_key(word)}"


def check_word(word: str) -> str:
    """Return a word as labels are spelled, or raise InvalidInput."""
    name = label_name(word) if isinstance(word, str) else ""
    if not name:
        raise InvalidInput(f"Collection.say: a word must be non-empty text; got {word!r:.80}.")
    return name


class GivenWords:
    """Labels and refusals, kept as the events about them say."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def say(
        self,
        connection: Connection,
        picture: int,
        word: str,
        *,
        shows: bool,
        who: str,
        key: str | None,
    ) -> Event:
        """Record that a picture shows what a word names, or that it does not."""
        said = self.last(picture, word)
        before = self.state(connection, picture, word)
        # Labels that were learned from since may have changed what was said.
        if said is not None and self.holds(said, *before):
            if said.kind == ("tag" if shows else "correction"):
                return said
            before = said.body["before"]
        kind = "tag" if shows else "correction"
        body = {"picture": picture, "word": word, "before": before}
        event = events.append(
            connection, kind, body, who=who, key=key, about=subject_of(picture, word)
        )
        self.apply(connection, picture, word, shows)
        return event

    def last(self, picture: int, word: str) -> Event | None:
        """Return the last event about a picture and a word that counts."""
        found = events.about(self._database, subject_of(picture, word))
        return found[-1] if found else None

    def state(self, connection: Connection, picture: int, word: str) -> list[list[str]]:
        """Return the spellings under which a picture has and was refused a word."""
        return [
            [
                kept
                for (kept,) in connection.execute(
                    f"SELECT {column} FROM {table} WHERE picture = ?",  # noqa: S608
                    (picture,),
                )
                if word_key(kept) == word_key(word)
            ]
            for table, column in (("labels", "label"), ("refusals", "word"))
        ]

    def holds(self, said: Event, labels: list[str], no: list[str]) -> bool:
        """Return whether a picture has a word, or not, as an event says."""
        return (bool(labels), bool(no)) == ((True, False) if said.kind == "tag" else (False, True))

    def apply(self, connection: Connection, picture: int, word: str, shows: bool) -> None:
        """Give a picture a word, or refuse it."""
        labels, _ = self.state(connection, picture, word)
        self._set(
            connection, picture, word, labels or [word] if shows else [], [] if shows else [word]
        )

    def follow(self, connection: Connection, event: Event) -> None:
        """Bring a picture's words to what the log says once an event was undone."""
        target = events.undid(self._database, event)
        if target.kind not in ("tag", "correction"):
            return
        picture, word = target.body["picture"], target.body["word"]
        if not connection.execute("SELECT 1 FROM pictures WHERE id = ?", (picture,)).fetchone():
            return
        said = events.about(self._database, subject_of(picture, word), undone=True)
        # What is being undone is not committed yet, so it is looked for where it is written.
        counting = [other for other in said if not events.undone_in(connection, other.number)]
        if counting:
            self.apply(connection, picture, counting[-1].body["word"], counting[-1].kind == "tag")
        else:
            # As it was before anything was said of them.
            self._set(connection, picture, word, *said[-1].body["before"])

    def _set(
        self, connection: Connection, picture: int, word: str, labels: list[str], no: list[str]
    ) -> None:
        has, refused = self.state(connection, picture, word)
        connection.executemany(
            "DELETE FROM labels WHERE picture = ? AND label = ?", [(picture, it) for it in has]
        )
        connection.executemany(
            "DELETE FROM refusals WHERE picture = ? AND word = ?", [(picture, it) for it in refused]
        )
        connection.executemany(
            "INSERT INTO labels VALUES (?, ?)", [(picture, label) for label in labels]
        )
        connection.executemany(
            "INSERT INTO refusals VALUES (?, ?)", [(picture, refusal) for refusal in no]
        )
