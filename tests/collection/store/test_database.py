"""The connections of a collection to its database."""

import time
from threading import Event, Thread

from tests.collection.beside import beside


def test_what_was_deleted_is_emptied_while_another_thread_writes(collection):
    database = beside(collection).database
    writing, waits = Event(), Event()
    read = []

    def write():
        with database.transaction():
            writing.set()
            waits.wait(300)
            time.sleep(0.2)  # until the other waits for us, as far as one can tell
            read.append(database.rows("SELECT 1"))

    writer = Thread(target=write)
    writer.start()
    assert writing.wait(300)
    emptier = Thread(target=database.forget)
    emptier.start()
    waits.set()
    writer.join(300)
    stuck = not read
    emptier.join(300)
    assert not stuck
    assert (collection.path / "collection.sqlite-wal").stat().st_size == 0
