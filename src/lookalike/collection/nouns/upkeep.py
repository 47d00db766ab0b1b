"""Keep a collection safe: check it, back it up, tidy up."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from pathlib import Path

from lookalike.collection.nouns.noun import Noun
from lookalike.collection.upkeep.backup import BackedUp
from lookalike.collection.upkeep.checking import Checked
from lookalike.core.errors import (
    CollectionBusy,
)
from lookalike.core.progress import Progress, silent


class Upkeep(Noun):
    """Keep a collection safe: check it, back it up, tidy up."""

    def serving(self) -> AbstractContextManager[None]:
        """Return a context in which nobody can put a backup in the place of the collection."""
        return self._session.folder.serving()

    def check(self, progress: Progress = silent) -> Checked:
        """Check all of the collection: database, log, rows, files, uploads and missing files.

        Nothing is changed. Each finding says what to do.
        """
        from lookalike.collection.upkeep.checking import check

        return check(self._session, progress)

    def backup(self, to: str | Path, progress: Progress = silent) -> BackedUp:
        """Back up the collection into a new folder, while others may use and change it.

        The backup is of one moment, and verified before it takes its place. Put it back with
        :func:`~lookalike.collection.restore_backup`.

        Parameters
        ----------
        to : str or Path
            A folder that does not exist yet.
        progress : callable
            Called with the files copied, and all there are.
        """
        from lookalike.collection.upkeep.backup import back_up

        return back_up(self._session, Path(to), progress)

    def tidy(self) -> None:
        """Delete what a writer that was stopped left behind; nothing while another one writes."""
        with suppress(CollectionBusy), self._session.writing():
            pass
