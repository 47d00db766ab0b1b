"""Read the facts of many pictures at once, for responses."""

from collections.abc import Iterable
from typing import Any

from lookalike.collection import Collection, Match, PictureRow
from lookalike.service.web.api.answers import PictureAnswer, picture_facts


def match_facts(
    collection: Collection, matches: Iterable[Match], verdicts: dict[int, int]
) -> list[dict[str, Any]]:
    """Return matches as ``MatchAnswer`` describes them, without those deleted meanwhile.

    They are not validated as models, since searches are the most frequent requests.
    """
    return [
        {
            **picture_facts(row, labels),
            "score": match.score,
            "verdict": verdicts.get(match.id, 0),
            "source": match.source,
        }
        for match, row, labels in collection.facts_of(matches)
    ]


def picture_answers(collection: Collection, rows: list[PictureRow]) -> list[PictureAnswer]:
    """Return the responses for pictures, with their labels."""
    labels = collection.labels_of([row.id for row in rows])
    return [PictureAnswer.of(row, labels.get(row.id, ())) for row in rows]
