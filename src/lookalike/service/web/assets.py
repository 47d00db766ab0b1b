"""The page's own files, held in memory; below the digest of them all they never change."""

import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_FILES = {
    file.name: file.read_bytes()
    for file in sorted(Path(__file__).with_name("static").iterdir())
    if file.suffix in _TYPES
}

DIGEST = hashlib.blake2b(b"\0".join(_FILES.values()), digest_size=8).hexdigest()

MODULES = [name for name in _FILES if name.endswith(".js") and b"\nexport " in _FILES[name]]
"""The scripts that ``page.js`` imports, named to the browser before it has read that."""

router = APIRouter(include_in_schema=False)


@router.api_route("/static/{digest}/{name}", methods=["GET", "HEAD"])
@router.api_route("/static/{name}", methods=["GET", "HEAD"])
async def asset(request: Request, name: str, digest: str = "") -> Response:
    """Send a file; without the digest in its address the browser must ask again each time."""
    content = _FILES.get(name)
    if content is None:
        raise HTTPException(404)
    fixed = "max-age=31536000, immutable" if digest == DIGEST else "no-cache"
    headers = {"Cache-Control": f"private, {fixed}", "ETag": f'"{DIGEST}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)
