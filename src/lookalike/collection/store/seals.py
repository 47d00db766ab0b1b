"""Digests of events: of what was said, with a salt, and of rows, each after the one before."""

import hashlib
import json
import secrets

_SIZE = 16


def new_salt() -> bytes:
    """Return a salt; once it is gone, a digest does not tell what it is of."""
    return secrets.token_bytes(_SIZE)


def digest(before: bytes, *facts: str | None) -> bytes:
    """Return the digest of facts that follow a salt, or the digest of another row."""
    content = json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(before + content, digest_size=_SIZE).digest()
