"""The tables of a collection, and what brings those of an older version to this one."""

import json
from collections.abc import Callable, Iterable, Mapping
from sqlite3 import Connection
from typing import Any

from lookalike.collection.store import seals, sums
from lookalike.core.text import word_key

VERSION = 8
APPLICATION = 0x6C6F6F6B

_CHANGED = "BEGIN UPDATE state SET value = value + 1 WHERE key = 'changes'; END"

_EVENTS = (
    # What people said, in order; rows are only ever added. "about" is what to find them by: the
    # query voted on, the picture and word named, the event undone.
    """
    CREATE TABLE events (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        who TEXT NOT NULL,
        key TEXT UNIQUE,
        about TEXT,
        body TEXT NOT NULL,
        digest BLOB NOT NULL
    )
    """,
    "CREATE INDEX events_about ON events (about, number) WHERE about IS NOT NULL",
    # What was learned from the votes up to an event, so that not all have to be read again.
    "CREATE TABLE snapshots (event INTEGER PRIMARY KEY, state BLOB NOT NULL)",
    # Words that a picture was said not to show.
    """
    CREATE TABLE refusals (
        picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
        word TEXT NOT NULL,
        PRIMARY KEY (picture, word)
    ) WITHOUT ROWID
    """,
    # Files whose pictures were removed, by a digest of path, size and time: a rescan leaves them
    # out while they are as they were, and nothing of them can be read here.
    "CREATE TABLE left_out (digest BLOB PRIMARY KEY) WITHOUT ROWID",
    # Pictures and regions that are searched with; a region goes with its picture.
    """
    CREATE TABLE queries (
        token TEXT PRIMARY KEY,
        raw BLOB NOT NULL,
        jpeg BLOB NOT NULL,
        asked INTEGER NOT NULL,
        picture INTEGER REFERENCES pictures ON DELETE CASCADE
    )
    """,
    "CREATE INDEX queries_of_picture ON queries (picture) WHERE picture IS NOT NULL",
    # With all that pictures are filtered by, so that a page far down is found in it alone.
    "CREATE INDEX pictures_by_date ON pictures (taken, id, format, width, height, bytes)",
    "CREATE INDEX labels_by_name ON labels (label)",
    # A number that changes whenever pictures come or go, so that a vote is told from an import.
    "INSERT OR IGNORE INTO state VALUES ('changes', 0)",
    f"CREATE TRIGGER picture_came AFTER INSERT ON pictures {_CHANGED}",
    f"CREATE TRIGGER picture_went AFTER DELETE ON pictures {_CHANGED}",
)

