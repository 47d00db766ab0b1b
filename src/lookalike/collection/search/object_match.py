"""Say which regions two pictures have in common, so that people see why they match."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

from lookalike.collection.pictures.describing import read_picture
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.rankers import OBJECTS
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import pictures
from lookalike.collection.store.queries import Ask, Ref, query_thumbnail
from lookalike.collection.vectors.queries import Query, as_it_was, check_ask
from lookalike.core.errors import InvalidInput, NotFound, UnreadablePicture
from lookalike.features.region_records import unpack_regions
from lookalike.images import Limits, content_hash, read_bytes
from lookalike.images.colours import to_rgb
from lookalike.index.why import RegionMatch, WhyAlike, why_alike
from lookalike.similarity.sparse import SparseSimilarity

MAX_MATCHES = 200
SIDE = 1024
"""Pictures are decoded so large to be drawn on."""


@dataclass(frozen=True, slots=True)
class ObjectMatch:
    """Why an example and a picture are alike by their regions.

    Attributes
    ----------
    example : int, str or None
        The picture or kept query it is compared with, of several the most alike; None for a
        picture that is neither.
    picture : int
    score : float
    agreeing : float
        The share of the score from words of which regions lie alike.
    regions : int
        How many regions lie alike.
    sizes : tuple of (int, int)
        Width and height of both, to which the places of matches refer.
    matches : tuple of RegionMatch
        The largest share first, at most 200.
    """

    example: Ref | None
    picture: int
    score: float
    agreeing: float
    regions: int
    sizes: tuple[tuple[int, int], tuple[int, int]]
    matches: tuple[RegionMatch, ...]


def object_match(
    session: Session, ranker: Ranker, query: Query | Ask, picture: int, limits: Limits | None
) -> ObjectMatch:
    """Return why a picture matches a query by the regions of both.

    Raises
    ------
    NotFound
        If the picture, or an example, is not there or has no record of regions.
    """
    source = ranker.source(session.database)
    item = source.record(picture)
    if item is None:
        raise NotFound(f"Collection: the picture {picture!s:.80} has no regions by {ranker.name}.")
    if isinstance(query, Ask):
        check_ask(query)
        records = {ref: source.record(ref) for ref in query.like}
        whys = {
            ref: _why(session, ranker, record, item)
            for ref, record in records.items()
            if record is not None
        }
        if not whys:
            raise NotFound(f"Collection: no example has regions by {ranker.name}.")
        example = max(whys, key=lambda ref: whys[ref].score)
        return _as_answer(example, picture, whys[example])
    number = _known(session, query)
    record = None if number is None else source.record(number)
    if record is None:
        record = ranker.space.feature.record(query_image(session, query, limits))
    return _as_answer(number, picture, _why(session, ranker, record, item))


def object_picture(
    session: Session, ranker: Ranker, query: Query | Ask, picture: int, limits: Limits | None
) -> Image.Image:
    """Return the example and the picture side by side, with their matches drawn between them."""
    answer = object_match(session, ranker, query, picture, limits)
    first = query_image(session, query if answer.example is None else answer.example, limits)
    why = WhyAlike(answer.score, answer.agreeing, answer.sizes, answer.matches)
    return why.picture(first, query_image(session, picture, limits))


def query_image(session: Session, query: Query | Ask, limits: Limits | None) -> Image.Image:
    """Return the pixels of a query; of a kept query, and of one whose file is gone, its preview."""
    if isinstance(query, Image.Image):
        return to_rgb(query)
    if isinstance(query, str) and (kept := query_thumbnail(session.database, query)) is not None:
        return _small(kept)
    number = None if isinstance(query, bytes | Ask) else pictures.find_id(session.database, query)
    try:
        if number is not None:
            data = read_picture(session.picture(number), limits)
        elif isinstance(query, bytes):
            data = query
        elif isinstance(query, str | os.PathLike):
            data = read_bytes(query, limits)
        else:
            raise session.unknown(query)
        return session.decode(data, limits, side=SIDE).image
    except UnreadablePicture:
        if number is None:
            raise
        preview = pictures.thumbnail(session.database, number)
        if preview is None:
            raise
        return _small(preview)


def ranker_of_objects(session: Session, by: str | None) -> Ranker:
    """Return the ranker of a name, or the first, whose feature is regions.

    Raises
    ------
    InvalidInput
        If the collection has none.
    """
    rows = session.rankers.rows()
    names = [row.name for row in rows if row.feature == OBJECTS]
    if by in names:
        return session.rankers.get(by)
    if by is not None:
        session.rankers.row(by)
    if not names:
        raise InvalidInput(
            f"{session.path} does not describe pictures by regions, which show why two match. Add "
            f"them: lookalike index PICTURES --feature regions, or Collection.add_feature."
        )
    return session.rankers.get(names[0])


def _why(session: Session, ranker: Ranker, first: bytes, second: bytes) -> WhyAlike:
    similarity: Any = ranker.similarity
    matrix = similarity.matrix if isinstance(similarity, SparseSimilarity) else None
    with session.database.parsing("a record of regions"):
        one, two = (unpack_regions(record) for record in (first, second))
        x, y = (ranker.space.vectors([record]) for record in (first, second))
    return why_alike(one, two, x, y, matrix)


def _as_answer(example: Ref | None, picture: int, why: WhyAlike) -> ObjectMatch:
    agreeing = {match.places for match in why.matches if match.agrees}
    return ObjectMatch(
        example,
        picture,
        why.score,
        why.agreeing,
        len(agreeing),
        why.sizes,
        why.matches[:MAX_MATCHES],
    )


def _known(session: Session, query: Query) -> int | None:
    """Return the picture of the collection that a query is, if it is one."""
    if isinstance(query, Image.Image):
        return None
    if isinstance(query, bytes):
        return pictures.find_content(session.database, content_hash(query))
    number = as_it_was(query, session.database)
    if number is None and not isinstance(query, str | os.PathLike):
        raise session.unknown(query)
    return number


def _small(jpeg: bytes) -> Image.Image:
    with Image.open(BytesIO(jpeg)) as image:
        return image.convert("RGB")
