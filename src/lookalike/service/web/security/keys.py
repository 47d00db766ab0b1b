"""Keys and the cookies that stand for them: who sends a request, and what they may do."""

import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from lookalike.collection import OWNER
from lookalike.core.arrays import write_whole
from lookalike.core.errors import DamagedFile, InvalidInput, NotFound
from lookalike.core.text import first_control, shown
from lookalike.service.web.pages.errors import page
from lookalike.service.web.security.users import MAX_NAME
from lookalike.service.web.settings import Settings

Role: TypeAlias = Literal["read", "vote", "write"]

GUEST = "guest"
"""Who has the voting key that a server was started with."""

KEY_FILE = "keys.json"
"""The file in the folder of a collection with the keys of people."""

COOKIE = "lookalike"
STAY = 30 * 24 * 3600
"""Seconds until a browser has to sign in again."""

_log = logging.getLogger(__name__)

_FORM = """<form method="post" action="/enter" class="enter">
<p>{message}</p>
<input type="hidden" name="next" value="{next}">
<p><label>Key <input type="password" name="key" required autofocus
autocomplete="current-password"></label> <button>Sign in</button></p>
</form>"""


class Visitor(NamedTuple):
    """What a client may do, why (by key, by cookie, or because none is required), and who it is."""

    role: Role
    way: Literal["key", "cookie", "open"]
    person: str


class Key(NamedTuple):
    """A key: its SHA-256, what it allows, and whose it is."""

    digest: bytes
    role: Role
    person: str

    @property
    def name(self) -> str:
        """What a cookie names it by."""
        return self.digest[:8].hex()


class Keys:
    """The keys of a server, compared in constant time.

    Those of the settings are the owner's, and that to vote is a guest's; readers see what everybody
    does. Those in ``file``, made for people by name, are read again whenever it changes.
    """

    def __init__(
        self,
        settings: Settings,
        file: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        given: list[tuple[str | None, Role, str]] = [
            (settings.key, "write", OWNER),
            (settings.vote_key, "vote", GUEST),
            (settings.read_key, "read", OWNER),
        ]
        self._fixed = [Key(_digest(key), role, who) for key, role, who in given if key is not None]
        self._file = file

    def visitor(self, headers: Mapping[str, str]) -> Visitor | None:
        """Return who sent these headers; None if unknown."""
        if "authorization" in headers:
            scheme, _, given = headers["authorization"].partition(" ")
            key = self.find(given.strip()) if scheme.lower() == "bearer" else None
            return None if key is None else Visitor(key.role, "key", key.person)
        if not self._fixed:
            return Visitor("write", "open", OWNER)
        key = self._remembered(headers.get("cookie", ""))
        return None if key is None else Visitor(key.role, "cookie", key.person)

    def find(self, given: str) -> Key | None:
        """Return the key that was given; None for a wrong one."""
        digest = _digest(given)
        fits = [key for key in self._all() if hmac.compare_digest(key.digest, digest)]
        return fits[0] if fits else None

    def cookie(self, key: Key, *, secure: bool) -> str:
        """Return a cookie that identifies a browser without containing the key."""
        until = int(self._clock()) + STAY
        value = f"{key.name}.{until}.{_signature(key, until)}"
        rest = f"Path=/; Max-Age={STAY}; HttpOnly; SameSite=Lax"
        return f"{COOKIE}={value}; {rest}{'; Secure' if secure else ''}"

    def _remembered(self, cookies: str) -> Key | None:
        try:
            value = SimpleCookie(cookies)[COOKIE].value
            name, date, signature = value.split(".")
            until = int(date)
        except (CookieError, KeyError, ValueError):
            return None
        for key in self._all():
            if key.name == name and until > self._clock():
                known = _signature(key, until).encode()
                return key if hmac.compare_digest(known, signature.encode()) else None
        return None

    def _all(self) -> list[Key]:
        try:
            return self._fixed if self._file is None else [*self._fixed, *made_keys(self._file)]
        except DamagedFile as error:
            _log.warning("%s", error)
            return self._fixed


def made_keys(file: Path) -> list[Key]:
    """Return the keys that were made for people, or raise DamagedFile."""
    try:
        rows = json.loads(file.read_bytes())
        return [Key(bytes.fromhex(one), role, person) for one, role, person in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFile(
            f"{file} cannot be read, so the keys of people are not accepted: {error}. Delete it, "
            f"and make new keys (lookalike people key NAME)."
        ) from error


def make_key(file: Path, person: str, role: Role) -> str:
    """Make a key for a person, who may have several, and return it; only its digest is stored."""
    key = secrets.token_hex(24)
    _store(file, [*made_keys(file), Key(_digest(key), role, _name(person))])
    return key


def revoke_keys(file: Path, person: str) -> int:
    """Revoke the keys of a person from the next request on, and return how many."""
    own = _keys_of(file, person)
    _store(file, [key for key in made_keys(file) if key not in own])
    return len(own)


def rename_keys(file: Path, person: str, name: str) -> None:
    """Give the keys of a person to another name: what was said stays with the name it had."""
    own, new = _keys_of(file, person), _name(name)
    _store(file, [key._replace(person=new) if key in own else key for key in made_keys(file)])


def _keys_of(file: Path, person: str) -> list[Key]:
    """Return the keys of a person, or raise NotFound."""
    own = [key for key in made_keys(file) if key.person == person]
    if not own:
        raise NotFound(f"people: {shown(person)} has no key; make one: lookalike people key NAME.")
    return own


def _name(person: str) -> str:
    """Return a name that a person can have a key under, or raise InvalidInput."""
    if not 0 < len(person) <= MAX_NAME or first_control(person) is not None or person == GUEST:
        raise InvalidInput(
            f"people: a name has 1 to {MAX_NAME} characters, without control characters, and is "
            f"not {GUEST}, whose key serve --vote-key names; got {person!r:.80}."
        )
    return person


def _store(file: Path, keys: Iterable[Key]) -> None:
    rows = [[key.digest.hex(), key.role, key.person] for key in keys]
    write_whole(file, json.dumps(rows, ensure_ascii=False, indent=1).encode())
    file.chmod(0o600)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


def _signature(key: Key, until: int) -> str:
    return hmac.digest(key.digest, f"{key.role} until {until}".encode(), "sha256").hex()


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
