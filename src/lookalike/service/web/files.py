"""Serve thumbnails, stored queries and originals, only from the collection."""

import hashlib
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse

from lookalike.collection import Collection, PictureRow
from lookalike.core.errors import NotFound, UnreadablePicture
from lookalike.images import content_hash, is_inside, real_folders
from lookalike.images.read import open_file
from lookalike.service.web.api.answers import HASH
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.security import rooms
from lookalike.service.web.settings import Settings

RENDITION_SIDE = 2048
"""Longer side of a picture that is converted to JPEG because browsers cannot show its format."""
SHOWN_AS_THEY_ARE = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
"""The only formats served unchanged, by their detected content."""

PART = 1 << 18
"""Bytes of a file that are read at once."""

FOREVER = "private, max-age=31536000, immutable"
"""How a browser may keep what is named by its content."""

_ASK = "private, no-cache"
_JPEG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The client already has it."},
}
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The client already has it."},
    410: {"description": "The file has changed since it was indexed."},
}

Number = Annotated[int, InPath(ge=1, le=2**63 - 1, description="A picture's id.")]
Token = Annotated[
    str, InPath(pattern="^u[0-9a-f]{32}$", description="The token of a stored query.")
]

router = APIRouter(tags=["files"], default_response_class=Response)


@router.get("/thumbnail/{number}.jpg", responses=_JPEG, summary="Get a thumbnail")
def show_thumbnail(
    number: Number,
    request: Request,
    content: Annotated[
        str | None,
        Query(alias="v", max_length=64, description="The start of its hash, in listed addresses."),
    ] = None,
) -> Response:
    """Return the thumbnail of a picture; with its hash in the address, it may be kept for ever."""
    collection: Collection = request.app.state.collection
    if content is None:
        return _small(request, collection.pictures.thumbnail(number), _ASK)
    return _small(request, lasting_thumbnail(collection, number, content), FOREVER)


def lasting_thumbnail(collection: Collection, number: int, content: str) -> bytes:
    """Return the thumbnail of a picture, which may be kept for ever under its id and hash.

    Raises
    ------
    NotFound
        If ``content`` is not the start of the picture's hash.
    """
    # An id means another picture in another collection, which may be served here tomorrow.
    if collection.pictures.get(number).sha256[:HASH] != content:
        raise NotFound(f"Picture {number} has other content. Reload the page.")
    return collection.pictures.thumbnail(number)


@router.get("/query/{token}.jpg", responses=_JPEG, summary="Get the thumbnail of a query")
def show_query(token: Token, request: Request) -> Response:
    """Return the thumbnail of a stored query."""
    return _small(request, request.app.state.collection.queries.thumbnail(token), FOREVER)


@router.get("/image/{number}", responses=_PICTURE, summary="Get a picture's file")
async def show_image(number: Number, request: Request) -> Response:
    """Return the original file, or a JPEG if browsers cannot show its format."""
    # Whole files are read to check them, so only a few at a time.
    state = request.app.state
    return await to_thread.run_sync(_show_image, number, request, limiter=state.reading)


def _show_image(number: int, request: Request) -> Response:
    state = request.app.state
    settings: Settings = state.settings
    row = state.collection.pictures.get(number)
    kind = SHOWN_AS_THEY_ARE.get(row.format)
    headers = {
        "ETag": f'"{row.sha256}{"" if kind else f"-{RENDITION_SIDE}"}"',
        "Cache-Control": _ASK,
    }
    if _has_etag(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if kind is not None:
        file, size, place = opened_original(state.collection, row, settings)
        headers |= {"Content-Disposition": _disposition(place.name), "Content-Length": f"{size}"}
        return StreamingResponse(_parts(file, size), media_type=kind, headers=headers)
    data, place = original(state.collection, row, settings)
    decoder: Decoder = state.decoder
    data = decoder.jpeg(data, RENDITION_SIDE, limits=settings.limits)
    headers["Content-Disposition"] = _disposition(f"{place.stem}.jpg")
    return Response(data, media_type="image/jpeg", headers=headers)


def _disposition(name: str) -> str:
    return f"inline; filename*=UTF-8''{quote(os.fsencode(name))}"


async def _parts(file: BufferedReader, size: int) -> AsyncIterator[bytes]:
    """Yield a file in parts, as they are read by the client; never more than was announced."""
    try:
        left = size
        while left and (part := await to_thread.run_sync(file.read, min(PART, left))):
            left -= len(part)
            yield part
    finally:
        file.close()


def original(collection: Collection, row: PictureRow, settings: Settings) -> tuple[bytes, Path]:
    """Return the content of a picture's file, unchanged since it was indexed, and its path.

    Raises
    ------
    NotFound, HTTPException
        As :func:`opened_original` does.
    """
    file, size, place = opened_original(collection, row, settings)
    with file:
        data = file.read(size)
    return data, place


def opened_original(
    collection: Collection, row: PictureRow, settings: Settings
) -> tuple[BufferedReader, int, Path]:
    """Return a picture's file, unchanged since it was indexed, its size and its path.

    A file is used only if, with links resolved, it is inside an indexed or allowed folder, or was
    itself added by name; and only if its content is what was indexed. So a link that replaces it
    later reveals nothing.

    Raises
    ------
    NotFound
        If the file is at none of its places.
    HTTPException
        410 if the file has changed.
    """
    folders, limits = rooms.folders(collection, settings), rooms.limits(collection, settings)
    trouble, changed = "", False
    for place in row.places:
        if not may_show(place, folders):
            trouble = trouble or (
                f"{place} leads outside the folders of the collection. To show it, start the "
                f"server with --allow and the folder it leads to."
            )
            continue
        try:
            allowed = settings.limits if _is_named(place, folders) else limits
            file, size = open_file(place, allowed)
        except UnreadablePicture as error:
            trouble = trouble or f"{place}: {error}"
            continue
        if _has_content(file, row.sha256):
            return file, size, place
        file.close()
        changed = True
        trouble = f"{place} has changed since it was indexed. Index it again."
    if changed:
        raise HTTPException(410, trouble)
    raise NotFound(trouble or f"Picture {row.id} has no file.")


def _has_content(file: BufferedReader, sha256: str) -> bool:
    """Return whether a file has this content, and go back to its start."""
    with suppress(OSError):
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return digest == sha256
    return False


def may_show(place: Path, folders: Iterable[Path]) -> bool:
    """Return whether a file is in one of the folders, with links resolved, or was added by name."""
    known = list(folders)
    return is_inside(os.path.realpath(place), real_folders(known)) or _is_named(place, known)


def _is_named(place: Path, folders: Iterable[Path]) -> bool:
    """Return whether a file was added by name, not with a folder."""
    return not any(place.is_relative_to(os.path.abspath(folder)) for folder in folders)  # noqa: PTH100


def _small(request: Request, jpeg: bytes, caching: str) -> Response:
    headers = {"ETag": f'"{content_hash(jpeg)}"', "Cache-Control": caching}
    if _has_etag(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(jpeg, media_type="image/jpeg", headers=headers)


def _has_etag(request: Request, etag: str) -> bool:
    given = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") in {etag, "*"} for one in given.split(","))
