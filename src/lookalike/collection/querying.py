"""Find the vector that stands for a query, whichever way the query is given."""

import os
from pathlib import Path
from typing import TypeAlias

from PIL import Image

from lookalike.collection import rows
from lookalike.collection.database import Database
from lookalike.collection.serving import Serving
from lookalike.features import Vectors
from lookalike.images import Limits, content_hash, decode, read_bytes
from lookalike.images.colours import to_rgb

Query: TypeAlias = int | str | Path | bytes | Image.Image
"""A picture of the collection by its id or path; or any picture."""


def query_vector(
    query: Query, serving: Serving, database: Database, limits: Limits | None
) -> tuple[Vectors, int] | None:
    """Return the vector of a query, a row, and its own id, or -1; None for an unknown id."""
    if isinstance(query, Image.Image):
        return _described(to_rgb(query), serving), -1
    content = query if isinstance(query, bytes) else None
    number = None if isinstance(query, bytes) else as_it_was(query, database)
    if number is None and isinstance(query, str | os.PathLike):
        content = read_bytes(query, limits)
    if content is not None:
        number = rows.find_content(database, content_hash(content))
        if number is None:
            image = decode(content, limits, side=serving.space.feature.decode_side).image
            return _described(image, serving), -1
    if number is None or number not in serving.plain.ids:
        return None
    return serving.vector(number), number


def as_it_was(query: int | str | Path, database: Database) -> int | None:
    """Return the picture named by an id or a path, unless the file there has changed since."""
    number = rows.find_id(database, query)
    if number is None or not isinstance(query, str | os.PathLike):
        return number
    try:
        facts = Path(query).stat()
    except OSError:
        return number
    unchanged = rows.file_facts(database, query) == (facts.st_size, facts.st_mtime_ns)
    return number if unchanged else None


def _described(image: Image.Image, serving: Serving) -> Vectors:
    return serving.space.place(serving.space.feature.describe([image]))
