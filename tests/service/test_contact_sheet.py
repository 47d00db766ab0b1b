import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet

HOSTILE = ["<script>alert(1)</script>", '" onerror="x', "'>&amp;", "$title", "\udcff\n", "]]>"]


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []
        self.open = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "img", "path", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        if tag not in ("path", "img"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def sheet(names=("cat",)):
    tiles = [Tile(b"\xff\xd8", name, name, right) for name in names for right in (True, False)]
    query = Query(Tile(b"\xff\xd8", names[0], names[0]), [Strip(names[0], tiles)])
    return contact_sheet(
        names[0], list(names), [query], columns=["", *names], figures=[["x", *names]], notes=names
    )


def test_hostile_names_stay_text():
    ordinary, hostile = Seen(sheet(["x"] * len(HOSTILE))), Seen(sheet(HOSTILE))
    assert hostile.tags == ordinary.tags
    names = [(tag, name) for tag, name, _ in hostile.attributes]
    assert names == [(tag, name) for tag, name, _ in ordinary.attributes]
    assert hostile.open == ordinary.open == []
    assert HOSTILE[0] in hostile.texts


@given(st.text(st.characters(), min_size=1, max_size=30))
def test_any_name_can_be_written(name):
    page = sheet([name])
    page.encode()
    assert Seen(page).tags == Seen(sheet(["x"])).tags


def test_it_needs_nothing_else():
    seen = Seen(sheet())
    assert "script" not in seen.tags
    assert "link" not in seen.tags
    sources = [value for _, name, value in seen.attributes if name in ("src", "href")]
    assert sources
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    page = sheet()
    assert not re.search(r"https?://|url\(|@import", page)
    assert "default-src 'none'" in page


def test_marks_do_not_rest_on_colour():
    page = sheet()
    assert page.count('aria-label="right"') == 2  # the legend and the tile
    assert page.count('aria-label="wrong"') == 2
    assert "1 of 2 right" in page
    assert "border-style: dashed" in page


def test_every_picture_is_described():
    seen = Seen(sheet(["cat"]))
    alts = [value for tag, name, value in seen.attributes if (tag, name) == ("img", "alt")]
    assert alts == ["cat"] * seen.tags.count("img")


def test_without_judgement_there_are_no_marks():
    page = contact_sheet("t", [], [Query(Tile(b"", "q"), [Strip("Files", [Tile(b"", "a")])])])
    seen = Seen(page)
    assert "svg" not in seen.tags
    assert "right" not in "".join(text for text in seen.texts if "{" not in text)


def test_screens_dark_and_narrow():
    page = sheet()
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media (max-width" in page
