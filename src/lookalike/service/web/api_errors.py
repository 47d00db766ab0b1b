"""How the API refuses: a status and one sentence, for whatever is raised on purpose."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from lookalike.core.errors import (
    CollectionBusy,
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    LookalikeError,
    MissingExtra,
    NotFitted,
    NotFound,
    UnreadablePicture,
)
from lookalike.service.web.answers import Problem, shown

# The first that fits decides.
_STATUSES: tuple[tuple[type[LookalikeError], int], ...] = (
    (NotFound, 404),
    (InvalidInput, 400),
    (UnreadablePicture, 422),
    (DamagedFile, 500),
    (FingerprintMismatch, 500),
    (CollectionError, 409),
    (NotFitted, 409),
    (MissingExtra, 409),
)

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "What was asked makes no sense here."},
    401: {"model": Problem, "description": "A key is needed."},
    403: {"model": Problem, "description": "The key allows looking only, or another site asks."},
    404: {"model": Problem, "description": "There is no such picture, event, query or job."},
    409: {"model": Problem, "description": "The collection is busy, or not ready for this."},
    413: {"model": Problem, "description": "What was sent is too large."},
    422: {"model": Problem, "description": "A value is out of its limits, or is no picture."},
    429: {"model": Problem, "description": "Too much at once; Retry-After says when to go on."},
    503: {"model": Problem, "description": "Too many uploads at once; try again in a moment."},
}
"""What every route may answer besides its answer, for OpenAPI."""


class TooMuch(LookalikeError):
    """More was asked than is allowed at the moment; ``wait`` is when to ask again, in seconds."""

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


def refuse(error: LookalikeError) -> JSONResponse:
    """Return the answer to a request that raised an error on purpose."""
    if isinstance(error, TooMuch):
        return _problem(429, str(error), wait=error.wait)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)
    return _problem(status, str(error), wait=5 if isinstance(error, CollectionBusy) else None)


def refuse_values(error: RequestValidationError) -> JSONResponse:
    """Return the answer to a request whose values are out of their limits."""
    told = []
    for one in error.errors()[:3]:
        place = ".".join(str(part) for part in one["loc"][1:]) or str(one["loc"][0])
        told.append(f"{place:.80}: {str(one['msg']).removeprefix('Value error, ')}")
    return _problem(422, f"{'; '.join(told)}.")


class Route(APIRoute):
    """A route that refuses with a sentence."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return refuse_values(error)
            except LookalikeError as error:
                return refuse(error)

        return answer


def _problem(status: int, message: str, *, wait: int | None = None) -> JSONResponse:
    headers = None if wait is None else {"Retry-After": str(wait)}
    return JSONResponse({"error": shown(message)}, status, headers)
