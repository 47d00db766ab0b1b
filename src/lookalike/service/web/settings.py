"""Settings of a server: where it listens, who may use it, and its limits."""

import ipaddress
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from lookalike.core.errors import InvalidInput
from lookalike.images import Limits

MIN_KEY = 16
"""Minimum length of a key: there may be many clients, so guessing must be hopeless."""

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach an address; False in case of doubt.

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
class Pace:
    """When watched folders are looked at, in seconds.

    Parameters
    ----------
    quiet, longest : float
        How long without a change before changes are processed, and how long they wait at most: a
        file that is still being written would be refused, and read again at its next change.
    look : float
        Between checks for quiet, and for new or missing roots.
    again : float
        Before folders that could not be watched, or changes whose job failed, are tried again.
    poll : float
        Between looks at folders among which one has a name that is not UTF-8: the system reports
        each time such a folder is opened, which the watcher cannot read.
    """

    quiet: float = 1.0
    longest: float = 10.0
    look: float = 0.5
    again: float = 60.0
    poll: float = 5.0


@dataclass(frozen=True, slots=True)
class JobLimits:
    """How much jobs do at once, and how many there may be.

    Parameters
    ----------
    kept, waiting : int
        How many jobs are kept, and how many may wait.
    first_slice, largest_slice : int
        Files imported at once, at first and at most.
    refusals : int
        How many refused files a job lists.
    missing : int
        Where the files of more pictures than this are missing, and of more than half of all, the
        server reports it: a drive may not be connected.
    """

    kept: int = 50
    waiting: int = 20
    first_slice: int = 64
    largest_slice: int = 512
    refusals: int = 100
    missing: int = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """How a collection is served.

    Parameters
    ----------
    host : str
        The address to listen on. Any but this computer's own needs a key.
    port : int
        0 picks a free one.
    key : str, optional
        Key for full access. If there is one, every request needs a key.
    read_key : str, optional
        Key for read-only access.
    vote_key : str, optional
        Key that may also vote and tag, and no more.
    account : int, optional
        The account of this computer that may use a server without a key; by default all may.
    allow : tuple of Path
        Folders, besides those indexed, that may be imported and whose pictures may be shown.
    max_upload_bytes : int
        Largest upload.
    limits : Limits
        Limits for a picture, uploaded or in a file.
    max_uploads_at_once : int
    watch : bool
        Whether folders are watched for new, changed and deleted files.
    read_only : bool
        Whether nobody may change anything.
    public_hosts : tuple of str
        Host names the server is reached by, besides those of this computer.
    slow_seconds : float
        How long a request may take to arrive, and a part of an answer to be read.
    certificate, certificate_key : Path, optional
        Files in PEM to serve HTTPS with.
    decode_seconds : float
        How long decoding one picture may take.
    decode_memory : int
        Memory limit for decoding, in bytes.
    pace : Pace
        When watched folders are looked at.
    job_limits : JobLimits
        How much jobs do at once, and how many there may be.

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
    vote_key: str | None = field(default=None, repr=False)
    account: int | None = None
    allow: tuple[Path, ...] = ()
    max_upload_bytes: int = 64 << 20
    limits: Limits = field(default_factory=Limits)
    max_uploads_at_once: int = 4
    watch: bool = False
    read_only: bool = False
    public_hosts: tuple[str, ...] = ()
    slow_seconds: float = 20.0
    certificate: Path | None = None
    certificate_key: Path | None = None
    decode_seconds: float = 20.0
    decode_memory: int = 2 << 30
    pace: Pace = Pace()
    job_limits: JobLimits = JobLimits()

    def __post_init__(self) -> None:
        if self.watch and self.read_only:
            raise InvalidInput("serve: what is read-only cannot watch folders. Leave out --watch.")
        if not 0 <= self.port <= 65535:
            raise InvalidInput(f"serve: port must be from 0 to 65535; got {self.port}.")
        for name in self.public_hosts:
            if not _NAME.fullmatch(name.lower()):
                raise InvalidInput(
                    f"serve: name must be a host name without port or path; got {name!r:.80}."
                )
        given = [key for key in (self.key, self.read_key, self.vote_key) if key is not None]
        for key in given:
            if len(key) < MIN_KEY or not key.isascii() or " " in key:
                raise InvalidInput(
                    f"serve: a key must have at least {MIN_KEY} ASCII characters and no spaces; "
                    f"got {len(key)}. Create one with: openssl rand -hex 24"
                )
        self._check_certificate()
        if self.key is None:
            self._check_open()
        elif len(set(given)) < len(given):
            raise InvalidInput("serve: the keys must differ from each other.")

    def _check_certificate(self) -> None:
        if self.certificate is None:
            if self.certificate_key is not None:
                raise InvalidInput(
                    "serve: a certificate key needs its certificate: give --certificate FILE, too."
                )
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                self.certificate, self.certificate_key
            )
        except (OSError, ssl.SSLError) as error:
            if self.certificate_key is None and _lacks_key(self.certificate):
                raise InvalidInput(
                    f"serve: the private key of the certificate is missing: {self.certificate} "
                    f"has none. Give its file, in PEM, with --certificate-key FILE."
                ) from error
            raise InvalidInput(
                f"serve: cannot use the certificate {self.certificate}: {error}. Give the chain "
                f"with --certificate and its private key with --certificate-key, both in PEM."
            ) from error

    def _check_open(self) -> None:
        where = next((name for name in self.public_hosts if not is_loopback(name)), self.host)
        if not is_loopback(where):
            raise InvalidInput(
                f"serve: {where or 'every address'} can be reached by other computers, so a key "
                f"is needed. Give one with --key-file FILE or LOOKALIKE_KEY, or listen on "
                f"127.0.0.1."
            )
        if self.read_key is not None or self.vote_key is not None:
            raise InvalidInput(
                "serve: with only a read key or a vote key, nobody could manage the collection. "
                "Give the full key, too."
            )

    @property
    def upload_limits(self) -> Limits:
        """Limits for an uploaded picture."""
        most = min(self.max_upload_bytes, self.limits.max_bytes)
        return Limits(most, self.limits.max_pixels)


def _lacks_key(certificate: Path) -> bool:
    """Return whether a file has a certificate in PEM and no private key."""
    try:
        content = certificate.read_bytes()
    except OSError:
        return False
    return b"BEGIN CERTIFICATE-----" in content and b"PRIVATE KEY-----" not in content
