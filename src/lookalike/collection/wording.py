"""The words people gave or refused a picture, as the log tells."""

from sqlite3 import Connection

from lookalike.collection import events
from lookalike.collection.database import Database
from lookalike.collection.records import Event
from lookalike.core.text import word_key


def subject_of(picture: int, word: str) -> str:
    """Return what events about a picture and a word are found by, however the word is written."""
    return f"picture {picture} {word_key(word)}"


class Wording:
    """Labels and refusals, kept as the events about them say."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        """Let a picture have a word, or not."""
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
