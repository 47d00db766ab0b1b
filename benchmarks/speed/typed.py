"""Searches as people type them, in 100,000 pictures, beside a search by a picture in the same run.

The collection is the one of ``speed/service.py``, with tags on one picture in ten. Each text is
searched in turn with a search by a picture, in one process; what is given is the median of the CPU
time of each.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from bench import Figure, Options, main
from lookalike.collection import Collection
from lookalike.features.start_words import imagenet
from service import FOUND, make

TEXTS = {
    "a built-in word": "{0}",
    "two words": "{0} {1}",
    "a word without another": "{0} no {1}",
    "one of two words": "{0} OR {1}",
    "a sentence": "a {0} with the {1}",
    "a tag and a filter": "{0} label:holiday before:2012",
    "a folder and a word": "{0} folder:07",
    "a word and an unknown one": "{0} qwertz",
}
"""What is typed; each time with other built-in words, so that no answer is remembered."""


def seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(options: Options) -> list[Figure]:
    count, rounds = (20_000, 10) if options.quick else (100_000, 40)
    options.settings |= {"pictures": count, "rounds": rounds, "threads": 1}
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(1):
        place = Path(temporary) / "collection"
        make(place, Path(temporary) / "pictures", count, options)
        with Collection.open(place) as store:
            store.label(list(range(1, count, 10)), "holiday")
            words = np.random.default_rng(0).permutation(imagenet().words).tolist()
            for text in TEXTS.values():
                store.search_word(text.format(words.pop(), words.pop()), FOUND)
            times: dict[str, list[float]] = {what: [] for what in ("a picture", *TEXTS)}
            for turn in range(rounds):
                times["a picture"].append(seconds(lambda turn=turn: store.search(turn + 1, FOUND)))
                for what, text in TEXTS.items():
                    typed = text.format(words.pop(), words.pop())
                    one = seconds(lambda typed=typed: store.search_word(typed, FOUND))
                    times[what].append(one)
    medians = {what: 1000 * float(np.median(some)) for what, some in times.items()}
    plain = medians.pop("a picture")
    found = [Figure("a search by a picture, ms", plain, "<=")]
    for what, value in medians.items():
        note = f"{value:.2f} ms: {TEXTS[what]}"
        found.append(
            Figure(f"{what}, times a search by a picture", value / plain, "<=", None, note)
        )
    return found


if __name__ == "__main__":
    main("speed/typed", measure)