_RANKERS = (
    # The ways to search: a feature, and what was learned over it. The feature is described by
    # its settings until it is fitted, then by its file and fingerprint. A ranker is ready once
    # all pictures that were there before it have been described.
    """
    CREATE TABLE rankers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        feature TEXT NOT NULL,
        package TEXT NOT NULL,
        settings TEXT NOT NULL,
        file TEXT,
        fingerprint TEXT UNIQUE,
        index_kind TEXT,
        rerankers TEXT NOT NULL,
        ready INTEGER NOT NULL,
        reduction TEXT,
        reduced_at INTEGER,
        similarity INTEGER,
        annotator INTEGER
    )
    """,
    # Pictures that a ranker has no record of: not yet, or for the reason given.
    """
    CREATE TABLE undescribed (
        ranker INTEGER NOT NULL REFERENCES rankers ON DELETE CASCADE,
        picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
        reason TEXT NOT NULL,
        PRIMARY KEY (ranker, picture)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX undescribed_pictures ON undescribed (picture)",
    f"CREATE TRIGGER described AFTER DELETE ON undescribed {_CHANGED}",
    """
    CREATE TABLE query_records (
        token TEXT NOT NULL REFERENCES queries ON DELETE CASCADE,
        ranker INTEGER NOT NULL REFERENCES rankers ON DELETE CASCADE,
        record BLOB NOT NULL,
        PRIMARY KEY (token, ranker)
    )
    """,
    "ALTER TABLE models ADD COLUMN ranker INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE models ADD COLUMN method TEXT NOT NULL DEFAULT 'oasis'",
)

_ALBUMS = (
    # Saved searches with a name; key is what names that count as the same share. What is searched
    # for and the ids are JSON. seen is what was in it when it was last opened. Ids stay when a
    # picture goes: none is used again, and one that is restored is in its albums again.
    """
    CREATE TABLE albums (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        made TEXT NOT NULL,
        search TEXT NOT NULL,
        pictures TEXT NOT NULL,
        most INTEGER NOT NULL,
        opened TEXT NOT NULL,
        seen TEXT NOT NULL
    )
    """,
)

_BIN = (
    # Removed pictures stay in the first table until the bin is emptied; "pictures" are those that
    # are not in the bin, so that whoever reads them sees no others. Tables refer to the first.
    "ALTER TABLE pictures RENAME TO all_pictures",
    """
    CREATE TABLE bin (
        picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
        since TEXT NOT NULL
    )
    """,
    "CREATE VIEW pictures AS SELECT * FROM all_pictures WHERE id NOT IN (SELECT picture FROM bin)",
    # A region, or a file that was searched with, is not searched with while its picture is there.
    "CREATE VIEW usable_queries AS SELECT * FROM queries "
    "WHERE picture IS NULL OR picture NOT IN (SELECT picture FROM bin)",
    f"CREATE TRIGGER picture_binned AFTER INSERT ON bin {_CHANGED}",
    f"CREATE TRIGGER picture_restored AFTER DELETE ON bin {_CHANGED}",
)

_PLACES = (
    # Where files lie, or lay until they were lost; a path may have been the place of several.
    # "sidecar" has the size and time of the sidecar when keywords were last read, NULL for never.
    """
    CREATE TABLE places_now (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        lost TEXT,
        sidecar TEXT
    )
    """,
    "INSERT INTO places_now SELECT id, path, picture, size, mtime_ns, NULL, NULL FROM places",
    "DROP TABLE places",
    "ALTER TABLE places_now RENAME TO places",
    "CREATE INDEX places_by_path ON places (path)",
    "CREATE INDEX places_of_picture ON places (picture, lost)",
)

_SOURCES = (
    # Labels, a layer for each source (a number, see store/labels.py). "shown" has the one row of
    # a picture and word that counts: none where the word was refused or the picture is in the
    # bin. "key" is the word whatever its case and Unicode form.
    """
    CREATE TABLE given (
        picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
        key TEXT NOT NULL,
        source INTEGER NOT NULL,
        label TEXT NOT NULL,
        shown INTEGER NOT NULL,
        PRIMARY KEY (picture, key, source)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX given_by_key ON given (key, label, picture, shown) WHERE shown",
    "DROP TABLE labels",
    "CREATE VIEW labels AS SELECT picture, key, label FROM given WHERE shown",
    "DROP TABLE refusals",
    """
    CREATE TABLE refusals (
        picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
        key TEXT NOT NULL,
        word TEXT NOT NULL,
        PRIMARY KEY (picture, key)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX refusals_by_key ON refusals (key)",
    # What an event did to many pictures; a digest of its rows is in the event.
    """
    CREATE TABLE changes (
        event INTEGER NOT NULL,
        picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
        key TEXT NOT NULL,
        before TEXT,
        after TEXT,
        PRIMARY KEY (event, picture, key)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX changes_of_picture ON changes (picture, event)",
)

_SEALS = (
    # What was said in an event is sealed by a digest with a salt, and the digests of events are
    # made of these: what was said of an erased picture can go, and the log is still whole.
    "ALTER TABLE events ADD COLUMN salt BLOB",
    "ALTER TABLE events ADD COLUMN seal BLOB",
    # Uploaded files of erased pictures, until they are deleted.
    "CREATE TABLE leftovers (path TEXT PRIMARY KEY) WITHOUT ROWID",
)

_SUMS = tuple(f"ALTER TABLE {table} ADD COLUMN crc INTEGER" for table in sums.SUMMED)

_CODES = (
    # The model of binary codes in use, by which candidates are found.
    "ALTER TABLE rankers ADD COLUMN codes INTEGER",
)

_PLACE_SUMS = ("ALTER TABLE places ADD COLUMN crc INTEGER",)

# Three float16 vectors of 1,280 fit into a page of 8 kB; of 4 kB, one.
SCHEMA = f"""
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    taken TEXT,
    added TEXT NOT NULL
);
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
);
CREATE INDEX places_of_picture ON places (picture);
CREATE TABLE thumbnails (
    picture INTEGER PRIMARY KEY REFERENCES pictures ON DELETE CASCADE,
    jpeg BLOB NOT NULL
);
CREATE TABLE labels (
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (picture, label)
) WITHOUT ROWID;
CREATE TABLE clicks (
    query TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (query, picture)
) WITHOUT ROWID;
CREATE INDEX clicks_of_picture ON clicks (picture);
CREATE TABLE refused (path TEXT PRIMARY KEY, reason TEXT NOT NULL, noted TEXT NOT NULL);
CREATE TABLE roots (path TEXT PRIMARY KEY);
CREATE TABLE models (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT,
    previous INTEGER,
    published INTEGER NOT NULL,
    source TEXT NOT NULL,
    threshold REAL NOT NULL,
    settings TEXT NOT NULL,
    figures TEXT NOT NULL,
    held_back BLOB NOT NULL,
    learned_from BLOB NOT NULL,
    made TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'similarity',
    run INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
{";".join(_EVENTS)};
{";".join(_RANKERS)};
{";".join(_ALBUMS)};
ALTER TABLE queries DROP COLUMN raw;
{";".join(_BIN)};
{";".join(_PLACES)};
{";".join(_SOURCES)};
{";".join(_SEALS)};
{";".join(_SUMS)};
{";".join(_CODES)};
{";".join(_PLACE_SUMS)};
COMMIT;
"""


def records_table(ranker: int) -> str:
    """Return the name of the table that holds a ranker's records, a row a picture.

    A table each: the records of one feature lie together on disk, and reading them does not
    depend on how many other features there are.
    """
    return f"records_{int(ranker)}"


def create_records(ranker: int) -> str:
    """Return the statement that makes the table of a ranker's records."""
    return (
        f"CREATE TABLE {records_table(ranker)} ("
        "picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE, "
        "record BLOB NOT NULL, crc INTEGER)"
    )


def _run(statements: Iterable[str]) -> Callable[[Connection, Mapping[str, Any]], None]:
    def update(connection: Connection, feature: Mapping[str, Any]) -> None:
        for statement in statements:
            connection.execute(statement)

    return update


def _add_rankers(connection: Connection, feature: Mapping[str, Any]) -> None:
    """Make what was the one feature of a collection its first ranker; no record is copied."""
    _run(_RANKERS)(connection, feature)
    state = dict(connection.execute("SELECT key, value FROM state").fetchall())
    fitted = feature["fingerprint"] is not None
    connection.execute(
        "INSERT INTO rankers VALUES (1, ?, ?, '', ?, ?, ?, NULL, '[]', 1, ?, ?, ?, ?)",
        (
            *(feature["name"], feature["name"], json.dumps(feature.get("settings", {}))),
            *("feature.safetensors" if fitted else None, feature["fingerprint"]),
            *(state.get("reduction"), state.get("reduced_at")),
            *(state.get("model"), state.get("tagger")),
        ),
    )
    for statement in (
        f"ALTER TABLE vectors RENAME TO {records_table(1)}",
        f"ALTER TABLE {records_table(1)} RENAME COLUMN raw TO record",
        "INSERT INTO query_records SELECT token, 1, raw FROM queries",
        "ALTER TABLE queries DROP COLUMN raw",
        "UPDATE models SET kind = 'words', method = 'wsabie' WHERE kind = 'tags'",
        "DELETE FROM state WHERE key IN ('reduction', 'reduced_at', 'model', 'tagger')",
        # Written in another form from now on; the log has all that they hold.
        "DELETE FROM snapshots",
    ):
        connection.execute(statement)


def _add_sources(connection: Connection, feature: Mapping[str, Any]) -> None:
    """Tell what people said by hand, as the log has it, from labels of other sources.

    What was said by hand is shown as before, and the labels it replaced lie below it.
    """
    labels = connection.execute("SELECT picture, label FROM labels").fetchall()
    refused = connection.execute("SELECT picture, word FROM refusals").fetchall()
    said = _said_by_hand(connection)
    for statements in (_ALBUMS, _BIN, _PLACES, _SOURCES):
        _run(statements)(connection, feature)
    hand, files = 0, 2
    rows: dict[tuple[int, str, int], str] = {}
    for picture, label in labels:
        own = (picture, word_key(label))
        kind, before = said.get(own, ("", []))
        if kind == "tag":
            rows[*own, hand] = label
        for name in [label] if kind != "tag" else before:
            rows[*own, files] = name
    present = {picture for (picture,) in connection.execute("SELECT id FROM all_pictures")}
    refusals = {(picture, word_key(word)): word for picture, word in refused}
    for (picture, key), (kind, before) in said.items():
        if kind == "correction" and picture in present and before:
            rows.setdefault((picture, key, files), before[0])
    first: dict[tuple[int, str], int] = {}
    for picture, key, source in rows:
        first[picture, key] = min(source, first.get((picture, key), source))
    connection.executemany(
        "INSERT INTO refusals VALUES (?, ?, ?)", [(*own, word) for own, word in refusals.items()]
    )
    connection.executemany(
        "INSERT INTO given (picture, key, source, label, shown) VALUES (?, ?, ?, ?, ?)",
        [
            (*own, label, own[:2] not in refusals and first[own[:2]] == own[2])
            for own, label in rows.items()
        ],
    )


def _said_by_hand(connection: Connection) -> dict[tuple[int, str], tuple[str, list[str]]]:
    """Return the kind of what was last said of pictures and words, and the labels before it."""
    undone: set[int] = set()
    for number, body in connection.execute(
        "SELECT number, body FROM events WHERE kind = 'undo' ORDER BY number DESC"
    ):
        if number not in undone:
            undone.add(int(json.loads(body)["event"]))
    said = {}
    for number, kind, text in connection.execute(
        "SELECT number, kind, body FROM events WHERE kind IN ('tag', 'correction') ORDER BY number"
    ):
        if number not in undone:
            body = json.loads(text)
            said[body["picture"], word_key(body["word"])] = (kind, list(body["before"][0]))
    return said


def _add_seals(connection: Connection, feature: Mapping[str, Any]) -> None:
    """Give rows their checksums, and events digests that do not tell what was said.

    Events from the first one on that is not as it was written keep their digests, so that the
    damage is still found.
    """
    _run(_SEALS)(connection, feature)
    rankers = connection.execute("SELECT id FROM rankers").fetchall()
    sums.add_columns(connection, [records_table(number) for (number,) in rankers])
    before, then = b"", b""
    for number, *facts, kept in connection.execute(
        "SELECT number, at, kind, who, key, about, body, digest FROM events ORDER BY number"
    ).fetchall():
        if seals.digest(before, *facts) != kept:
            break
        before = kept
        at, kind, who, *said = facts
        salt = seals.new_salt()
        seal = seals.digest(salt, *said)
        then = seals.digest(then, at, kind, who, seal.hex())
        connection.execute(
            "UPDATE events SET salt = ?, seal = ?, digest = ? WHERE number = ?",
            (salt, seal, then, number),
        )


def _add_place_sums(connection: Connection, feature: Mapping[str, Any]) -> None:
    _run(_PLACE_SUMS)(connection, feature)
    connection.execute(f"UPDATE places SET crc = row_sum({', '.join(sums.PLACE)})")  # noqa: S608


UPDATES: dict[int, Callable[[Connection, Mapping[str, Any]], None]] = {
    # What was learned is a similarity, or words since; models of one run share their run.
    1: _run(
        (
            "ALTER TABLE models ADD COLUMN kind TEXT NOT NULL DEFAULT 'similarity'",
            "ALTER TABLE models ADD COLUMN run INTEGER NOT NULL DEFAULT 0",
            "UPDATE models SET run = number",
        )
    ),
    2: _run(_EVENTS),
    3: _add_rankers,
    4: _add_sources,
    5: _add_seals,
    6: _run(_CODES),
    7: _add_place_sums,
}
"""What makes the tables of a version those of the next; a collection's only feature is given."""
