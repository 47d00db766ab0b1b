"""The work of import jobs: import files in batches, and note which files are missing."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lookalike.collection import Added, Collection, Filter
from lookalike.core.errors import CollectionBusy, InvalidInput
from lookalike.core.text import shown
from lookalike.images import Refused, find_pictures
from lookalike.service.web.security import rooms
from lookalike.service.web.settings import Settings

if TYPE_CHECKING:
    from lookalike.service.web.jobs.jobs import Job, Jobs

T = TypeVar("T")

SHORT, LONG = 1.0, 3.0
"""Files imported at once are doubled after a batch that took fewer seconds than ``SHORT``, halved
after one that took more than ``LONG``, since other writers wait for the end of a batch."""

THREADS = max(1, (os.cpu_count() or 2) - 1)
"""Threads that describe pictures: one fewer than there are cores, to leave one for searches."""

SHARE = 0.5
"""Where the files of more than this share of all pictures are missing, the server reports it."""


def allowed(collection: Collection, settings: Settings, sources: Sequence[str]) -> list[Path]:
    """Return the paths to import, after checking that they exist and may be imported.

    Raises
    ------
    InvalidInput
        If one is not absolute or in ``~``, is outside those folders with links resolved, or does
        not exist.
    """
    result = []
    for source in sources:
        path = _from_home(source.strip())
        if not path.is_absolute() or "\0" in source:
            raise InvalidInput(
                f"import: {shown(source)!r:.300} must be a whole path, such as ~/Pictures."
            )
        if not rooms.leads_inside(path, collection, settings):
            raise InvalidInput(
                f"import: {shown(source)!r:.300} is outside the folders of the collection. Index "
                f"it on the command line first, or start the server with --allow FOLDER."
            )
        if not os.path.exists(path):  # noqa: PTH110 - refuses odd names instead of raising
            raise InvalidInput(f"import: {shown(source)!r:.300} does not exist. Check the path.")
        result.append(path)
    return result


def _from_home(source: str) -> Path:
    """Return a path with ``~`` replaced by the home folder, where there is one."""
    path = Path(source)
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def bring_in(
    jobs: "Jobs", job: "Job", collection: Collection, settings: Settings, sources: Sequence[Path]
) -> None:
    """Import files and folders; the folders become roots of the collection."""
    job.message = "Looking for pictures…"
    limits = rooms.limits(collection, settings)
    files = find_pictures(sources, limits.within)
    tally = _Tally(job, settings.job_limits.refusals)
    tally.take(Added(ignored=files.ignored, refused=files.problems))
    for added in _slices(jobs, job, collection, settings, files.paths):
        tally.take(added)
    if files.folders:
        with jobs.turn():
            # All files are known by now: this records the folders as roots.
            note = partial(collection.add, files.folders, limits=limits)
            tally.take(when_free(job, note), again=True)
    tally.tell()


def rescan(jobs: "Jobs", job: "Job", collection: Collection, settings: Settings) -> None:
    """Scan all roots: import what is new or changed, and note what is missing."""
    job.message = "Looking for pictures…"
    roots = [root for root in collection.pictures.roots() if root.is_dir()]
    limits = rooms.limits(collection, settings)
    files = find_pictures(roots, limits.within)
    tally = _Tally(job, settings.job_limits.refusals)
    tally.take(Added(ignored=files.ignored, refused=files.problems))
    for added in _slices(jobs, job, collection, settings, _not_ours(collection, files.paths)):
        tally.take(added)
    tally.missing = note_missing(jobs, job, collection, settings, None)
    tally.tell()


def follow(
    jobs: "Jobs",
    job: "Job",
    collection: Collection,
    settings: Settings,
    changed: Sequence[Path],
    gone: Sequence[Path],
) -> None:
    """Import what changed and note what is missing, as reported by the watcher.

    New files come first, so that a moved file has its new place before the old one is checked.
    """
    limits = rooms.limits(collection, settings)
    files = find_pictures((path for path in changed if os.path.lexists(path)), limits.within)
    tally = _Tally(job, settings.job_limits.refusals)
    tally.take(Added(ignored=files.ignored, refused=files.problems))
    for added in _slices(jobs, job, collection, settings, _not_ours(collection, files.paths)):
        tally.take(added)
    if gone:
        tally.missing = note_missing(jobs, job, collection, settings, gone)
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
    jobs: "Jobs", job: "Job", collection: Collection, settings: Settings, paths: Sequence[Path]
) -> Iterator[Added]:
    limits, most = rooms.limits(collection, settings), settings.job_limits
    job.message = ""
    done, size, total = 0, most.first_slice, len(paths)
    job.progress(0, total)
    while done < total:
        # A feature may have to be fitted first, on as many pictures as there are.
        fitted = all(feature.is_fitted for feature in collection.features.values())
        part = paths[done : done + size] if fitted else paths

        def report(count: int, _: int, before: int = done) -> None:
            job.progress(min(before + count, total), total)

        with jobs.turn():
            began = time.monotonic()
            add = partial(collection.add, part, limits=limits, threads=THREADS, progress=report)
            added = when_free(job, add)
            took = time.monotonic() - began
        yield added
        done += len(part)
        job.progress(done, total)
        if took < SHORT:
            size = min(2 * size, most.largest_slice)
        elif took > LONG:
            size = max(size // 2, 8)


def note_missing(
    jobs: "Jobs",
    job: "Job",
    collection: Collection,
    settings: Settings,
    among: Sequence[Path] | None,
) -> int:
    """Note which files are missing; return how many pictures are newly missing.

    Their pictures stay. If the files of more than half of all pictures are missing, the server
    reports it.
    """
    with jobs.turn():
        lost = when_free(job, lambda: collection.pictures.find_missing(among))
    missing, total = collection.pictures.count(Filter(missing=True)), len(collection)
    jobs.trouble = ""
    if missing > max(SHARE * total, settings.job_limits.missing):
        jobs.trouble = (
            f"The files of {missing:,} of {total:,} pictures are missing. If a drive is not "
            f"connected, connect it and start a rescan."
        )
    return lost


def _not_ours(collection: Collection, paths: Iterable[Path]) -> list[Path]:
    """Return the paths outside the folder of the collection itself."""
    own = Path(os.path.realpath(collection.path))
    return [path for path in paths if not Path(os.path.realpath(path)).is_relative_to(own)]


class _Tally:
    """Counts what happened to the files, and sets the result of the job."""

    def __init__(self, job: "Job", shown_refused: int) -> None:
        self._job = job
        self._shown_refused = shown_refused
        self._counts: Counter[str] = Counter()
        self._refused: list[Refused] = []
        self._reasons: Counter[str] = Counter()
        self._notes: list[str] = []
        self.missing = 0

    def take(self, added: Added, *, again: bool = False) -> None:
        for name in ("added", "known", "copies", "moved", "removed", "ignored"):
            self._counts[name] += 0 if again else getattr(added, name)
        if not again:
            self._counts["refused"] += len(added.refused)
            self._refused += added.refused[: self._shown_refused - len(self._refused)]
            self._reasons.update(refused.reason for refused in added.refused)
        if added.unread:
            more = f" ({len(added.unread):,} such files)" if len(added.unread) > 1 else ""
            self._notes.append(f"{shown(added.unread[0])}{more}.")
        if added.learned_again is not None:
            self._notes.append("The collection has grown, so its models were retrained.")
        if added.unlearned:
            self._notes.append(f"The learned ranking is no longer used: {added.unlearned}")
        if added.unlearned_words:
            self._notes.append(f"The annotator is no longer used: {added.unlearned_words}")
        self._job.result = self._result()

    def tell(self) -> None:
        self._job.result = self._result()
        lines = [f"{self._counts['added']:,} added"]
        for name, one, many in (
            ("known", *2 * ("already in the collection",)),
            ("copies", "copy", "copies"),
            ("moved", *2 * ("moved",)),
        ):
            count = self._counts[name]
            lines += [f"{count:,} {one if count == 1 else many}"] if count else []
        lines += [f"{self._counts['removed']:,} in the bin"] if self._counts["removed"] else []
        lines += [f"{self.missing:,} missing"] if self.missing else []
        lines += [f"{self._counts['refused']:,} refused"] if self._counts["refused"] else []
        reasons = [f"Most common reason: {shown(why)}." for why, _ in self._reasons.most_common(1)]
        self._job.message = " ".join([f"{', '.join(lines)}.", *reasons, *self._notes])

    def _result(self) -> dict[str, object]:
        refusals = [
            {"path": shown(refused.path), "reason": shown(refused.reason)}
            for refused in self._refused
        ]
        return {**self._counts, "missing": self.missing, "refusals": refusals}
