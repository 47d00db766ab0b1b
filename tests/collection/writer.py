"""A process that forks writers to be killed, so that everything is imported and compiled only once.

Each line it reads is a command and its arguments; the fork that carries it out says what it has
finished, and this process says ``dead`` when it is no more.
"""

import itertools
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory


def say(*words):
    print(*words, flush=True)  # noqa: T201


def work(folder, seed):
    """Add, learn and remove without end."""
    from colours import Colours, picture

    from lookalike.collection import Collection
    from lookalike.collection.pictures import adding
    from lookalike.collection.vectors import space

    adding.BATCH_PICTURES = 3
    space.MIN_DRIFT, space.MIN_TO_REDUCE, space.REDUCED = 0, 30, 4
    with Collection.open(folder / "c", features=[Colours()]) as collection:
        say("ready")
        for round_ in itertools.count(seed):
            new = [
                picture(folder / "p" / "ab"[n % 2] / f"{round_}-{n}.png", (99, n, 9), (round_, n))
                for n in range(7)
            ]
            collection.add(new)
            held = {str(place): row.id for row in collection.pictures.all() for place in row.places}
            say("added", *(f"{held[str(path)]}={path}" for path in new))
            collection.learn(folders=True, settings={"steps": 20, "blend": 0.5})
            say("learned", len(collection.models.all()))
            gone = [row.id for row in collection.pictures.all()][:3]
            say("removing", *gone)
            collection.remove(gone)
            say("removed", *gone)


class Events:
    """Count what happens, and die of the event ``last``."""

    def __init__(self, last):
        self.last = last
        self.count = 0

    def happen(self, *_):
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def at_commits(self):
        """Let an event happen before each commit of a writer and another after it."""
        connect, happen = sqlite3.connect, self.happen

        class Counting(sqlite3.Connection):
            writes = False

            def execute(self, sql, *values):
                self.writes |= sql == "BEGIN IMMEDIATE"
                if sql != "COMMIT" or not self.writes:
                    return super().execute(sql, *values)
                happen()
                done = super().execute(sql, *values)
                happen()
                return done

        sqlite3.connect = lambda *given, **named: connect(*given, factory=Counting, **named)


def die(folder, step):
    """Add and remove, dying before (even steps) or after the n-th commit of the writer."""
    from colours import Colours

    from lookalike.collection import Collection
    from lookalike.collection.pictures import adding

    Events(step).at_commits()
    adding.BATCH_PICTURES = 2
    with Collection.open(folder / "c", features=[Colours()]) as collection:
        collection.add([folder / "p"], threads=1)
        collection.remove([1])
    say("survived")


def teach(folder, step):
    """Learn, dying of the n-th event: a step of learning, a file being written, a commit."""
    from colours import Colours

    from lookalike.collection import Collection
    from lookalike.core import arrays

    events = Events(step)
    events.at_commits()
    write = arrays.write_whole

    def write_whole(*given):
        events.happen()
        write(*given)
        events.happen()

    arrays.write_whole = write_whole
    with Collection.open(folder / "c", features=[Colours()]) as collection:
        labels = {
            row.places[0]: [row.places[0].parent.name, "bild"] for row in collection.pictures.all()
        }
        labels |= {path: ["bunt"] for path in [*labels][::3]}
        settings = {"steps": 20, "blend": 0.5}
        collection.learn(labels, settings=settings, progress=events.happen)
    say("events", events.count)


def lock(folder, _):
    """Hold the lock."""
    from lookalike.collection.store.folder import Folder

    with Folder(folder / "c").writing():
        say("ready")
        time.sleep(60)


def main():
    from colours import Colours, album

    from lookalike.collection import Collection

    with TemporaryDirectory() as folder:
        album(Path(folder) / "p")
        with Collection.create(Path(folder) / "c", features=[Colours()]) as collection:
            collection.add([Path(folder) / "p"])
            collection.learn(folders=True, settings={"steps": 20})
            collection.search(1)
    commands = {"work": work, "die": die, "teach": teach, "lock": lock}
    for line in sys.stdin:
        name, number, folder = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if child == 0:
            say("pid", os.getpid())
            try:
                commands[name](Path(folder), int(number))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
