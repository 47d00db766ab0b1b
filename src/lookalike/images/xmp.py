"""Read the lists of subjects in an XMP packet and extend them, leaving every other byte unchanged.

A packet is XML that many programs share. Serialising it again from a tree would change prefixes,
white space and comments of other programs, so additions are inserted into the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.sax.saxutils import escape

from lookalike.core.errors import DamagedFile
from lookalike.images.xmp_elements import META, RDF, Element, Name, find_elements

_Change: TypeAlias = tuple[int, int, str]
"""Start and end of the bytes to replace, and the new text."""

_ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


@dataclass(frozen=True)
class Subjects:
    """An XMP property that lists subjects, or other texts, and its kind of list, if any."""

    prefix: str
    namespace: str
    name: str
    kind: str

    @property
    def full_name(self) -> Name:
        """The name as XML compares it."""
        return self.namespace, self.name


FLAT = Subjects("dc", "http://purl.org/dc/elements/1.1/", "subject", "Bag")
BY_BARS = Subjects("lr", "http://ns.adobe.com/lightroom/1.0/", "hierarchicalSubject", "Bag")
BY_SLASHES = Subjects("digiKam", "http://www.digikam.org/ns/1.0/", "TagsList", "Seq")
ALL = (FLAT, BY_BARS, BY_SLASHES)
LEARNED = Subjects("lookalike", "urn:lookalike:1.0", "learned", "Bag")
"""Those of the subjects that nobody gave: an annotator found them."""

_DC, _TIFF = FLAT.namespace, "http://ns.adobe.com/tiff/1.0/"
_EXIF = "http://ns.adobe.com/exif/1.0/"
DESCRIPTION = Subjects("dc", _DC, "description", "Alt")
MAKER, CAMERA = Subjects("tiff", _TIFF, "Make", ""), Subjects("tiff", _TIFF, "Model", "")
LENSES = (
    Subjects("exifEX", "http://cipa.jp/exif/1.0/", "LensModel", ""),
    Subjects("aux", "http://ns.adobe.com/exif/1.0/aux/", "Lens", ""),
)
LATITUDE, LONGITUDE = (
    Subjects("exif", _EXIF, "GPSLatitude", ""),
    Subjects("exif", _EXIF, "GPSLongitude", ""),
)
_READ = (*ALL, LEARNED, DESCRIPTION, MAKER, CAMERA, *LENSES, LATITUDE, LONGITUDE)
"""The properties that are read; nothing is added to those that are no subjects."""

_LISTS = frozenset((RDF, kind) for kind in ("Bag", "Seq", "Alt"))

EMPTY = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    f'<x:xmpmeta xmlns:x="{META}" x:xmptk="lookalike">\n'
    f' <rdf:RDF xmlns:rdf="{RDF}">\n'
    '  <rdf:Description rdf:about=""\n'
    + "\n".join(f'    xmlns:{kind.prefix}="{kind.namespace}"' for kind in ALL)
    + "/>\n </rdf:RDF>\n</x:xmpmeta>\n"
    '<?xpacket end="w"?>\n'
).encode()
"""A packet without content."""


class Packet:
    """A parsed, immutable XMP packet.

    Parameters
    ----------
    content : bytes
        What :func:`~lookalike.images.xmp_elements.find_elements` takes.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._rdf = find_elements(content, [kind.full_name for kind in _READ])
        self._newline = "\r\n" if b"\r\n" in content else "\n"

    def subjects(self, kind: Subjects) -> list[str]:
        """Return the subjects of a kind, wherever they are in the packet."""
        compact = [place.attributes[kind.full_name].strip() for place in self._compact(kind)]
        listed = [text for element in self._elements(kind) for text in _texts(element)]
        return [text for text in [*compact, *listed] if text]

    def with_subjects(self, added: Mapping[Subjects, Sequence[str]]) -> bytes:
        """Return the packet with subjects that XML can hold at the end of the lists named."""
        changes: list[_Change] = []
        made: dict[Element, dict[Subjects, Sequence[str]]] = {}
        for kind, texts in added.items():
            elements, compact = self._elements(kind), self._compact(kind)
            if not texts:
                continue
            if elements:
                changes.append(self._longer(kind, elements[0], texts))
            elif compact:
                changes.append(self._without(kind, compact[0]))
                value = compact[0].attributes[kind.full_name].strip()
                made.setdefault(compact[0], {})[kind] = [value, *texts] if value else texts
            else:
                place = self._rdf.children[0] if self._rdf.children else self._rdf
                made.setdefault(place, {})[kind] = texts
        changes += [self._with_properties(place, lists) for place, lists in made.items()]
        content = self.content
        for start, end, text in sorted(changes, reverse=True):
            content = content[:start] + text.encode() + content[end:]
        self._check(content, added)
        return content

    def _check(self, content: bytes, added: Mapping[Subjects, Sequence[str]]) -> None:
        """Parse the result and compare, since a mistake would lose data of other programs."""
        after = Packet(content)
        for kind in (*ALL, LEARNED):
            if sorted(after.subjects(kind)) != sorted([*self.subjects(kind), *added.get(kind, ())]):
                raise _not_understood(kind)

    def _elements(self, kind: Subjects) -> list[Element]:
        """Return the elements of a property; those that hold a list come first."""
        result = [
            element
            for description in self._rdf.children
            for element in description.children
            if element.name == kind.full_name
        ]
        return sorted(result, key=lambda element: not element.children)

    def _compact(self, kind: Subjects) -> list[Element]:
        """Return the descriptions that have a property as an attribute."""
        return [place for place in self._rdf.children if kind.full_name in place.attributes]

    def _longer(self, kind: Subjects, element: Element, texts: Sequence[str]) -> _Change:
        """Extend a list, or create it where there is only text or nothing."""
        if element.attributes or any(child.name not in _LISTS for child in element.children):
            raise _not_understood(kind)
        if not element.children:
            lines = _list(kind, [*_texts(element), *texts], element.prefixes)
            return self._filled(element, lines, instead=True)
        first = element.children[0]
        items = _items(texts, first.prefixes)
        if not first.children:
            return self._filled(first, items)
        last = first.children[-1]
        return last.end, last.end, _joined(items, self._line(last))

    def _without(self, kind: Subjects, description: Element) -> _Change:
        """Remove an attribute and the white space before it."""
        tag = description.spelled[kind.full_name].encode()
        place = description.start + 1 + len(description.tag.encode())
        while (pattern := _ATTRIBUTE.match(self.content, place)) is not None:
            if pattern[1] == tag:
                return pattern.start(), pattern.end(), ""
            place = pattern.end()
        raise _not_understood(kind)

    def _with_properties(self, place: Element, lists: Mapping[Subjects, Sequence[str]]) -> _Change:
        """Insert properties at the end of a description, or of rdf:RDF if it has none."""
        bare = place is self._rdf
        prefixes = {**place.prefixes, "rdf": RDF} if bare else place.prefixes
        lines = [line for kind, texts in lists.items() for line in _property(kind, texts, prefixes)]
        if bare:
            head = f'<rdf:Description xmlns:rdf="{RDF}" rdf:about="">'
            lines = [head, *(f" {line}" for line in lines), "</rdf:Description>"]
        return self._filled(place, lines)

    def _filled(self, element: Element, lines: Sequence[str], *, instead: bool = False) -> _Change:
        """Insert lines at the end of an element, or ``instead`` of its content."""
        begin = self._line(element)
        inside = _joined(lines, f"{begin} " if begin else "")
        if element.opened == element.end:
            opening = self.content[element.start : element.opened - 2].rstrip()
            end_tag = f"</{element.tag}>"
            return element.start + len(opening), element.end, f">{inside}{begin}{end_tag}"
        if instead:
            return element.opened, element.closed, inside + begin
        held = self.content[element.opened : element.closed].rstrip()
        start = element.opened + len(held)
        return start, start, inside if start < element.closed else inside + begin

    def _line(self, element: Element) -> str:
        """Return a line break with an element's indentation; empty if it does not start a line."""
        before = self.content[max(0, element.start - 1000) : element.start]
        rest = before.rstrip(b" \t")
        if not rest.endswith(b"\n"):
            return ""
        return self._newline + before[len(rest) :].decode()


