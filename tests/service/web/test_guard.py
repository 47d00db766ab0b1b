"""The guard before the server: names, keys, other sites, bodies, errors, headers."""

import asyncio
import json
import logging
import re
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from lookalike.core.errors import InvalidInput
from lookalike.service.web.security.bodies import Closing
from lookalike.service.web.security.guard import MAX_GUESSES, POLICY, SMALL_BODY, Guard
from lookalike.service.web.security.keys import Keys
from lookalike.service.web.settings import Settings
from tests.service.web.asking import ask, ask_now

KEY, READ_KEY, TOKEN = "k" * 24, "r" * 24, "the-token-of-a-page"
OPEN = Settings()
SHUT = Settings(host="192.168.7.7", key=KEY, read_key=READ_KEY, public_hosts=("photos.example",))
CLIENT = {"X-Lookalike-Client": "1"}
PAGE = {
    "Origin": "http://127.0.0.1:8700",
    "Sec-Fetch-Site": "same-origin",
    "X-Lookalike-Token": TOKEN,
}


async def echo(request: Request):
    return JSONResponse({"bytes": len(await request.body()), "role": request.state.role})


async def swallow(request: Request):
    with suppress(Exception):  # as a framework may that parses bodies itself
        await request.body()
    return PlainTextResponse("never mind")


async def boom(request: Request):
    raise RuntimeError("secret: /etc/somebody/keys")


async def drip(request: Request):
    async def parts():
        while True:
            yield b"data: x\n\n"
            await asyncio.sleep(0.01)

    return StreamingResponse(parts(), media_type="text/event-stream")


ROUTES = [
    Route("/", echo, methods=["GET"]),
    Route("/api/things", echo, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    Route("/api/pictures", echo, methods=["GET", "POST"]),
    Route("/api/queries", echo, methods=["POST"]),
    Route("/swallow", swallow, methods=["POST"]),
    Route("/static/style.css", echo, methods=["GET"]),
    Route("/static/page.js", echo, methods=["GET"]),
    Route("/boom", boom, methods=["GET", "POST"]),
    Route("/drip", drip, methods=["GET"]),
]


def guard(settings=OPEN, closing=None):
    app = Starlette(routes=ROUTES)
    app.add_middleware(Guard, settings=settings, token=TOKEN, closing=closing)
    return app


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def entered(app, key, **extra):
    answer = ask(
        app,
        "POST",
        "/enter",
        body=[f"key={key}&next=%2Fpicture%2F1".encode()],
        host="photos.example",
        **extra,
    )
    assert answer.status == 303
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


# --- the name the server is called by ------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "localhost:1234", "127.0.0.1:8700", "[::1]:80"]
)
def test_own_names(host):
    assert ask(guard(), "GET", "/", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8700", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("localhost.", "192.168.7.7", "10.0.0.1:8700", "photos.example", "0.0.0.0"),
    ],
)
def test_rebound_names_are_refused(host):
    answer = ask(guard(), "GET", "/", host=host)
    assert answer.status == 421
    assert "--name" in answer.error


@pytest.mark.parametrize("host", [None, "", "a b", "127.0.0.1:8700/", "u@127.0.0.1", "[::1", ":80"])
def test_no_name_at_all(host):
    assert ask(guard(), "GET", "/", host=host).status == 400


def test_two_names_are_none():
    two = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert ask(guard(), "GET", "/", headers=two).status == 400
    assert ask(guard(), "GET", "/", headers=two[::-1]).status == 400


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("192.168.7.7:8700", 200),
        ("Photos.Example", 200),
        ("localhost", 200),
        ("192.168.7.8", 421),
        ("evil.example", 421),
    ],
)
def test_names_of_a_server_for_others(host, status):
    assert ask(guard(SHUT), "GET", "/", host=host, headers=bearer(KEY)).status == status


def test_every_address_is_reached_by_number_but_not_by_name():
    app = guard(Settings(host="0.0.0.0", key=KEY))
    assert ask(app, "GET", "/", host="10.1.2.3:8700", headers=bearer(KEY)).status == 200
    assert ask(app, "GET", "/", host="evil.example", headers=bearer(KEY)).status == 421


# --- keys ----------------------------------------------------------------------------------------

