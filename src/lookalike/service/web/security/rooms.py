"""Where a server may read files: only in the folders of the collection and those it was allowed."""

import os
from dataclasses import replace
from pathlib import Path

from lookalike.collection import Collection, Folder
from lookalike.images import Limits, is_inside, real_folders
from lookalike.service.web.settings import Settings


def uploads(collection: Collection) -> Path:
    """Return the folder of uploads, as paths are stored: without ".."."""
    return Folder(collection.path).uploads


def folders(collection: Collection, settings: Settings) -> list[Path]:
    """Return the folders that files are read in: those indexed, of uploads, and allowed."""
    return [*collection.pictures.roots(), uploads(collection), *settings.allow]


def limits(collection: Collection, settings: Settings) -> Limits:
    """Return the limits on a file that is read: of the settings, and only in the folders."""
    return replace(settings.limits, within=real_folders(folders(collection, settings)))


def leads_inside(path: Path, collection: Collection, settings: Settings) -> bool:
    """Return whether a path lies in the folders, with links resolved."""
    return is_inside(os.path.realpath(path), real_folders(folders(collection, settings)))
