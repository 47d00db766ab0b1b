"""Whose connection from this computer it is: the account that Linux lists it under."""

import os
import platform
from ipaddress import ip_address
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Lists of connections: their two ends, the account and, in the tenth column, the open socket."""

_ROOT = 0


def own_account() -> int | None:
    """Return the account that this process has; None where the system lists no connections.

    Windows connects to its Linux from outside of that, so that its connections are not in the list.
    """
    windows = "microsoft" in platform.release().lower()
    return None if windows or not TABLES[0].exists() else os.getuid()


def is_of(account: int, client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Return whether a connection is of an account, or of the one that may do everything.

    A connection whose client has closed it is nobody's.
    """
    ends = [(one, other) for one, other in zip(_ends(*client), _ends(*server), strict=True)]
    for table in TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            row = line.split()
            if (row[1], row[2]) in ends and row[9] != "0":
                return int(row[7]) in (account, _ROOT)
    return False


def _ends(host: str, port: int) -> list[str]:
    """Return one end of a connection as the lists write it, also as an address of IPv6."""
    packed = ip_address(host).packed
    forms = [packed, bytes(10) + b"\xff\xff" + packed] if len(packed) == 4 else [packed, packed]
    # In words of four bytes, the last byte first.
    words = [
        b"".join(one[at : at + 4][::-1] for at in range(0, len(one), 4)).hex() for one in forms
    ]
    return [f"{word.upper()}:{port:04X}" for word in words]
