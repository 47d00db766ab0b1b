"""Answers that are given again while nobody has written since they were made."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar, cast

from lookalike.collection.store.database import Database

T = TypeVar("T")

MAX_ANSWERS = 64
"""Answers that are remembered; of more, those not asked for the longest go."""


class Answers:
    """What was made by a key; threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._made: OrderedDict[tuple[Hashable, ...], tuple[int, object]] = OrderedDict()

    def get(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return what was made before under a key, while nobody has written since, or make it."""
        version = self._database.version()
        with self._lock:
            made = self._made.get(key)
            if made is not None and made[0] == version:
                self._made.move_to_end(key)
                return cast(T, made[1])
        answer = make()
        with self._lock:
            self._made[key] = version, answer
            self._made.move_to_end(key)
            while len(self._made) > MAX_ANSWERS:
                self._made.popitem(last=False)
        return answer

    def read(self, read: Callable[..., T], *given: Hashable) -> T:
        """Return what a function reads of the database for what is given."""
        return self.get((read, *given), lambda: read(self._database, *given))
