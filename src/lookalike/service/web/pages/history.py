"""The log of events as the page shows it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.collection.log.events import UNDOABLE, Event
from lookalike.core.errors import CollectionError
from lookalike.core.text import shown
from lookalike.service.event_texts import event_text
from lookalike.service.web.api.answers import thumbnail_address

if TYPE_CHECKING:
    from lookalike.collection import Collection


SHOWN = 4
"""Pictures of an event that are shown."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the log as shown on the page: its pictures by id, without those gone."""

    event: Event
    text: str
    word: str
    pictures: dict[int, str]
    against: dict[int, str]
    asked: list[str]
    can_undo: bool


def told(collection: "Collection", log: Iterable[Event]) -> list[Told]:
    """Return events in words, with those of their pictures that still exist."""
    known: dict[int, str] = {}

    def there(ids: Iterable[Any]) -> dict[int, str]:
        for number in ids:
            if isinstance(number, int) and number not in known:
                try:
                    known[number] = thumbnail_address(number, collection.picture(number).sha256)
                except CollectionError:
                    known[number] = ""
        return {number: known[number] for number in ids if known.get(number)}

    found = []
    for event in log:
        body = event.body
        pictures = body.get("picked", [body["picture"]] if "picture" in body else [])
        if event.kind == "distinct":
            pictures = body.get("pictures", [])[:SHOWN]
        asked = [
            address
            for ref in body.get("like", ())
            for address in (
                [f"/query/{ref}.jpg"] if isinstance(ref, str) else there([ref]).values()
            )
        ]
        found.append(
            Told(
                event,
                event_text(event),
                shown(str(body.get("word", ""))),
                there(list(pictures)),
                there(list(body.get("rejected", []))),
                asked,
                event.kind in UNDOABLE and not event.undone,
            )
        )
    return found
