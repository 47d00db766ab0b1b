"""The shared objects that routes work with."""

from typing import cast

from fastapi import Request

from lookalike.collection import OWNER, Collection
from lookalike.service.web.api.parameters import Search
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.jobs.jobs import Jobs
from lookalike.service.web.security.users import Rates, client_of


def collection_of(request: Request) -> Collection:
    """Return the collection being served."""
    return cast("Collection", request.app.state.collection)


def decoder_of(request: Request) -> Decoder:
    """Return the decoder for untrusted pictures."""
    return cast("Decoder", request.app.state.decoder)


def jobs_of(request: Request) -> Jobs:
    """Return the jobs of the server."""
    return cast("Jobs", request.app.state.jobs)


def person_of(request: Request) -> str:
    """Return whose key a request came with."""
    return str(getattr(request.state, "person", OWNER))


def viewer_of(request: Request, search: Search) -> str:
    """Return whose layers a search uses: those of who asks, or, with an empty name, the shared."""
    return person_of(request) if search.layers == "mine" else OWNER


def speaker(request: Request) -> str:
    """Return who sends feedback, by their key, and count it against the limit of their client."""
    state = request.app.state
    if not hasattr(state, "rates"):
        state.rates = Rates()
    who = person_of(request)
    client = client_of(request.client.host if request.client else "")
    state.rates.count(f"{client} {getattr(request.state, 'role', '')} {who}")
    return who


def next_page(request: Request, more: bool, **changes: int) -> str | None:
    """Return the address of the next page without the host, or None if there is none."""
    if not more:
        return None
    url = request.url.include_query_params(**changes)
    return f"{url.path}?{url.query}"
