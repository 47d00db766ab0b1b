"""Read the facts of many pictures at once, for responses."""

import json
from collections.abc import Iterable
from typing import Any

from lookalike.collection import Collection, Match, PictureRow
from lookalike.collection.database import numbers
from lookalike.service.web.answers import PictureAnswer, picture_facts

_FACTS = (
    "SELECT id, sha256, format, width, height, bytes, taken, added, "
    "(SELECT json_group_array(label) FROM labels WHERE picture = pictures.id) "
    "FROM pictures WHERE id IN (SELECT value FROM json_each(?))"
)


def match_facts(
    collection: Collection, matches: Iterable[Match], verdicts: dict[int, int]
) -> list[dict[str, Any]]:
    """Return matches as ``MatchAnswer`` describes them, without those deleted meanwhile.

    Their facts are read by one query and not validated as models, since searches are the most
    frequent requests.
    """
    found = {match.id: match for match in matches}
    known = {row[0]: row for row in collection._database.rows(_FACTS, numbers(found))}
    told = []
    for number, match in found.items():
        if number in known:
            *facts, labels = known[number]
            row = PictureRow(*(*facts, match.places))
            picture = picture_facts(row, () if labels == "[]" else json.loads(labels))
            told.append({**picture, "score": match.score, "verdict": verdicts.get(number, 0)})
    return told


def picture_answers(collection: Collection, rows: list[PictureRow]) -> list[PictureAnswer]:
    """Return the responses for pictures, with their labels."""
    labels = collection.labels_of([row.id for row in rows])
    return [PictureAnswer.of(row, labels.get(row.id, ())) for row in rows]
