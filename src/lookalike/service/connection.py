"""What a client says to a server, and how it understands the answers."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from lookalike.core.errors import (
    CollectionBusy,
    CollectionError,
    InvalidInput,
    LookalikeError,
    NotFound,
    UnreadablePicture,
)
from lookalike.core.progress import Progress
from lookalike.service.answers import JobState, Problem
from lookalike.service.client_parameters import without_none

T = TypeVar("T")

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)

_ERRORS: dict[int, type[LookalikeError]] = {
    400: InvalidInput,
    404: NotFound,
    409: CollectionError,
    413: InvalidInput,
    422: InvalidInput,
    503: CollectionError,
}


class Connection:
    """Requests to a server, and its answers as the types they are read as."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        headers = {"X-Lookalike-Client": "1"}
        if key is not None:
            if not key.isascii() or not key.isprintable():
                raise InvalidInput("Client: key must consist of printable ASCII characters.")
            headers["Authorization"] = f"Bearer {key}"
        self._url = url.rstrip("/")
        if not re.match("https?://[^/]", url):
            raise InvalidInput(
                f"Client: url must be an address such as http://127.0.0.1:8700; got {url!r:.200}."
            )
        self._http = httpx.Client(
            base_url=self._url, headers=headers, timeout=timeout, trust_env=False
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _do(self, body: dict[str, Any], progress: Progress) -> JobState:
        job = self._read(JobState, "POST", "/api/jobs", json=body)
        while job.state in ("waiting", "running"):
            for state in self._follow(job.id):
                job = state
                progress(job.done, job.total)
        if job.state != "done":
            raise CollectionError(job.message)
        return job

    def _follow(self, name: str) -> Iterator[JobState]:
        """Yield the states of a job until it is over or the stream breaks off."""
        path = f"/api/jobs/{name}/events"
        try:
            with self._http.stream("GET", path) as answer:
                if answer.status_code != 200:
                    answer.read()
                    raise _error(answer, upload=False)
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        yield _parse(JobState, line.removeprefix("data: "))
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.ReadTimeout):
            return
        except httpx.HTTPError as error:
            raise self._silence(error) from error

    def _get(
        self, kind: type[T], path: str, params: Mapping[str, Any] | None = None, **options: Any
    ) -> T:
        return self._read(kind, "GET", path, params=without_none(params or {}), **options)

    def _say(self, kind: type[T], path: str, body: dict[str, Any]) -> T:
        return self._read(kind, "POST", path, json=body)

    def _send(self, kind: type[T], path: str, content: bytes) -> T:
        headers = {"Content-Type": "application/octet-stream"}
        return self._read(kind, "POST", path, content=content, headers=headers)

    def _read(self, kind: type[T], method: str, path: str, **options: Any) -> T:
        return _parse(kind, self._ask(method, path, **options).content)

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._silence(error) from error
        if answer.is_error:
            raise _error(answer, upload="content" in options)
        return answer

    def _silence(self, error: Exception) -> CollectionError:
        return CollectionError(
            f"Cannot reach a server at {self._url}: {error}. Start one with: lookalike serve"
        )


def _error(answer: httpx.Response, *, upload: bool) -> LookalikeError:
    """Return the error the server reported, with its message."""
    try:
        message = _parse(Problem, answer.content).error
    except CollectionError:
        message = f"The server responded with {answer.status_code} {answer.reason_phrase}."
    if "Retry-After" in answer.headers:
        return CollectionBusy(message)
    if upload and answer.status_code == 422:
        return UnreadablePicture(message)
    return _ERRORS.get(answer.status_code, LookalikeError)(message)


def _parse(kind: type[T], content: str | bytes) -> T:
    """Return an answer of this type from its JSON, or raise CollectionError."""
    adapter: TypeAdapter[T] = _adapter(kind)
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        raise CollectionError(
            "The server's answer is not understood. Is it lookalike, of the same version?"
        ) from error
