"""A collection's database and rankers, opened a second time by its path for a test to look into."""

import weakref
from dataclasses import dataclass

from lookalike.collection.ranking.rankers import Rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder

_OPEN = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Beside:
    folder: Folder
    database: Database
    rankers: Rankers

    def close(self):
        self.database.close()
        self.rankers.close()


def beside(collection):
    """Return what lies in a collection's folder, as another process would read it."""
    if collection not in _OPEN:
        folder = Folder(collection.path)
        database = Database(folder.database, read_only=collection.read_only)
        rankers = Rankers(folder, database, collection.features.values())
        _OPEN[collection] = Beside(folder, database, rankers)
        weakref.finalize(collection, _OPEN[collection].close)
    return _OPEN[collection]


def current_ranker(collection, by=None):
    """Return a ranker of a collection as the store has it now."""
    return beside(collection).rankers.get(by)


def stored_rows(collection, sql, *values):
    """Return stored rows."""
    return beside(collection).database.rows(sql, *values)


def write_rows(collection, sql, *values):
    """Change stored rows, as damage or another version of the program would."""
    with beside(collection).database.transaction() as connection:
        connection.execute(sql, values)


def counted_votes(collection):
    """Return the votes that count, as the log has them."""
    return beside(collection).rankers.ledger.votes
