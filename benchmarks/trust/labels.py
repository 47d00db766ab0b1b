"""Walk at random over all that can happen to labels, and check that none given by hand is lost.

A collection of drawn pictures is tagged and untagged, one by one and in bulk; labels are imported
from files, folders and keywords, and learned from; files are moved, taken away, brought back and
rescanned; pictures are removed, restored and now and then erased; events are undone, and undoings
undone; and some of it is done by a process that is killed (-9) at a random moment. A simple model,
the list of what was said, tells after every 50 actions which words pictures must have and must not
have. 2,000 actions; ``--quick`` and ``--actions N`` make fewer.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Entry, Filter
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.core.text import word_key
from lookalike.features import Visterms
from lookalike.images.metadata import sidecar_of
from lookalike.images.xmp import EMPTY, FLAT, Packet

WORDS = ("Straße", "STRASSE", "Meer", "été", "x/y", "🐈", "<b>rot</b>", "zwei\nZeilen", "Hund")
FOLDERS = ("rot", "grün", "Nr. 3")
PICTURES = 40
EVERY = 50
RECENT = 40
"""Events that one action makes, at most."""
QUICK = {"steps": 20, "blend": 0.5}


def drawn(seed: int) -> bytes:
    """Return a small picture, different for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 255, (24, 24, 3)).astype(np.uint8)
    pixels[..., seed % 3] //= 2
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


@dataclass
class Said:
    """An event that says something by hand, or undoes another."""

    number: int
    kind: str
    key: str = ""
    pictures: frozenset[int] = frozenset()
    undid: int = 0


