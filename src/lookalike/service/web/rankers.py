"""Which ranker a request is about, and which ones the page offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.core.text import shown

if TYPE_CHECKING:
    from lookalike.collection import Collection, RankerInfo, Standing
    from lookalike.service.web.api.parameters import Search

OBJECTS = "regions"
"""The feature that finds the same object again."""

TOGETHER = "together"
"""What a search by look and object together is called."""

AnySearch = TypeVar("AnySearch", bound="Search")


@dataclass(frozen=True, slots=True)
class RankerView:
    """The rankers of a collection, and the one that a page shows.

    Attributes
    ----------
    rankers : sequence of RankerInfo
    name : str
        The one in view: the one asked for, the first, or, if that cannot be used, another.
    by : str or None
        What an address names it by; None for the first.
    """

    rankers: "Sequence[RankerInfo]"
    name: str
    by: str | None

    @classmethod
    def of(cls, collection: "Collection", by: str | None) -> "RankerView":
        """Return the ranker asked for, or raise InvalidInput with those to choose from."""
        rankers = collection.models.rankers()
        check_ranker(collection, by, rankers)
        first = rankers[0].name
        usable = [info.name for info in rankers if info.ready]
        name = by or (first if first in usable else next(iter(usable), first))
        if cls(rankers, name, by).is_together:
            # The first alone and the first together with objects are two searches.
            return cls(rankers, first if by == TOGETHER else name, None if by == TOGETHER else by)
        return cls(rankers, name, None if name == first else name)

    @property
    def choices(self) -> list[str]:
        """The rankers to choose from; none where there is no other than the one in view."""
        ready = [info.name for info in self.rankers if info.ready]
        return ready if ready != [self.name] else []

    @property
    def objects(self) -> str | None:
        """The ranker that finds the same object again; None if there is none."""
        return next(
            (one.name for one in self.rankers if one.feature == OBJECTS and one.ready), None
        )

    @property
    def is_together(self) -> bool:
        """Whether a search that names no ranker is by look and object together."""
        first = self.rankers[0]
        return self.objects is not None and first.feature != OBJECTS and first.ready

    @property
    def first(self) -> str:
        """The ranker that is used where none is named."""
        return self.rankers[0].name

    def fill_in(self, search: AnySearch) -> AnySearch:
        """Return a search that names the ranker in view."""
        return search if search.by == self.by else search.model_copy(update={"by": self.by})


def check_ranker(
    collection: "Collection", name: str | None, rankers: "Sequence[RankerInfo] | None" = None
) -> None:
    """Raise InvalidInput if there is no ranker of this name."""
    if name is None:
        return
    known = [info.name for info in rankers or collection.models.rankers()]
    if name == TOGETHER:
        return
    if name not in known:
        raise InvalidInput(
            f"There is no ranker {shown(name)!r:.80}. Choose one of {', '.join(map(shown, known))}."
        )


def standing_of(collection: "Collection", by: str | None, who: str = "") -> "Standing | None":
    """Return what votes have taught a ranker, or the first that can be used; None without any."""
    try:
        return collection.votes.standing(by, who)
    except InvalidInput:
        raise
    except LookalikeError:
        other = RankerView.of(collection, None).by if by is None else None
    return None if other is None else standing_of(collection, other, who)
