"""The API: folders of this computer, to choose one to import from."""

import os
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request

from lookalike.core.errors import InvalidInput
from lookalike.core.text import shown
from lookalike.images import ENDINGS
from lookalike.service.answers import FolderView
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_PATH
from lookalike.service.web.jobs.imports import allowed
from lookalike.service.web.security import rooms
from lookalike.service.web.state import collection_of

MAX_ENTRIES = 10_000
"""Entries of a folder that are looked at."""

router = APIRouter(tags=["jobs"], route_class=Route)


@router.get("/folders", summary="Look into a folder to import from")
def look(
    request: Request,
    path: Annotated[
        str | None, Query(max_length=MAX_PATH, description="By default, where one may begin.")
    ] = None,
) -> FolderView:
    """Return the folders in a folder, and how many pictures lie in it; needs the full key.

    Only folders that may be imported from are shown; hidden ones are left out.
    """
    if getattr(request.state, "role", "write") != "write":
        raise HTTPException(403, "Only who may import pictures may look into folders.")
    collection, settings = collection_of(request), request.app.state.settings
    if path is None:
        places = dict.fromkeys([*settings.allow, *collection.pictures.roots()])
        return FolderView(None, None, tuple(place for place in places if place.is_dir()), 0)
    (folder,) = allowed(collection, settings, [path])
    above = folder.parent
    try:
        folders, pictures = _contents(folder)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"folders: {shown(folder)!r:.300} cannot be read: {reason}.") from error
    is_top = above == folder or not rooms.leads_inside(above, collection, settings)
    return FolderView(folder, None if is_top else above, folders, pictures)


def _contents(folder: Path) -> tuple[tuple[Path, ...], int]:
    """Return the folders in a folder, by name, and how many of its files are named as pictures."""
    folders, pictures = [], 0
    with os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                folders.append(folder / entry.name)
            else:
                pictures += Path(entry.name).suffix.lower() in ENDINGS
    return tuple(sorted(folders, key=lambda one: one.name.casefold())), pictures
