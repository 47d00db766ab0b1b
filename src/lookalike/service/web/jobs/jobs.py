"""Long-running jobs of the server: one runs at a time, others wait; each reports its progress."""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any

from lookalike.collection import Collection, Learned, Trial, codes_wanted, new_annotators
from lookalike.core.errors import CollectionBusy, InvalidInput, LookalikeError
from lookalike.core.text import counted
from lookalike.service.answers import JobPhase, JobState
from lookalike.service.web.api.answers import plain
from lookalike.service.web.api.errors import TooMuch
from lookalike.service.web.fair_lock import Turns
from lookalike.service.web.jobs import imports as import_jobs
from lookalike.service.web.jobs import sidecars as sidecar_jobs
from lookalike.service.web.rankers import check_ranker
from lookalike.service.web.security import rooms
from lookalike.service.web.settings import Settings
from lookalike.similarity import SIMILARITIES

QUIET = 20.0
"""Seconds without a new tag after which the server learns from those given."""

NOUN = "test picture"
"""What the page calls a picture that was held out of learning."""

PATIENCE = 30.0
"""Seconds that a deletion or an upload waits for a job before giving up."""

_log = logging.getLogger(__name__)


class Stopped(Exception):
    """A job was told to stop."""


@dataclass(slots=True, eq=False, kw_only=True)
class Job(JobState):
    """A task, updated by the thread that runs it and read by others."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    work: Callable[["Job"], None]
    same: object = None
    stopping: Event = field(default_factory=Event)

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ("done", "failed", "stopped")

    def progress(self, done: int, total: int) -> None:
        """Record the progress; raise ``Stopped`` if the job was told to stop."""
        if self.stopping.is_set():
            raise Stopped
        self.done, self.total = done, total

    def wait(self, seconds: float) -> None:
        """Pause; raise ``Stopped`` if the job is told to stop meanwhile."""
        if self.stopping.wait(seconds):
            raise Stopped

    def snapshot(self) -> JobState:
        """Return the state of the job."""
        return JobState(**{one.name: getattr(self, one.name) for one in fields(JobState)})


class Jobs:
    """The jobs of one collection, run one after the other in a separate thread.

    An import works in batches and lets others write in between, through :meth:`writing`. Finished
    work of a stopped or failed job is kept, and the same job started again continues there.
    :meth:`close` stops everything; progress streams end as soon as ``closing`` is set, which a
    stopping server does before it waits for its connections.
    """

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection = collection
        self._settings = settings
        self._turns = Turns()
        self._changed = Condition()
        self._jobs: deque[Job] = deque()
        self._thread: Thread | None = None
        self.patience = PATIENCE
        self.quiet = QUIET
        self._learns_by_itself = False
        self._learned_to = 0
        self.closing = Event()
        self.trouble = ""

    def bring_in(self, sources: Sequence[str]) -> Job:
        """Start to import files and folders; the folders become roots.

        Raises
        ------
        InvalidInput
            If one of them may not be imported.
        """
        paths = import_jobs.allowed(self._collection, self._settings, sources)

        def work(job: Job) -> None:
            import_jobs.bring_in(self, job, self._collection, self._settings, paths)

        return self._start(Job(kind="import", work=work, same=("import", *paths)))

    def rescan(self) -> Job:
        """Start to scan all roots for new, changed and deleted files."""

        def work(job: Job) -> None:
            import_jobs.rescan(self, job, self._collection, self._settings)

        return self._start(Job(kind="rescan", work=work, same="rescan"))

    def follow(self, changed: Sequence[Path], gone: Sequence[Path]) -> Job:
        """Start to import files that changed under the roots, and to remove those gone."""

        def work(job: Job) -> None:
            import_jobs.follow(self, job, self._collection, self._settings, changed, gone)

        return self._start(Job(kind="import", work=work))

    def write_sidecars(self) -> Job:
        """Start to write labels to XMP sidecars beside the pictures."""

        def work(job: Job) -> None:
            sidecar_jobs.write(job, self._collection, self._settings)

        return self._start(Job(kind="sidecars", work=work, same="sidecars"))

    def read_texts(self) -> Job:
        """Start to read the text that is written in pictures, where that was not done yet."""

        def work(job: Job) -> None:
            limits = rooms.limits(self._collection, self._settings)
            counts = self._collection.texts.read(limits=limits, progress=job.progress)
            job.result = {"read": counts.read, "written": counts.written, "left": counts.left}
            job.message = f"{counted(counts.written, 'picture')} of {counts.read:,} with text."
            if counts.refused:
                job.message += f" {counted(len(counts.refused), 'file')} could not be read."

        return self._start(Job(kind="read", work=work, same="read"))

    def learn(
        self,
        *,
        folders: bool = False,
        method: str = "oasis",
        words: str = "auto",
        feature: str | None = None,
        settings: Mapping[str, Any] | None = None,
        codes: str | None = None,
        bits: int | None = None,
        candidates: int | None = None,
    ) -> Job:
        """Start to learn from the labels in the collection, or from folder names.

        Raises
        ------
        InvalidInput
            If there is no such method, setting, annotator, code or ranker.
        """
        SIMILARITIES.make(method, settings)
        new_annotators(words, None)
        check_ranker(self._collection, feature)
        wanted = codes_wanted(codes, bits, candidates, None)

        how = {"folders": folders, "method": method, "words": words, "settings": settings}
        how |= {"codes": codes, "bits": bits, "candidates": candidates}

        def work(job: Job) -> None:
            learned = self._learn(job, feature=feature, **how)
            job.message, job.details = outcome(learned), figures(learned)

        return self._start(
            Job(
                kind="learn",
                work=work,
                same=("learn", folders, method, words, feature, settings or None, wanted),
            )
        )

    def learn_by_itself(self) -> None:
        """Learn from tags soon after they were given, from now on, whoever gives them."""
        with self._changed:
            self._learns_by_itself = True
            self._run_in_background()

    def _learn(self, job: Job, **how: Any) -> Learned:
        """Let a ranker learn, and return what came of it."""
        with self.turn():
            job.progress(0, 0)
            learn = partial(self._collection.learn, progress=job.progress, **how)
            learned = import_jobs.when_free(job, learn)
        job.result = plain(learned)
        return learned

    def all(self) -> list[Job]:
        """Return the jobs, newest first; the last 50 are kept."""
        with self._changed:
            return list(reversed(self._jobs))

    def get(self, name: str) -> Job | None:
        """Return the job with an id, or None."""
        return next((job for job in self.all() if job.id == name), None)

    def stop(self, job: Job) -> None:
        """Stop a job: at once if it is waiting, at its next step if it is running."""
        with self._changed:
            job.stopping.set()
            if job.state == "waiting":
                _end(job, "stopped", "Stopped before it started.")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for permission to write to the collection, and hold it for the work inside.

        Raises
        ------
        CollectionBusy
            If a job has not released the collection within ``patience`` seconds.
        """
        with self._turns.turn(self.patience):
            yield

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for permission to write, however long that takes; for jobs."""
        with self._turns.turn():
            yield

    def close(self) -> None:
        """Stop all jobs and wait for them; no new ones can be started."""
        self.closing.set()
        for job in self.all():
            self.stop(job)
        with self._changed:
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _start(self, job: Job) -> Job:
        with self._changed:
            if self.closing.is_set():
                raise CollectionBusy("The server is stopping. Start the job when it runs again.")
            waiting = [other for other in self._jobs if other.state == "waiting"]
            for other in waiting:
                if job.same is not None and other.same == job.same:
                    return other
            limits = self._settings.job_limits
            if len(waiting) >= limits.waiting:
                raise TooMuch(
                    f"{limits.waiting} jobs are already waiting, the most allowed. Wait until one "
                    f"is done, or stop some.",
                    wait=10,
                )
            self._jobs.append(job)
            most = max(len(self._jobs) - limits.kept, 0)
            for old in [other for other in self._jobs if other.over][:most]:
                self._jobs.remove(old)
            self._run_in_background()
            self._changed.notify_all()
        return job

    def _run_in_background(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name="lookalike-jobs", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.work(job)
                _end(job, "done", job.message)
            except Stopped:
                _end(job, "stopped", "Stopped; finished work is kept.")
            except LookalikeError as error:
                _end(job, "failed", str(error).removeprefix(f"{job.kind}: "))
            except Exception:
                _log.exception("The job %s failed.", job.kind)
                _end(job, "failed", "Internal error; see the server's log.")

    def _next(self) -> Job | None:
        """Wait for the next job and return it; None when the server stops."""

        def first() -> Job | None:
            return next((job for job in self._jobs if job.state == "waiting"), None)

        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self.closing.is_set() or first() is not None,
                    self.quiet / 4 if self._learns_by_itself else None,
                )
                job = None if self.closing.is_set() else first()
                if job is not None:
                    job.state, job.started = "running", _now()
                if job is not None or self.closing.is_set():
                    return job
            self._learn_if_due()

    def _learn_if_due(self) -> None:
        """Start to learn from tags that nobody has added to for a while, once for each set.

        Nobody asked, so the job has something to say only where something new came into use.
        """
        try:
            new = self._collection.labels.to_learn()
            due = new.count and new.event != self._learned_to and new.seconds >= self.quiet
            if not due:
                return
            self._learned_to = new.event
            rankers = [info.name for info in self._collection.models.rankers() if info.ready]
        except LookalikeError:
            _log.exception("The collection cannot be asked for new tags.")
            return

        def work(job: Job) -> None:
            results = []
            for ranker in rankers:
                with suppress(InvalidInput):
                    results.append(self._learn(job, feature=ranker))
            if any(trial.published for result in results for _, trial in _trials(result)):
                job.message = " ".join(dict.fromkeys(map(outcome, results)))
                job.details = " ".join(dict.fromkeys(map(figures, results)))

        with suppress(CollectionBusy, TooMuch):
            self._start(Job(kind="learn", work=work, same="learn by itself", by_itself=True))


def outcome(learned: Learned) -> str:
    """Return in short what learning came to: words, then the similarity."""
    lines = []
    for name, trial in _trials(learned):
        if trial.after is None:
            lines.append(f"{name}: nothing learned. {trial.reason.removeprefix('learn: ')}")
            continue
        judges = counted(trial.after.queries if trial.gain is None else trial.gain.pictures, NOUN)
        if trial.published:
            lines.append(f"{name}: better on {judges}; now in use.")
        else:
            lines.append(f"{name}: no clear improvement on {judges}; nothing changed.")
    if learned.codes is not None:
        lines.append(f"Codes: {learned.codes.reason}")
    return " ".join(lines)


def figures(learned: Learned) -> str:
    """Return the figures by which that was decided."""
    return " ".join(f"{name}: {trial.gained}." for name, trial in _trials(learned) if trial.gained)


def _trials(learned: Learned) -> list[tuple[str, Trial]]:
    """Return what was learned, with its name on the page."""
    named = (("Words", learned.words), ("Similarity", learned.similarity))
    return [(name, trial) for name, trial in named if trial is not None]


def _end(job: Job, state: JobPhase, message: str) -> None:
    job.message, job.ended = str(plain(message)), _now()
    job.state = state


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
