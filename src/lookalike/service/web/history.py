"""The log of events in words, and the votes and labels on a picture."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.collection import events
from lookalike.collection.asking import last_reset
from lookalike.collection.database import numbers
from lookalike.collection.records import Ask, Event
from lookalike.collection.wording import subject_of
from lookalike.core.errors import CollectionError
from lookalike.core.text import shown, word_key

if TYPE_CHECKING:
    from lookalike.collection import Collection


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the log as shown on the page, without pictures that are gone."""

    event: Event
    text: str
    word: str
    pictures: list[int]
    against: list[int]
    asked: list[str]
    can_undo: bool


def votes_on(collection: "Collection", ask: Ask, picture: int, who: str) -> list[Event]:
    """Return the votes of a person on a picture in a search that are in effect, last first."""
    found = events.about(collection._database, str(ask))
    reset = last_reset(collection._database)
    return [
        event
        for event in reversed(found)
        if event.kind == "vote"
        and event.number > reset
        and event.who == who
        and picture in (*event.body["picked"], *event.body["rejected"])
    ]


def words_on(collection: "Collection", word: str, picture: int) -> list[Event]:
    """Return the events about a picture and a word that are in effect, last first."""
    return events.about(collection._database, subject_of(picture, word))[::-1]


def refused_for(collection: "Collection", word: str, pictures: Iterable[int]) -> set[int]:
    """Return those of the pictures for which a word was rejected."""
    found = collection._database.rows(
        "SELECT picture, word FROM refusals WHERE picture IN (SELECT value FROM json_each(?))",
        numbers(pictures),
    )
    return {picture for picture, refused in found if word_key(refused) == word_key(word)}


def told(collection: "Collection", log: Iterable[Event]) -> list[Told]:
    """Return events in words, with those of their pictures that still exist."""
    known: dict[int, bool] = {}

    def there(ids: Iterable[Any]) -> list[int]:
        for number in ids:
            if isinstance(number, int) and number not in known:
                try:
                    collection.picture(number)
                    known[number] = True
                except CollectionError:
                    known[number] = False
        return [number for number in ids if known.get(number)]

    found = []
    for event in log:
        body = event.body
        pictures = body.get("picked", [body["picture"]] if "picture" in body else [])
        asked = [
            f"/query/{ref}.jpg" if isinstance(ref, str) else f"/thumbnail/{ref}.jpg"
            for ref in body.get("like", ())
            if isinstance(ref, str) or there([ref])
        ]
        found.append(
            Told(
                event,
                _told_text(event),
                shown(str(body.get("word", ""))),
                there(list(pictures)),
                there(list(body.get("rejected", []))),
                asked,
                event.kind in ("vote", "tag", "correction", "undo", "reset") and not event.undone,
            )
        )
    return found


def _used(body: dict[str, Any]) -> str:
    """Return which of the new models are used, in words."""
    names = {"similarity": "new similarity", "words": "new words"}
    used = [name for part, name in names.items() if (body.get(part) or {}).get("published")]
    return " and ".join(used) or "no improvement, so not used"


def _told_text(event: Event) -> str:
    body = event.body
    if event.kind == "learn":
        return f"Learned from tags or folders: {_used(body)}"
    if event.kind == "deletion":
        count = len(body.get("pictures", ()))
        return "Removed a picture" if count == 1 else f"Removed {count} pictures"
    if event.kind == "vote":
        up, down = len(body.get("picked", ())), len(body.get("rejected", ()))
        return (
            "Less like this"
            if not up
            else "More like this, less like that"
            if down
            else "More like this"
        )
    return {
        "tag": "Tagged with",
        "correction": "Does not show",
        "undo": f"Undid no. {body.get('event')}",
        "reset": "Discarded all votes",
        "rollback": "Went back to the previous models",
    }.get(event.kind, event.kind)
