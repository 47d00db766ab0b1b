"""Guard the page and the API: who may send requests, from where, how much; secure responses."""

import hmac
import ipaddress
import logging
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lookalike.collection import OWNER
from lookalike.service.web.pages.errors import UNEXPECTED, Refusal, refuse, wants_page
from lookalike.service.web.security.accounts import is_of
from lookalike.service.web.security.audit import AUDIT, is_enabled
from lookalike.service.web.security.bodies import Body, Closing
from lookalike.service.web.security.keys import Keys, Visitor, enter_page, local
from lookalike.service.web.security.users import Rates, client_of
from lookalike.service.web.settings import Settings, is_loopback

SMALL_BODY = 1 << 20
"""Largest body in bytes of a request that does not upload a picture."""
PART = 1 << 16
"""Bytes of an answer that are sent at once."""
UPLOADS = {("POST", "/api/pictures"), ("POST", "/api/queries")}
"""Requests whose body is a picture."""

POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; script-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
SECURITY = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OPEN = {"/enter", "/static/style.css"}  # exact paths that need no key, to sign in
_SAFE = {"GET", "HEAD"}
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")

MAX_GUESSES = 20
"""Wrong keys that a client may send in a minute; then its keys are not looked at for a while."""

QUERIES = frozenset({"/api/queries", "/api/queries/region"})
"""Where a picture to search with is sent; a read-only collection keeps it in memory."""

VOTING = QUERIES | {
    *(
        "/api/votes",
        "/api/tags",
        "/api/selection/examples",
        "/part/votes",
        "/part/tags",
        "/part/judge",
    )
}
"""The changes that a key for voting allows: to vote, to tag, and what searches need for it."""

_log = logging.getLogger(__name__)


