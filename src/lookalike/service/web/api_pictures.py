"""The API: pictures, uploads and stored queries."""

import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import Collection
from lookalike.collection.pictures.adding import THUMBNAIL_SIDE
from lookalike.core.arrays import write_whole
from lookalike.core.errors import CollectionError, UnreadablePicture
from lookalike.core.text import nfc, without_controls
from lookalike.images import content_hash
from lookalike.service.web.answers import Added, PictureAnswer, PicturesAnswer, Removed, Token
from lookalike.service.web.api_errors import Route
from lookalike.service.web.facts import picture_answers
from lookalike.service.web.files import original
from lookalike.service.web.parameters import MAX_REACH, Browse, PictureId
from lookalike.service.web.state import collection_of, decoder_of, jobs_of, next_page, speaker
from lookalike.service.web.users import User

router = APIRouter(tags=["pictures"], route_class=Route)

UPLOADS = "uploads"
SUFFIXES = {"jpg": ("jpg", "jpeg"), "tif": ("tif", "tiff"), "heic": ("heic", "heif")}
"""What the name of an uploaded file may end in, for the ending of its format."""

MAX_STEM, MOST_SAME = 200, 1000
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


async def _body(request: Request) -> bytes:
    """Return the body of a request; the guard limits its size."""
    return await request.body()


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Body = Annotated[bytes, Depends(_body)]


@router.get("/pictures", summary="List pictures")
def pictures(request: Request, asked: Annotated[Browse, Query()]) -> PicturesAnswer:
    """Return one page of the pictures that pass the filters."""
    collection, where = collection_of(request), asked.where()
    found = collection.browse(asked.k, offset=asked.offset, where=where, order=asked.order)
    total, after = collection.count(where), asked.offset + asked.k
    more = total > after and after + asked.k <= MAX_REACH
    return PicturesAnswer(
        pictures=picture_answers(collection, found),
        total=total,
        next=next_page(request, more, offset=after),
    )


@router.get("/pictures/{id}", summary="Get a picture")
def picture(request: Request, number: Id) -> PictureAnswer:
    """Return what is known about a picture."""
    return _answer(collection_of(request), number)


@router.delete("/pictures/{id}", summary="Delete a picture")
def delete(
    request: Request,
    number: Id,
    user: Annotated[User, Query()] = None,
) -> Removed:
    """Remove a picture and everything stored about it.

    Files in your folders are kept; an uploaded file is deleted.
    """
    who, collection = speaker(request, user), collection_of(request)
    with jobs_of(request).writing():
        places = collection.picture(number).places
        removed = collection.remove([number], who=who)
        for place in places:
            if place.parent == _uploads(collection):
                place.unlink(missing_ok=True)
    return Removed(removed=removed)


@router.post(
    "/pictures",
    summary="Upload a picture",
    status_code=201,
    responses={200: {"model": Added, "description": "It was already in the collection."}},
    openapi_extra=_PICTURE,
)
def add(
    request: Request,
    data: Body,
    response: Response,
    name: Annotated[
        str, Query(max_length=255, description="The file's name, which it keeps as far as it can.")
    ] = "",
) -> Added:
    """Add a picture file and store it; one already in the collection is not added again."""
    collection = collection_of(request)
    sha256 = content_hash(data)
    known = collection.find_content(sha256)
    if known is not None:
        response.status_code = 200
        return Added(picture=_answer(collection, known), new=False)
    facts = decoder_of(request).decode(data, side=THUMBNAIL_SIDE).facts
    ending = _ENDINGS.get(facts.format, facts.format.lower())
    with jobs_of(request).writing():
        path = free_place(_uploads(collection), name, sha256, ending)
        try:
            write_whole(path, data)
        except OSError as error:
            raise CollectionError(
                f"Cannot store the picture: {error.strerror or error}. Nothing was added. Free "
                f"some space and upload it again."
            ) from error
        try:
            added = collection.add([path])
        finally:
            number = collection.find(path)
            if number is None:
                path.unlink(missing_ok=True)
    if number is None:
        raise UnreadablePicture(added.refused[0].reason if added.refused else "the file is gone")
    return Added(picture=_answer(collection, number), new=True)


@router.post("/queries", summary="Upload a picture to search with", openapi_extra=_PICTURE)
def keep_query(request: Request, data: Body) -> Token:
    """Store a picture to search with and vote on, without adding it to the collection."""
    collection = collection_of(request)
    sides = [feature.decode_side for feature in collection.features.values()]
    needed = [side for side in sides if side is not None]
    side = max([*needed, THUMBNAIL_SIDE]) if len(needed) == len(sides) else None
    decoded = decoder_of(request).decode(data, side=side)
    return Token.of(collection.keep_query(decoded.image, content=data))


class Region(BaseModel):
    """A part of a picture."""

    model_config = ConfigDict(extra="forbid")

    picture: PictureId
    box: tuple[Share, Share, Share, Share] = Field(
        description="Left, top, right and bottom, as fractions of its width and height."
    )


@router.post("/queries/region", summary="Select a part of a picture to search with")
def keep_region(request: Request, region: Region) -> Token:
    """Store a part of a picture to search with and vote on."""
    collection, settings = collection_of(request), request.app.state.settings
    data, _ = original(collection, collection.picture(region.picture), settings)
    return Token.of(collection.keep_query(data, box=region.box, limits=settings.limits))


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
    for number in range(1, MOST_SAME):
        again = "" if number == 1 else f" {number}"
        if not (place := folder / f"{called}{again}.{kind}").exists():
            return place
    return folder / f"{sha256}.{ending}"


def _uploads(collection: Collection) -> Path:
    # As paths are stored: without "..", which Path.absolute keeps.
    return Path(os.path.abspath(collection.path)) / UPLOADS  # noqa: PTH100


def _answer(collection: Collection, number: int) -> PictureAnswer:
    return picture_answers(collection, [collection.picture(number)])[0]
