"""Assemble the server: the guard, the pages, the API, the files, jobs and watcher."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from threading import Thread

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from lookalike import __version__
from lookalike.collection import Collection
from lookalike.core.errors import LookalikeError
from lookalike.service.answers import Problem
from lookalike.service.web import files
from lookalike.service.web.api import errors as api_errors
from lookalike.service.web.api import page as api_page
from lookalike.service.web.api import routes as api
from lookalike.service.web.api.schema import App
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.jobs.jobs import Jobs
from lookalike.service.web.jobs.watcher import Watcher
from lookalike.service.web.pages import albums as album_pages
from lookalike.service.web.pages import assets, fragments
from lookalike.service.web.pages import bin as bin_page
from lookalike.service.web.pages import collections as collections_page
from lookalike.service.web.pages import duplicates as duplicates_page
from lookalike.service.web.pages import judging as judging_page
from lookalike.service.web.pages import objects as object_pages
from lookalike.service.web.pages import places as places_page
from lookalike.service.web.pages import routes as pages
from lookalike.service.web.pages import tree as tree_page
from lookalike.service.web.pages.errors import refuse, wants_page
from lookalike.service.web.security.bodies import Closing
from lookalike.service.web.security.guard import Guard
from lookalike.service.web.security.keys import KEY_FILE
from lookalike.service.web.security.users import Rates
from lookalike.service.web.settings import Settings
from lookalike.service.web.shelf import Shelf

_ORIGINALS_AT_ONCE = 4
_CLOSING_SECONDS = 20.0


def make_app(
    collection: Collection, settings: Settings | None = None, shelf: Shelf | None = None
) -> FastAPI:
    """Return the ASGI application that serves a collection, or another of a shelf in its place.

    Its ``state`` has ``collection``, ``settings``, ``decoder``, ``token`` (which pages send back
    with changes), ``closing`` (whose ``begin`` ends streams before the server stops) and, while
    it runs, ``jobs`` and ``watcher``, the latter None if nothing is watched.
    """
    chosen = settings or Settings()
    app = App(
        title="lookalike",
        version=__version__,
        summary="Image search that learns what similar means from votes and labels.",
        docs_url=None,  # it would load scripts from other sites
        redoc_url=None,
        lifespan=_running,
        redirect_slashes=False,
        # Variables of the environment would otherwise have requests reported elsewhere.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
        responses={"4XX": {"model": Problem, "description": "Rejected, with the reason."}},
        exception_handlers={
            LookalikeError: _tell_ours,
            HTTPException: _tell_http,
            RequestValidationError: _tell_invalid,
        },
    )
    app.state.collection, app.state.settings, app.state.shelf = collection, chosen, shelf
    app.state.token, app.state.closing = secrets.token_urlsafe(32), Closing()
    app.state.reading = CapacityLimiter(_ORIGINALS_AT_ONCE)
    app.state.decoder = Decoder(
        chosen.upload_limits, seconds=chosen.decode_seconds, memory=chosen.decode_memory
    )
    app.state.rates = Rates()
    # Routes are tried in order, and a page asks for many small files.
    for part in (
        files,
        assets,
        fragments,
        pages,
        api,
        api_page,
        album_pages,
        bin_page,
        duplicates_page,
        places_page,
        collections_page,
        tree_page,
        judging_page,
        object_pages,
    ):
        app.include_router(part.router)
    app.add_middleware(
        Guard,
        settings=chosen,
        token=app.state.token,
        closing=app.state.closing,
        keys=collection.path / KEY_FILE,
    )
    return app


def begin_closing(app: FastAPI) -> None:
    """End streams and stop jobs at their next step, so that the server can stop sooner."""
    app.state.closing.begin()
    jobs: Jobs | None = getattr(app.state, "jobs", None)
    if jobs is not None:
        jobs.closing.set()


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    state = app.state
    collection, settings = state.collection, state.settings
    if not settings.read_only:
        await to_thread.run_sync(collection.upkeep.tidy)
    async with AsyncExitStack() as stack:
        stack.enter_context(collection.upkeep.serving())
        stack.push_async_callback(_in_time, state.decoder.close)
        collection.pictures.decode_with(state.decoder.decode, state.decoder.metadata)
        stack.callback(collection.pictures.decode_with, None)
        state.jobs = Jobs(collection, settings)
        if not settings.read_only:
            state.jobs.learn_by_itself()
        stack.push_async_callback(_in_time, state.jobs.close)
        state.watcher = Watcher(collection, state.jobs, settings) if settings.watch else None
        if state.watcher is not None:
            state.watcher.start()
            stack.push_async_callback(_in_time, state.watcher.close)
        try:
            yield
        finally:
            begin_closing(app)


async def _in_time(close: Callable[[], None]) -> None:
    """Close something, waiting for a limited time: finished work is kept in any case."""
    thread = Thread(target=close, daemon=True)
    thread.start()
    await to_thread.run_sync(thread.join, _CLOSING_SECONDS)


async def _tell_ours(request: Request, error: Exception) -> Response:
    if not isinstance(error, LookalikeError):
        raise error
    return _for_people(request, api_errors.refuse(error), str(error))


async def _tell_invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return _for_people(request, api_errors.refuse_values(error), "Page not found.")


async def _tell_http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    text = str(error.detail)
    if error.status_code == 404 and text == "Not Found":
        text = f"Page not found: {request.url.path:.200}."
    return refuse(request.scope, error.status_code, text, error.headers)


def _for_people(request: Request, answer: Response, message: str) -> Response:
    """Return a page instead of JSON if a browser asks for one."""
    if not wants_page(request.scope):
        return answer
    return refuse(request.scope, answer.status_code, message)