@dataclass
class Walk:
    """A collection, its files, and the model of what was said of it."""

    place: Path
    random: random.Random
    said: list[Said] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    seen: int = 0
    lost: int = 0
    erased: int = 0
    checked: int = 0

    def __post_init__(self) -> None:
        self.files, self.away = self.place / "files", self.place / "away"
        self.away.mkdir(parents=True)
        for seed in range(PICTURES):
            path = self.files / FOLDERS[seed % 3] / f"{seed}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(drawn(seed))
        with Collection.create(self._collection, features=[Visterms(dimension=16)]) as store:
            store.add([self.files], threads=1)
            self.ids = {row.sha256: row.id for row in store.pictures.all()}
        self.store = self.open()
        self.note()

    @property
    def _collection(self) -> Path:
        return self.place / "collection"

    def open(self) -> Collection:
        """Open the collection."""
        return Collection.open(self._collection)

    def go(self, actions: int) -> None:
        """Take so many actions, checking now and then."""
        ways: list[tuple[Callable[[Collection], Any], int]] = [
            (self.tag, 20),
            (self.tag_many, 10),
            (self.import_files, 2),
            (self.learn_folders, 1),
            (self.learn_again, 1),
            (self.write_keywords, 4),
            (self.move, 6),
            (self.take_away, 5),
            (self.bring_back, 6),
            (self.rescan, 8),
            (self.remove, 5),
            (self.restore, 5),
            (self.erase, 1),
            (self.undo, 18),
        ]
        every, weights = zip(*ways, strict=True)
        for number in range(1, actions + 1):
            (way,) = self.random.choices(every, weights)
            killed = self.random.random() < 0.05
            self.done["kill" if killed else way.__name__] += 1
            if killed:
                self.kill(way)
            else:
                way(self.store)
            self.note()
            if number % EVERY == 0 or number == actions:
                self.check()

    # Actions

    def some(self, store: Collection) -> list[int]:
        """Return ids of pictures that are there."""
        there = [row.id for row in store.pictures.all()]
        return self.random.sample(there, min(len(there), self.random.randint(1, 12)))

    def tag(self, store: Collection) -> None:
        """Say a word of a picture, or that it does not fit."""
        for number in self.some(store)[:1]:
            shows = self.random.random() < 0.7
            store.label(number, self.random.choice(WORDS), shows=shows)

    def tag_many(self, store: Collection) -> None:
        """Say a word of many pictures, named or by a filter."""
        word, shows = self.random.choice(WORDS), self.random.random() < 0.7
        chosen: Any = self.some(store)
        if self.random.random() < 0.3:
            chosen = Filter(tags=(self.random.choice(WORDS),))
        if isinstance(chosen, Filter) and not store.pictures.count(chosen):
            return
        if chosen:
            store.label(chosen, word, shows=shows)

    def import_files(self, store: Collection) -> None:
        """Import labels for some pictures, and learn from them."""
        given = {
            str(store.pictures.get(number).places[0]): self.random.sample(WORDS, 2)
            for number in self.some(store)
        }
        self._learn(store, labels=given)

    def learn_folders(self, store: Collection) -> None:
        """Learn from the folders."""
        self._learn(store, folders=True)

    def learn_again(self, store: Collection) -> None:
        """Learn from what there is, or go back."""
        if self.random.random() < 0.5:
            self._learn(store)
        else:
            with suppress(CollectionError):  # there is no model, or no older one is kept
                store.rollback()

    def _learn(self, store: Collection, **given: Any) -> None:
        if not store.pictures.all():
            return  # all were removed
        try:
            store.learn(**given, settings=QUICK, words="ridge")
        except InvalidInput as error:
            if "learn" not in str(error):
                raise

    def write_keywords(self, store: Collection) -> None:
        """Write a sidecar, or take one away, and index again."""
        files = self._files()
        if not files:
            return
        sidecar = sidecar_of(self.random.choice(files))
        if self.random.random() < 0.2:
            sidecar.unlink(missing_ok=True)
        else:
            words = [word for word in self.random.sample(WORDS, 2) if "\n" not in word]
            sidecar.write_bytes(Packet(EMPTY).with_subjects({FLAT: words}))
        store.add([self.files], threads=1)

    def _files(self) -> list[Path]:
        return sorted(self.files.rglob("*.png"))

    def move(self, store: Collection) -> None:
        """Move a file to another folder."""
        for path in self.random.sample(self._files(), min(1, len(self._files()))):
            name = f"{self.random.randrange(10**9)}.png"
            path.rename(self.files / self.random.choice(FOLDERS) / name)

    def take_away(self, store: Collection) -> None:
        """Take a file out of the folders."""
        for path in self.random.sample(self._files(), min(1, len(self._files()))):
            path.rename(self.away / f"{self.random.randrange(10**9)}.png")

    def bring_back(self, store: Collection) -> None:
        """Bring a file back, to wherever."""
        away = sorted(self.away.iterdir())
        for path in self.random.sample(away, min(1, len(away))):
            path.rename(self.files / self.random.choice(FOLDERS) / path.name)

    def rescan(self, store: Collection) -> None:
        """Do what the page's rescan and ``lookalike index`` do."""
        store.add([self.files], threads=1)
        store.pictures.find_missing()

    def remove(self, store: Collection) -> None:
        """Remove a few pictures."""
        store.remove(self.some(store)[:2])

    def restore(self, store: Collection) -> None:
        """Restore some of the bin."""
        rows = [row.id for row in store.bin.browse()]
        store.restore(self.random.sample(rows, min(len(rows), 2)))

    def erase(self, store: Collection) -> None:
        """Erase a picture of the bin, if most are still there."""
        rows = store.bin.browse()
        if rows and len(store) > PICTURES // 2:
            gone = self.random.choice(rows)
            store.bin.empty([gone.id])

    def undo(self, store: Collection) -> None:
        """Undo one of the last events."""
        found = [event for event in store.log.history(30) if not event.undone]
        try:
            store.undo(self.random.choice(found).number)
        except InvalidInput as error:
            if "cannot be undone" not in str(error) and "Undo event" not in str(error):
                raise

    def kill(self, way: Callable[[Collection], Any]) -> None:
        """Let another process take an action, and kill it at a random moment."""
        self.store.close()
        seed = self.random.random()
        child = os.fork()
        if child == 0:
            try:
                self.random.seed(seed)
                with self.open() as store:
                    way(store)
            finally:
                os._exit(0)
        time.sleep(self.random.random() * 0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.store = self.open()

    # The model

    def note(self) -> None:
        """Take over what the log says was said, also by a process that was killed."""
        log = [event for event in self.store.log.history(RECENT) if event.number > self.seen]
        for event in reversed(log):
            self.said += self._told(event)
            self.erased += event.body["pictures"] if event.kind == "erasure" else 0
            self.seen = event.number

    def _told(self, event: Entry) -> list[Said]:
        if event.kind == "undo":
            return [Said(event.number, "undo", undid=event.body["event"])]
        if event.kind != "label":
            return []
        key, shows = word_key(event.body["word"]), event.body["shows"]
        pictures = frozenset(self._named(event.number))
        return [Said(event.number, "given" if shows else "refused", key, pictures)]

    def _named(self, event: int) -> list[int]:
        rows = self.store._session.database.rows(
            "SELECT picture FROM changes WHERE event = ?", event
        )
        return [picture for (picture,) in rows]

    def expected(self) -> dict[tuple[int, str], bool]:
        """Return what was last said of pictures and words, of all that was not taken back."""
        undone: set[int] = set()
        for it in reversed(self.said):
            if it.kind == "undo" and it.number not in undone:
                undone.add(it.undid)
        last: dict[tuple[int, str], bool] = {}
        for it in self.said:
            if it.kind != "undo" and it.number not in undone:
                last |= {(picture, it.key): it.kind == "given" for picture in it.pictures}
        return last

    def check(self) -> None:
        """Compare what is shown with the model; what is in the bin is looked at in a copy."""
        expected = self.expected()
        self._compare(self.store, expected)
        if self.store.bin.count():
            copy = self.place / "copy"
            shutil.copytree(self._collection, copy)
            with Collection.open(copy) as store:
                store.restore()
                self._compare(store, expected)
            shutil.rmtree(copy)

    def _compare(self, store: Collection, expected: dict[tuple[int, str], bool]) -> None:
        there = {row.id for row in store.pictures.all()}
        has = {
            number: {word_key(name) for name in names}
            for number, names in store.labels.all().items()
        }
        wrong = [
            (number, key, shows)
            for (number, key), shows in expected.items()
            if number in there and (key in has.get(number, set())) != shows
        ]
        if wrong:
            print(f"lost or brought back: {wrong[:5]}", file=sys.stderr)
        self.lost += len(wrong)
        self.checked += sum(number in there for number, _ in expected)
        gone = {*self.ids.values()} - there - {row.id for row in store.bin.browse()}
        if len(gone) > self.erased:
            print(f"pictures are gone: {sorted(gone)}", file=sys.stderr)
            self.lost += len(gone) - self.erased
        store.log.check()


def measure(options: Options, actions: int) -> list[Figure]:
    """Walk, and count the labels that are not as people said."""
    with tempfile.TemporaryDirectory() as place:
        walk = Walk(Path(place), random.Random(7))
        try:
            walk.go(actions)
        finally:
            walk.store.close()
    options.settings |= {"actions": actions, "seed": 7, "done": dict(walk.done)}
    by_hand = sum(it.kind != "undo" for it in walk.said)
    against = f"{walk.checked:,} comparisons, {by_hand:,} events by hand, {walk.done['kill']} kills"
    return [
        Figure("labels lost or brought back", walk.lost, "<=", 0, against),
        Figure("actions", sum(walk.done.values()), ">=", actions),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--actions", type=int)
    known, sys.argv[1:] = parser.parse_known_args()

    def run(options: Options) -> list[Figure]:
        """Walk as far as was asked for."""
        return measure(options, known.actions or (150 if options.quick else 2000))

    main("trust/labels", run)
