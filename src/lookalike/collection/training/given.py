"""Read what is given to learn from: find the pictures that labels, folders or clicks are about."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from lookalike.collection.log.examples import NOTHING, Given
from lookalike.collection.store import places as stored
from lookalike.collection.store.database import Database
from lookalike.collection.store.labels import Clicks, Labels
from lookalike.collection.training.paths import AMBIGUOUS, Places
from lookalike.core.errors import InvalidInput
from lookalike.core.text import first_control, label_name
from lookalike.supervision import folder_labels

NamedLabels: TypeAlias = (
    Mapping[str, Sequence[str]] | Mapping[Path, Sequence[str]] | Mapping[str | Path, Sequence[str]]
)
"""Labels by the names of files."""

NamedClicks: TypeAlias = (
    Mapping[str, Mapping[str, float]]
    | Mapping[str, Mapping[str | Path, float]]
    | Mapping[str, dict[str, float]]
    | Mapping[str, dict[str | Path, float]]
)
"""Weights by query and name of file."""


def read_given(
    database: Database,
    labels: NamedLabels | None,
    folders: bool,
    clicks: NamedClicks | None,
    threshold: float,
) -> Given:
    """Find the pictures that labels or clicks are about."""
    if (labels is not None) + folders + (clicks is not None) > 1:
        raise InvalidInput("learn: give only one of labels, folders and clicks.")
    if clicks is None and threshold != 0:
        raise InvalidInput(
            f"learn: threshold needs clicks; got {threshold!r} without any. Give the "
            f"clicks again, or leave it out: those given before keep theirs."
        )
    if labels is None and clicks is None and not folders:
        return NOTHING
    places, roots = stored.all_places(database), stored.roots(database)
    if labels is not None:
        result, unmatched = named_labels(labels, Places(places, roots))
        return Given(labels=result, unmatched=unmatched)
    if clicks is not None:
        chosen, unmatched = named_clicks(clicks, Places(places, roots))
        return Given(clicks=chosen, unmatched=unmatched, threshold=threshold)
    return Given(labels=labels_by_folder(places, roots), source="folders")


def named_labels(labels: NamedLabels, places: Places) -> tuple[Labels, list[str]]:
    """Return the labels of the pictures that names stand for, and the names that stand for none."""
    result: Labels = {}
    unmatched = []
    for name, given in labels.items():
        picture, why = places.find(name)
        if picture is None:
            unmatched.append(f"{name}: {why}")
        else:
            spelled = list(map(label_name, [given] if isinstance(given, str) else given))
            for label in spelled:
                if (sign := first_control(label)) is not None:
                    raise InvalidInput(
                        f"learn: labels must not contain control characters; got {sign!r} in "
                        f"{label!r:.80} of {name!s:.200}. Leave it out."
                    )
            kept = [*result.get(picture, []), *filter(None, spelled)]
            result[picture] = list(dict.fromkeys(kept))
    _check_any(result, unmatched)
    return result, unmatched


def named_clicks(clicks: NamedClicks, places: Places) -> tuple[Clicks, list[str]]:
    """Return the weights of the pictures that names stand for, and names that stand for none."""
    result: Clicks = {}
    unmatched: dict[str, str] = {}
    for query, chosen in clicks.items():
        weights = result.setdefault(label_name(query), {})
        for name, weight in chosen.items():
            picture, why = places.find(name)
            if picture is None:
                unmatched[str(name)] = f"{name}: {why}"
            else:
                weights[picture] = weights.get(picture, 0.0) + float(weight)
    _check_any(
        [picture for weights in result.values() for picture in weights], [*unmatched.values()]
    )
    return result, list(unmatched.values())


def _check_any(result: Collection[Any], unmatched: list[str]) -> None:
    if result:
        return
    if not unmatched:
        raise InvalidInput("learn: no file is named. Name pictures of the collection.")
    ambiguous = any(AMBIGUOUS in one for one in unmatched)
    remedy = "Name more of the path." if ambiguous else "Add the pictures first."
    none = (
        "the file named does not stand for one picture"
        if len(unmatched) == 1
        else f"none of the {len(unmatched):,} files named stands for one picture"
    )
    raise InvalidInput(f"learn: {none}: {unmatched[0]}. {remedy}")


def labels_by_folder(places: Iterable[tuple[str, int]], roots: Iterable[str]) -> Labels:
    """Take the folders a picture lies in for its labels.

    Pictures directly in a root get none if the root has folders with pictures, since then those
    are the labels.
    """
    by_path = dict(places)
    folders = {Path(path).parent for path in by_path}
    above = {parent for folder in folders for parent in folder.parents}
    named = folder_labels(by_path, roots=[root for root in roots if Path(root) in above])
    result: Labels = {}
    for path, names in named.items():
        kept = [*result.get(by_path[path], []), *names]
        result[by_path[path]] = list(dict.fromkeys(kept))
    return result
