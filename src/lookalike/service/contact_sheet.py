"""Lay out queries and their matches on one self-contained HTML page."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template

from lookalike.service.screen import plain


@dataclass(frozen=True, slots=True)
class Tile:
    """A picture with its caption.

    Attributes
    ----------
    picture : bytes
        A small JPEG.
    name, detail : str
        The two lines of the caption.
    right : bool or None
        Whether it is a correct match; None for no mark.
    """

    picture: bytes
    name: str
    detail: str = ""
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """The matches of one ranking, best first; ``wide`` shows pictures large."""

    heading: str
    tiles: Sequence[Tile]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query picture, and the matches of each ranking.

    ``kind`` is the heading above it.
    """

    picture: Tile
    strips: Sequence[Strip]
    kind: str = "Query"


def contact_sheet(
    title: str,
    lead: Sequence[str],
    queries: Sequence[Query],
    *,
    columns: Sequence[str] = (),
    figures: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the page: pictures embedded, no script, for light and dark, wide and narrow screens.

    Parameters
    ----------
    title : str
    lead : sequence of str
        The paragraphs under the title.
    queries : sequence of Query
    columns, figures : sequences
        Column heads and rows of a small table.
    notes : sequence of str
        The paragraphs at the end.

    Returns
    -------
    str
        HTML; every text in it is escaped.

    Examples
    --------
    >>> found = Strip("Found", [Tile(b"", "<cat>", "animals", right=True)])
    >>> page = contact_sheet("Cats", [], [Query(Tile(b"", "a cat"), [found])])
    >>> "<cat>" in page, "&lt;cat&gt;" in page, "1 of 1 right" in page
    (False, True, True)
    """
    return _PAGE.substitute(
        title=_safe(title),
        lead="".join(f"<p>{_safe(text)}</p>" for text in lead),
        figures=_table(columns, figures),
        legend=_LEGEND if _marked(queries) else "",
        queries="".join(map(_query, queries)),
        notes="".join(f"<p>{_safe(text)}</p>" for text in notes),
    )


def _safe(text: str) -> str:
    return escape(plain(text))


def _marked(queries: Sequence[Query]) -> bool:
    strips = (strip for query in queries for strip in query.strips)
    return any(tile.right is not None for strip in strips for tile in strip.tiles)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f'<th scope="col">{_safe(name)}</th>' for name in columns)
    lines = "".join(
        f'<tr><th scope="row">{_safe(row[0])}</th>'
        + "".join(f"<td>{_safe(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _query(query: Query) -> str:
    strips = "".join(map(_strip, query.strips))
    picture = f'<p class="kind">{_safe(query.kind)}</p>{_figure(query.picture)}'
    return (
        f'<section><div class="query">{picture}</div><div class="strips">{strips}</div></section>'
    )


def _strip(strip: Strip) -> str:
    judged = [tile.right for tile in strip.tiles if tile.right is not None]
    count = f" <span>{sum(judged)} of {len(judged)} right</span>" if judged else ""
    tiles = "".join(f"<li>{_figure(tile)}</li>" for tile in strip.tiles)
    kind = ' class="wide"' if strip.wide else ""
    return f"<h2>{_safe(strip.heading)}{count}</h2><ol{kind}>{tiles}</ol>"


def _figure(tile: Tile) -> str:
    kind = {None: "", True: ' class="right"', False: ' class="wrong"'}[tile.right]
    mark = {None: "", True: _RIGHT, False: _WRONG}[tile.right]
    data = b64encode(tile.picture).decode("ascii")
    name, detail = _safe(tile.name), _safe(tile.detail)
    return (
        f'<figure{kind} title="{name}"><div><img src="data:image/jpeg;base64,{data}" '
        f'alt="{name}">{mark}</div><figcaption><b>{name}</b><i>{detail}</i></figcaption></figure>'
    )


_TICK = '<path d="M3.5 8.5l3 3 6-7"/>'
_CROSS = '<path d="M4 4l8 8M12 4l-8 8"/>'
_MARK = Template(
    '<svg class="mark" viewBox="0 0 16 16" role="img" aria-label="$label">'
    "<title>$label</title>$path</svg>"
)
_RIGHT = _MARK.substitute(label="right", path=_TICK)
_WRONG = _MARK.substitute(label="wrong", path=_CROSS)
_LEGEND = (
    f'<p class="legend"><span class="right">{_RIGHT} same category as the query, solid frame</span>'
    f'<span class="wrong">{_WRONG} another category, dashed frame</span></p>'
)

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { --paper: #f6f7f9; --card: #fff; --ink: #1c2330; --faint: #5b6575; --line: #dde1e8;
  --right: #0b7a4b; --wrong: #b3401a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #12151b; --card: #1c212a; --ink: #e8ebf0; --faint: #a3adbd; --line: #333b48;
    --right: #4fd39a; --wrong: #ff9d78; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 3rem; max-width: 84rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.01em; }
header p { margin: .25rem 0; max-width: 46rem; color: var(--faint); }
table { margin: 1.25rem 0; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child { text-align: left; font-weight: 500; }
thead th { color: var(--faint); font-size: .85rem; font-weight: 500; }
td:last-child { padding-right: 0; font-weight: 650; }
thead th:last-child { padding-right: 0; }
header .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; max-width: none;
  font-size: .9rem; }
.legend span { display: inline-flex; align-items: center; gap: .5rem; }
.legend .mark { position: static; flex: none; }
section { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: 1.5rem;
  margin: 1rem 0; padding: 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; }
.kind { margin: 0 0 .5rem; }
.kind, h2 { color: var(--faint); font-size: .85rem; font-weight: 500; line-height: 1.3; }
h2 { margin: 0 0 .5rem; }
ol + h2 { margin-top: 1.1rem; }
h2 span { margin-left: .5rem; color: var(--ink); font-weight: 650; }
ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(6rem, 1fr)); gap: .75rem .6rem;
  margin: 0; padding: 0; list-style: none; }
figure { margin: 0; }
figure div { position: relative; padding: .5rem; background: #fff; border: 2px solid var(--line);
  border-radius: .5rem; }
figure.right div { border-color: var(--right); }
figure.wrong div { border-color: var(--wrong); border-style: dashed; }
img { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; }
ol img { max-height: 5rem; }
.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); }
.wide img { max-height: none; aspect-ratio: auto; }
.mark { position: absolute; top: -.45rem; right: -.45rem; width: 1.3rem; height: 1.3rem;
  padding: .1rem; border-radius: 50%; background: var(--right); fill: none; stroke: var(--card);
  stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; }
.wrong .mark { border-radius: .25rem; background: var(--wrong); }
figcaption { margin-top: .35rem; font-size: .78rem; line-height: 1.3; overflow-wrap: anywhere; }
figcaption b, figcaption i { display: -webkit-box; overflow: hidden; font-style: normal;
  font-weight: 500; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
figcaption i { color: var(--faint); font-weight: 400; }
.query figcaption { font-size: .95rem; }
.query figcaption b { font-weight: 650; -webkit-line-clamp: 4; }
footer { color: var(--faint); font-size: .85rem; }
@media (max-width: 44rem) {
  body { padding: 1.25rem .75rem 2rem; }
  section { grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem; }
  .query figure { display: grid; grid-template-columns: 5.5rem 1fr; gap: .9rem;
    align-items: center; }
  ol { grid-template-columns: repeat(auto-fill, minmax(5.25rem, 1fr)); }
}
</style>
</head>
<body>
<header><h1>$title</h1>$lead$figures$legend</header>
<main>$queries</main>
<footer>$notes</footer>
</body>
</html>
""")
