"""The command ``lookalike serve``: the web page and the API of one collection."""

import ctypes
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.core.errors import CollectionError, InvalidInput, LookalikeError
from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, CollectionPath, from_home
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from fastapi import FastAPI

    from lookalike.collection import Collection
    from lookalike.service.web.settings import Settings
    from lookalike.service.web.shelf import Shelf

GRACE = 5
"""Seconds that running requests have left once the server is asked to stop."""

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 4 << 20  # M_MMAP_THRESHOLD of glibc, and bytes


_key_option = partial(typer.Option, metavar="KEY", show_envvar=True)


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="COLLECTION",
            callback=lambda path: path and from_home(path),
            help="Folder of the collection; same as --collection.",
            show_default=False,
        ),
    ] = None,
    *,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; any but this computer's own needs a key."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8700,
    key: Annotated[
        str | None,
        _key_option(
            envvar="LOOKALIKE_KEY",
            help="Key that clients must send. Other users of this computer can see it here; "
            "prefer --key-file or the environment.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the key from a file.")
    ] = None,
    read_key: Annotated[
        str | None,
        _key_option(envvar="LOOKALIKE_READ_KEY", help="Key for clients that may only read."),
    ] = None,
    vote_key: Annotated[
        str | None,
        _key_option(
            envvar="LOOKALIKE_VOTE_KEY",
            help="Key for people and programs that may search, vote and tag, and no more.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a line to this file for every change."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Serve HTTPS with this certificate chain, in PEM."),
    ] = None,
    certificate_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of the certificate, in PEM.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name the server is reached by. Repeatable."),
    ] = None,
    allow: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Another folder the page may import from and show. Repeatable.",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Watch the indexed folders for new, changed and deleted files."
        ),
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Change nothing: searches and browsing only.")
    ] = False,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Serve the web page and the API of a collection until Ctrl-C or SIGTERM.

    Where there is no collection yet an empty one is made, and the page asks for a folder of
    pictures. Only this computer can reach the server, and on Linux only your account, unless --host
    names another address, which needs a key. The page can then import from your home folder and
    from drives, or only from the folders that --allow names.
    """
    from lookalike.service.web.security.accounts import own_account
    from lookalike.service.web.settings import Settings, is_loopback
    from lookalike.service.web.shelf import Shelf

    settings = Settings(
        host=host,
        port=port,
        key=_read_key(key, key_file),
        read_key=read_key,
        vote_key=vote_key,
        account=own_account(),
        allow=tuple(_folder(path) for path in allow or []),
        watch=watch,
        read_only=read_only,
        public_hosts=tuple(name or []),
        certificate=certificate and from_home(certificate),
        certificate_key=certificate_key and from_home(certificate_key),
    )
    from lookalike.collection import Collection

    screen = Screen(as_json)
    if audit is not None:
        _keep_audit(from_home(audit))
    place = folder or collection
    if not read_only and (not os.path.lexists(place) or _is_empty(place)):
        if not place.absolute().parent.is_dir():
            raise InvalidInput(f"serve: there is no folder {place.absolute().parent}.")
        if not os.path.lexists(place) and (alike := _named_alike(place)):
            raise InvalidInput(
                f"serve: there is no collection at {place}. Did you mean {alike}? To make a new "
                f"one: lookalike index PICTURES --collection {place}."
            )
        Collection.create(place).close()
        screen.say(f"There was no collection at {place}, so an empty one was made.")
    opening = partial(Collection.open, read_only=read_only or None)
    store, shelf = opening(place), Shelf((place.absolute().parent, Path.cwd()), (place,))
    try:
        with listening(settings) as door:
            if not settings.allow and is_loopback(door.getsockname()[0]):
                settings = replace(settings, allow=(Path.home(), *drives()))
            while True:
                _serve(store, settings, door, shelf, screen)
                following, shelf.next = shelf.next, None
                if following is None:
                    break
                before = store.path
                store.close()
                try:
                    store = opening(following)
                except LookalikeError as error:
                    screen.say(f"{following} was not opened: {error}", style="red")
                    store = opening(before)
    finally:
        store.close()
    screen.say("Stopped.")


def _serve(
    store: "Collection", settings: "Settings", door: socket.socket, shelf: "Shelf", screen: Screen
) -> None:
    """Serve one collection until the server is stopped, or is to open another."""
    from lookalike.service.web.app import make_app

    address = address_of(settings.host, door, secure=settings.certificate is not None)

    def announce() -> None:
        screen.say(
            f"Serving {counted(len(store), 'picture')} from {store.path} at {address}",
            "Stop with Ctrl-C.",
        )
        if screen.as_json:
            facts = {"address": address, "collection": str(store.path), "pictures": len(store)}
            sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()

    app = make_app(store, replace(settings, read_only=store.read_only), shelf)
    # Uvicorn closes the socket it is given; who calls meanwhile waits at the other.
    run(app, door.dup(), announce, shelf)


def drives() -> list[Path]:
    """Return the folders in which systems show the drives of a person, connected now or later."""
    user = Path.home().name
    return [Path("/run/media", user), Path("/media", user), Path("/mnt"), Path("/Volumes")]


@contextmanager
def listening(settings: "Settings") -> Iterator[socket.socket]:
    """Return a listening socket, or raise an error that says why there is none."""
    from lookalike.service.web.settings import is_loopback

    host, port = settings.host, settings.port
    try:
        addresses = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        door = socket.create_server(addresses[0][4][:2], family=addresses[0][0])
    except OSError as error:
        raise InvalidInput(
            f"serve: cannot listen on {host or '*'}:{port}: "
            f"{str(error.strerror or error).partition(' (while')[0]}. Another server may be "
            f"running there; choose another port with --port, or let --port 0 pick a free one."
        ) from error
    with door:
        # Asyncio sets this only on sockets that name their protocol, which this one does not.
        # Without it, a response in two parts waits 40 ms for the client to confirm the first.
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # What a name such as localhost means depends on the computer.
        if settings.key is None and not is_loopback(door.getsockname()[0]):
            raise InvalidInput(
                f"serve: {host} can be reached by other computers, so a key is needed. Give one "
                f"with --key-file FILE or LOOKALIKE_KEY."
            )
        yield door


def address_of(host: str, door: socket.socket, *, secure: bool = False) -> str:
    """Return the address to open in a browser."""
    from ipaddress import ip_address

    number, port = door.getsockname()[:2]
    if ip_address(number).is_unspecified:
        named = "localhost"
    else:
        named = f"[{number}]" if ":" in number else host
    return f"{'https' if secure else 'http'}://{named}:{port}/"


def run(
    app: "FastAPI",
    door: socket.socket,
    announce: Callable[[], None],
    shelf: "Shelf | None" = None,
) -> None:
    """Serve until SIGINT, SIGTERM or a change of the collection, then finish running requests."""
    import uvicorn

    from lookalike.service.web.app import begin_closing
    from lookalike.service.web.security.connections import connections

    settings: Settings = app.state.settings

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            announce()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            begin_closing(app)
            await super().shutdown(sockets)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # Uvicorn would raise the signal again at the end; being stopped is not a failure.
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            signals = (signal.SIGINT, signal.SIGTERM)
            before = {one: signal.signal(one, self.handle_exit) for one in signals}
            try:
                yield
            finally:
                for one, handler in before.items():
                    signal.signal(one, handler)

    config = uvicorn.Config(
        app,
        http=connections(settings.slow_seconds, None if settings.key else settings.account),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.certificate_key,
        ws="none",
        # Else any program on this computer could count as another client with each request.
        proxy_headers=bool(settings.public_hosts),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=GRACE,
    )
    # Else glibc keeps what large uploads once took: it raises its limit with each block set free.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
    server = Server(config)
    if shelf is not None:
        shelf.leave = partial(setattr, server, "should_exit", True)
    try:
        server.run([door])
    except SystemExit as error:
        raise CollectionError("serve: the server could not start; see its log above.") from error
    # A connection that came while the server closed is nobody's; only garbage collection ends it:
    # else its client would wait for ever where another collection is served next.
    gc.collect()


def _keep_audit(file: Path) -> None:
    """Append a line to a file for every change that somebody asks for."""
    from lookalike.service.web.security.audit import AUDIT, AuditFile

    try:
        AUDIT.addHandler(AuditFile(file))
    except OSError as error:
        raise InvalidInput(f"serve: cannot write {file}: {error.strerror}.") from error
    AUDIT.setLevel(logging.INFO)


def _read_key(key: str | None, file: Path | None) -> str | None:
    if file is None:
        return key
    try:
        return from_home(file).read_text(encoding="ascii").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"serve: {file} does not hold a key: it is not ASCII.") from error


def _is_empty(place: Path) -> bool:
    return place.is_dir() and not any(place.iterdir())


def _named_alike(place: Path) -> Path | None:
    """Return a collection beside a place whose name is nearly the same, or None."""
    from lookalike.collection import Folder

    with suppress(OSError):
        beside = [one for one in place.absolute().parent.iterdir() if Folder(one).database.exists()]
        names = get_close_matches(place.name, [one.name for one in beside], 1, 0.75)
        return place.parent / names[0] if names else None
    return None


def _folder(path: Path) -> Path:
    result = from_home(path)
    if not result.is_dir():
        raise InvalidInput(f"serve: --allow must name a folder; {path} is not one.")
    return result.absolute()
