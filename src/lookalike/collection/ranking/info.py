"""What is to be known of a ranker."""

from dataclasses import dataclass

from lookalike.collection.store.models import CodeFigures


@dataclass(frozen=True, slots=True)
class RankerInfo:
    """A way to search a collection.

    Attributes
    ----------
    name : str
        What ``search(by=…)`` names it by.
    feature : str
        How pictures are described.
    method : str
        What was learned for it: the similarity in use, ``cosine`` where nothing was.
    ready : bool
        Whether it can be searched by; else pictures are still to be described.
    pictures, undescribed : int
        Pictures it has described, and those it has not.
    trouble : str
        Why it cannot be used, as a part that is not installed any more, or, if it is ready, why
        the words it has learned cannot; else empty.
    codes : CodeFigures or None
        How well its codes find candidates; None where it has none, and every search is exact.
    """

    name: str
    feature: str
    method: str
    ready: bool
    pictures: int
    undescribed: int
    trouble: str
    codes: CodeFigures | None = None
