"""Watch the folders of a collection and follow changes in them."""

import logging
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Event, Thread

from watchfiles import Change, watch
from watchfiles.main import FileChange

from lookalike.collection import Collection
from lookalike.core.errors import LookalikeError
from lookalike.core.text import is_utf8
from lookalike.images import ENDINGS
from lookalike.service.web.jobs.jobs import Job, Jobs
from lookalike.service.web.settings import Settings

_UNDECODABLE = "Unable to decode path"
"""What the watcher reports when it meets a name that is not UTF-8."""

_log = logging.getLogger(__name__)


class Watcher:
    """Imports new and changed files under the roots, and notes which files are missing.

    It starts with a rescan, to catch up, and rescans when a root is added or comes back.
    Without ``settings.watch`` it does nothing. ``watch`` reports changes as that of watchfiles.

    Attributes
    ----------
    folders : list of Path
        The folders being watched now.
    trouble : str
        Why folders are not being watched though they should be; else empty.
    """

    def __init__(
        self,
        collection: Collection,
        jobs: Jobs,
        settings: Settings,
        watch: Callable[..., Generator[set[FileChange], None, None]] = watch,
    ) -> None:
        self._watch_folders = watch
        self._pace = settings.pace
        self._collection = collection
        self._jobs = jobs
        self._own = Path(os.path.realpath(collection.path))
        self._stopping = Event()
        self._thread: Thread | None = None
        self._job: Job | None = None
        self._changed: set[Path] = set()
        self._gone: set[Path] = set()
        self._first = self._last = 0.0
        self._polling = False
        self._rescanned = -settings.pace.again
        self.on = settings.watch
        self.folders: list[Path] = []
        self.trouble = ""

    def start(self) -> None:
        """Rescan, then watch, in a separate thread."""
        if self.on and self._thread is None:
            self._thread = Thread(target=self._run, name="lookalike-watcher", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop watching, and wait for the thread to end."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch()
                self.trouble = ""
            except FileNotFoundError:
                # A root disappeared between two checks; the next one leaves it out.
                self._stopping.wait(self._pace.look)
            except (OSError, RuntimeError, LookalikeError) as error:
                if _UNDECODABLE in str(error):
                    # Go on by looking at the folders, and begin with a rescan.
                    self._polling = True
                    self._stopping.wait(self._pace.look)
                    continue
                self.trouble = (
                    f"Cannot watch the folders: {error}. Start a rescan after changes; if there "
                    f"are too many folders, raise the system limit fs.inotify.max_user_watches."
                )
                _log.warning("%s", self.trouble)
                self._stopping.wait(self._pace.again)

    def _watch(self) -> None:
        """Watch the current roots until they change."""
        folders = [root for root in self._roots() if is_utf8(str(root))]
        # Only rescans can follow the others.
        odd = [root for root in self._roots() if not is_utf8(str(root))]
        if odd and time.monotonic() - self._rescanned >= self._pace.again:
            self._rescanned = time.monotonic()
            self._jobs.rescan()
        if not folders:
            self.folders = odd
            self._stopping.wait(self._pace.look)
            return
        watched = self._watch_folders(
            *folders,
            watch_filter=self._concerns,
            stop_event=self._stopping,
            step=100,
            rust_timeout=int(1000 * self._pace.look),
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=self._polling or None,
            poll_delay_ms=int(1000 * self._pace.poll),
            ignore_permission_denied=True,
        )
        # Before the rescan, so that no change is missed in between.
        rescanned = False
        try:
            for changes in watched:
                self.folders, self.trouble = sorted(folders + odd), ""
                if not rescanned:
                    self._job, rescanned = self._jobs.rescan(), True
                self._note(changes)
                self._act()
                due = odd and time.monotonic() - self._rescanned >= self._pace.again
                if due or self._roots() != sorted(folders + odd):
                    return
        finally:
            watched.close()
            self.folders = []

    def _roots(self) -> list[Path]:
        """Return the existing roots, without those inside another."""
        roots = sorted({root for root in self._collection.pictures.roots() if root.is_dir()})
        return [root for root in roots if not set(roots).intersection(root.parents)]

    def _concerns(self, change: Change, name: str) -> bool:
        """Return whether a change may concern a picture: not hidden, not one of our own files."""
        path = Path(name)
        if any(part.startswith(".") for part in self._inside(path)):
            return False
        if self._own in (path, *path.parents):
            return False
        if change == Change.deleted:
            return self._collection.pictures.holds_below(path)
        if path.is_dir():
            return change == Change.added
        return path.suffix.lower() in ENDINGS and not self._collection.pictures.is_unchanged(path)

    def _inside(self, path: Path) -> tuple[str, ...]:
        above = set(self._roots()).intersection((path, *path.parents))
        return path.relative_to(above.pop()).parts if above else ()

    def _note(self, changes: set[tuple[Change, str]]) -> None:
        if not changes:
            return
        self._last = time.monotonic()
        if not self._changed and not self._gone:
            self._first = self._last
        for change, name in changes:
            (self._gone if change == Change.deleted else self._changed).add(Path(name))

    def _act(self) -> None:
        """Start a job for the changes, once it is quiet and the last such job is over."""
        now = time.monotonic()
        failed = self._job is not None and self._job.state == "failed"
        if failed and now - self._rescanned >= self._pace.again:
            # What changed is no longer known one by one.
            self._job, self._rescanned = self._jobs.rescan(), now
            return
        quiet = now - self._last >= self._pace.quiet or now - self._first >= self._pace.longest
        if not (self._changed or self._gone) or not quiet:
            return
        if self._job is not None and not self._job.over:
            return
        self._job = self._jobs.follow(sorted(self._changed), sorted(self._gone))
        self._changed, self._gone = set(), set()
