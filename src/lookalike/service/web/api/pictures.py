"""The API: pictures, uploads and stored queries."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import Collection, Subfolder
from lookalike.core.arrays import write_whole
from lookalike.core.errors import CollectionError, UnreadablePicture
from lookalike.core.text import nfc, without_controls
from lookalike.images import content_hash
from lookalike.images.thumbnails import THUMBNAIL_SIDE
from lookalike.service.answers import (
    Count,
    NearbyPicture,
    Picture,
    PicturePage,
    StoredQuery,
    Upload,
)
from lookalike.service.web.api import answers
from lookalike.service.web.api.answers import Answer
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import (
    MAX_ID,
    MAX_K,
    MAX_PATH,
    MAX_PICTURES,
    MAX_REACH,
    Browse,
    Filters,
    Order,
    PictureId,
    Reach,
    Statement,
)
from lookalike.service.web.files import original
from lookalike.service.web.security import rooms
from lookalike.service.web.state import collection_of, decoder_of, jobs_of, next_page, speaker

router = APIRouter(tags=["pictures"], route_class=Route)

SUFFIXES = {"jpg": ("jpg", "jpeg"), "tif": ("tif", "tiff"), "heic": ("heic", "heif")}
"""What the name of an uploaded file may end in, for the ending of its format."""

MAX_STEM, MAX_SAME = 200, 1000
_ENDINGS = {"JPEG": "jpg", "TIFF": "tif", "HEIF": "heic"}

_PICTURE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The content of a picture file.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "image/*": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

Id = Annotated[PictureId, InPath(alias="id")]


async def _body(request: Request) -> BytesIO:
    """Return the body of a request; the guard limits its size.

    It is put together as it comes, and who closes it lets go of it: so it is in memory once.
    """
    body = BytesIO()
    async for part in request.stream():
        body.write(part)
    return body


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Body = Annotated[BytesIO, Depends(_body)]


class Range(Filters):
    """A part of the list of pictures."""

    k: int = Field(50, ge=1, le=MAX_REACH, description="Most ids to return.")
    offset: int = Field(0, ge=0, le=MAX_ID, description="Pictures to skip.")
    order: Order = Field("newest", description="By the time taken, or by the time added.")


@router.get("/pictures", summary="List pictures")
def pictures(request: Request, parameters: Annotated[Browse, Query()]) -> PicturePage:
    """Return one page of the pictures that pass the filters."""
    collection, where = collection_of(request), parameters.where()
    rows = collection.pictures.browse(
        parameters.k, offset=parameters.offset, where=where, order=parameters.order
    )
    total, after = collection.pictures.count(where), parameters.offset + parameters.k
    more = total > after and after + parameters.k <= MAX_REACH
    return PicturePage(
        pictures=answers.pictures(collection, rows),
        total=total,
        next=next_page(request, more, offset=after),
    )


@router.get("/pictures/ids", summary="List the ids of pictures")
def picture_ids(request: Request, parameters: Annotated[Range, Query()]) -> list[int]:
    """Return the ids of a part of the list of pictures."""
    return collection_of(request).pictures.browse_ids(
        parameters.k, offset=parameters.offset, where=parameters.where(), order=parameters.order
    )


@router.get("/pictures/{id}", summary="Get a picture")
def picture(request: Request, number: Id) -> Picture:
    """Return what is known about a picture."""
    return _answer(collection_of(request), number)


@router.get("/pictures/{id}/nearby", summary="List pictures by how near to one they were taken")
def nearby(
    request: Request,
    number: Id,
    k: Annotated[int, Query(ge=1, le=MAX_K, description="Most pictures to return.")] = 50,
) -> tuple[NearbyPicture, ...]:
    """Return the pictures taken nearest to one whose place is known, the nearest first."""
    collection = collection_of(request)
    return answers.nearby_pictures(collection, collection.pictures.nearby(number, k))


@router.get("/subfolders", summary="List folders of pictures")
def subfolders(
    request: Request,
    above: Annotated[
        str, Query(max_length=MAX_PATH, description="A folder; by default the highest are listed.")
    ] = "",
) -> list[Subfolder]:
    """Return the folders in one that pictures lie in or below, with the number of pictures."""
    return collection_of(request).pictures.subfolders(above)


@router.delete("/pictures/{id}", summary="Delete a picture")
def delete(
    request: Request,
    number: Id,
) -> Count:
    """Move a picture to the bin. Its file is kept, and so is everything stored about it."""
    who = speaker(request)
    return Count(collection_of(request).remove([number], who=who))


class BinSelection(Statement):
    """Pictures in the bin: some, or all."""

    pictures: list[PictureId] | None = Field(None, min_length=1, max_length=MAX_PICTURES)


@router.post("/pictures/{id}/look", summary="Look for a missing file")
def look(request: Request, number: Id) -> Picture:
    """Look again whether the files of a picture are there."""
    collection = collection_of(request)
    collection.pictures.find_missing(collection.pictures.get(number).places)
    return _answer(collection, number)


@router.get("/bin", summary="List the bin")
def binned(request: Request, parameters: Annotated[Reach, Query()]) -> PicturePage:
    """Return the pictures in the bin, the last removed first."""
    collection = collection_of(request)
    result, total = (
        collection.bin.browse(parameters.k, offset=parameters.offset),
        collection.bin.count(),
    )
    after = parameters.offset + parameters.k
    return PicturePage(
        pictures=answers.pictures(collection, result),
        total=total,
        next=next_page(request, total > after and after + parameters.k <= MAX_REACH, offset=after),
    )


@router.post("/bin/restore", summary="Restore pictures")
def restore(request: Request, body: BinSelection) -> Count:
    """Bring pictures back from the bin, or all in it, with everything stored about them."""
    who = speaker(request)
    return Count(collection_of(request).restore(body.pictures, who=who, key=body.key))


@router.post("/bin/empty", summary="Empty the bin")
def empty(request: Request, body: BinSelection) -> Count:
    """Erase pictures of the bin, or all in it: what is stored about them, and uploaded files.

    Files in your folders are never touched. This cannot be undone.
    """
    who = speaker(request)
    with jobs_of(request).writing():
        return Count(collection_of(request).bin.empty(body.pictures, who=who))


@router.post(
    "/pictures",
    summary="Upload a picture",
    status_code=201,
    response_model=Upload,
    responses={200: {"model": Upload, "description": "It was already in the collection."}},
    openapi_extra=_PICTURE,
)
def add(
    request: Request,
    body: Body,
    name: Annotated[
        str, Query(max_length=255, description="The file's name, which it keeps as far as it can.")
    ] = "",
) -> Answer:
    """Add a picture file and store it; one already in the collection is not added again.

    One that is in the bin is restored.
    """
    collection = collection_of(request)
    data = body.getvalue()
    sha256 = content_hash(data)
    known = collection.pictures.find_content(sha256)
    if known is not None:
        return Answer(Upload(_answer(collection, known), False), 200)
    facts = decoder_of(request).decode(data, side=THUMBNAIL_SIDE).facts
    ending = _ENDINGS.get(facts.format, facts.format.lower())
    with jobs_of(request).writing():
        path = free_place(rooms.uploads(collection), name, sha256, ending)
        try:
            write_whole(path, data)
        except OSError as error:
            raise CollectionError(
                f"Cannot store the picture: {error.strerror or error}. Nothing was added. Free "
                f"some space and upload it again."
            ) from error
        body.close()
        del data
        try:
            limits = rooms.limits(collection, request.app.state.settings)
            added = collection.add([path], removed=True, limits=limits)
        finally:
            number = collection.pictures.find(path)
            if number is None:
                # What cannot be deleted now is swept later; the first error is the one to tell.
                with suppress(OSError):
                    path.unlink(missing_ok=True)
    if number is None:
        raise UnreadablePicture(added.refused[0].reason if added.refused else "the file is gone")
    return Answer(Upload(_answer(collection, number), added.added > 0), 201)


@router.post("/queries", summary="Upload a picture to search with", openapi_extra=_PICTURE)
def keep_query(request: Request, body: Body) -> StoredQuery:
    """Store a picture to search with and vote on, without adding it to the collection."""
    collection = collection_of(request)
    limits = request.app.state.settings.upload_limits
    return _stored(collection.queries.keep(body.getvalue(), limits=limits))


class Region(BaseModel):
    """A part of a picture."""

    model_config = ConfigDict(extra="forbid")

    picture: PictureId
    box: tuple[Share, Share, Share, Share] = Field(
        description="Left, top, right and bottom, as fractions of its width and height."
    )


@router.post("/queries/region", summary="Select a part of a picture to search with")
def keep_region(request: Request, region: Region) -> StoredQuery:
    """Store a part of a picture to search with and vote on."""
    collection, settings = collection_of(request), request.app.state.settings
    data, _ = original(collection, collection.pictures.get(region.picture), settings)
    return _stored(collection.queries.keep(data, box=region.box, limits=settings.limits))


def free_place(folder: Path, name: str, sha256: str, ending: str) -> Path:
    r"""Return where to store an uploaded file: under its own name, if that is safe and free.

    Examples
    --------
    >>> free_place(Path("uploads"), "../Café.JPEG", "0a1b", "jpg")
    PosixPath('uploads/Café.JPEG')
    >>> free_place(Path("uploads"), "..", "0a1b", "png")
    PosixPath('uploads/0a1b.png')
    """
    last = without_controls(nfc(name)).replace("\\", "/").rpartition("/")[2].strip().lstrip(".")
    stem, _, own = last.rpartition(".")
    kind = own if stem and own.lower() in SUFFIXES.get(ending, (ending,)) else ending
    called = (stem if stem and kind == own else last).encode()[:MAX_STEM].decode(errors="ignore")
    if not called.strip():
        return folder / f"{sha256}.{ending}"
    for number in range(1, MAX_SAME):
        again = "" if number == 1 else f" {number}"
        if not (place := folder / f"{called}{again}.{kind}").exists():
            return place
    return folder / f"{sha256}.{ending}"


def _answer(collection: Collection, number: int) -> Picture:
    return answers.pictures(collection, [collection.pictures.get(number)])[0]


def _stored(token: str) -> StoredQuery:
    return StoredQuery(token, f"/query/{token}.jpg")
