"""Find pictures by likeness: what is asked comes in, a page of matches goes out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.search.matches import Match
from lookalike.collection.search.together import DEPTH, raised
from lookalike.collection.store import pictures
from lookalike.collection.store.database import Database
from lookalike.collection.store.people import OWNER
from lookalike.collection.store.pictures import PictureRow
from lookalike.collection.store.places import places_of
from lookalike.collection.store.queries import Ask, Ref, has_query, pass_query, store_query
from lookalike.collection.vectors.queries import (
    Box,
    Query,
    as_it_was,
    check_ask,
    query_token,
)
from lookalike.collection.votes.ledger import Ledger
from lookalike.core.checks import check_whole
from lookalike.core.errors import NotFound, UnreadablePicture
from lookalike.core.text import shown
from lookalike.core.vectors import Vectors
from lookalike.features.pipeline import decode_side
from lookalike.images import Limits, content_hash, decode, read_bytes, thumbnail
from lookalike.images.colours import to_rgb
from lookalike.images.parts import pixels_of
from lookalike.images.thumbnails import THUMBNAIL_SIDE
from lookalike.index import Hits

Asking: TypeAlias = tuple[Vectors, Ref | None, bytes | None]
"""The vector of a query, what it is known by, and the record of one that is not known."""


def search(
    session: Session,
    query: Query | Ask,
    k: int,
    by: str | None,
    learned: bool,
    offset: int,
    among: NDArray[np.int64] | None,
    min_score: float | None,
    limits: Limits | None,
    who: str,
) -> list[Match]:
    """Return the pictures most like a query, best first."""
    most = check_whole("search", "k", k, 1) + check_whole("search", "offset", offset, 0)
    hits = best_hits(
        session, query, most, by, learned, among, min_score=min_score, limits=limits, who=who
    )
    return make_matches(session.database, hits, offset, None)


def best_hits(
    session: Session,
    query: Query | Ask,
    most: int | None,
    by: str | None,
    learned: bool,
    among: NDArray[np.int64] | None,
    *,
    min_score: float | None = None,
    limits: Limits | None = None,
    who: str = OWNER,
) -> list[tuple[int, float]]:
    """Return the ``most`` pictures, by default all, most like a query, with scores, best first."""
    ranker = session.rankers.get(by, learned=learned, who=who)
    count = max(len(ranker.plain), 1)
    hits = ranked(
        session.database,
        ranker,
        session.rankers.layer(who),
        query,
        count if most is None else min(most, count),
        first=session.rankers.oldest.fingerprint,
        learned=learned,
        among=among,
        min_score=min_score,
        limits=limits,
    )
    if hits is None:
        raise session.unknown(query)
    return hits


def ranked(
    database: Database,
    ranker: Ranker,
    ledger: Ledger,
    query: Query | Ask,
    most: int,
    *,
    first: str | None,
    learned: bool,
    among: NDArray[np.int64] | None,
    min_score: float | None,
    limits: Limits | None,
) -> list[tuple[int, float]] | None:
    """Return the ``most`` pictures most like a query, with scores, best first; None if unknown.

    What people voted on a query before counts with it: what was picked comes first, however it
    scores, and what was rejected is left out, whatever models say. ``first`` is the fingerprint
    of the oldest ranker, by which a file searched with before is known again.
    """
    verdicts: dict[int, int] = {}
    record: bytes | None = None
    if isinstance(query, Ask):
        check_ask(query)
        ask: Ask | None = query
    else:
        result = _query_vector(query, ranker, first, database, limits)
        if result is None:
            return None
        vector, own, record = result
        ask = None if own is None else Ask((own,))
    if ask is not None:
        verdicts = ledger.verdicts(str(ask)) if learned else {}
        source = ranker.source(database)
        vector = source.ask(ask, verdicts)
        if ranker.rerankers and len(ask.like) == 1 and not ask.unlike:
            record = source.record(ask.like[0])
    own_ids = [] if ask is None else [r for r in (*ask.like, *ask.unlike) if isinstance(r, int)]
    apart = [*own_ids, *verdicts]
    exclude = np.array([apart], np.int64) if apart else None
    picked_ids = _picked_ids(ranker, database, verdicts, own_ids, among)
    queries = ranker.query(vector) if picked_ids.size else None
    hits = ranker.search(
        vector,
        most,
        learned=learned,
        exclude=exclude,
        among=among,
        database=database,
        query=queries,
        record=record,
    )
    picked = [] if queries is None else _picked(ranker, queries, picked_ids)
    others = [hit for hit in pairs(hits) if hit[0] >= 0]
    if ranker.objects is not None:
        objects = _objects(
            database, ranker.objects, ledger, query, first, learned, among, limits, {*apart}
        )
        others = raised(ranker, vector, others, objects, learned=learned)
    least = -np.inf if min_score is None else min_score
    return [*picked, *(hit for hit in others if hit[1] >= least)][:most]


def _objects(
    database: Database,
    ranker: Ranker,
    ledger: Ledger,
    query: Query | Ask,
    first: str | None,
    learned: bool,
    among: NDArray[np.int64] | None,
    limits: Limits | None,
    apart: set[int],
) -> list[tuple[int, float]]:
    """Return what a ranker of objects finds, best first; nothing if it does not know an example."""
    try:
        hits = ranked(
            *(database, ranker, ledger, query, DEPTH),
            first=first,
            learned=learned,
            among=among,
            min_score=None,
            limits=limits,
        )
    except NotFound:
        return []
    return [hit for hit in hits or () if hit[0] not in apart]


def _picked_ids(
    ranker: Ranker,
    database: Database,
    verdicts: Mapping[int, int],
    own: Sequence[int],
    among: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    """Return what was picked for a query, of the pictures searched among."""
    picked = [number for number, sign in verdicts.items() if sign > 0]
    named = np.array(sorted(ranker.source(database).held(picked) - {*own}), np.int64)
    return named if among is None else named[np.isin(named, among)]


def _picked(ranker: Ranker, queries: Vectors, named: NDArray[np.int64]) -> list[tuple[int, float]]:
    """Return pictures with their scores, best first."""
    scores = ranker.index.scores(queries, named)[0]
    return [(int(named[k]), float(scores[k])) for k in np.lexsort((named, -scores))]


def likeness(
    session: Session,
    query: Query | Ask,
    by: str | None,
    learned: bool,
    among: NDArray[np.int64] | None,
    limits: Limits | None,
    who: str,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how like pictures are to a query, by rising id, without itself and what was rejected.

    From 0 for the average picture to 1 for the best, and for those that were picked.
    """
    hits = best_hits(session, query, None, by, learned, among, limits=limits, who=who)
    ids = np.array([number for number, _ in hits], np.int64)
    alike = above_average(np.array([score for _, score in hits], np.float64))
    # What was picked stands first, whatever it scores.
    alike = np.maximum.accumulate(alike[::-1])[::-1]
    order = np.argsort(ids)
    return ids[order], alike[order]


