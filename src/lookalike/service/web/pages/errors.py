"""Error responses: JSON for programs, a small page for people, never a traceback."""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

UNEXPECTED = "Internal error; see the server's log."

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · lookalike</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body>
<main class="notice">
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


class Refusal(Exception):
    """A request is refused before it reaches the application."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


def wants_page(scope: Mapping[str, Any]) -> bool:
    """Return whether the request comes from a browser rather than a program."""
    path = scope["path"]
    if path == "/api" or path.startswith("/api/"):
        return False
    return any(
        name == b"accept" and b"text/html" in value.lower() for name, value in scope["headers"]
    )


def refuse(
    scope: Mapping[str, Any],
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response for a refused request."""
    sentence = printable(message)
    if not wants_page(scope):
        return JSONResponse({"error": sentence}, status, headers)
    text = f'<p>{escape(sentence)}</p>\n<p><a href="/">All pictures</a></p>'
    return HTMLResponse(page(_title(status), text), status, headers)


def page(title: str, body: str) -> str:
    """Return a small page around a body of HTML."""
    return _PAGE.format(title=escape(title), body=body)


def printable(text: str) -> str:
    r"""Return text that UTF-8 can encode; undecodable bytes of file names become question marks.

    Examples
    --------
    >>> printable("caf\udce9.jpg")
    'caf?.jpg'
    """
    return text.encode("utf-8", "replace").decode()


def _title(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
