"""The API asked at random, as its OpenAPI description allows and beyond: it never breaks down."""

import re
from itertools import count

import pytest
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lookalike.collection import Collection
from lookalike.service.web.api import routes as api
from lookalike.service.web.security.users import Rates
from tests.collection.colours import Colours, album
from tests.service.web.served import png, served

EXAMPLES = 25

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

SELDOM = {
    *[("GET", "/api/jobs/{id}"), ("DELETE", "/api/jobs/{id}"), ("POST", "/api/rollback")],
    *[("GET", "/api/why"), ("DELETE", "/api/rankers/{name}")],
    ("POST", "/api/rankers/{name}/default"),
    ("POST", "/api/duplicates/keep-suggested"),
    *[("GET", "/api/collections"), ("POST", "/api/collections")],
    *[("POST", "/api/collections/open"), ("GET", "/api/pictures/{id}/nearby")],
}
"""What needs what is not there: regions, places, a second ranker, copies, other collections."""
ENDLESS = ("GET", "/api/jobs/{id}/events")


def operations():
    app = FastAPI()
    app.include_router(api.router)
    for path, methods in app.openapi()["paths"].items():
        yield from ((method.upper(), path) for method in methods)


NAMES = {
    "id",
    "ref",
    "picture",
    "pictures",
    "like",
    "unlike",
    "picked",
    "rejected",
    "shown",
    "event",
}
"""Parameters that mean nothing but by what exists."""

LISTS = {"all_of", "without", "search"}
"""What stands for pictures in place of their ids."""

ORDINARY = {"word": "word 3", "by": None, "user": None, "key": None, "box": [0.1, 0.2, 0.8, 0.9]}
"""Values that make sense of a request; most that are drawn do not."""

PLAIN = {"/api/search": {"like": [1], "unlike": [2]}, "/api/duplicates": {}}
"""Queries that make sense, of paths for which hardly any that is drawn does."""

ALBUMS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    album(folder / "photos", 8)
    with Collection.create(folder / "store", features=[Colours()]) as store:
        store.add([folder / "photos"])
        for number in range(2, 42):
            store.label(1 + number % 20, f"word {number}")
        # By events that no request undoes by their number or person.
        for number in range(2, 42):
            store.albums.save(f"album {number}", pictures=[1 + number % 20], who="Ada")
        with served(store) as found:
            found.app.state.rates = Rates(most=1_000_000)
            yield found


@pytest.fixture(scope="module")
def schema(server):
    return schemathesis.openapi.from_dict(server.get("/openapi.json").json())


def existing(value, numbers):
    """Put numbers that may exist in the place of others."""
    if isinstance(value, list):
        return [existing(one, numbers) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 1 + int(value) % numbers
    if isinstance(value, str) and re.fullmatch("u?[0-9a-f]+", value):
        return 1 + int(value.removeprefix("u"), 16) % numbers
    return value


def made_real(case, numbers):
    """Ask for what may exist, and of other things only for how many."""
    if isinstance(case.query, dict):
        case.query.pop("by", None)
        if case.path in PLAIN or "like" in case.query:
            kept = {name: case.query[name] for name in (NAMES | {"k"}) & case.query.keys()}
            case.query = PLAIN.get(case.path, kept)
    for part in (case.path_parameters, case.query, case.body):
        if isinstance(part, dict):
            part |= {name: existing(part[name], numbers) for name in NAMES & part.keys()}
            if part is case.body and "like" in part:
                part["picked"] = part.get("picked") or [2]
                part.pop("rejected", None)
    if isinstance(case.body, dict):
        case.body |= {name: ORDINARY[name] for name in ORDINARY.keys() & case.body.keys()}
        if case.body.keys() & (LISTS | {"pictures"}) or case.path.endswith(
            ("selection/tag", "remove", "albums")
        ):
            case.body["pictures"] = case.body.get("pictures") or [2]
            for name in LISTS & case.body.keys():
                del case.body[name]
        if "remove" in case.body and "picture" in case.body:
            case.body["picture"], case.body["remove"] = 1, [2]
        if "name" in case.body:
            case.body["name"] = f"made {next(ALBUMS)}"


def cases(operation):
    """Draw requests as described and, where there is anything to get wrong, others."""
    right = operation.as_strategy()
    if not (operation.query or operation.path_parameters or operation.body):
        return right
    return st.one_of(right, right, operation.as_strategy(GenerationMode.NEGATIVE))


@pytest.mark.parametrize(("method", "path"), sorted({*operations()} - {ENDLESS}, reverse=True))
def test_no_request_breaks_the_server(server, schema, method, path):
    headers = {"X-Lookalike-Client": "1"}
    answered = set()
    # What other requests removed.
    server.post("/api/bin/restore", json={}).raise_for_status()

    with requests.Session() as session:
        session.trust_env = False

        @seed(4)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases(schema[path][method]), real=st.sampled_from((0, 24, 24, 40)))
        def ask(case, real):
            if real:
                made_real(case, real)
            answer = case.call(base_url=str(server.base_url), headers=headers, session=session)
            case.validate_response(answer, checks=CHECKS)
            answered.add(answer.status_code)

        ask()
    # Most requests make no sense; some must.
    assert (method, path) in SELDOM or any(status < 300 for status in answered), answered


@pytest.mark.parametrize("path", ["/api/pictures", "/api/queries"])
def test_no_upload_breaks_the_server(server, path):
    whole = png(seed=3)

    @seed(4)
    @settings(max_examples=EXAMPLES, database=None)
    @given(place=st.integers(0, len(whole) - 1), byte=st.integers(0, 255), cut=st.booleans())
    def send(place, byte, cut):
        changed = whole[:place] + (b"" if cut else bytes([byte]) + whole[place + 1 :])
        answer = server.post(path, content=changed)
        assert answer.status_code in (200, 201, 422), answer.text

    send()


def test_the_collection_is_whole_after_all_that(server):
    assert server.get("/api/status").status_code == 200
    listed = server.get("/api/pictures?k=1000").json()
    assert len(listed["pictures"]) == listed["total"]
    for row in listed["pictures"][:3]:
        assert server.get(f"/api/search?like={row['id']}").status_code == 200
