"""The log of events in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.collection.answers import Event
from lookalike.collection.store.events import UNDOABLE
from lookalike.core.errors import CollectionError
from lookalike.core.text import shown
from lookalike.service.web.answers import thumbnail_address

if TYPE_CHECKING:
    from lookalike.collection import Collection


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
                _told_text(event),
                shown(str(body.get("word", ""))),
                there(list(pictures)),
                there(list(body.get("rejected", []))),
                asked,
                event.kind in UNDOABLE and not event.undone,
            )
        )
    return found


def _used(body: dict[str, Any]) -> str:
    """Return which of the new models are used, in words."""
    names = {"similarity": "new similarity", "words": "new words", "codes": "new codes"}
    used = [name for part, name in names.items() if (body.get(part) or {}).get("published")]
    return " and ".join(used) or "no improvement, so not used"


def _named(body: dict[str, Any]) -> str:
    """Return what a ranker is called, where that is not its feature's name."""
    name = shown(str(body.get("name", "")))
    return f" as {name}" if name != shown(str(body.get("feature", ""))) else ""


_MOVED = {"removal": "Removed", "restoration": "Restored", "erasure": "Erased"}


def _pictures(count: int) -> str:
    return "a picture" if count == 1 else f"{count:,} pictures"


def _of_many(event: Event) -> str | None:
    """Return an event about many pictures in words; None for another."""
    body = event.body
    if event.kind == "deletion":
        return f"Erased {_pictures(len(body.get('pictures', ())))}"
    if event.kind in _MOVED:
        return f"{_MOVED[event.kind]} {_pictures(body.get('pictures', 0))}"
    if event.kind == "import":
        return (
            f"Imported labels from {body.get('source')}: {body.get('given', 0):,} given, "
            f"{body.get('taken', 0):,} taken away, on {_pictures(body.get('pictures', 0))}"
        )
    if event.kind in ("tag", "correction") and "pictures" in body:
        many = _pictures(body["pictures"])
        return f"Tagged {many} with" if event.kind == "tag" else f"Said that {many} do not show"
    return None


def _told_text(event: Event) -> str:
    body = event.body
    if event.kind == "learn":
        said = int(body.get("words_since", 0))
        if "similarity" not in body and "codes" in body:
            return f"Learned codes: {_used(body)}"
        source = f"{said:,} new {'tag' if said == 1 else 'tags'}" if said else "tags or folders"
        return f"Learned from {source}: {_used(body)}"
    if event.kind == "feature":
        return f"Added the feature {shown(str(body.get('feature', '')))}{_named(body)}"
    if (told := _of_many(event)) is not None:
        return told
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