def above_average(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return scores from 0 for the average picture to 1 for the best."""
    fine = scores.astype(np.float64)
    average = float(fine.mean()) if fine.size else 0.0
    gap = float(fine.max(initial=average)) - average
    return np.clip((fine - average) / gap, 0, 1) if gap > 0 else np.ones(len(fine))


def reach(database: Database, ranker: Ranker, ledger: Ledger, ask: Ask) -> float | None:
    """Return the share of what was learned that a search uses; None if nothing was learned."""
    check_ask(ask)
    if not ranker.similarity.learned:
        return None
    vector = ranker.source(database).ask(ask, ledger.verdicts(str(ask)))
    return float(ranker.similarity.reach(vector)[0])


def keep_query(
    session: Session,
    picture: bytes | Image.Image,
    *,
    box: Box | None,
    content: bytes | None,
    limits: Limits | None,
) -> str:
    """Keep a picture, or a part of one, to search with, and return its token."""
    if isinstance(picture, bytes):
        features = [ranker.space.feature for ranker in session.rankers.usable()]
        side = decode_side(features, THUMBNAIL_SIDE)
        data, part = picture, session.decode(picture, limits, side=side, box=box).image
    else:
        image = to_rgb(picture)
        data = b"%d %d " % image.size + image.tobytes() if content is None else content
        part = image if box is None else image.crop(pixels_of(box, image.size))
    fingerprint = session.rankers.oldest.fingerprint
    if fingerprint is None:
        raise session.rankers.empty()
    token = query_token(content_hash(data), box, fingerprint)
    if not has_query(session.database, token):
        records = {
            ranker.id: ranker.space.feature.record(part) for ranker in session.rankers.usable()
        }
        if session.database.read_only:
            pass_query(session.database, token, thumbnail(part), records)
            return token
        with session.database.transaction() as connection:
            store_query(connection, token, content_hash(data), thumbnail(part), records)
    return token


def pairs(hits: Hits) -> list[tuple[int, float]]:
    """Return what was found for a single query: ids and scores, best first."""
    return list(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))


def make_matches(
    database: Database, hits: Sequence[tuple[int, float]], offset: int, min_score: float | None
) -> list[Match]:
    """Return hits after the first ``offset`` that score enough, with the places of pictures."""
    page = [
        (number, score)
        for number, score in hits[int(offset) :]
        if min_score is None or score >= min_score
    ]
    places = places_of(database, [number for number, _ in page])
    return [
        Match(number, places[number][0], score, places[number])
        for number, score in page
        if number in places
    ]


def facts_of(
    database: Database, matches: Iterable[Match]
) -> list[tuple[Match, PictureRow, list[str]]]:
    """Return matches with what is known of their pictures and their labels.

    Those deleted meanwhile are left out.
    """
    by_id = {match.id: match for match in matches}
    rows = pictures.with_labels(database, {it.id: it.places for it in by_id.values()})
    return [(match, *rows[number]) for number, match in by_id.items() if number in rows]


def _query_vector(
    query: Query, ranker: Ranker, first: str | None, database: Database, limits: Limits | None
) -> Asking | None:
    """Return the vector of a query, with its id or, if it is kept, its token; None if unknown."""
    if isinstance(query, Image.Image):
        return _described(to_rgb(query), ranker)
    try:
        return _stored_vector(query, ranker, first, database, limits)
    except UnreadablePicture as error:
        if not isinstance(query, str | os.PathLike):
            raise
        raise UnreadablePicture(f"{shown(str(query)) or '(empty path)'}: {error}") from error


def _stored_vector(
    query: int | str | Path | bytes,
    ranker: Ranker,
    first: str | None,
    database: Database,
    limits: Limits | None,
) -> Asking | None:
    content = query if isinstance(query, bytes) else None
    number = None if isinstance(query, bytes) else as_it_was(query, database)
    if number is None and isinstance(query, str | os.PathLike):
        content = read_bytes(query, limits)
    if content is not None:
        number = pictures.find_content(database, content_hash(content))
        if number is None:
            token = "" if first is None else query_token(content_hash(content), None, first)
            kept = ranker.source(database).vectors([token])
            if token in kept:
                return kept[token], token, None
            image = decode(content, limits, side=ranker.space.feature.decode_side).image
            return _described(image, ranker)
    if number is None:
        return None
    result = ranker.source(database).vectors([number])
    return (result[number], number, None) if number in result else None


def _described(image: Image.Image, ranker: Ranker) -> Asking:
    record = ranker.space.feature.record(image)
    return ranker.space.vectors([record]), None, record
