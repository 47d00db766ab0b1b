"""Read the text that is written in pictures: pictures come in, their texts are kept."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from lookalike.collection.pictures.describing import read_picture
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import pictures, texts
from lookalike.core.errors import CollectionError, LookalikeError
from lookalike.core.progress import Progress
from lookalike.features.ocr import SIDE, TextReader, plain_text
from lookalike.images import Limits, Refused

BATCH_SECONDS = 5.0
"""How much computing is kept at once, and so how much an interruption can cost."""


@dataclass(frozen=True, slots=True)
class TextCounts:
    """In how many pictures text was looked for, how many have some, and how many are left.

    ``refused`` are the files that could not be read, with the reason; they are tried again the
    next time.
    """

    read: int
    written: int
    left: int
    refused: list[Refused] = field(default_factory=list)


def read_texts(
    session: Session, read: TextReader, limits: Limits | None, progress: Progress
) -> TextCounts:
    """Read the text in all pictures in which none was looked for yet; what was read is kept."""
    database = session.database
    database.check_writable()
    wanted = texts.unread(database)
    refused: list[Refused] = []
    pending: dict[int, str] = {}
    kept = time.monotonic()

    def keep() -> None:
        with database.transaction() as connection:
            texts.put(connection, pending)
        pending.clear()

    progress(0, len(wanted))
    try:
        for done, number in enumerate(wanted, start=1):
            for row in pictures.pictures(database, number, number):
                try:
                    data = read_picture(row, limits)
                    pending[number] = plain_text(
                        read(session.decode(data, limits, side=SIDE).image)
                    )
                except CollectionError:
                    raise  # the decoder does not start, or shuts down: no fault of this picture
                except LookalikeError as error:
                    path = row.places[0] if row.places else Path(str(number))
                    refused.append(Refused(path, str(error)))
            if time.monotonic() - kept > BATCH_SECONDS:
                keep()
                kept = time.monotonic()
            progress(done, len(wanted))
    finally:
        if pending:
            keep()
    return counts(session, refused)


def counts(session: Session, refused: list[Refused] | None = None) -> TextCounts:
    """Return how many pictures were read."""
    read, written = texts.counts(session.database)
    return TextCounts(read, written, session.database.count("pictures") - read, refused or [])
