"""The API: searches, suggested words, and reasons for a match."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lookalike.collection.store.queries import Ask
from lookalike.core.text import shown
from lookalike.service.web.api.answers import (
    ReasonsAnswer,
    SearchAnswer,
    SuggestionAnswer,
    SuggestionsAnswer,
    ViewsAnswer,
    WordAnswer,
    WordsAnswer,
    plain,
)
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import (
    MAX_REACH,
    MAX_REFS,
    By,
    PictureId,
    RefText,
    Search,
    ask,
    ref,
)
from lookalike.service.web.facts import match_facts
from lookalike.service.web.state import collection_of, next_page

router = APIRouter(tags=["search"], route_class=Route)


@router.get("/search", summary="Search by pictures or by words", response_model=SearchAnswer)
def search(request: Request, asked: Annotated[Search, Query()]) -> JSONResponse:
    """Return the pictures most like some and unlike others, or those matching words, best first.

    Give `like`, once or several times, or `word`: one word or several, all of which must fit.
    Pictures tagged with it come first, then those whose files or folders are named so, then those
    it probably fits. Filters are applied within the search: a page is full as long as enough
    pictures pass them. What was picked in the same search before comes first, and what was
    rejected is left out.
    """
    asked.check()
    collection, wanted = collection_of(request), asked.ask()
    # One more than asked for shows whether there is a next page.
    most = asked.size(asked.k, asked.offset)
    verdicts: dict[int, int] = {}
    reach = counts = None
    warning = ""
    if wanted is not None:
        found = collection.search(
            wanted,
            max(most, 1),
            by=asked.by,
            learned=asked.learned,
            offset=asked.offset,
            where=asked.where(),
            min_score=asked.min_score,
        )
        verdicts = collection.verdicts(wanted)
        reach = collection.reach(wanted, by=asked.by) if asked.learned else None
    else:
        found = collection.search_word(
            asked.word or "",
            max(most, 1),
            by=asked.by,
            learned=asked.learned,
            offset=asked.offset,
            where=asked.where(),
            min_score=asked.min_score,
        )
        counts = collection.count_word(
            asked.word or "", by=asked.by, learned=asked.learned, where=asked.where()
        )
        warning = shown(collection.words_damage(asked.by)) if asked.learned else ""
    after = asked.offset + asked.k
    more = len(found) > asked.k and after + asked.k <= MAX_REACH
    matches = match_facts(collection, found[: min(asked.k, most)], verdicts)
    following = next_page(request, more, offset=after)
    rejected = [number for number, verdict in verdicts.items() if verdict < 0]
    return JSONResponse(
        {
            "matches": matches,
            "rejected": rejected,
            "counts": None if counts is None else plain(asdict(counts)),
            "reach": reach,
            "warning": warning,
            "next": following,
        }
    )


@router.get("/words", summary="List words to search by")
def words(
    request: Request,
    start: Annotated[str, Query(max_length=200, description="What they begin with.")] = "",
    k: Annotated[int, Query(ge=1, le=1000, description="Most words to return.")] = 100,
) -> WordsAnswer:
    """Return labels, start words and folder names that some pictures have, most used first.

    Those that begin with `start` come first, then those that contain it; where none does, those
    spelled most like it. Of several words, the last is completed.
    """
    found = collection_of(request).words_like(start, k)
    return WordsAnswer(
        words=[
            WordAnswer(word=shown(one.word), pictures=one.pictures, source=one.source)
            for one in found
        ]
    )


@router.get("/suggestions/{ref}", summary="Suggest words for a picture")
def suggestions(
    request: Request,
    name: Annotated[RefText, InPath(alias="ref")],
    k: Annotated[int, Query(ge=1, le=100, description="Most words to return.")] = 8,
    by: Annotated[By, Query()] = None,
) -> SuggestionsAnswer:
    """Return words that may fit a picture or stored query, neither given nor rejected yet."""
    collection = collection_of(request)
    found = collection.suggest(ref(name), k, by=by)
    return SuggestionsAnswer(
        suggestions=[SuggestionAnswer.of(one) for one in found],
        warning=shown(collection.words_damage(by)),
    )


class Question(BaseModel):
    """A search, and the match to explain."""

    like: list[RefText] = Field(min_length=1, max_length=MAX_REFS)
    unlike: list[RefText] = Field(default_factory=list, max_length=MAX_REFS)
    picture: PictureId
    k: int = Field(5, ge=1, le=100, description="Most reasons to return.")
    by: By = None

    def ask(self) -> Ask:
        """Return what was searched for."""
        return ask(self.like, self.unlike)


@router.get("/reasons", summary="Explain why a picture matches")
def reasons(request: Request, asked: Annotated[Question, Query()]) -> ReasonsAnswer:
    """Return in sentences why a picture matches: labels, words and learned directions."""
    collection = collection_of(request)
    found = collection.reasons(asked.ask(), asked.picture, asked.k, by=asked.by)
    views = collection.view_parts(asked.ask(), asked.picture, by=asked.by)
    return ReasonsAnswer(reasons=[shown(one) for one in found], views=views)


@router.get("/views", summary="Tell how much each view counts")
def views(request: Request, by: Annotated[By, Query()] = None) -> ViewsAnswer:
    """Return the weights of a ranker's views, if its feature has several."""
    return ViewsAnswer(weights=collection_of(request).view_weights(by))
