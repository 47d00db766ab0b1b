"""Understand what a person types: text comes in, words, phrases and filters go out.

==========================  ==========================================================
``dog beach``, ``dog; cat`` pictures that both fit best
``"polar bear"``            a phrase: these words together, as they stand
``-beach``, ``NOT beach``   pictures that it does not fit; also ``without a beach``,
                            ``no beach``, ``ohne Strand``, ``sans plage``
``dog OR cat``, ``dog|cat`` pictures that either fits
``before:2019``             taken before; ``after:2019-05``, ``date:2019``
``folder:holidays``         in or below a folder of this name
``label:dog``               with the label; ``-label:dog`` without it
``format:png``, ``album:x`` of a format; in an album
``untagged``                without any label
``camera:"canon eos"``      taken with a camera of these words; ``lens:50mm``
``near:48.2,16.4``          within 10 km of a place; ``near:48.2,16.4,2``, within 2 km
==========================  ==========================================================

Anything can be typed: what cannot be understood, such as ``before:soon``, a minus alone or ``OR``
beside a filter, is set aside and named; a quotation mark without its fellow is left out, and a
control character counts as a space. A value of several words stands in quotation marks:
``folder:"my dogs"``.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import date

from lookalike.core.text import is_unseen, nfc

MAX_CHARACTERS = 1000
"""Of a longer text, so many are read."""

MAX_TERMS = 40
"""Terms and filters of a text that are read."""

FIELDS = {
    **{name: name for name in ("before", "after", "date", "folder", "label", "camera", "lens")},
    **{name: name for name in ("album", "format", "is", "near")},
    **{"tag": "label", "in": "folder", "type": "format", "since": "after", "until": "before"},
}
"""The names that may stand before a colon, and what each means."""

NEGATIONS = ("without", "no", "ohne", "sans", "sin")
"""Words before what pictures must not show; quotation marks make them words like others."""

_ARTICLES = (
    "a",
    "an",
    "any",
    "the",
    "ein",
    "eine",
    "einen",
    "den",
    "die",
    "das",
    "un",
    "une",
    "una",
)

UNTAGGED = ("untagged", "unlabelled", "unlabeled")

_QUOTES = '"“”„«»'
_MINUSES = "-−–"
_CUT = "the end of a text of more than {:,} characters"
_PLACE = r"(?<=[nN][eE][aA][rR]:)\s*-?[\d.]+(?:\s*,\s*-?[\d.]+){1,2}(?![^\s;|])"
"""Latitude, longitude and perhaps kilometres: the only value with commas, as people paste it."""
_TOKEN = re.compile(
    rf"""(?P<minus>[{_MINUSES}]?)
    (?:(?P<field>[A-Za-z]+):)?
    (?:[{_QUOTES}](?P<phrase>[^{_QUOTES}]*)[{_QUOTES}] | (?P<word>{_PLACE}|[^\s,;|{_QUOTES}]+))
    | (?P<sign>[,;|])""",
    re.VERBOSE,
)
_DATE = re.compile(r"(\d{4})(?:[-./](\d{1,2})(?:[-./](\d{1,2}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that are looked for together; those of a phrase as they stand."""

    text: str
    is_phrase: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter: what it is about, its value, and whether pictures must not pass it."""

    field: str
    value: str
    without: bool = False


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """What a person typed, understood.

    Attributes
    ----------
    groups : tuple of tuple of Term
        Each group must fit, by any of its terms.
    without : tuple of Term
        What must not fit.
    conditions : tuple of Condition
        Which pictures are looked among.
    taken_from, taken_to : str or None
        The dates between which pictures were taken, as a :class:`Filter` has them.
    set_aside : tuple of str
        What was not understood.

    Examples
    --------
    >>> typed = parse('dog "polar bear" -beach before:2019 label:x')
    >>> [[term.text for term in group] for group in typed.groups], typed.without[0].text
    ([['dog'], ['polar bear']], 'beach')
    >>> typed.taken_to, typed.conditions
    ('2018-12-31', (Condition(field='label', value='x', without=False),))
    >>> parse('- "" before:soon').set_aside
    ('-', 'before:soon')
    """

    groups: tuple[tuple[Term, ...], ...] = ()
    without: tuple[Term, ...] = ()
    conditions: tuple[Condition, ...] = ()
    taken_from: str | None = None
    taken_to: str | None = None
    set_aside: tuple[str, ...] = ()

    @property
    def filters(self) -> int:
        """How many filters pictures must pass."""
        return len(self.conditions) + bool(self.taken_from or self.taken_to)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, those that must not fit last."""
        return (*(term for group in self.groups for term in group), *self.without)