class Guard:
    """An ASGI application around another, which receives only valid requests.

    The checks, in order: the host name used (against DNS rebinding), the site the request comes
    from, the key, what the key allows, the token of forms (against cross-site requests), the
    size and speed of the body. No response has a CORS header, so pages of other sites can
    neither read responses nor send custom headers. Unexpected errors are logged and reported
    without details.

    The request's ``state.role`` is then ``"write"``, ``"vote"`` or ``"read"``, and its
    ``state.person`` whose key it is.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    token : str
        Our pages send it in the header ``X-Lookalike-Token`` with changes.
    closing : Closing, optional
        Ends streams when the server stops.
    keys : Path, optional
        The file with the keys of people.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        token: str,
        closing: Closing | None = None,
        keys: Path | None = None,
    ) -> None:
        self.app = app
        self._settings, self._token = settings, token.encode()
        self._closing = closing or Closing()
        self._keys = Keys(settings, keys)
        self._guesses = Rates(MAX_GUESSES)
        self._uploads = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        upload = (scope["method"], scope["path"]) in UPLOADS
        limit = self._settings.max_upload_bytes if upload else SMALL_BODY
        body = Body(receive, limit, self._settings.slow_seconds, self._closing)
        answer = _Answer(send, body, bare=scope["method"] == "HEAD")
        refused: Refusal | None = None
        try:
            await self._admit(scope, body, answer, upload)
        except Refusal as refusal:
            refused = refusal
        except ClientDisconnect:
            return
        except Exception:
            if body.refusal is None:
                _log.exception("%s %s failed", scope["method"], scope["path"])
                refused = Refusal(500, UNEXPECTED)
        await answer.finish(scope, body.refusal or refused, closing=self._closing.begun)
        if scope["method"] not in _SAFE:
            self._note(scope, answer.status)

    def _note(self, scope: Scope, status: int) -> None:
        """Write a line about a change: what was asked for, what came of it, who, from where."""
        result = self._keys.visitor(_headers(scope))
        who = "" if result is None else result.person
        address = scope["client"][0] if scope.get("client") else ""
        role = "nobody" if result is None else f"{result.role} by {result.way}"
        parts = (scope["method"], scope["path"][:300], status, role, who, address)
        AUDIT.info("%s %r %s, %s, %r from %s", *parts)

    async def _admit(self, scope: Scope, body: Body, answer: "_Answer", upload: bool) -> None:
        headers = _headers(scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            raise Refusal(
                400,
                "The request has both Content-Length and Transfer-Encoding. Send only one.",
                {"Connection": "close"},
            )
        host = self._check_host(scope, headers)
        _check_site(scope, headers)
        if scope["path"] == "/enter":
            entered = await self._enter(scope, body, headers)
            await entered(scope, body.receive, answer.send)
            return
        if "authorization" in headers:
            self._check_guesses(scope)
        visitor = self._keys.visitor(headers)
        if visitor is None and "authorization" in headers:
            self._guesses.wait(_client(scope), 1)
        if visitor is None and scope["path"] not in _OPEN:
            raise _stranger(scope)
        if visitor is not None and visitor.way == "open":
            self._check_account(scope)
        role = "read" if visitor is None or self._settings.read_only else visitor.role
        if scope["method"] not in _SAFE:
            self._check_change(scope["path"], headers, host, visitor)
            if not is_enabled():
                raise Refusal(
                    503,
                    "Nothing was changed: the file that notes every change cannot be written. "
                    "Free some space where the server runs, then try again.",
                )
        body.expect(headers.get("content-length"))
        # The server relies on the method in its own scope, so ours is a copy.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        person = OWNER if visitor is None else visitor.person
        scope["state"] = {**scope.get("state", {}), "role": role, "person": person}
        inner = {**scope, "method": method}
        if not upload:
            await self.app(inner, body.receive, answer.send)
            return
        if self._uploads >= self._settings.max_uploads_at_once:
            raise Refusal(
                503,
                f"{self._uploads} uploads are already running. Try again in a moment.",
                {"Retry-After": "2"},
            )
        self._uploads += 1
        try:
            await self.app(inner, body.receive, answer.send)
        finally:
            self._uploads -= 1

    def _check_account(self, scope: Scope) -> None:
        """Refuse other accounts of this computer, where no key is asked for."""
        account = self._settings.account
        if account is None:
            return
        is_own = scope.get("state", {}).get("is_own")
        if is_own is None:
            is_own = is_of(account, scope["client"][:2], scope["server"][:2])
        if not is_own:
            raise Refusal(
                403,
                "Another account of this computer started this server, without a key. Have it "
                "started with --key-file, and use that key.",
            )

    def _check_guesses(self, scope: Scope) -> None:
        """Refuse a client that has sent many wrong keys, whether this one is right or not."""
        if wait := self._guesses.wait(_client(scope)):
            raise Refusal(
                429,
                f"Too many wrong keys: one client may send {MAX_GUESSES} a minute. Try again in a "
                f"moment.",
                {"Retry-After": str(wait)},
            )

    def _check_host(self, scope: Scope, headers: MutableMapping[str, str]) -> str:
        """Refuse host names that an attacker's DNS could point here."""
        host = headers.get("host", "").lower()
        pattern = _HOST.fullmatch(host)
        if pattern is None:
            raise Refusal(400, "The request must have one Host header, with a name or an address.")
        name = pattern[1]
        is_known = name in _LOCAL or name in {one.lower() for one in self._settings.public_hosts}
        if not is_known and not self._is_own_address(name):
            raise Refusal(
                421,
                f"This server does not accept the host name {name:.80}. Use the address that it "
                f"printed, or start it with --name {name:.80}.",
            )
        return host

    def _is_own_address(self, name: str) -> bool:
        """Return whether a name is the IP address we listen on, which no DNS can forge."""
        ours = self._settings.host
        if is_loopback(ours):
            return False
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name == ours.lower()
        try:
            listening = ipaddress.ip_address(ours or "0.0.0.0")  # noqa: S104
        except ValueError:
            return True
        return listening.is_unspecified or address == listening

    def _check_change(
        self, path: str, headers: MutableMapping[str, str], host: str, visitor: Visitor | None
    ) -> None:
        """Refuse a change that the key does not allow or that another site may have sent."""
        passing = self._settings.read_only and path in QUERIES
        if self._settings.read_only and not passing:
            raise Refusal(403, "This collection is served read-only: nothing can be changed.")
        if visitor is None or (visitor.role == "read" and not passing):
            raise Refusal(403, "This key is read-only. Use the other key to make changes.")
        if visitor.role == "vote" and path not in VOTING:
            raise Refusal(403, "This key may only search, vote and tag. Use the full key.")
        if "origin" in headers and headers["origin"].lower().partition("://")[2] != host:
            raise Refusal(403, "The request comes from another site.")
        if visitor.way == "key":
            return
        if visitor.way == "open" and headers.get("x-lookalike-client") == "1":
            return
        given = headers.get("x-lookalike-token")
        if given is None:
            remedy = "the key" if visitor.way == "cookie" else "the header X-Lookalike-Client: 1"
            raise Refusal(
                403, f"A request that makes changes needs {remedy}, or the token of a page."
            )
        if not hmac.compare_digest(given.encode(), self._token):
            raise Refusal(
                403,
                "The server was restarted after this page loaded. Reload the page and try again.",
            )
        if visitor.way == "cookie" and not {"origin", "sec-fetch-site"} & headers.keys():
            raise Refusal(403, "The request does not state which page it comes from.")

    async def _enter(self, scope: Scope, body: Body, headers: MutableMapping[str, str]) -> Response:
        """Show the sign-in page, or check the key and set a cookie."""
        if self._keys.visitor({}) is not None:
            return RedirectResponse("/", 303)
        if scope["method"] in _SAFE:
            query = scope["query_string"].decode("latin-1")
            onward = local(_fields(query).get("next", "/"))
            return HTMLResponse(enter_page("This collection is protected by a key.", onward))
        if scope["method"] != "POST":
            raise Refusal(405, "Use GET or POST.", {"Allow": "GET, HEAD, POST"})
        body.expect(headers.get("content-length"))
        sent = b""
        while True:
            message = await body.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            sent += message.get("body", b"")
            if not message.get("more_body", False):
                break
        self._check_guesses(scope)
        form = _fields(sent.decode("latin-1"))
        onward, key = local(form.get("next", "/")), self._keys.find(form.get("key", ""))
        if key is None:
            self._guesses.wait(_client(scope), 1)
            return HTMLResponse(enter_page("Wrong key.", onward), 401)
        cookie = self._keys.cookie(key, secure=scope.get("scheme") == "https")
        return RedirectResponse(onward, 303, {"Set-Cookie": cookie})


