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
MAX_ATTRIBUTES, MAX_NAME = 1000, 1000
"""Most attributes of one element, and most characters of a name or a namespace."""

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
META = "adobe:ns:meta/"

Name: TypeAlias = tuple[str, str]
"""A name as XML compares it: the namespace, and the name in it."""

_XML = {"xml": "http://www.w3.org/XML/1998/namespace"}
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
        # The parser holds all attributes of a tag, at some hundred bytes each, before it tells.
        values = rb"""(?:"[^"]*+"|'[^']*+')[^<>"']*+"""
        if re.search(rb"""<[^<>"']*+(?:%s){%d}""" % (values, MAX_ATTRIBUTES + 1), content):
            raise DamagedFile(f"too large: an element has more than {MAX_ATTRIBUTES:,} attributes")
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
        self.scopes: list[dict[str, str]] = [_XML]
        # Namespaces are resolved here: the parser would repeat one for each attribute in it.
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self.declare
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.finish
        self.parser.CharacterDataHandler = self.hear

    def declare(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            raise DamagedFile(f"not in UTF-8: it declares {encoding:.40}")

    def refuse_doctype(self, *_: object) -> None:
        raise DamagedFile("not XMP: it declares a document type")

    def bind(self, given: dict[str, str]) -> dict[str, str]:
        """Return the prefixes in scope of an element that is given these attributes."""
        scope, new = self.scopes[-1], dict[str, str]()
        for spelled, namespace in given.items():
            before, _, prefix = spelled.partition(":")
            if before == "xmlns":
                new[prefix] = namespace
                if len(namespace) > MAX_NAME:
                    raise DamagedFile(f"too large: a namespace of {len(namespace):,} characters")
        if len(scope) + len(new) > MAX_PREFIXES + len(_XML):
            raise DamagedFile(f"too large: it has more than {MAX_PREFIXES} prefixes")
        return {key: it for key, it in {**scope, **new}.items() if it} if new else scope

    def begin(self, tag: str, given: dict[str, str]) -> None:
        self.scopes.append(self.bind(given))
        name = self.name(tag, self.scopes[-1].get("", ""))
        attributes = [key for key in given if key.partition(":")[0] != "xmlns"]
        names = {self.name(key): key for key in attributes}
        if len(names) < len(attributes):
            raise DamagedFile(f"not XML in UTF-8: an attribute of {tag:.40} is given twice")
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
        element = Element(
            name,
            tag,
            attributes={full: given[key] for full, key in names.items()},
            spelled=names,
            prefixes=self.scopes[-1],
            start=start,
            opened=opening.end(),
        )
        if self.open:
            self.open[-1].children.append(element)
        if len(self.open) == self.above:
            self.rdf = element
        self.open.append(element)

    def name(self, spelled: str, namespace: str = "") -> Name:
        """Return a name as XML compares it; ``namespace`` is that of one without a prefix."""
        if len(spelled) > MAX_NAME:
            raise DamagedFile(f"too large: a name of {len(spelled):,} characters")
        prefix, colon, local = spelled.partition(":")
        if not colon:
            return namespace, spelled
        bound = self.scopes[-1].get(prefix)
        if not bound or not local:
            raise DamagedFile(f"not XML in UTF-8: unbound prefix {prefix:.40}")
        return bound, local

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

    def finish(self, _tag: str) -> None:
        self.scopes.pop()
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
