"""The log of events as the page shows it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.collection import Entry
from lookalike.core.errors import CollectionError
from lookalike.service.web.api.answers import thumbnail_address

if TYPE_CHECKING:
    from lookalike.collection import Collection


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry of the log as shown on the page: its pictures by id, without those gone."""

    entry: Entry
    pictures: dict[int, str]
    rejected: dict[int, str]
    query: list[str]


def entry_views(collection: "Collection", log: Iterable[Entry]) -> list[EntryView]:
    """Return entries with the thumbnails of those of their pictures that still exist."""
    addresses: dict[int, str] = {}

    def thumbnails(ids: Iterable[Any]) -> dict[int, str]:
        for number in ids:
            if isinstance(number, int) and number not in addresses:
                try:
                    sha256 = collection.pictures.get(number).sha256
                    addresses[number] = thumbnail_address(number, sha256)
                except CollectionError:
                    addresses[number] = ""
        return {number: addresses[number] for number in ids if addresses.get(number)}

    views = []
    for entry in log:
        query = [
            address
            for ref in entry.body.get("like", ())
            for address in (
                [f"/query/{ref}.jpg"] if isinstance(ref, str) else thumbnails([ref]).values()
            )
        ]
        rejected = thumbnails(entry.body.get("rejected", ()))
        views.append(EntryView(entry, thumbnails(entry.pictures), rejected, query))
    return views
