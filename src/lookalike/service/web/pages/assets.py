"""The page's own files, held in memory; below the digest of them all they never change.

A browser fetches few files at once, so the style sheets are sent as one, and so are the scripts.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


_STYLES = ("style", "many", "objects", "finding")


def joined(first: str, read: Callable[[str], str]) -> str:
    r"""Return one script that does what a module does, together with those it imports.

    Each module becomes a function that returns what it exports. Known are ``import { … } from``
    a file beside it, on a line of its own, and ``export`` before a function or a constant.

    Examples
    --------
    >>> files = {"a": 'import { b } from "./b.js";\nb();', "b": "export function b() {}"}
    >>> print(joined("a", files.__getitem__))
    const $b = (() => { "use strict";
    function b() {}
    return { b }; })();
    const $a = (() => { "use strict";
    const { b } = $b;
    b();
    return {  }; })();
    """
    parts = []
    for name in dict.fromkeys(_needed(first, read)):
        inside = _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2;", read(name)))
        given = ", ".join(_EXPORT.findall(read(name)))
        parts.append(
            f'const ${name} = (() => {{ "use strict";\n{inside}\nreturn {{ {given} }}; }})();'
        )
    return "\n".join(parts)


def _needed(name: str, read: Callable[[str], str]) -> Iterator[str]:
    """Yield a module after those it imports."""
    for _, other in _IMPORT.findall(read(name)):
        yield from _needed(other, read)
    yield name


def _sent() -> dict[str, bytes]:
    """Return the files as they are sent."""
    folder = Path(__file__).with_name("static")

    @cache
    def script(name: str) -> str:
        return (folder / f"{name}.js").read_text("utf-8")

    return {
        "icon.svg": (folder / "icon.svg").read_bytes(),
        "page.js": f"{script('htmx.min')}\n{joined('page', script)}".encode(),
        "style.css": b"\n".join(
            (folder / f"{name}.css").read_bytes()
            for name in ("style", "many", "objects", "finding")
        ),
        "theme.js": script("theme").encode(),
    }


_FILES = _sent()

DIGEST = hashlib.blake2b(b"\0".join(_FILES.values()), digest_size=8).hexdigest()

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
