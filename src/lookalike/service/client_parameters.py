"""What the methods of a client are given, as parameters of requests."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from lookalike.collection import Filter, Ref
from lookalike.core.errors import InvalidInput

_NAMES = {
    "tags": "tag",
    "without_tags": "without_tag",
    "formats": "format",
    "cameras": "camera",
    "lenses": "lens",
    "taken_from": "from",
    "taken_to": "to",
}
"""What filters are called in addresses, where that is not their name in ``Filter``."""


def without_none(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are not None."""
    return {name: value for name, value in params.items() if value is not None}


def several(refs: Ref | Iterable[Ref]) -> list[Ref]:
    """Return the one picture or query that is named, or the several, as a list."""
    return [refs] if isinstance(refs, int | str) else list(refs)


def filters(where: Filter | None) -> dict[str, Any]:
    """Return a filter as parameters of a request."""
    if where is None:
        return {}
    if where.pictures is not None:
        raise InvalidInput("Client: a filter for a server cannot name pictures by their ids.")
    given = {one.name: getattr(where, one.name) for one in fields(where)}
    if where.near is not None:
        given["near"] = ",".join(f"{number:.9f}".rstrip("0").rstrip(".") for number in where.near)
    return {
        _NAMES.get(name, name): value for name, value in given.items() if value not in (None, ())
    }


def selection(pictures: Iterable[int] | Filter) -> dict[str, Any]:
    """Return which pictures are meant: some, or all that pass a filter."""
    if isinstance(pictures, Filter):
        return {"all_of": filters(pictures)}
    return {"pictures": list(pictures)}


def content_of(picture: str | Path | bytes) -> bytes:
    """Return the bytes of a picture, read from its file where that is named."""
    if isinstance(picture, bytes):
        return picture
    try:
        return Path(picture).read_bytes()
    except OSError as error:
        raise InvalidInput(f"Client: cannot read {picture}: {error.strerror}.") from error
