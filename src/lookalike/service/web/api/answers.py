"""Answers as JSON, and pictures with their labels and addresses."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from fastapi import Response
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from lookalike.collection import Collection, Filter, Match, Nearby, PictureRow
from lookalike.core.text import shown
from lookalike.service.answers import NearbyPicture, Picture, PictureMatch

HASH = 16
"""Digits of a picture's hash in the address of its thumbnail."""


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class Answer(Response):
    """A response whose content is an answer as JSON."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Return the JSON."""
        return json_bytes(content)


def json_bytes(answer: object) -> bytes:
    """Return an answer as JSON; undecodable names in it are written with replacements."""
    try:
        return _adapter(type(answer)).dump_json(answer)
    except PydanticSerializationError:
        return to_json(plain(answer))


def plain(value: Any) -> Any:
    """Return a value with the dataclasses, paths and undecodable names inside it fit for JSON."""
    if isinstance(value, str | Path):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value


def thumbnail_address(number: int, sha256: str) -> str:
    """Return the address of a thumbnail, which no other picture of any collection has."""
    return f"/thumbnail/{number}.jpg?v={sha256[:HASH]}"


def pictures(collection: Collection, rows: Iterable[PictureRow]) -> tuple[Picture, ...]:
    """Return pictures with their labels and addresses."""
    listed = list(rows)
    labels = collection.labels.of([row.id for row in listed])
    return tuple(Picture(*_row(row), **_more(row, labels.get(row.id, ()))) for row in listed)


def matches(
    collection: Collection, result: Iterable[Match], verdicts: Mapping[int, int]
) -> tuple[PictureMatch, ...]:
    """Return matches with their labels, addresses and votes, without those removed meanwhile."""
    return tuple(
        PictureMatch(
            *_row(row),
            **_more(row, labels),
            score=match.score,
            verdict=verdicts.get(match.id, 0),
            source=match.source,
        )
        for match, row, labels in collection.pictures.facts_of(result)
    )


def nearby_pictures(collection: Collection, near: Iterable[Nearby]) -> tuple[NearbyPicture, ...]:
    """Return pictures with how far from another they were taken, the nearest first."""
    distances = {one.id: one.kilometres for one in near}
    where = Filter(pictures=tuple(distances))
    rows = collection.pictures.browse(len(distances), where=where) if distances else []
    labels = collection.labels.of([row.id for row in rows])
    return tuple(
        NearbyPicture(
            *_row(row), **_more(row, labels.get(row.id, ())), kilometres=distances[row.id]
        )
        for row in sorted(rows, key=lambda row: (distances[row.id], row.id))
    )


_row = attrgetter(*(one.name for one in fields(PictureRow)))


def _more(row: PictureRow, labels: Iterable[str]) -> dict[str, Any]:
    return {
        "path": row.places[0] if row.places else None,
        "labels": tuple(labels),
        "thumbnail": thumbnail_address(row.id, row.sha256),
        "image": f"/image/{row.id}",
    }
