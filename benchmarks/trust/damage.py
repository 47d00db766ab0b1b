"""Damage models, databases, logs and mapped vectors, and count wrong answers without a word.

A collection that has learned, was voted in and has labels is damaged in one place: a bit of its
model; a bit, some bytes, a page of zeros or a missing end of its database; a bit of the
write-ahead log that a killed server leaves; one of the two files with the end of the log, or both,
where the write-ahead log is gone as well; or, where it has codes, a bit of the vectors that stay on
disk, before it is opened or while it is open and has searched. Wrong vectors are made again, so all
answers must be as before. Then all that people ask for is asked: searches with
and without learning, facts, labels, thumbnails, the log. An error, a warning in the log of the
program or an answer as before are right; another answer without a word is not, even if
``lookalike check`` finds the damage, which is counted as well.
"""

import json
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from io_errors import Colours

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask, Gain, Gate
from lookalike.collection.training import codes
from lookalike.collection.vectors import space
from lookalike.core.errors import LookalikeError

FLIPS, DATABASES, LOGS, MAPPED, LIVE, ENDS = 200, 150, 40, 200, 100, 40
PICTURES = 60
PAGE = 4096


class Anything(Gate):
    """Publishes what was learned, however little sixty pictures prove."""

    def passes_similarity(self, gain: Gain, over_start: Gain) -> bool:
        """Return True."""
        return True

    def passes_words(self, over_commonest: Gain, gain: Gain | None) -> bool:
        """Return True."""
        return True


