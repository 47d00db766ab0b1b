"""What is typed as filters, such as ``folder:holidays``: which pictures pass."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.pictures.names import folders
from lookalike.collection.ranking.session import Session
from lookalike.collection.search.query_language import TypedQuery
from lookalike.collection.store import details, labels, pictures
from lookalike.collection.store.filter import Filter, read_near
from lookalike.core.errors import InvalidInput, NotFound
from lookalike.core.text import plain_key

Ids: TypeAlias = NDArray[np.int64]
Select: TypeAlias = Callable[[Filter | None], Ids | None]
"""Returns the ids that pass a filter, rising; None for all."""

_FORMATS = {"JPG": "JPEG", "TIF": "TIFF", "HEIC": "HEIF"}


def selected(
    session: Session, typed: TypedQuery, among: Ids | None, select: Select
) -> tuple[Ids, list[str]]:
    """Return the pictures that pass what was typed as filters, and those nothing is known of."""
    ids = session.answers.read(pictures.ids) if among is None else among
    problems = []
    dates = Filter(taken_from=typed.taken_from, taken_to=typed.taken_to)
    if dates != Filter():
        if str(dates.taken_from or "") <= str(dates.taken_to or "~") + "~":
            passing = select(dates)
            ids = ids if passing is None else np.intersect1d(ids, passing)
        else:
            ids = ids[:0]
    for one in typed.conditions:
        try:
            parts = [select(where) for where in _filters(session, one.field, one.value)]
            passing = np.unique(
                np.concatenate([ids[:0], *(part for part in parts if part is not None)])
            )
        except (InvalidInput, NotFound):
            problems.append(f"{one.field}:{one.value}")
            continue
        ids = np.setdiff1d(ids, passing) if one.without else np.intersect1d(ids, passing)
    return ids, problems


def _filters(session: Session, field: str, value: str) -> list[Filter]:
    """Return filters any of which a picture must pass for a condition."""
    if field == "folder":
        key = plain_key(value)
        return [
            Filter(folder=path)
            for path, _ in session.answers.read(folders)
            if key in plain_key(Path(path).name)
        ]
    if field == "label":
        return [Filter(tags=(name,)) for name in spellings(session, value)]
    if field in ("camera", "lens"):
        every = session.answers.read(details.cameras if field == "camera" else details.lenses)
        words = plain_key(value).split()
        names = tuple(it for it, _ in every if all(word in plain_key(it) for word in words))
        some = Filter(cameras=names) if field == "camera" else Filter(lenses=names)
        return [some] if names else []
    return [_filter(field, value)]


def _filter(field: str, value: str) -> Filter:
    """Return the filter of a condition that stands for one."""
    if field == "format":
        return Filter(formats=(_FORMATS.get(value.upper(), value.upper()),))
    if field == "album":
        return Filter(album=value)
    if field == "near":
        return Filter(near=read_near(value))
    if field == "is":
        return Filter(untagged=True)
    raise InvalidInput(f"search_word: there is no filter {field!r}.")


def spellings(session: Session, text: str) -> list[str]:
    """Return the labels that a text may mean: itself, else those alike but for accents."""
    if labels.is_label(session.database, text):
        return [text]
    plain = session.answers.get(("plain labels",), lambda: _plain_labels(session))
    return plain.get(plain_key(text), [])


def _plain_labels(session: Session) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for label, _ in session.answers.read(labels.labels_used):
        result.setdefault(plain_key(label), []).append(label)
    return result
