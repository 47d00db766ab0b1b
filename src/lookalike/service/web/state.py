"""The shared objects that routes work with."""

from typing import cast

from fastapi import Request

from lookalike.collection import Collection
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.jobs.jobs import Jobs
from lookalike.service.web.security.users import Rates, client_of, who_is


def collection_of(request: Request) -> Collection:
    """Return the collection being served."""
    return cast("Collection", request.app.state.collection)


def decoder_of(request: Request) -> Decoder:
    """Return the decoder for untrusted pictures."""
    return cast("Decoder", request.app.state.decoder)


def jobs_of(request: Request) -> Jobs:
    """Return the jobs of the server."""
    return cast("Jobs", request.app.state.jobs)


def speaker(request: Request, named: str | None, *, takes_back: bool = False) -> str:
    """Return who sends feedback, and count it against the limit of their client and key.

    A name is only what somebody says, so it gives no further allowance, and there may be few; who
    ``takes_back`` something needs none of these, so that what was said under many names can be.
    """
    state = request.app.state
    if not hasattr(state, "rates"):
        state.rates = Rates()
    who = who_is(request, named)
    client = client_of(request.client.host if request.client else "")
    role = getattr(request.state, "role", "")
    state.rates.count(f"{client} {role}", "" if takes_back else who)
    request.state.who = who
    return who


def next_page(request: Request, more: bool, **changes: int) -> str | None:
    """Return the address of the next page without the host, or None if there is none."""
    if not more:
        return None
    url = request.url.include_query_params(**changes)
    return f"{url.path}?{url.query}"