PATHS = [
    "/",
    "/api/things",
    "/api/pictures",
    "/boom",
    "/nowhere",
    "/static/page.js",
    "/static/../x",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", METHODS)
def test_every_route_by_every_role(method, path, caplog):
    caplog.set_level(logging.CRITICAL)
    app = guard(SHUT)

    def status(headers):
        return ask(app, method, path, host="photos.example", headers=headers).status

    for wrong in (
        {},
        bearer("x" * 24),
        bearer(KEY[:-1]),
        bearer(KEY + "k"),
        bearer(""),
        {"Authorization": KEY},
        {"Cookie": "lookalike"},
    ):
        assert status(wrong) == 401
    for wrong in (
        f"lookalike=write.99999999999.{'0' * 64}",
        "lookalike=write.0.",
        "a=b; lookalike",
    ):
        assert status({"Cookie": wrong}) == 401
    looking = method in {"GET", "HEAD"}
    assert (status(bearer(READ_KEY)) == 403) is not looking
    assert status(bearer(KEY)) not in {401, 403}
    by_cookie = entered(app, KEY)
    assert (status(by_cookie) == 403) is not looking
    assert (status(entered(app, READ_KEY)) == 403) is not looking


def test_guesses_of_keys_are_limited():
    """After twenty wrong keys in a minute no key of a client is looked at, right or wrong."""
    app = guard(SHUT)
    asked = {"host": "photos.example"}
    cookie = entered(app, KEY)
    for number in range(MAX_GUESSES - 1):
        assert ask(app, "GET", "/", headers=bearer(f"{number:024}"), **asked).status == 401
    assert ask(app, "POST", "/enter", body=[b"key=wrong"], **asked).status == 401
    for answer in (
        ask(app, "GET", "/", headers=bearer("x" * 24), **asked),
        ask(app, "GET", "/", headers=bearer(KEY), **asked),
        ask(app, "POST", "/enter", body=[b"key=" + KEY.encode()], **asked),
    ):
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) > 0
    # Who has signed in goes on.
    assert ask(app, "GET", "/", headers=cookie, **asked).status == 200


@pytest.mark.parametrize("path", ["/enter/", "/ENTER", "//enter", "/static/style.css/", "/static"])
def test_open_paths_are_open_by_their_exact_name(path):
    assert ask(guard(SHUT), "GET", path, host="photos.example").status == 401
    assert ask(guard(SHUT), "GET", "/static/style.css", host="photos.example").status == 200
    assert ask(guard(SHUT), "POST", "/static/style.css", host="photos.example").status == 403


def test_a_key_on_this_computer_is_asked_for_too():
    app = guard(Settings(key=KEY))
    assert ask(app, "GET", "/").status == 401
    assert ask(app, "POST", "/api/things", headers=CLIENT).status == 401
    assert ask(app, "POST", "/api/things", headers=bearer(KEY)).status == 200


def test_roles_are_told_to_the_application():
    app = guard(SHUT)
    for key, role in ((KEY, "write"), (READ_KEY, "read")):
        answer = ask(app, "GET", "/", host="photos.example", headers=bearer(key))
        assert json.loads(answer.body)["role"] == role
    assert json.loads(ask(guard(), "GET", "/").body)["role"] == "write"


def test_people_are_led_to_the_page_that_asks_for_the_key():
    app, people = guard(SHUT), {"Accept": "text/html,*/*"}
    asked = {"host": "photos.example", "headers": people}
    answer = ask(app, "GET", "/picture/1", query="like=2&like=3", **asked)
    assert answer.status == 303
    assert answer.headers["location"] == "/enter?next=%2Fpicture%2F1%3Flike%3D2%26like%3D3"
    form = ask(app, "GET", "/enter", query="next=%2Fpicture%2F1%3Flike%3D2%26like%3D3", **asked)
    assert form.status == 200
    assert 'value="/picture/1?like=2&amp;like=3"' in form.text
    assert ask(app, "GET", "/api/things", **asked).status == 401
    assert ask(app, "POST", "/", **asked).status == 401


def test_entering():
    app = guard(SHUT)
    asked = {"host": "photos.example", "headers": {"Origin": "null"}}
    wrong = ask(app, "POST", "/enter", body=[b"key=wrong&next=/x"], **asked)
    assert wrong.status == 401
    assert "set-cookie" not in wrong.headers
    assert 'value="/x"' in wrong.text
    right = ask(app, "POST", "/enter", body=[b"key=" + KEY.encode(), b"&next=/x"], **asked)
    assert (right.status, right.headers["location"]) == (303, "/x")
    cookie = right.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert KEY not in cookie
    assert ask(app, "DELETE", "/enter", **asked).status == 405
    assert ask(app, "POST", "/enter", body=[b"&".join([b"a=1"] * 99)], **asked).status == 401
    assert ask(app, "POST", "/enter", body=[b"k" * (SMALL_BODY + 1)], **asked).status == 413


