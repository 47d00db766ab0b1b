"""The API: searches, suggested words, and reasons for a match."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, Field

from lookalike.collection import Ask, KnownWord
from lookalike.service.answers import Reasons, SearchPage, Suggestions
from lookalike.service.web.api.answers import matches
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
from lookalike.service.web.state import collection_of, next_page, person_of, viewer_of

router = APIRouter(tags=["search"], route_class=Route)


@router.get("/search", summary="Search by pictures or by words")
def search(request: Request, parameters: Annotated[Search, Query()]) -> SearchPage:
    """Return the pictures most like some and unlike others, or those matching words, best first.

    Give `like`, once or several times, or `word`: a text as people type it. Pictures that it fits
    are in one order, by how probable it is; a term that is no label, learned or start word is read
    as the words nearest in meaning, and `counts` says as which. Filters are applied within the
    search: a page is full as long as enough pictures pass them. What was picked in the same search
    before comes first, and what was rejected is left out.

    With both, matches are like the pictures and fit the text: `like=5&word=snow -people`; `weight`
    is how much the text counts. Votes then are votes on the pictures.
    """
    parameters.check()
    collection, wanted = collection_of(request), parameters.ask()
    # One more than asked for shows whether there is a next page.
    most = parameters.size(parameters.k, parameters.offset)
    verdicts: dict[int, int] = {}
    who = viewer_of(request, parameters)
    reach = counts = None
    warning = ""
    if wanted is not None:
        hits = collection.search(
            wanted,
            max(most, 1),
            by=parameters.by,
            learned=parameters.learned,
            offset=parameters.offset,
            where=parameters.where(),
            min_score=parameters.min_score,
            who=who,
            words=parameters.word or "",
            weight=parameters.weight,
            strike=parameters.strike,
        )
        verdicts = collection.votes.verdicts(wanted, who)
        reach = (
            collection.queries.reach(wanted, by=parameters.by, who=who)
            if parameters.learned
            else None
        )
    else:
        hits = collection.search_word(
            parameters.word or "",
            max(most, 1),
            by=parameters.by,
            learned=parameters.learned,
            offset=parameters.offset,
            where=parameters.where(),
            min_score=parameters.min_score,
            strike=parameters.strike,
            who=who,
        )
    if parameters.word:
        counts = collection.words.count(
            parameters.word or "",
            by=parameters.by,
            learned=parameters.learned,
            where=parameters.where(),
            strike=parameters.strike,
            who=who,
        )
        warning = collection.words.damage(parameters.by) if parameters.learned else ""
    after = parameters.offset + parameters.k
    more = len(hits) > parameters.k and after + parameters.k <= MAX_REACH
    return SearchPage(
        matches=matches(collection, hits[: min(parameters.k, most)], verdicts),
        rejected=tuple(number for number, verdict in verdicts.items() if verdict < 0),
        counts=counts,
        reach=reach,
        layers=parameters.layers if parameters.learned else "plain",
        warning=warning,
        next=next_page(request, more, offset=after),
    )


@router.get("/words", summary="List words to search by")
def words(
    request: Request,
    start: Annotated[str, Query(max_length=200, description="What they begin with.")] = "",
    k: Annotated[int, Query(ge=1, le=1000, description="Most words to return.")] = 100,
) -> list[KnownWord]:
    """Return labels, start words and folder names that some pictures have, most used first.

    Those that begin with `start` come first, then those that contain it; where none does, those
    spelled most like it. Of several words, the last is completed.
    """
    return collection_of(request).words.like(start, k)


@router.get("/suggestions/{ref}", summary="Suggest words for a picture")
def suggestions(
    request: Request,
    name: Annotated[RefText, InPath(alias="ref")],
    k: Annotated[int, Query(ge=1, le=100, description="Most words to return.")] = 8,
    by: Annotated[By, Query()] = None,
) -> Suggestions:
    """Return words that may fit a picture or stored query, neither given nor rejected yet."""
    collection = collection_of(request)
    suggested = tuple(collection.suggest(ref(name), k, by=by, who=person_of(request)))
    return Suggestions(suggested, collection.words.damage(by))


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
def reasons(request: Request, parameters: Annotated[Question, Query()]) -> Reasons:
    """Return in sentences why a picture matches: labels, words and learned directions."""
    collection = collection_of(request)
    return Reasons(
        tuple(
            collection.queries.reasons(
                *(parameters.ask(), parameters.picture, parameters.k),
                by=parameters.by,
                who=person_of(request),
            )
        ),
        collection.queries.view_parts(parameters.ask(), parameters.picture, by=parameters.by),
    )


@router.get("/views", summary="Tell how much each view counts")
def views(request: Request, by: Annotated[By, Query()] = None) -> dict[str, float]:
    """Return the weights of a ranker's views, if its feature has several."""
    return collection_of(request).models.view_weights(by)
