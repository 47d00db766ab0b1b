import resource
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DamagedFile
from lookalike.core.text import xml_text
from lookalike.images import xmp
from lookalike.images.xmp import ALL, BY_BARS, BY_SLASHES, EMPTY, FLAT, Packet
from lookalike.images.xmp_elements import (
    MAX_ATTRIBUTES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_KEPT,
    MAX_NAME,
    MAX_PARTS,
    MAX_PREFIXES,
)
from tests.service.packets import PROGRAMS, packet

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


def read(content):
    """Read the three lists with another parser, containers and text alone."""
    root = ET.fromstring(content)
    found = {}
    for kind in ALL:
        path = f".//{RDF}Description/{{{kind.namespace}}}{kind.name}//{RDF}li"
        found[kind] = [item.text for item in root.findall(path)]
    return found


def leaves(content):
    """Count the attributes of all elements, and the text of those that hold no other."""
    found = Counter()
    for part in ET.fromstring(content).iter():
        found.update((part.tag, *attribute) for attribute in part.items())
        found[part.tag, part.text if not len(part) else ""] += 1
    return found


def without(content, texts):
    """Take the lines with new items out again."""
    lines = content.decode().split("\n")
    return "\n".join(line for line in lines if not any(f">{text}<" in line for text in texts))


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_lines_with_items_are_added_to_a_list(name):
    text = PROGRAMS[name]
    before = Packet(text.encode())
    added = {kind: ["neu", "auch neu"] for kind in ALL if before.subjects(kind)}
    after = before.with_subjects(added)
    assert without(after, ["neu", "auch neu"]) == text
    for kind in added:
        assert read(after)[kind] == [*before.subjects(kind), "neu", "auch neu"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_added_changes_nothing(name):
    content = PROGRAMS[name].encode()
    assert Packet(content).with_subjects({FLAT: [], BY_BARS: []}) == content


@pytest.mark.parametrize("name", PROGRAMS)
def test_missing_lists_are_made_beside_what_is_there(name):
    content = PROGRAMS[name].encode()
    before = Packet(content)
    after = before.with_subjects({kind: ["a"] for kind in ALL})
    assert {kind: [*before.subjects(kind), "a"] for kind in ALL} == read(after)
    assert not leaves(content) - leaves(after)


def test_an_empty_packet_gets_three_lists():
    after = Packet(EMPTY).with_subjects({FLAT: ["b"], BY_BARS: ["a|b"], BY_SLASHES: ["a/b"]})
    assert after.startswith(b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>\n')
    assert after.endswith(b'</x:xmpmeta>\n<?xpacket end="w"?>\n')
    assert read(after) == {FLAT: ["b"], BY_BARS: ["a|b"], BY_SLASHES: ["a/b"]}
    assert b"<lr:hierarchicalSubject>\n    <rdf:Bag>\n     <rdf:li>a|b</rdf:li>" in after
    assert b"<digiKam:TagsList>\n    <rdf:Seq>" in after


FORMS = {
    "attribute": '<rdf:Description rdf:about="" dc:subject="one" dc:format="image/jpeg"/>',
    "attribute, quoted": "<rdf:Description dc:format=' dc:subject=\"x\" > ' dc:subject='one' />",
    "attribute, open": '<rdf:Description dc:subject="one"><lr:x/></rdf:Description>',
    "text": "<rdf:Description><dc:subject> one </dc:subject></rdf:Description>",
    "marked text": "<rdf:Description><dc:subject><![CDATA[one]]></dc:subject></rdf:Description>",
    "Seq": "<rdf:Description><dc:subject><rdf:Seq><rdf:li>one</rdf:li></rdf:Seq></dc:subject>"
    "</rdf:Description>",
    "Alt": '<rdf:Description><dc:subject><rdf:Alt><rdf:li xml:lang="x-default">one</rdf:li>'
    "</rdf:Alt></dc:subject></rdf:Description>",
    "value": '<rdf:Description><dc:subject><rdf:Bag><rdf:li rdf:parseType="Resource">'
    "<rdf:value>one</rdf:value></rdf:li></rdf:Bag></dc:subject></rdf:Description>",
    "twice": "<rdf:Description><dc:subject/></rdf:Description><rdf:Description><dc:subject>"
    "<rdf:Bag><rdf:li>one</rdf:li></rdf:Bag></dc:subject></rdf:Description>",
    "other prefixes": '<r:Description xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:rdf="x:y" xmlns:dc="x:z" xmlns:q="http://purl.org/dc/elements/1.1/"><q:subject><r:Bag>'
    "<r:li>one</r:li></r:Bag></q:subject></r:Description>",
    "no prefix": '<Description xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><dc:subject>'
    "<Bag><li>one</li></Bag></dc:subject></Description>",
    "empty item last": "<rdf:Description><dc:subject><rdf:Bag><rdf:li>one</rdf:li><rdf:li/>"
    "</rdf:Bag></dc:subject></rdf:Description>",
}
EMPTY_FORMS = {
    "nothing": "",
    "description": "<rdf:Description/>",
    "property": "<rdf:Description><dc:subject/></rdf:Description>",
    "open property": "<rdf:Description><dc:subject>\n</dc:subject></rdf:Description>",
    "list": "<rdf:Description><dc:subject><rdf:Bag/></dc:subject></rdf:Description>",
    "open list": "<rdf:Description><dc:subject>\n<rdf:Bag>\n</rdf:Bag>\n</dc:subject>"
    "</rdf:Description>",
    "bare list": "<rdf:Description>\n<dc:subject>\n <rdf:Bag></rdf:Bag></dc:subject>"
    "</rdf:Description>",
    "attribute": '<rdf:Description dc:subject=" "/>',
    "in a structure": '<rdf:Description><lr:x rdf:parseType="Resource"><dc:subject><rdf:Bag>'
    "<rdf:li>other</rdf:li></rdf:Bag></dc:subject></lr:x></rdf:Description>",
    "prefix taken": '<rdf:Description xmlns:dc="x:y" xmlns:lr="x:z" dc:subject="not ours"/>',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_property_is_added_to(form):
    before = Packet(packet(FORMS[form]).encode())
    assert before.subjects(FLAT) == ["one"]
    after = before.with_subjects({FLAT: ["two"], BY_BARS: ["a|b"]})
    assert Packet(after).subjects(FLAT) == ["one", "two"]
    assert Packet(after).subjects(BY_BARS) == read(after)[BY_BARS] == ["a|b"]
    assert not any((part.text or "").strip() for part in ET.fromstring(after).iter() if len(part))
    again = Packet(after).with_subjects({FLAT: ["three"], BY_BARS: ["c"]})
    assert Packet(again).subjects(FLAT) == ["one", "two", "three"]
    assert Packet(again).subjects(BY_BARS) == ["a|b", "c"]


@pytest.mark.parametrize("form", EMPTY_FORMS)
def test_every_form_of_nothing_is_added_to(form):
    before = Packet(packet(EMPTY_FORMS[form]).encode())
    assert before.subjects(FLAT) == []
    after = before.with_subjects({FLAT: ["one"], BY_SLASHES: ["a/b"]})
    assert Packet(after).subjects(FLAT) == ["one"]
    assert read(after)[BY_SLASHES] == ["a/b"]
    assert len(ET.fromstring(after).findall(f"*/{RDF}Description")) == 1
    for kept in ("other", "not ours"):
        assert (kept in EMPTY_FORMS[form]) == (kept.encode() in after)


def test_a_prefix_of_rdf_that_is_one_of_ours():
    content = f'<lr:RDF xmlns:lr="{RDF[1:-1]}"><lr:Description lr:about=""/></lr:RDF>'.encode()
    after = Packet(content).with_subjects({BY_BARS: ["a|b"]})
    assert read(after)[BY_BARS] == ["a|b"]


def test_an_attribute_becomes_a_list_and_the_others_stay():
    content = packet(FORMS["attribute, quoted"]).encode()
    (description,) = ET.fromstring(Packet(content).with_subjects({FLAT: ["two"]})).iter(
        f"{RDF}Description"
    )
    assert description.attrib == {"{http://purl.org/dc/elements/1.1/}format": ' dc:subject="x" > '}


@pytest.mark.parametrize(
    "form",
    [
        '<dc:subject rdf:parseType="Literal">one</dc:subject>',
        '<dc:subject rdf:resource="http://one"/>',
        '<dc:subject xml:lang="en">one</dc:subject>',
        "<dc:subject><lr:one/></dc:subject>",
    ],
)
def test_a_form_that_is_not_understood_is_refused(form):
    content = packet(f"<rdf:Description>{form}</rdf:Description>").encode()
    with pytest.raises(DamagedFile, match="cannot add to its dc:subject"):
        Packet(content).with_subjects({FLAT: ["two"]})
    assert Packet(content).with_subjects({BY_BARS: ["a|b"]})


def test_what_was_made_is_read_before_it_is_given(monkeypatch):
    monkeypatch.setattr(xmp, "escape", lambda text: text[:1])
    with pytest.raises(DamagedFile, match="cannot add to"):
        Packet(EMPTY).with_subjects({BY_BARS: ["two"]})


def test_only_descriptions_are_added_to():
    content = packet('<lr:thing dc:subject="other"/><rdf:Description rdf:about=""/>').encode()
    assert Packet(content).subjects(FLAT) == []
    after = Packet(content).with_subjects({FLAT: ["one"]})
    assert b'<lr:thing dc:subject="other"/><rdf:Description rdf:about=""><dc:subject>' in after


def test_line_ends_and_marks_at_the_start_stay():
    content = b"\xef\xbb\xbf" + PROGRAMS["digiKam"].replace("\n", "\r\n").encode()
    after = Packet(content).with_subjects({FLAT: ["neu"]})
    assert after.startswith(b"\xef\xbb\xbf<?xpacket")
    assert after.count(b"\r\n") == after.count(b"\n") == content.count(b"\n") + 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not XML"),
        (b"no XML at all", "not XML"),
        (PROGRAMS["darktable"].encode()[:-40], "not XML"),
        (PROGRAMS["darktable"].encode() + b"\0\0", "not XML"),
        *(
            (PROGRAMS["darktable"].encode(code), "not XML in UTF-8")
            for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")
        ),
        (packet("").encode("utf-16-le"), "not XML in UTF-8"),
        (packet("<rdf:Description/>").encode() + b"<again/>", "not XML"),
        (packet("<rdf:Description><unbound:x/></rdf:Description>").encode(), "not XML"),
        (packet("<rdf:Description>&hello;</rdf:Description>").encode(), "not XML"),
        (packet("<rdf:Description a='\xe4'/>").encode("latin-1"), "not XML in UTF-8"),
        (
            b'<?xml version="1.0" encoding="ISO-8859-1"?>' + packet("").encode(),
            "it declares ISO-8859-1",
        ),
        (b"<html/>", "its root is html"),
        (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"/>', "no rdf:RDF"),
        (
            b'<svg><RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></svg>',
            "its root is svg",
        ),
        (packet(f"</rdf:RDF><rdf:RDF xmlns:rdf='{RDF[1:-1]}'>").encode(), "rdf:RDF twice"),
        (b"<!DOCTYPE x>" + packet("").encode(), "document type"),
        (
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
            + packet("<rdf:Description>&a;</rdf:Description>").encode(),
            "document type",
        ),
        (packet("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH).encode(), "levels deep"),
    ],
)
def test_what_is_no_packet_is_refused(content, why):
    with pytest.raises(DamagedFile, match=why):
        Packet(content)


@pytest.mark.parametrize(
    ("limit", "inside"),
    [
        (MAX_PARTS, lambda n: "<a/>" * n),
        (MAX_KEPT, lambda n: "<rdf:Description/>" * n),
        (MAX_BYTES, lambda n: " " * n),
        (MAX_PREFIXES, lambda n: "<a " + " ".join(f"xmlns:a{i}='b'" for i in range(n)) + "/>"),
        (MAX_ATTRIBUTES, lambda n: "<a " + " ".join(f"a{i}='>'" for i in range(n)) + "/>"),
        (MAX_NAME, lambda n: f"<{'a' * n}/>"),
        (MAX_NAME, lambda n: f"<a xmlns:b='{'c' * n}'/>"),
    ],
)
def test_what_would_take_long_is_refused(limit, inside):
    assert Packet(packet(inside(limit // 2)).encode()).subjects(FLAT) == []
    with pytest.raises(DamagedFile, match="too large"):
        Packet(packet(inside(limit + 1)).encode())


@pytest.mark.parametrize("namespace", ["", "x" * 160_000])
def test_many_attributes_cost_no_memory(namespace):
    """They took 250 MB, and 5.6 GB with a long namespace, which the parser repeated for each."""
    names = " ".join(f"a:b{n}=''" for n in range(40_000 if namespace else 499_000))
    inside = f"<rdf:Description xmlns:a='{namespace or 'x:y'}' {names}/>"
    content = packet(inside).encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedFile, match="more than 1,000 attributes"):
        Packet(content)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_namespace_is_in_scope_of_its_element_alone():
    kinds = '<a xmlns:q="x:y" q:b=""/><rdf:Description q:b=""/>'
    with pytest.raises(DamagedFile, match="unbound prefix q"):
        Packet(packet(kinds).encode())
    twice = '<rdf:Description xmlns:q="x:y" xmlns:r="x:y" q:b="" r:b=""/>'
    with pytest.raises(DamagedFile, match="given twice"):
        Packet(packet(twice).encode())


def test_entities_that_grow_are_not_followed():
    lines = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
    content = f'<!DOCTYPE x [<!ENTITY e0 "boom">{lines}]>{packet("&e12;")}'
    with pytest.raises(DamagedFile, match="document type"):
        Packet(content.encode())


words = st.text(min_size=1).map(xml_text).filter(bool)


@given(st.lists(words), st.lists(words), st.sampled_from([EMPTY, packet("").encode()]))
def test_any_words_come_back(first, second, start):
    content = Packet(start).with_subjects({FLAT: first, BY_SLASHES: second})
    content = Packet(content).with_subjects({FLAT: second, BY_BARS: first})
    found = {FLAT: [*first, *second], BY_BARS: first, BY_SLASHES: second}
    assert read(content) == found
    assert {kind: Packet(content).subjects(kind) for kind in ALL} == found


@given(st.text())
def test_what_is_legal_is_what_xml_holds(text):
    spelled = xml_text(text)
    assert xml_text(spelled) == spelled
    ET.fromstring(f"<a>{spelled.replace('&', '').replace('<', '')}</a>".encode())


@pytest.mark.parametrize(
    ("given_", "spelled"),
    [
        ("a\x00b", "a\ufffdb"),
        ("caf\udce9", "caf\ufffd"),
        ("\ufffe\uffff", "\ufffd\ufffd"),
        ("\x1b[31m", "\ufffd[31m"),
        (" two\r\nlines\u2028 ", "two lines"),
        ("Größe 😀 日本", "Größe 😀 日本"),
        ("\t", ""),
    ],
)
def test_xml_text(given_, spelled):
    assert xml_text(given_) == spelled
