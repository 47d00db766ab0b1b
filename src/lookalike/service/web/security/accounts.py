"""Whose connection from this computer it is: Linux is asked for its account (sock_diag(7))."""

import os
import platform
import socket
import struct
from ipaddress import ip_address

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _HEADER = 4, 20, 1, 16
"""The protocol, the question, that it is one, and the bytes before both question and answer."""

_ANY_STATE, _ANY_DEVICE, _ANY_COOKIE = 0xFFFFFFFF, 0, b"\xff" * 8

_ACCOUNT = 64
"""Where an answer has the account; the number of the open socket, 0 if it is closed, comes next."""

_ROOT = 0


def own_account() -> int | None:
    """Return the account that this process has; None where the system does not say whose is what.

    Windows connects to its Linux from outside of that, so that its connections are not known there.
    """
    if "microsoft" in platform.release().lower() or not hasattr(socket, "AF_NETLINK"):
        return None
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket() as line:
        line.connect(door.getsockname())
        known = _account(line.getsockname(), line.getpeername())
    return None if known is None else os.getuid()


def is_of(account: int, client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Return whether a connection is of an account, or of the one that may do everything.

    A connection whose client has closed it is nobody's.
    """
    return _account(client, server) in (account, _ROOT)


def _account(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the account that has a connection open; None if nobody has, or it is not known."""
    ends = [ip_address(host).packed for host, _ in (client, server)]
    family = socket.AF_INET if len(ends[0]) == 4 else socket.AF_INET6
    question = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE)
    question += struct.pack("!HH16s16s", client[1], server[1], *ends)
    question += struct.pack("=I8s", _ANY_DEVICE, _ANY_COOKIE)
    header = struct.pack("=IHHII", _HEADER + len(question), _BY_FAMILY, _REQUEST, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as system:
            system.settimeout(1)
            system.send(header + question)
            answer = system.recv(1 << 16)
    except OSError:
        return None
    kind = struct.unpack_from("=H", answer, 4)[0]
    if kind != _BY_FAMILY:
        return None
    account, opened = struct.unpack_from("=II", answer, _HEADER + _ACCOUNT)
    return int(account) if opened else None
