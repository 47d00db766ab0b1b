"""What an open collection is made of: its folder, its database and its rankers."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from lookalike.collection.log.entry import Writer
from lookalike.collection.ranking.answers import Answers
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.rankers import Rankers
from lookalike.collection.store import pictures, uploads
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.core.errors import DamagedFile, FingerprintMismatch, NotFound
from lookalike.features import Feature
from lookalike.images import Decode, decode
from lookalike.images.metadata import MetadataReader, metadata_in


class Decoding:
    """What reads pictures and their metadata: this process, or another that a server starts."""

    decode: Decode = staticmethod(decode)
    metadata: MetadataReader = staticmethod(metadata_in)


@dataclass(frozen=True)
class Session(Writer):
    """The parts of an open collection, its publish gate, and what decodes for it."""

    folder: Folder
    database: Database
    rankers: Rankers
    gate: Gate
    answers: Answers
    decoding: Decoding = field(default_factory=Decoding)

    @classmethod
    def open(
        cls, path: Path, features: Iterable[Feature], read_only: bool | None, gate: Gate
    ) -> Self:
        """Open the folder of a collection; ``features`` are those that are not registered."""
        folder = Folder(path)
        folder.check_manifest()
        if not folder.database.exists():
            raise DamagedFile(
                f"{folder.database} is missing. Restore a backup of the collection, or index again."
            )
        given = list(features)
        closed = not os.access(path, os.W_OK) if read_only is None else read_only
        database = Database(folder.database, read_only=closed)
        rankers = Rankers(folder, database, given)
        session = cls(folder, database, rankers, gate, Answers(database))
        try:
            rankers.check_features(given)
        except FingerprintMismatch:
            session.close()
            raise
        return session

    def close(self) -> None:
        """Close the database and let go of what is in memory."""
        self.database.close()
        self.rankers.close()

    @property
    def decode(self) -> Decode:
        """Decode a picture."""
        return self.decoding.decode

    @property
    def path(self) -> Path:
        """The folder of the collection."""
        return self.folder.path

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one who writes, and tidy up after one who was stopped."""
        self.database.check_writable()
        with self.folder.writing():
            self.tidy()
            yield

    def tidy(self) -> None:
        """Delete what one who was stopped left behind; the lock must be held."""
        self.folder.clean(self.rankers.parts.files())
        uploads.settle(self.folder, self.database)
        uploads.sweep(self.folder, self.database)

    def voted(self) -> set[int]:
        """Return the pictures that were voted on."""
        return self.rankers.ledger.pictures()

    def id_of(self, picture: object) -> int:
        """Return the id of a picture named by id or path, or raise NotFound."""
        number = pictures.find_id(self.database, picture)
        if number is None:
            raise self.unknown(picture)
        return number

    def picture(self, number: int) -> pictures.PictureRow:
        """Return what is known of a picture, or raise NotFound."""
        for row in pictures.pictures(self.database, number, number):
            return row
        raise self.unknown(number)

    def unknown(self, picture: object) -> NotFound:
        """Return the error of a picture that is not in the collection."""
        return NotFound(
            f"{self.path} has no picture {picture!s:.300}; it may have been removed. Pictures are "
            f"named by their ids, or by the paths they were added from."
        )
