"""What a server is told before it starts: where it listens, who may use it, what it may cost."""

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from lookalike.core.errors import InvalidInput
from lookalike.images import Limits

LEAST_KEY = 16
"""Characters of a key at least: there is no limit on guesses, so guessing must be hopeless."""

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")


def is_loopback(host: str) -> bool:
    """Say whether only this computer can reach an address; what is not plainly so is not.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Settings:
    """How a collection is served.

    Parameters
    ----------
    host : str
        The address to listen at. Any but this computer's own needs a key.
    port : int
        0 is any that is free.
    key : str, optional
        What a client has to know for everything. Once there is one it is always asked for.
    read_key : str, optional
        What a client has to know for looking only.
    allow : tuple of Path
        Folders, besides those the collection was made from, that may be imported from and whose
        pictures may be shown.
    max_upload_bytes : int
        The largest picture that may be sent.
    limits : Limits
        What a picture may cost, sent or in a file.
    max_uploads_at_once : int
    watch : bool
        Whether folders are watched for new, changed and deleted files.
    public_hosts : tuple of str
        Names by which the server is reached, besides those of this computer.
    slow_seconds : float
        How long the body of a request may dawdle.
    decode_seconds : float
        How long decoding one picture may take.
    decode_memory : int
        Bytes that decoding may take.

    Examples
    --------
    >>> Settings(port=-1)
    Traceback (most recent call last):
    lookalike.core.errors.InvalidInput: serve: port must be from 0 to 65535; got -1.
    """

    host: str = "127.0.0.1"
    port: int = 8700
    key: str | None = field(default=None, repr=False)
    read_key: str | None = field(default=None, repr=False)
    allow: tuple[Path, ...] = ()
    max_upload_bytes: int = 64 << 20
    limits: Limits = field(default_factory=Limits)
    max_uploads_at_once: int = 4
    watch: bool = False
    public_hosts: tuple[str, ...] = ()
    slow_seconds: float = 20.0
    decode_seconds: float = 20.0
    decode_memory: int = 2 << 30

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InvalidInput(f"serve: port must be from 0 to 65535; got {self.port}.")
        for name in self.public_hosts:
            if not _NAME.fullmatch(name.lower()):
                raise InvalidInput(
                    f"serve: a name is that of a computer, without port or path; got {name!r:.80}."
                )
        for key in (self.key, self.read_key):
            if key is not None and (len(key) < LEAST_KEY or not key.isascii() or " " in key):
                raise InvalidInput(
                    f"serve: a key must have at least {LEAST_KEY} characters, of ASCII and without "
                    f"spaces; got {len(key)}. Make one with: openssl rand -hex 24"
                )
        if self.key is None:
            self._check_open()
        elif self.key == self.read_key:
            raise InvalidInput("serve: the read key must not be the key itself.")

    def _check_open(self) -> None:
        where = next((name for name in self.public_hosts if not is_loopback(name)), self.host)
        if not is_loopback(where):
            raise InvalidInput(
                f"serve: others could reach {where or 'every address'}, so a key is needed. Give "
                f"one with --key-file FILE or LOOKALIKE_KEY, or listen at 127.0.0.1."
            )
        if self.read_key is not None:
            raise InvalidInput(
                "serve: a read key without a key would let nobody write. Give both, or none."
            )

    @property
    def upload_limits(self) -> Limits:
        """What a picture that is sent may cost."""
        most = min(self.max_upload_bytes, self.limits.max_bytes)
        return Limits(most, self.limits.max_pixels)
