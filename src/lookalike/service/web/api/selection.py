"""The API: what is done with many pictures at once, each as one event that one undo takes back."""

from fastapi import APIRouter, Request

from lookalike.collection import MAX_EXAMPLES, Filter, SavedSearch, spread
from lookalike.core.errors import InvalidInput
from lookalike.service.answers import Count, Examples, SelectionEvent
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import Word
from lookalike.service.web.selection import Selection
from lookalike.service.web.state import collection_of, person_of, speaker

router = APIRouter(prefix="/selection", tags=["pictures"], route_class=Route)


class SelectionLabel(Selection):
    """A word that fits pictures, or does not."""

    word: Word
    shows: bool = True


@router.post("/tag", summary="Tag many pictures")
def tag(request: Request, body: SelectionLabel) -> SelectionEvent:
    """Add a label to pictures, or with `shows` false take it from those that have it.

    It is one event, which one undo takes back.
    """
    collection, who = collection_of(request), speaker(request)
    ids = body.ids(collection, who)
    if not body.shows:
        having = SavedSearch(where=Filter(tags=(body.word,), pictures=tuple(ids)))
        ids = collection.queries.all_of(having).tolist()
        if not ids:
            raise InvalidInput(f"None of these pictures is tagged “{body.word}”.")
    event = collection.label(ids, body.word, shows=body.shows, who=who, key=body.key)
    return SelectionEvent(event, len(ids))


@router.post("/remove", summary="Remove many pictures")
def remove(request: Request, body: Selection) -> Count:
    """Move pictures to the bin; their files are kept, and so is everything stored about them."""
    collection, who = collection_of(request), speaker(request)
    return Count(collection.remove(body.ids(collection, who), who=who, key=body.key))


@router.post("/examples", summary="Search with many pictures")
def examples(request: Request, body: Selection) -> Examples:
    """Return the pictures to be like, to search for what many pictures have in common."""
    ids = body.ids(collection_of(request), person_of(request))
    return Examples(tuple(spread(sorted(ids), MAX_EXAMPLES)), len(ids))
