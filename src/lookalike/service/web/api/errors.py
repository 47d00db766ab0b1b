"""Error responses of the API: a status and one sentence for every expected error."""

import errno
import sqlite3
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from lookalike.core.errors import (
    CollectionBusy,
    CollectionError,
    DamagedFile,
    DecoderFailed,
    FingerprintMismatch,
    InvalidInput,
    LookalikeError,
    MissingExtra,
    MissingPart,
    NotFitted,
    NotFound,
    UnreadablePicture,
)
from lookalike.core.text import without_method
from lookalike.service.answers import Problem
from lookalike.service.web.api.answers import Answer
from lookalike.service.web.api.patterns import PATTERNS, REF
from lookalike.service.web.decoding.decoder import DecoderNotStarted

# The first match decides.
_STATUSES: tuple[tuple[type[LookalikeError], int], ...] = (
    (NotFound, 404),
    (InvalidInput, 400),
    (UnreadablePicture, 422),
    (DecoderFailed, 500),
    (DamagedFile, 500),
    (FingerprintMismatch, 500),
    (DecoderNotStarted, 503),
    (CollectionError, 409),
    (NotFitted, 409),
    (MissingExtra, 409),
    (MissingPart, 409),
)

_WORDS = {
    "missing": "is missing",
    "too_short": "needs at least {min_length}",
    "too_long": "takes at most {max_length}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "list_type": "must be a list",
}
"""What is wrong with a value, by the type of the error."""

_KINDS_OF_REF = ("constrained-int", "constrained-str")

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is invalid."},
    401: {"model": Problem, "description": "A key is needed."},
    403: {
        "model": Problem,
        "description": "The key is read-only, or the request comes from another site.",
    },
    404: {"model": Problem, "description": "No such picture, event, query or job."},
    409: {"model": Problem, "description": "The collection is busy or not ready for this."},
    413: {"model": Problem, "description": "The body of the request is too large."},
    422: {
        "model": Problem,
        "description": "A value is out of range, or the upload is not a picture.",
    },
    429: {
        "model": Problem,
        "description": "Too many requests; Retry-After says when to try again.",
    },
    503: {
        "model": Problem,
        "description": "Too many uploads at once, or pictures cannot be decoded at the moment.",
    },
    507: {"model": Problem, "description": "The disk is full; nothing was changed."},
}
"""Error responses that every route may return, for OpenAPI."""


class TooMuch(LookalikeError):
    """Too many requests; ``wait`` is the number of seconds until the next attempt."""

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


def refuse(error: LookalikeError) -> Response:
    """Return the response for an expected error."""
    if isinstance(error, TooMuch):
        return _problem(429, str(error), wait=error.wait)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)
    if _is_full_disk(error.__cause__):
        status = 507
    wait = 5 if isinstance(error, CollectionBusy) else None
    return _problem(status, without_method(str(error)), wait=wait)


def _is_full_disk(cause: BaseException | None) -> bool:
    """Return whether what led to an error says that there is no space left."""
    is_ours = isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
    return is_ours or getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def refuse_values(error: RequestValidationError) -> Response:
    """Return the response for invalid values."""
    problems = dict.fromkeys(map(_in_words, error.errors()))
    return _problem(422, f"{'; '.join(list(problems)[:3])}.")


def _in_words(one: Mapping[str, Any]) -> str:
    """Return which value is wrong and why, in plain words where the validator's are not."""
    limits = one.get("ctx", {})
    why = str(one["msg"]).removeprefix("Value error, ")
    if one["type"] in _WORDS:
        why = _WORDS[one["type"]].format(**limits)
    elif limits.get("pattern") in PATTERNS:
        why = f"must be {PATTERNS[limits['pattern']]}"
    parts = [str(part) for part in one["loc"][1:]]
    if parts and parts[-1] in _KINDS_OF_REF:
        # It may be either kind; the validator complains of both.
        del parts[-1]
        why = f"must be {PATTERNS[REF]}"
    place = ".".join(parts) or str(one["loc"][0])
    return f"{place:.80}: {why}"


class Route(APIRoute):
    """A route that answers in JSON, and reports expected errors so."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        status = options.get("status_code") or 200
        super().__init__(path, _answering(endpoint, status), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (RequestValidationError, LookalikeError) as error:
                return self.refused(request, error)

        return answer

    def refused(self, request: Request, error: RequestValidationError | LookalikeError) -> Response:
        """Return the response for an expected error."""
        if isinstance(error, RequestValidationError):
            return refuse_values(error)
        return refuse(error)


def _answering(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Return an endpoint whose dataclasses become JSON in the thread that made them."""
    if iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    def answer(*args: Any, **values: Any) -> Response:
        result = endpoint(*args, **values)
        return result if isinstance(result, Response) else Answer(result, status)

    return answer


def _problem(status: int, message: str, *, wait: int | None = None) -> Response:
    headers = None if wait is None else {"Retry-After": str(wait)}
    return Answer(Problem(message), status, headers)