@pytest.mark.parametrize(
    "next_page", ["//evil.example", "https://evil.example", "/\\evil.example", "/a%0d%0aX:%201"]
)
def test_entering_leads_nowhere_else(next_page):
    body = [f"key={KEY}&next={next_page}".encode()]
    answer = ask(guard(SHUT), "POST", "/enter", body=body, host="photos.example")
    assert answer.headers["location"] == "/"


def test_text_in_the_form_is_escaped():
    attack = "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    answer = ask(guard(SHUT), "GET", "/enter", query=f"next={attack}", host="photos.example")
    assert answer.status == 200
    assert "<script" not in answer.text
    assert "&lt;script" in answer.text


def test_nobody_enters_where_no_key_is_asked_for():
    answer = ask(guard(), "GET", "/enter")
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_cookies_end_with_their_time_and_with_the_key():
    cookie = entered(guard(SHUT), KEY)
    asked = {"host": "photos.example", "headers": cookie}
    assert ask(guard(SHUT), "GET", "/", **asked).status == 200
    changed = Settings(host="192.168.7.7", key="n" * 24, public_hosts=("photos.example",))
    assert ask(guard(changed), "GET", "/", **asked).status == 401
    name = cookie["Cookie"].partition("=")[2].partition(".")[0]
    read = re.sub("=[0-9a-f]+", f"={name}", entered(guard(SHUT), READ_KEY)["Cookie"], count=1)
    assert (
        ask(guard(SHUT), "GET", "/", host="photos.example", headers={"Cookie": read}).status == 401
    )
    for days, status in ((29, 200), (31, 401)):
        earlier = Keys(SHUT, clock=lambda days=days: time.time() - days * 24 * 3600)
        cookie = {"Cookie": earlier.cookie(earlier.find(KEY), secure=False).split(";")[0]}
        answer = ask(guard(SHUT), "GET", "/", host="photos.example", headers=cookie)
        assert answer.status == status


@pytest.mark.parametrize(
    "settings",
    [
        {"host": "0.0.0.0"},
        {"host": "::"},
        {"host": ""},
        {"host": "192.168.1.2"},
        {"host": "myhost.local"},
        {"host": "127.0.0.1.evil.example"},
        {"public_hosts": ("photos.example",)},
        {"read_key": READ_KEY},
        {"key": "short"},
        {"key": ""},
        {"host": "0.0.0.0", "key": ""},
        {"key": "ü" * 24},
        {"key": KEY, "read_key": KEY},
        {"key": KEY, "read_key": "short"},
        {"key": KEY, "public_hosts": ("http://photos.example",)},
        {"key": KEY, "public_hosts": ("photos.example:80",)},
        {"port": 70000},
    ],
)
def test_settings_that_are_not_safe(settings):
    with pytest.raises(InvalidInput, match=r"^serve: "):
        Settings(**settings)


def test_settings_show_no_key():
    assert KEY not in repr(SHUT)
    assert READ_KEY not in repr(SHUT)


# --- other sites ---------------------------------------------------------------------------------

CHANGES = ["POST", "PUT", "PATCH", "DELETE"]


