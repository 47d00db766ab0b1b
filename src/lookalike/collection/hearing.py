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


def hear(
    database: Database, labels: NamedLabels | None, folders: bool, clicks: NamedClicks | None
) -> Heard:
    """Find the pictures that labels or clicks are about."""
    if (labels is not None) + folders + (clicks is not None) > 1:
        raise InvalidInput("Collection.learn: give one of labels, folders and clicks.")
    if labels is None and clicks is None and not folders:
        return Heard()
    places, roots = rows.all_places(database), rows.roots(database)
    if labels is not None:
        found, unmatched = learning.named_labels(labels, Places(places, roots))
        return Heard(labels=found, unmatched=unmatched)
    if clicks is not None:
        chosen, unmatched = learning.named_clicks(clicks, Places(places, roots))
        return Heard(clicks=chosen, unmatched=unmatched)
    return Heard(labels=learning.labels_by_folder(places, roots))


def knowledge(database: Database, heard: Heard) -> Knowledge:
    """Put what is newly said to what was said before; with nothing new, take what was last used."""
    last = database.row("SELECT source FROM models ORDER BY number DESC LIMIT 1")
    if heard.clicks or (last == ("clicks",) and not heard.labels):
        clicks = {**rows.clicks(database), **heard.clicks}
        if clicks:
            return Knowledge.of_clicks(clicks)
    labels = {**rows.labels(database), **heard.labels}
    if not labels:
        raise InvalidInput(
            "learn: the collection knows no labels. Give labels, folders=True or clicks."
        )
    return Knowledge.of_labels(labels)
