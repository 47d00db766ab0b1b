"""The work of import jobs: import files in batches, and remove pictures whose files are gone."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lookalike.collection import Added, Collection
from lookalike.core.errors import CollectionBusy, InvalidInput
from lookalike.core.text import shown
from lookalike.images import Refused, find_pictures
from lookalike.service.web.settings import Settings

if TYPE_CHECKING:
    from lookalike.service.web.jobs import Job, Jobs

T = TypeVar("T")

FIRST_SLICE, LARGEST_SLICE = 64, 512
SHORT, LONG = 1.0, 3.0
"""Files imported at once; doubled after a batch that took less than ``SHORT`` seconds, halved after
one that took more than ``LONG``, since other writers wait for the end of a batch."""

THREADS = max(1, (os.cpu_count() or 2) - 1)
"""Threads that describe pictures: one fewer than there are cores, to leave one for searches."""

SHOWN_REFUSED = 100

SHARE, FEW = 0.5, 10
"""At most this share of all pictures, or this many, are removed at once because files are gone."""


def allowed(collection: Collection, settings: Settings, sources: Sequence[str]) -> list[Path]:
    """Return the paths to import, after checking that they exist and may be imported.

    Raises
    ------
    InvalidInput
        If one is not absolute, is outside those folders with links resolved, or does not exist.
    """
    places = _places(collection, settings)
    found = []
    for source in sources:
        path = Path(source)
        if not path.is_absolute() or "\0" in source:
            raise InvalidInput(f"import: {shown(source)!r:.300} must be an absolute path.")
        if not _inside(path, places):
            raise InvalidInput(
                f"import: {shown(source)!r:.300} is outside the folders of the collection. Index "
                f"it on the command line first, or start the server with --allow FOLDER."
            )
        if not os.path.exists(path):  # noqa: PTH110 - refuses odd names instead of raising
            raise InvalidInput(f"import: {shown(source)!r:.300} does not exist. Check the path.")
        found.append(path)
    return found


def bring_in(
    jobs: "Jobs", job: "Job", collection: Collection, settings: Settings, sources: Sequence[Path]
) -> None:
    """Import files and folders; the folders become roots of the collection."""
    job.message = "Looking for pictures…"
    found = find_pictures(sources)
    places = _places(collection, settings)
    inside = [path for path in found.paths if _inside(path, places)]
    outside = len(found.paths) - len(inside)
    tally = _Tally(job)
    tally.take(Added(ignored=found.ignored + outside, refused=found.problems))
    for added in _slices(jobs, job, collection, inside):
        tally.take(added)
    if found.folders and not outside:
        with jobs.turn():
            # All files are known by now: this records the folders as roots.
            note = partial(collection.add, found.folders, removed=False)
            tally.take(when_free(job, note), again=True)
    tally.tell()


def rescan(jobs: "Jobs", job: "Job", collection: Collection) -> None:
    """Scan all roots: import what is new or changed, remove what is gone."""
    job.message = "Looking for pictures…"
    roots = [root for root in collection.roots() if root.is_dir()]
    found = find_pictures(roots)
    tally = _Tally(job)
    tally.take(Added(ignored=found.ignored, refused=found.problems))
    for added in _slices(jobs, job, collection, _not_ours(collection, found.paths)):
        tally.take(added)
    tally.removed = remove_gone(jobs, job, collection, None)
    tally.tell()


def follow(
    jobs: "Jobs",
    job: "Job",
    collection: Collection,
    changed: Sequence[Path],
    gone: Sequence[Path],
) -> None:
    """Import what changed and remove what is gone, as reported by the watcher.

    New files come first, so that a moved file has its new place before the old one is checked.
    """
    found = find_pictures(path for path in changed if os.path.lexists(path))
    tally = _Tally(job)
    tally.take(Added(ignored=found.ignored, refused=found.problems))
    for added in _slices(jobs, job, collection, _not_ours(collection, found.paths)):
        tally.take(added)
    if gone:
        tally.removed = remove_gone(jobs, job, collection, gone)
    tally.tell()


def when_free(job: "Job", work: Callable[[], T]) -> T:
    """Do the work as soon as no other process is writing to the collection."""
    before = job.message
    while True:
        try:
            done = work()
        except CollectionBusy as error:
            job.message = shown(str(error))
            job.wait(1.0)
        else:
            job.message = before
            return done


def _slices(
    jobs: "Jobs", job: "Job", collection: Collection, paths: Sequence[Path]
) -> Iterator[Added]:
    job.message = ""
    done, size, total = 0, FIRST_SLICE, len(paths)
    job.progress(0, total)
    while done < total:
        # A feature may have to be fitted first, on as many pictures as there are.
        fitted = all(feature.is_fitted for feature in collection.features.values())
        part = paths[done : done + size] if fitted else paths

        def told(count: int, _: int, before: int = done) -> None:
            job.progress(min(before + count, total), total)

        with jobs.turn():
            began = time.monotonic()
            # A picture deleted on the page stays deleted, though its file is still there.
            add = partial(collection.add, part, removed=False, threads=THREADS, progress=told)
            added = when_free(job, add)
            took = time.monotonic() - began
        yield added
        done += len(part)
        job.progress(done, total)
        if took < SHORT:
            size = min(2 * size, LARGEST_SLICE)
        elif took > LONG:
            size = max(size // 2, 8)


def remove_gone(
    jobs: "Jobs", job: "Job", collection: Collection, among: Sequence[Path] | None
) -> int:
    """Remove the pictures whose files are all gone; return how many were removed.

    Files count as gone only under a root that exists and still has at least one known file: an
    empty mount point is not the drive. If more than half of the pictures would be removed at
    once, none is, and the server reports it.
    """
    with jobs.turn():
        pictures = {row.id: row.places for row in collection.pictures()}
        missing = _missing(pictures.values(), among)
        if among is None:
            jobs.trouble = ""
        if not missing:
            return 0
        live = _live_roots(collection, pictures.values(), missing)
        lost = [
            number
            for number, places in pictures.items()
            if all(place in missing and _under(place, live) for place in places)
        ]
        if len(lost) > max(SHARE * len(pictures), FEW):
            jobs.trouble = (
                f"The files of {len(lost):,} of {len(pictures):,} pictures are gone, so none were "
                f"removed. If that was intended, delete the pictures here or with lookalike "
                f"remove; if a drive is missing, connect it and start a rescan."
            )
            return 0
        return when_free(job, lambda: collection.remove(lost)) if lost else 0


def _missing(pictures: Iterable[tuple[Path, ...]], among: Sequence[Path] | None) -> set[Path]:
    """Return the places without a file; with ``among``, only those at or below these paths."""
    asked = None if among is None else set(among)
    return {
        place
        for places in pictures
        for place in places
        if (asked is None or place in asked or not asked.isdisjoint(place.parents))
        and not os.path.lexists(place)
    }


def _live_roots(
    collection: Collection, pictures: Iterable[tuple[Path, ...]], missing: set[Path]
) -> list[Path]:
    """Return the roots that exist with at least one of their files."""
    roots = {root for root in collection.roots() if root.is_dir()}
    live: set[Path] = set()
    for places in pictures:
        for place in places:
            if place not in missing and not roots <= live:
                above = roots.intersection(place.parents)
                if not above <= live and os.path.lexists(place):
                    live |= above
    return sorted(live)


def _under(place: Path, roots: Iterable[Path]) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def _inside(path: Path, places: Iterable[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == place or real.startswith(place.rstrip("/") + "/") for place in places)


def _places(collection: Collection, settings: Settings) -> list[str]:
    return [os.path.realpath(place) for place in (*collection.roots(), *settings.allow)]


def _not_ours(collection: Collection, paths: Iterable[Path]) -> list[Path]:
    """Return the paths outside the folder of the collection itself."""
    own = Path(os.path.realpath(collection.path))
    return [path for path in paths if not Path(os.path.realpath(path)).is_relative_to(own)]


class _Tally:
    """Counts what happened to the files, and sets the result of the job."""

    def __init__(self, job: "Job") -> None:
        self._job = job
        self._counts: Counter[str] = Counter()
        self._refused: list[Refused] = []
        self._notes: list[str] = []
        self.removed = 0

    def take(self, added: Added, *, again: bool = False) -> None:
        for name in ("added", "known", "copies", "moved", "ignored"):
            self._counts[name] += 0 if again else getattr(added, name)
        if not again:
            self._counts["refused"] += len(added.refused)
            self._refused += added.refused[: SHOWN_REFUSED - len(self._refused)]
        if added.learned_again is not None:
            self._notes.append("The collection has grown, so its models were retrained.")
        if added.unlearned:
            self._notes.append(f"The learned ranking is no longer used: {added.unlearned}")
        if added.unlearned_words:
            self._notes.append(f"The annotator is no longer used: {added.unlearned_words}")
        self._job.result = self._result()

    def tell(self) -> None:
        self._job.result = self._result()
        told = [f"{self._counts['added']:,} added"]
        for name, what in (
            ("known", "already in the collection"),
            ("copies", "copies"),
            ("moved", "moved"),
        ):
            told += [f"{self._counts[name]:,} {what}"] if self._counts[name] else []
        told += [f"{self.removed:,} removed"] if self.removed else []
        told += [f"{self._counts['refused']:,} refused"] if self._counts["refused"] else []
        self._job.message = " ".join([f"{', '.join(told)}.", *self._notes])

    def _result(self) -> dict[str, object]:
        refusals = [
            {"path": shown(refused.path), "reason": shown(refused.reason)}
            for refused in self._refused
        ]
        return {**self._counts, "removed": self.removed, "refusals": refusals}
