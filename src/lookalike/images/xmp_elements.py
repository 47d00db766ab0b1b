"""Find the descriptions and the wanted properties in an XMP packet."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeAlias
from xml.parsers import expat

from lookalike.core.errors import DamagedFile

MAX_BYTES = 16 << 20
"""Largest packet in bytes; a sidecar with hundreds of drawn masks has a few million."""
MAX_PARTS, MAX_KEPT = 500_000, 10_000
"""Most elements and attributes of a packet, and most elements that are kept."""
MAX_DEPTH, MAX_PREFIXES = 200, 100

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
META = "adobe:ns:meta/"

Name: TypeAlias = tuple[str, str]
"""A name as XML compares it: the namespace, and the name in it."""

_SEPARATOR = "\x1f"
_TAG = re.compile(rb"""<[^"'>]*(?:(?:"[^"]*"|'[^']*')[^"'>]*)*>""")
_WRAPPERS = ((META, "xmpmeta"), (META, "xapmeta"))


@dataclass(eq=False, slots=True)
class Element:
    """An element and its byte positions: ``<start …>opened … closed</…>end``.

    Without an end tag, ``opened``, ``closed`` and ``end`` are equal. ``tag`` is the name as written
    in the text, ``spelled`` those of the attributes; ``prefixes`` are those in scope.
    """

    name: Name
    tag: str
    attributes: dict[Name, str]
    spelled: dict[Name, str]
    prefixes: dict[str, str]
    start: int
    opened: int
    closed: int = 0
    end: int = 0
    heard: list[str] = field(default_factory=list)
    children: "list[Element]" = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, without white space around it."""
        return "".join([*self.heard, *(child.text for child in self.children)]).strip()


def find_elements(content: bytes, properties: Collection[Name]) -> Element:
    """Return rdf:RDF with its descriptions and, inside them, the ``properties`` with their content.

    Raises
    ------
    DamagedFile
        If ``content`` is not XML in UTF-8 with x:xmpmeta or rdf:RDF as its root, is too large, or
        declares a document type (which can expand a few bytes to gigabytes). The message does
        not name the file.
    """
    if len(content) > MAX_BYTES:
        raise DamagedFile(f"too large: {len(content):,} bytes; the limit is {MAX_BYTES:,}")
    reader = _Reader(content, properties)
    try:
        # The parser would follow a byte order mark to another encoding, whatever it was told.
        if "\0" in content.decode():
            raise DamagedFile("not XML in UTF-8: it contains a zero byte")
        reader.parser.Parse(content, True)
    except (expat.ExpatError, UnicodeDecodeError) as error:
        raise DamagedFile(f"not XML in UTF-8: {error}") from error
    if reader.rdf is None:
        raise DamagedFile("not XMP: it has no rdf:RDF")
    return reader.rdf


class _Reader:
    def __init__(self, content: bytes, properties: Collection[Name]) -> None:
        self.content = content
        self.properties = properties
        self.rdf: Element | None = None
        self.open: list[Element] = []
        self.above = 0
        self.skipped = 0
        self.parts = 0
        self.kept = 0
        self.bound: dict[str, list[str]] = {}
        self.prefixes: dict[str, str] = {}
        self.parser = expat.ParserCreate("UTF-8", _SEPARATOR)
        self.parser.namespace_prefixes = True
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self.declare
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.StartNamespaceDeclHandler = self.bind
        self.parser.EndNamespaceDeclHandler = self.unbind
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.finish
        self.parser.CharacterDataHandler = self.hear

    def declare(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            raise DamagedFile(f"not in UTF-8: it declares {encoding:.40}")

    def refuse_doctype(self, *_: object) -> None:
        raise DamagedFile("not XMP: it declares a document type")

    def bind(self, prefix: str | None, namespace: str | None) -> None:
        self.bound.setdefault(prefix or "", []).append(namespace or "")
        self.prefixes = {}
        if len(self.bound) > MAX_PREFIXES:
            raise DamagedFile(f"too large: it has more than {MAX_PREFIXES} prefixes")

    def unbind(self, prefix: str | None) -> None:
        self.bound[prefix or ""].pop()
        self.prefixes = {}

    def begin(self, spelled: str, attributes: dict[str, str]) -> None:
        name, tag = _name(spelled)
        self.parts += 1 + len(attributes)
        if self.parts > MAX_PARTS or self.kept > MAX_KEPT:
            raise DamagedFile(f"too large: it has at least {self.parts:,} elements and attributes")
        if len(self.open) + self.skipped == MAX_DEPTH:
            raise DamagedFile(f"not XMP: it is nested more than {MAX_DEPTH} levels deep")
        if self.skipped or not self.wants(name):
            self.skipped += 1
            return
        start = self.parser.CurrentByteIndex
        opening = _TAG.match(self.content, start)
        if opening is None:
            raise DamagedFile(f"cannot add to its XML: unsupported markup at byte {start}")
        self.kept += 1
        self.prefixes = self.prefixes or {key: some[-1] for key, some in self.bound.items() if some}
        names = {key: _name(key) for key in attributes}
        element = Element(
            name,
            tag,
            attributes={names[key][0]: value for key, value in attributes.items()},
            spelled=dict(names.values()),
            prefixes=self.prefixes,
            start=start,
            opened=opening.end(),
        )
        if self.open:
            self.open[-1].children.append(element)
        if len(self.open) == self.above:
            self.rdf = element
        self.open.append(element)

    def wants(self, name: Name) -> bool:
        """Return whether an element matters, by its position and name."""
        if not self.open:
            self.above = int(name in _WRAPPERS)
            if not self.above and name != (RDF, "RDF"):
                raise DamagedFile(f"not XMP: its root is {name[1]:.40}")
            return True
        level = len(self.open) - self.above
        if level == 0:
            if name == (RDF, "RDF") and self.rdf is not None:
                raise DamagedFile("not XMP: it has rdf:RDF twice")
            return name == (RDF, "RDF")
        if level == 1:
            return name == (RDF, "Description")
        return level > 2 or name in self.properties

    def finish(self, _spelled: str) -> None:
        if self.skipped:
            self.skipped -= 1
            return
        element = self.open.pop()
        element.closed = element.end = self.parser.CurrentByteIndex
        if self.content[element.opened - 2] != ord("/"):
            element.end = self.content.index(b">", element.closed) + 1

    def hear(self, text: str) -> None:
        if not self.skipped and len(self.open) > self.above + 2:
            self.open[-1].heard.append(text)


def _name(spelled: str) -> tuple[Name, str]:
    """Split a name from the parser; return the name and how the text spells it."""
    parts = spelled.split(_SEPARATOR)
    if len(parts) == 1:
        return ("", spelled), spelled
    namespace, name, *prefix = parts
    return (namespace, name), ":".join([*prefix, name])