@pytest.mark.parametrize("method", CHANGES)
def test_changes_need_the_token_or_a_header_of_our_own(method):
    app = guard()

    def status(**headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(app, method, "/api/things", headers=named).status

    assert ask(app, method, "/api/things", headers=PAGE).status == 200
    assert ask(app, method, "/api/things", headers=CLIENT).status == 200
    assert status() == 403
    assert status(X_Lookalike_Client="yes") == 403
    assert status(X_Lookalike_Token="wrong") == 403
    assert status(**{**PAGE, "X-Lookalike-Token": ""}) == 403
    assert status(Origin="http://127.0.0.1:8700", Sec_Fetch_Site="same-origin") == 403
    for origin in ("http://evil.example", "null", "http://127.0.0.1:3000", "127.0.0.1:8700", ""):
        assert status(**{**PAGE, "Origin": origin}) == 403
        assert status(**CLIENT, Origin=origin) == 403
    for site in ("cross-site", "same-site", "", "same-origin, cross-site"):
        assert status(**{**PAGE, "Sec-Fetch-Site": site}) == 403
        assert status(**CLIENT, Sec_Fetch_Site=site) == 403


def test_changes_by_cookie():
    app = guard(SHUT)
    cookie = entered(app, KEY)
    page = {**cookie, "Origin": "http://photos.example", "X-Lookalike-Token": TOKEN}

    def status(headers):
        return ask(app, "POST", "/api/things", host="photos.example", headers=headers).status

    assert status(page) == 200
    assert status({**page, "Origin": "https://photos.example"}) == 200  # behind a proxy
    assert status({**cookie, **CLIENT}) == 403
    assert status({**cookie, **CLIENT, "Origin": "http://photos.example"}) == 403
    assert status({**cookie, "X-Lookalike-Token": TOKEN}) == 403
    assert status({**page, "Origin": "http://evil.example"}) == 403
    assert status({**page, "X-Lookalike-Token": "wrong"}) == 403
    assert status({**bearer(KEY), "Origin": "http://evil.example"}) == 403
    assert status(bearer(KEY)) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_may_link_here_and_no_more(site):
    def status(path, **metadata):
        headers = {f"Sec-Fetch-{name}": value for name, value in metadata.items()}
        return ask(guard(), "GET", path, headers=headers).status

    assert status("/", Site=site, Mode="navigate", Dest="document") == 200
    assert status("/", Site=site, Mode="navigate", Dest="iframe") == 403
    assert status("/", Site=site, Mode="no-cors", Dest="image") == 403
    assert status("/api/things", Site=site, Mode="cors", Dest="empty") == 403
    assert status("/api/things", Site="same-origin", Mode="cors", Dest="empty") == 200


def test_a_preflight_is_never_answered():
    asked = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-lookalike-client",
    }
    answer = ask(guard(), "OPTIONS", "/api/things", headers=asked)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_websockets_are_closed():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(guard()({"type": "websocket", "path": "/"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


# --- bodies --------------------------------------------------------------------------------------

SMALL = Settings(max_upload_bytes=4 * SMALL_BODY, max_uploads_at_once=2)


def post(path, body, settings=SMALL, **options):
    headers = {**CLIENT, **options.pop("headers", {})}
    return ask(guard(settings), "POST", path, body=body, headers=headers, **options)


def test_said_length_is_enough_to_be_refused():
    read = []

    class Unread(list):
        def pop(self, *_):
            read.append(1)
            return super().pop(0)

    answer = post("/api/things", Unread([b"x"]), headers={"Content-Length": str(SMALL_BODY + 1)})
    assert answer.status == 413
    assert f"{SMALL_BODY:,}" in answer.error
    assert read == []


@pytest.mark.parametrize("length", ["-1", "x", "1e9", "9" * 5000, "１"])
def test_lengths_that_are_none(length):
    raw = {**CLIENT, "Host": "127.0.0.1", "Content-Length": length}
    pairs = [(name, value.encode().decode("latin-1")) for name, value in raw.items()]
    assert ask(guard(), "POST", "/api/things", headers=pairs).status in {400, 413}


@pytest.mark.parametrize("path", ["/api/things", "/swallow", "/"])
def test_more_than_was_said_is_refused_while_it_streams(path):
    parts = [b"x" * 100_000] * 400
    answer = post(path, parts, headers={"Content-Length": "10"})
    if path == "/":
        assert answer.status == 405  # it never reads the body
    else:
        assert answer.status == 413
        assert "larger than" in answer.error


def test_pictures_may_be_larger_but_not_too_large():
    part = b"x" * (SMALL_BODY // 2)
    for path in ("/api/pictures", "/api/queries"):
        assert json.loads(post(path, [part] * 8).body)["bytes"] == 4 * SMALL_BODY
        assert post(path, [part] * 9).status == 413
    assert post("/api/things", [part] * 3).status == 413
    assert json.loads(post("/api/things", [part] * 2).body)["bytes"] == SMALL_BODY


def test_a_body_that_dawdles_is_given_up():
    hasty = replace(SMALL, slow_seconds=0.3)
    answer = post("/api/queries", [b"x"] * 100_000, hasty, pause=0.05)  # more than an hour
    assert answer.status == 408
    assert "too slowly" in answer.error
    assert answer.headers["connection"] == "close"


def test_a_large_body_has_its_time():
    quick = Settings(max_upload_bytes=64 << 20, slow_seconds=1.0)
    answer = post("/api/queries", [b"x" * (2 << 20)] * 8, quick, pause=0.2)
    assert answer.status == 200


def test_only_so_many_uploads_at_once():
    app = guard(Settings(max_uploads_at_once=2))

    async def all_at_once():
        slow = {"body": [b"x"] * 5, "pause": 0.05, "headers": CLIENT}
        uploads = [ask_now(app, "POST", "/api/queries", **slow) for _ in range(5)]
        others = [ask_now(app, "GET", "/"), ask_now(app, "POST", "/api/things", headers=CLIENT)]
        first = await asyncio.gather(*uploads, *others)
        again = await ask_now(app, "POST", "/api/pictures", headers=CLIENT)
        return first[:5], first[5:], again

    uploads, others, again = asyncio.run(all_at_once())
    assert sorted(one.status for one in uploads) == [200, 200, 503, 503, 503]
    refused = next(one for one in uploads if one.status == 503)
    assert int(refused.headers["retry-after"]) > 0
    assert [one.status for one in others] == [200, 200]
    assert again.status == 200


def test_refused_uploads_leave_no_trace_in_the_count():
    app = guard(Settings(max_uploads_at_once=1, max_upload_bytes=10))
    for _ in range(3):
        assert ask(app, "POST", "/api/queries", body=[b"x" * 20], headers=CLIENT).status == 413
    assert ask(app, "POST", "/api/queries", body=[b"x"], headers=CLIENT).status == 200


# --- how answers leave ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "headers", "host"),
    [
        ("GET", "/", {}, "127.0.0.1"),
        ("HEAD", "/", {}, "127.0.0.1"),
        ("GET", "/api/things", {}, "127.0.0.1"),
        ("GET", "/nowhere", {}, "127.0.0.1"),
        ("GET", "/boom", {}, "127.0.0.1"),
        ("POST", "/api/things", {}, "127.0.0.1"),
        ("POST", "/api/things", CLIENT, "127.0.0.1"),
        ("GET", "/", {}, "evil.example"),
        ("GET", "/enter", {}, "127.0.0.1"),
    ],
)
def test_every_answer_has_the_headers_that_keep_browsers_safe(method, path, headers, host, caplog):
    caplog.set_level(logging.CRITICAL)
    answer = ask(guard(), method, path, headers=headers, host=host)
    expected = {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
    }
    assert expected.items() <= answer.headers.items()
    assert "cache-control" in answer.headers
    assert len(answer.raw) == len(answer.headers)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_policy_lets_nothing_in_from_outside():
    assert "default-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unexpected_errors_tell_nothing_and_are_logged(accept, method, caplog):
    answer = ask(guard(), method, "/boom", headers={"Accept": accept, **CLIENT})
    assert answer.status == 500
    assert "Internal error" in answer.text
    for secret in ("secret", "RuntimeError", "Traceback", "somebody", ".py"):
        assert secret not in answer.text
    assert answer.headers["content-type"].startswith(
        "text/html" if accept == "text/html" else "application/json"
    )
    assert "somebody" in caplog.text


def test_a_refusal_as_a_page_escapes_what_it_repeats():
    answer = ask(guard(), "GET", "/", headers={"Accept": "text/html"}, host="a_b")
    assert answer.status == 421
    assert answer.text.startswith("<!doctype html>")
    from lookalike.service.web.pages.errors import refuse

    scope = {"path": "/x", "headers": [(b"accept", b"text/html")]}
    told = refuse(scope, 404, "<img src=x onerror=alert(1)> \udce9").body.decode()
    assert "<img" not in told
    assert "&lt;img src=x" in told
    scope["path"] = "/api/x"
    assert json.loads(refuse(scope, 404, "caf\udce9").body) == {"error": "caf?"}


def test_the_page_asks_for_nothing_inline():
    form = ask(guard(SHUT), "GET", "/enter", host="photos.example").text
    assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+=", form)


def test_head_has_no_body_even_of_a_stream():
    answer = ask(guard(), "HEAD", "/")
    assert (answer.status, answer.body, answer.complete) == (200, b"", True)
    assert int(answer.headers["content-length"]) > 0

    async def stream():
        closing = Closing()
        app = guard(OPEN, closing)
        asking = asyncio.ensure_future(ask_now(app, "HEAD", "/drip"))
        await asyncio.sleep(0.1)
        closing.begin()
        return await asyncio.wait_for(asking, 300)

    answer = asyncio.run(stream())
    assert (answer.body, answer.complete) == (b"", True)


def test_streams_end_when_the_server_closes():
    async def follow():
        closing = Closing()
        asking = [
            asyncio.ensure_future(ask_now(guard(OPEN, closing), "GET", "/drip")) for _ in range(3)
        ]
        await asyncio.sleep(0.1)
        assert not any(one.done() for one in asking)
        closing.begin()
        late = asyncio.ensure_future(ask_now(guard(OPEN, closing), "GET", "/drip"))
        return await asyncio.wait_for(asyncio.gather(*asking, late), 300)

    for answer in asyncio.run(follow()):
        assert answer.status == 200
        assert answer.complete
