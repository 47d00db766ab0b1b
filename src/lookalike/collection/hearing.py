"""What is said of the pictures of a collection: newly, or kept from before."""

from dataclasses import dataclass, field

from lookalike.collection import learning, rows
from lookalike.collection.database import Database
from lookalike.collection.learning import Clicks, Knowledge, Labels, NamedClicks, NamedLabels
from lookalike.collection.names import Places
from lookalike.core.errors import InvalidInput


@dataclass(frozen=True)
class Heard:
    """What is newly said, and the names that stand for no picture."""

    labels: Labels = field(default_factory=dict)
    clicks: Clicks = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    threshold: float = 0.0


def hear(
    database: Database,
    labels: NamedLabels | None,
    folders: bool,
    clicks: NamedClicks | None,
    threshold: float,
) -> Heard:
    """Find the pictures that labels or clicks are about."""
    if (labels is not None) + folders + (clicks is not None) > 1:
        raise InvalidInput(
            "learn: give one of labels, folders and clicks; they are not learned from together."
        )
    if clicks is None and threshold != 0:
        raise InvalidInput(
            f"learn: threshold is for clicks, and none are given; got {threshold!r}. Give the "
            f"clicks again, or leave it out: those given before keep theirs."
        )
    if labels is None and clicks is None and not folders:
        return Heard()
    places, roots = rows.all_places(database), rows.roots(database)
    if labels is not None:
        found, unmatched = learning.named_labels(labels, Places(places, roots))
        return Heard(labels=found, unmatched=unmatched)
    if clicks is not None:
        chosen, unmatched = learning.named_clicks(clicks, Places(places, roots))
        return Heard(clicks=chosen, unmatched=unmatched, threshold=threshold)
    return Heard(labels=learning.labels_by_folder(places, roots))


def knowledge(database: Database, heard: Heard, number: int | None = None) -> Knowledge:
    """Put what is newly said to what was said before.

    With nothing new, take what the model ``number``, or the last, was learned from.
    """
    source, threshold = rows.source_of(database, number or rows.last_model(database))
    if heard.clicks or (source == "clicks" and not heard.labels):
        clicks = {**rows.clicks(database), **heard.clicks}
        if clicks:
            return Knowledge.of_clicks(clicks, heard.threshold if heard.clicks else threshold)
    labels = {**rows.labels(database), **heard.labels}
    if not labels:
        raise InvalidInput(
            "learn: the collection knows no labels or clicks. Give some: labels, folders or clicks "
            "(lookalike learn --labels, --folders or --clicks)."
        )
    return Knowledge.of_labels(labels)