class _Answer:
    """Sends a response with security headers, or replaces it by a refusal."""

    def __init__(self, send: Send, body: Body, *, bare: bool) -> None:
        self._send, self._body, self._bare = send, body, bare
        self._started = self._complete = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass on a message of the application."""
        if self._complete or (self._body.refusal is not None and not self._started):
            return
        if message["type"] == "http.response.start":
            self._started, self.status = True, message["status"]
            await self._send({**message, "headers": _secured(message.get("headers", []))})
            if self._bare:
                await self._end()
        elif message["type"] == "http.response.body":
            more = bool(message.get("more_body", False))
            self._complete = not more
            # In parts, so that little waits in a connection whose client does not read.
            body = message.get("body", b"")
            for start in range(0, max(len(body), 1), PART):
                end = start + PART
                last = end >= len(body)
                await self._send(
                    {
                        "type": "http.response.body",
                        "body": body[start:end],
                        "more_body": more or not last,
                    }
                )

    async def finish(self, scope: Scope, refused: Refusal | None, *, closing: bool) -> None:
        """Send the refusal if there is one, or end a response that was left open."""
        if refused is not None and not self._started:
            self._body.refusal = None
            response = refuse(scope, refused.status, refused.message, refused.headers)
            await response(scope, self._body.receive, self.send)
        elif closing and self._started and not self._complete:
            await self._end()

    async def _end(self) -> None:
        self._complete = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _secured(headers: Any) -> list[tuple[bytes, bytes]]:
    ours = {name for name, _ in SECURITY}
    kept = [(name, value) for name, value in headers if name.lower() not in ours]
    if not any(name.lower() == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"private, no-cache"))
    return [*kept, *SECURITY]


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; repeated ones are joined, and so match nothing."""
    result: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        result[key] = f"{result[key]}, {text}" if key in result else text
    return result


def _client(scope: Scope) -> str:
    return client_of(scope["client"][0] if scope.get("client") else "")


def _check_site(scope: Scope, headers: MutableMapping[str, str]) -> None:
    """Refuse requests from pages of other sites, except links to our pages."""
    if headers.get("sec-fetch-site", "none") in {"same-origin", "none"}:
        return
    link = headers.get("sec-fetch-mode") == "navigate"
    whole = headers.get("sec-fetch-dest") == "document"
    if not (scope["method"] in _SAFE and link and whole):
        raise Refusal(403, "The request comes from another site.")


def _stranger(scope: Scope) -> Refusal:
    if scope["method"] in _SAFE and wants_page(scope):
        query = scope["query_string"].decode("latin-1")
        here = quote(scope["path"]) + (f"?{query}" if query else "")
        return Refusal(303, "Sign in first.", {"Location": f"/enter?next={quote(here, safe='')}"})
    return Refusal(
        401,
        "A key is needed: send it as the header Authorization: Bearer KEY.",
        {"WWW-Authenticate": "Bearer"},
    )


def _fields(encoded: str) -> dict[str, str]:
    try:
        return {name: values[-1] for name, values in parse_qs(encoded, max_num_fields=8).items()}
    except ValueError:
        return {}
