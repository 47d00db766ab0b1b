"""The OpenAPI document: what each field of an answer means, as the docstrings say."""

import re
from typing import Any

from fastapi import FastAPI

_SECTION = re.compile(r"\n\n[\w ]+\n---+\n")
_FIELD = re.compile(r"^(\w[\w, ]*?)(?: : .*)?\n((?:    .*\n?)+)", re.MULTILINE)


class App(FastAPI):
    """An application that describes the fields of its answers."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            for schema in super().openapi()["components"]["schemas"].values():
                describe(schema)
        return super().openapi()


def describe(schema: dict[str, Any]) -> None:
    r"""Move what a numpydoc text says of attributes to the properties of a schema.

    Examples
    --------
    >>> text = "A dog.\n\nAttributes\n----------\nname : str\n    What it\n    hears."
    >>> schema = {"description": text, "properties": {"name": {"type": "string"}}}
    >>> describe(schema)
    >>> schema["description"], schema["properties"]["name"]["description"]
    ('A dog.', 'What it hears.')
    """
    about, *sections = _SECTION.split(schema.get("description", ""))
    if sections:
        schema["description"] = about
        for names, text in _FIELD.findall(sections[0]):
            for name in names.split(", "):
                field = schema["properties"].get(name, {})
                field.setdefault("description", " ".join(text.split()))
