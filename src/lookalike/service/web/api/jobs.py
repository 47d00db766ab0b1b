"""The API: long-running jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from lookalike.core.errors import InvalidInput, NotFound
from lookalike.service.answers import JobKind, JobState
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_NAME, MAX_PATH
from lookalike.service.web.jobs.jobs import Job
from lookalike.service.web.jobs.stream import HEADERS, MEDIA_TYPE, stream
from lookalike.service.web.state import jobs_of

router = APIRouter(tags=["jobs"], route_class=Route)

MAX_PATHS = 1000

FilePath = Annotated[str, Field(min_length=1, max_length=MAX_PATH)]
JobId = Annotated[str, InPath(alias="id", pattern="^[0-9a-f]{16}$", description="A job's id.")]


class NewJob(BaseModel):
    """The job to start."""

    model_config = ConfigDict(extra="forbid")

    kind: JobKind
    folder: FilePath | None = Field(None, description="For an import: the folder.")
    paths: list[FilePath] | None = Field(
        None, min_length=1, max_length=MAX_PATHS, description="For an import: files and folders."
    )
    folders: bool = Field(
        False, description="For learning: use each picture's folder as its label."
    )
    method: str = Field(
        "oasis", max_length=MAX_NAME, description="For learning: the similarity to train."
    )
    words: str = Field(
        "auto",
        max_length=MAX_NAME,
        description="For learning: the annotator to train; by default the best of several.",
    )
    feature: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAME,
        description="For learning: the ranker to train; by default the first.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="For learning: settings of the method."
    )
    codes: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAME,
        description="For learning: binary codes that find candidates; without `folders`, only "
        "those are learned.",
    )
    bits: int | None = Field(None, ge=1, description="For learning: bits of a code.")
    candidates: int | None = Field(
        None, ge=1, description="For learning: candidates of a search by codes."
    )


@router.post("/jobs", summary="Start a job", status_code=202)
def start(request: Request, wanted: NewJob) -> JobState:
    """Start an import, a rescan of all folders, learning, to write XMP sidecars, or to read text.

    An import takes a `folder` or `paths`, which must be absolute, or in ``~``, and inside the
    folders of the collection or those the server allows. One job runs at a time; others wait.
    """
    jobs = jobs_of(request)
    sources = wanted.paths or ([wanted.folder] if wanted.folder else [])
    if (wanted.kind == "import") != bool(sources) or (wanted.paths and wanted.folder):
        raise InvalidInput("jobs: an import needs either folder or paths; other jobs take neither.")
    if wanted.kind == "import":
        return jobs.bring_in(sources).snapshot()
    if wanted.kind == "rescan":
        return jobs.rescan().snapshot()
    if wanted.kind == "sidecars":
        return jobs.write_sidecars().snapshot()
    if wanted.kind == "read":
        return jobs.read_texts().snapshot()
    job = jobs.learn(
        folders=wanted.folders,
        method=wanted.method,
        words=wanted.words,
        feature=wanted.feature,
        settings=wanted.settings,
        codes=wanted.codes,
        bits=wanted.bits,
        candidates=wanted.candidates,
    )
    return job.snapshot()


@router.get("/jobs", summary="List the jobs")
def jobs(request: Request) -> list[JobState]:
    """Return the jobs since the server started, newest first; the last 50 are kept."""
    return [job.snapshot() for job in jobs_of(request).all()]


@router.get("/jobs/{id}", summary="Get a job")
def job(request: Request, name: JobId) -> JobState:
    """Return the state of a job."""
    return _job(request, name).snapshot()


@router.delete("/jobs/{id}", summary="Stop a job")
def stop(request: Request, name: JobId) -> JobState:
    """Stop a job at its next step; finished work is kept."""
    result = _job(request, name)
    jobs_of(request).stop(result)
    return result.snapshot()


@router.get(
    "/jobs/{id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events: `progress` with the job as JSON at most four times "
            "a second, and `end` with the job when it is over.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    },
)
async def follow(request: Request, name: JobId) -> StreamingResponse:
    """Stream the progress of a job; a client that reconnects gets its state at once."""
    result = _job(request, name)
    closing = jobs_of(request).closing
    return StreamingResponse(stream(result, closing), media_type=MEDIA_TYPE, headers=HEADERS)


def _job(request: Request, name: str) -> Job:
    result = jobs_of(request).get(name)
    if result is None:
        raise NotFound(
            f"There is no job {name}. Only the last 50 are kept; list them with GET /api/jobs."
        )
    return result
