"""Near-duplicates: find them, keep one, or say that they are none."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.collection.log.duplicates import Difference, keep_best, tell_apart
from lookalike.collection.log.entry import Entry
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import named
from lookalike.collection.ranking.session import Session
from lookalike.collection.search.matches import Copies, Duplicates
from lookalike.collection.store import places
from lookalike.core.progress import Progress, silent

if TYPE_CHECKING:
    from lookalike.collection.search.near import NearCopies


class DuplicateGroups(Noun):
    """Near-duplicates: find them, keep one, or say that they are none."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._copies: tuple[Hashable, NearCopies] | None = None

    def find(
        self,
        *,
        by: str | None = None,
        radius: int | None = None,
        like: float | None = None,
        progress: Progress = silent,
    ) -> list[Duplicates]:
        """Find groups of near-duplicates: changed copies of one picture.

        These are resized, recompressed, slightly cropped, mirrored, brighter, darker or grey. Files
        of the same content are one picture, see :meth:`copies`; plain surfaces are no duplicates.
        The vectors of a ranker become codes of 128 bits; pictures whose codes differ in few bits
        are compared by their thumbnails. A group holds the copies of one picture, the one to keep:
        the largest, then one in colour, that of the richest format (TIFF, PNG and BMP before
        others, GIF last), with a date or camera, with tags or votes, the oldest, of the largest
        file. A copy of a copy that is not a copy of that picture is not in its group, so that a
        series of frames does not become one. Nothing is changed. What was found is kept in memory,
        and only new pictures are looked at again.

        Parameters
        ----------
        by : str, optional
            The ranker whose vectors to use; by default the first.
        radius : int, optional
            In how many of the 128 bits the codes of two copies may differ; by default 40,
            or 48 for a sparse feature. A larger one compares more pictures, and takes longer.
        like : float, optional
            How alike the thumbnails of two copies are at least: 1 for the same, 0 for unrelated
            ones; by default 0.95.
        progress : callable
            Told how many pictures are done.

        Returns
        -------
        list of Duplicates
            The most alike first. Those that :meth:`not_duplicates` told apart are not together.
        """
        from lookalike.collection.search import duplicates

        least = duplicates.LIKE if like is None else like
        duplicates.check(duplicates.RADIUS if radius is None else radius, least)
        if not self._session.database.count("pictures"):
            return []
        ranker = self._session.rankers.get(by)
        bits = duplicates.default_radius(ranker) if radius is None else radius
        copies = self._near_copies((ranker.id, ranker.space.fingerprint, bits), bits)

        def find() -> list[Duplicates]:
            voted = self._session.voted()
            return duplicates.find(self._session.database, ranker, copies, least, voted, progress)

        return list(self._session.answers.get(("duplicates", ranker.id, bits, least), find))

    def copies(self) -> list[Copies]:
        """Return the pictures of which there are several files with the same content.

        In a collection these are one picture, which has each of the files as a place.
        """
        paths = places.shared(self._session.database)
        return [
            Copies(picture, here)
            for picture, some in paths.items()
            if len(here := tuple(sorted(filter(Path.is_file, some), key=_age))) > 1
        ]

    def tell_apart(
        self,
        pictures: Iterable[int | str | Path],
        of: Iterable[int | str | Path] = (),
        *,
        verdict: Difference = "different",
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Record that pictures are not duplicates, so that they are not shown as such again.

        It is an event of the log, which can be undone; it holds for these pictures wherever their
        files lie, and however they are described.

        Parameters
        ----------
        pictures : iterable of int, str or Path
            Ids or paths. None of them is a duplicate of another of them.
        of : iterable of int, str or Path
            If given: none of ``pictures`` is a duplicate of one of these.
        verdict : {"different", "keep"}
            Why: they show different things, or are all to be kept. Both have the same effect.
        who, key
            As for :meth:`say_many`.

        Raises
        ------
        NotFound
            If one of the pictures is not in the collection; then nothing is recorded.
        """
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                some, others = (
                    named(self._session, "duplicates.tell_apart", it) for it in (pictures, of)
                )
                tell_apart(entry, some, others, verdict)
        return entry.result

    def keep_one(
        self,
        picture: int | str | Path,
        others: Iterable[int | str | Path],
        *,
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Keep one of some duplicates and move the others to the bin, if it is still there itself.

        The picture kept gets what was said of the others: their words, but for names of folders
        and words refused for it; words refused for them that it has not got; and the albums in
        which they were saved. Two people who keep different ones at the same time do not lose all
        of them. Undoing the event restores everything as it was.

        Parameters
        ----------
        picture : int, str or Path
            The picture to keep.
        others : iterable of int, str or Path
            Those to remove; see :meth:`remove`.
        who, key
            As for :meth:`not_duplicates`.
        """
        return self.keep_best([(picture, others)], who=who, key=key)

    def keep_best(
        self,
        choices: Iterable[tuple[int | str | Path, Iterable[int | str | Path]]],
        *,
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Keep one picture of each of several groups, as :meth:`keep_one` does, as one event.

        Undoing it restores all of them.

        Parameters
        ----------
        choices : iterable of (int, str or Path, and an iterable of these)
            Pictures to keep, each with those to remove.
        who, key
            As for :meth:`not_duplicates`.
        """
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                some = [
                    (self._session.id_of(picture), named(self._session, "keep_best", others))
                    for picture, others in choices
                ]
                keep_best(entry, some)
        return entry.result

    def _near_copies(self, key: Hashable, radius: int) -> NearCopies:
        """Return what finds copies, as it was used last if that was for the same key."""
        from lookalike.collection.search.near import NearCopies

        with self._session.database.lock:
            if self._copies is None or self._copies[0] != key:
                self._copies = (key, NearCopies(radius))
            return self._copies[1]


def _age(path: Path) -> tuple[int, int, int]:
    """Return what files are put in order by, the oldest first, then the shortest name and path.

    Many programs give a copy the time of its original, but a longer name or a further folder.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError:  # gone since
        changed = sys.maxsize
    return changed, len(path.name), len(str(path))