def _texts(element: Element) -> list[str]:
    """Return the items of a property, or its only text."""
    items = [item.text for part in element.children for item in part.children]
    return [text for text in (items if element.children else [element.text]) if text]


def _property(kind: Subjects, texts: Sequence[str], prefixes: Mapping[str, str]) -> list[str]:
    start, declared = _prefix(kind.prefix, kind.namespace, prefixes)
    lines = _list(kind, texts, {**prefixes, kind.prefix: kind.namespace} if declared else prefixes)
    tag = f"{start}{kind.name}"
    return [f"<{tag}{declared}>", *(f" {line}" for line in lines), f"</{tag}>"]


def _list(kind: Subjects, texts: Sequence[str], prefixes: Mapping[str, str]) -> list[str]:
    start, declared = _prefix("rdf", RDF, prefixes)
    items = _items(texts, {**prefixes, "rdf": RDF} if declared else prefixes)
    tag = f"{start}{kind.kind}"
    return [f"<{tag}{declared}>", *(f" {item}" for item in items), f"</{tag}>"]


def _items(texts: Sequence[str], prefixes: Mapping[str, str]) -> list[str]:
    start, declared = _prefix("rdf", RDF, prefixes)
    return [f"<{start}li{declared}>{escape(text)}</{start}li>" for text in texts]


def _prefix(usual: str, namespace: str, prefixes: Mapping[str, str]) -> tuple[str, str]:
    """Return a namespace's prefix with its colon, or the usual one and its declaration."""
    if prefixes.get(usual) == namespace:
        return f"{usual}:", ""
    for prefix, bound in prefixes.items():
        if bound == namespace:
            return f"{prefix}:" if prefix else "", ""
    return f"{usual}:", f' xmlns:{usual}="{namespace}"'


def _joined(lines: Sequence[str], begin: str) -> str:
    """Join lines with ``begin`` before each; without indentation where it is empty."""
    return "".join(begin + (line if begin else line.lstrip(" ")) for line in lines)


def _not_understood(kind: Subjects) -> DamagedFile:
    return DamagedFile(
        f"cannot add to its {kind.prefix}:{kind.name}: it is written in an unsupported way"
    )