@dataclass
class _Reader:
    """What has been read of a text so far; words that stand together are one term."""

    groups: list[list[Term]] = field(default_factory=list)
    without: list[Term] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    dates: dict[str, str] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    is_open: bool = False
    is_either: bool = False
    is_not: bool = False
    negation: str = ""
    is_filter: bool = False

    def take(self, token: re.Match[str]) -> None:
        """Read one token."""
        word, phrase = token["word"], token["phrase"]
        minus = bool(token["minus"]) or self.is_not
        after_filter, self.is_filter = self.is_filter, False
        plain = "" if word is None or token["minus"] or token["field"] else word.lower()
        if self.negation and plain in _ARTICLES:
            return
        if token["sign"]:
            self.end_negation()
        if token["sign"] in (",", ";") or (phrase is not None and not phrase.strip()):
            self.is_open = False
        elif token["sign"] == "|" or (word == "OR" and not (minus or token["field"])):
            self.is_either, self.is_open = bool(self.groups) and not after_filter, False
            if after_filter:
                self.set_aside.append(token[0])
        elif plain in NEGATIONS and not self.is_not:
            self.is_open, self.is_not, self.negation = False, True, token[0]
        elif word in ("AND", "NOT") and not (minus or token["field"]):
            self.is_open, self.is_not = False, word == "NOT"
        elif token["field"] and token["field"].lower() in FIELDS:
            self._condition(FIELDS[token["field"].lower()], _clean(phrase or word), minus, token[0])
        elif word is not None and not token["field"] and word.lower() in UNTAGGED:
            self._condition("is", word.lower(), minus, token[0])
        elif word is not None and word.removesuffix(":").lower() in FIELDS and word[-1] == ":":
            self.set_aside.append(token[0])
        else:
            name = "" if token["field"] is None else f"{token['field']}:"
            text = _clean(name + (phrase or word)).lstrip(_MINUSES)
            if word is not None:
                text = text.rstrip("!?") or text
            self._term(Term(text, phrase is not None), minus, token[0])

    def end_negation(self) -> None:
        """Take a word such as *no* that nothing follows for a word like others."""
        if self.negation:
            self._term(Term(self.negation), False, self.negation)

    def _term(self, term: Term, minus: bool, typed: str) -> None:
        self.is_not, self.negation = False, ""
        if not any(sign.isalnum() or _is_symbol(sign) for sign in term.text):
            self.set_aside.append(typed)
        elif minus:
            self._only_words_are_alternatives()
            self.without.append(term)
            self.is_open = False
        elif self.is_either:
            self.groups[-1].append(term)
            self.is_either, self.is_open = False, not term.is_phrase
        elif self.is_open and not term.is_phrase:
            last = self.groups[-1].pop()
            self.groups[-1].append(Term(f"{last.text} {term.text}"))
        else:
            self.groups.append([term])
            self.is_open = not term.is_phrase

    def _only_words_are_alternatives(self) -> None:
        if self.is_either:
            self.set_aside.append("OR")
            self.is_either = False

    def _condition(self, name: str, value: str, minus: bool, typed: str) -> None:
        self._only_words_are_alternatives()
        self.is_open = self.is_not = False
        self.negation, self.is_filter = "", True
        if name in ("before", "after", "date"):
            span = None if minus else _span(value)
            if span is None:
                self.set_aside.append(typed)
                return
            first, last = span
            if name != "before":
                self.dates["from"] = max(first, self.dates.get("from", ""))
            if name == "before":
                last = _day_before(first)
            if name != "after":
                self.dates["to"] = min(last, self.dates.get("to", "~"))
        elif (name == "is" and value.lower() not in UNTAGGED) or not value:
            self.set_aside.append(typed)
        else:
            self.conditions.append(Condition(name, value, minus))


def parse(text: str) -> TypedQuery:
    """Understand a text; whatever it is, something is returned."""
    plain = "".join(" " if is_unseen(sign) else sign for sign in text)
    reader = _Reader()
    for count, token in enumerate(_TOKEN.finditer(nfc(plain[:MAX_CHARACTERS]))):
        if count == MAX_TERMS:
            reader.set_aside.append(token.string[token.start() :])
            break
        reader.take(token)
    reader.end_negation()
    if len(plain) > MAX_CHARACTERS:
        reader.set_aside.append(_CUT.format(MAX_CHARACTERS))
    return TypedQuery(
        tuple(tuple(dict.fromkeys(group)) for group in reader.groups),
        tuple(dict.fromkeys(reader.without)),
        tuple(dict.fromkeys(reader.conditions)),
        reader.dates.get("from"),
        reader.dates.get("to"),
        tuple(dict.fromkeys(reader.set_aside)),
    )


def _clean(text: str) -> str:
    return " ".join(text.split())


def _is_symbol(sign: str) -> bool:
    """Return whether a sign can be a word by itself, as ☃ and € can."""
    return unicodedata.category(sign) in ("So", "Sc", "Sm") and sign not in _MINUSES


def _span(value: str) -> tuple[str, str] | None:
    """Return the first and the last date that a text such as 2019, 2019-5 or 2019.5.1 names.

    Examples
    --------
    >>> _span("2019"), _span("2019-5"), _span("2019-02-30")
    (('2019', '2019'), ('2019-05', '2019-05'), None)
    """
    match = _DATE.fullmatch(value)
    if match is None or match[1] < "0002":
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    parts = [f"{year:04d}", *(f"{part:02d}" for part in (month, day) if part is not None)]
    return "-".join(parts), "-".join(parts)


def _day_before(first: str) -> str:
    """Return the last day before a date.

    Examples
    --------
    >>> _day_before("2019"), _day_before("2019-03")
    ('2018-12-31', '2019-02-28')
    """
    year, month, day = (int(part) for part in (first + "-01-01")[:10].split("-"))
    return date.fromordinal(date(year, month, day).toordinal() - 1).isoformat()
