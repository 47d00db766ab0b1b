"""The log of a collection: what was said and done, in order."""

from __future__ import annotations

from lookalike.collection.log import log
from lookalike.collection.log.entry import Entry
from lookalike.collection.nouns.noun import Noun
from lookalike.core.checks import check_whole


class Log(Noun):
    """The log of a collection: what was said and done, in order."""

    def history(
        self, limit: int = 50, *, before: int | None = None, of: str | None = None
    ) -> list[Entry]:
        """Return what was said, newest first: the last ``limit`` events, or those before one.

        With ``of`` only what the person with this name said.
        """
        check_whole("Collection.history", "limit", limit, 1, 1000)
        return log.history(self._session.database, limit, before, of)

    def check(self) -> None:
        """Check that no event was changed since it was written; DamagedFile names one that was."""
        log.check(self._session.database)
