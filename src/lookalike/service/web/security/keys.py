"""Keys and the cookies that stand for them: who sends a request, and what they may do."""

import hmac
import time
from collections.abc import Callable, Mapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Literal, NamedTuple, TypeAlias

from lookalike.service.web.pages.errors import page
from lookalike.service.web.settings import Settings

Role: TypeAlias = Literal["read", "vote", "write"]

COOKIE = "lookalike"
STAY = 30 * 24 * 3600
"""Seconds until a browser has to sign in again."""

_FORM = """<form method="post" action="/enter" class="enter">
<p>{message}</p>
<input type="hidden" name="next" value="{next}">
<p><label>Key <input type="password" name="key" required autofocus
autocomplete="current-password"></label> <button>Sign in</button></p>
</form>"""


class Visitor(NamedTuple):
    """What a client may do, and why: by key, by cookie, or because no key is required."""

    role: Role
    way: Literal["key", "cookie", "open"]


class Keys:
    """The keys of a server, compared in constant time."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        given: dict[Role, str | None] = {
            "write": settings.key,
            "vote": settings.vote_key,
            "read": settings.read_key,
        }
        self._keys: dict[Role, bytes] = {
            role: key.encode() for role, key in given.items() if key is not None
        }

    def visitor(self, headers: Mapping[str, str]) -> Visitor | None:
        """Return who sent these headers; None if unknown."""
        if not self._keys:
            return Visitor("write", "open")
        if "authorization" in headers:
            scheme, _, key = headers["authorization"].partition(" ")
            role = self.role_of(key.strip()) if scheme.lower() == "bearer" else None
            return None if role is None else Visitor(role, "key")
        role = self._remembered(headers.get("cookie", ""))
        return None if role is None else Visitor(role, "cookie")

    def role_of(self, key: str) -> Role | None:
        """Return what a key allows; None for a wrong key."""
        given = key.encode("utf-8", "replace")
        fits = [role for role, known in self._keys.items() if hmac.compare_digest(known, given)]
        return fits[0] if fits else None

    def cookie(self, role: Role, *, secure: bool) -> str:
        """Return a cookie that identifies a browser without containing the key."""
        until = int(self._clock()) + STAY
        value = f"{role}.{until}.{self._signature(role, until)}"
        rest = f"Path=/; Max-Age={STAY}; HttpOnly; SameSite=Lax"
        return f"{COOKIE}={value}; {rest}{'; Secure' if secure else ''}"

    def _remembered(self, cookies: str) -> Role | None:
        try:
            value = SimpleCookie(cookies)[COOKIE].value
            name, date, signature = value.split(".")
            until = int(date)
        except (CookieError, KeyError, ValueError):
            return None
        for role in self._keys:
            if role == name and until > self._clock():
                known = self._signature(role, until).encode()
                return role if hmac.compare_digest(known, signature.encode()) else None
        return None

    def _signature(self, role: Role, until: int) -> str:
        return hmac.digest(self._keys[role], f"{role} until {until}".encode(), "sha256").hex()


def enter_page(message: str, onward: str) -> str:
    """Return the page that asks for the key."""
    return page("lookalike", _FORM.format(message=escape(message), next=escape(onward)))


def local(path: str) -> str:
    r"""Return the path if it is on this server, or else the start page.

    Examples
    --------
    >>> local("/picture/1?a=b"), local("//evil.example"), local("/\\evil.example")
    ('/picture/1?a=b', '/', '/')
    """
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if safe and path.isascii() else "/"