class Words(logging.Handler):
    """What the program says by itself."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.told.append(record.getMessage())


def prepare(world: Path) -> Path:
    """Make a collection with a model in use, votes, labels and removed pictures."""
    for number in range(PICTURES):
        rng = np.random.default_rng(number)
        colour = np.array([(220, 40, 40), (40, 200, 60), (40, 60, 220)][number % 3])
        pixels = np.clip(colour + rng.integers(-60, 60, (24, 32, 3)), 0, 255).astype(np.uint8)
        place = world / "pictures" / "rgb"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")
    with Collection.create(world / "c", features=[Colours()], gate=Anything()) as store:
        store.add([world / "pictures"])
        store.learn(folders=True, settings={"steps": 500, "blend": 0.5})
        for query in range(1, 11):
            store.vote(Ask((query,)), picked=[query + 3], rejected=[query + 4])
        store.label(3, "Straße")
        store.remove([5, 6])
    return world / "c"


@contextmanager
def small() -> Iterator[None]:
    """Let sixty pictures have codes, and their vectors be kept on disk."""
    with (
        patch.object(codes, "NEAREST", 5),
        patch.object(codes, "MIN_PICTURES", 20),
        patch.object(space, "MIN_DRIFT", 10),
    ):
        yield


def vectors_of(place: Path) -> Path:
    """Return the file that the vectors of a collection stay in."""
    (file,) = (place / "cache").glob("vectors-*")
    return file


def asked() -> dict[str, Callable[[Collection], Any]]:
    """Return what people ask for, by name."""
    return {
        "search": lambda store: [store.search(n, 10) for n in range(10, 20)],
        "learned": lambda store: [store.search(n, 10, learned=False) for n in range(10, 20)],
        "word": lambda store: store.search_word("r", 10),
        "facts": lambda store: list(store.pictures.all()),
        "labels": lambda store: store.labels.all(),
        "thumbnails": lambda store: [store.pictures.thumbnail(n) for n in range(10, 40)],
        "history": lambda store: store.log.history(100),
        "verdicts": lambda store: store.votes.verdicts(Ask((1,))),
        "standing": lambda store: store.votes.standing(),
        "models": lambda store: store.models.all(),
        "bin": lambda store: store.bin.browse(),
        "size": len,
    }


def answers(
    place: Path, meanwhile: Callable[[], object] = lambda: None
) -> tuple[dict[str, str], set[str], bool]:
    """Return the answers of a collection, which of them tell of damage, and if it tells of some.

    What happens ``meanwhile`` comes after a first search.
    """
    words, found, told = Words(), {}, set()
    logger = logging.getLogger("lookalike")
    logger.addHandler(words)
    try:
        with Collection.open(place) as store:
            with suppress(LookalikeError):
                store.search(10, 10)
            meanwhile()
            for name, ask in asked().items():
                try:
                    found[name] = repr(ask(store))
                except LookalikeError as error:
                    found[name] = str(error)
                    told.add(name)
    except LookalikeError as error:
        words.told.append(str(error))
    finally:
        logger.removeHandler(words)
    return found, told, bool(words.told)


def judged(
    place: Path, sound: dict[str, str], meanwhile: Callable[[], object], *, whole: bool
) -> str:
    """Say how a damaged collection answers; with ``whole``, nothing may be missing."""
    try:
        found, told, spoke = answers(place, meanwhile)
    except Exception as error:
        return f"raw: {type(error).__name__}: {error!s:.100}"
    wrong = {name for name, answer in found.items() if answer != sound[name]} - told
    if whole and (wrong or told):
        return f"silent: {', '.join(sorted(wrong | told))} not made again"
    if wrong and not spoke:
        return f"silent: {', '.join(sorted(wrong))}{'' if checked(place) else ', not in check'}"
    return "told" if told or spoke else "as before"


def checked(place: Path) -> bool:
    """Return whether ``lookalike check`` finds damage."""
    try:
        with Collection.open(place) as store:
            return not store.upkeep.check().sound
    except LookalikeError:
        return True


def flipped(file: Path, chance: random.Random, first: int = 0) -> None:
    """Flip a bit of a file, as it is: others may have mapped it."""
    place = chance.randrange(first, file.stat().st_size)
    with file.open("r+b") as stream:
        stream.seek(place)
        (byte,) = stream.read(1)
        stream.seek(place)
        stream.write(bytes([byte ^ 1 << chance.randrange(8)]))


def broken(file: Path, chance: random.Random, number: int) -> None:
    """Damage a database, in one of five ways by turns."""
    content = bytearray(file.read_bytes())
    at = chance.randrange(100, len(content) - 64)
    page = at // PAGE * PAGE
    way = number % 5
    if way < 2:
        return flipped(file, chance, 100)
    if way == 2:
        content[at : at + 64] = chance.randbytes(64)
    elif way == 3:
        content[page : page + PAGE] = bytes(PAGE)
    else:
        del content[max(page, PAGE) :]
    file.write_bytes(content)
    return None


def cases(
    places: dict[str, Path], world: Path, counts: tuple[int, ...]
) -> Iterator[tuple[str, Path, Callable[[], object]]]:
    """Damage one copy of the collection after the other; also return what comes meanwhile."""
    chance, kept = random.Random(0), places["model"]
    (model,) = (
        file for file in (kept / "models").iterdir() if file.name == f"{current(kept)}.safetensors"
    )
    for (what, source), count in zip(places.items(), counts, strict=True):
        for number in range(count):
            place, meanwhile = world / "c", partial(id, None)
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(source, place)
            if what == "model":
                flipped(place / "models" / model.name, chance)
            elif what == "database":
                shutil.rmtree(place / "cache", ignore_errors=True)
                broken(place / "collection.sqlite", chance, number)
            elif what == "write-ahead log":
                (place / "collection.sqlite-shm").unlink(missing_ok=True)
                flipped(place / "collection.sqlite-wal", chance)
            elif what == "end of the log":
                for beside in ("-wal", "-shm"):
                    (place / f"collection.sqlite{beside}").unlink(missing_ok=True)
                # Each alone by turns, and both every third time.
                ends = sorted(place.glob("log-end*"))
                for file in ends if number % 3 == 2 else ends[number % 3 :][:1]:
                    content = file.read_bytes()
                    file.write_bytes(content[: chance.randrange(len(content))])
                    if number % 2:
                        file.write_bytes(content)
                        flipped(file, chance)
            elif what == "mapped vectors":
                flipped(vectors_of(place), chance)
            else:
                meanwhile = partial(flipped, vectors_of(place), chance)
            yield what, place, meanwhile


def current(place: Path) -> int:
    """Return the number of the similarity in use."""
    with Collection.open(place) as store:
        return next(
            row.number for row in store.models.all() if row.current and row.kind == "similarity"
        )


def measure(options: Options) -> list[Figure]:
    counts = (20, 15, 5, 10, 10, 6)
    if not options.quick:
        counts = (FLIPS, DATABASES, LOGS, MAPPED, LIVE, ENDS)
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name, small():
        world = Path(name)
        kept, live = world / "kept", world / "live"
        shutil.move(prepare(world), kept)
        shutil.copytree(kept, world / "c")
        with Collection.open(world / "c") as store:
            for query in range(11, 31):
                store.vote(Ask((query,)), picked=[query + 3], rejected=[query + 4])
            shutil.copytree(world / "c", live)
        coded = world / "coded"
        shutil.copytree(kept, coded)
        with Collection.open(coded) as store:
            store.learn(codes="itq", bits=24, candidates=20)
        places = {
            **{"model": kept, "database": kept, "write-ahead log": live},
            **{"mapped vectors": coded, "mapped vectors in use": coded},
            "end of the log": live,
        }
        sound = {}
        for what, place in places.items():
            shutil.rmtree(world / "c")
            shutil.copytree(place, world / "c")
            (world / "c" / "collection.sqlite-shm").unlink(missing_ok=True)
            sound[what] = answers(world / "c")[0]
        for what, place, meanwhile in cases(places, world, counts):
            how = judged(place, sound[what], meanwhile, whole=what.startswith("mapped"))
            found.setdefault(what, Counter())[how.partition(":")[0]] += 1
            if how.startswith(("silent", "raw")):
                print(what, how, file=sys.stderr)
    options.settings |= {"answers": json.dumps(found)}
    return [
        Figure(
            f"damaged {what}: wrong answers without a word, or raw errors",
            tally["silent"] + tally["raw"],
            "<=",
            0,
            f"{tally['told']} told, {tally['as before']} answers as before, "
            f"of {sum(tally.values())}",
        )
        for what, tally in found.items()
    ]


if __name__ == "__main__":
    main("trust/damage", measure)
