"""The tables of a collection as they are now; a new database is made of this alone.

``migrations.py`` brings a database of the version before to this one.
"""

VERSION = 12

OLDEST = 8
"""The oldest version that is brought to this one."""

APPLICATION = 0x6C6F6F6B

_COUNT = "BEGIN UPDATE state SET value = value + 1 WHERE key = 'changes'; END"

SCHEMA = f"""
-- Three float16 vectors of 1,280 fit into a page of 8 kB; of 4 kB, one.
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};

-- Single values: "changes" rises whenever pictures or their records come or go.
CREATE TABLE state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO state VALUES ('changes', 0);

-- Every picture by its content, those in the bin too. "crc" is a checksum of a row, see sums.py.
CREATE TABLE all_pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    taken TEXT,
    added TEXT NOT NULL,
    crc INTEGER NOT NULL
);
-- All columns of filters, so that a page far down is read from the index alone.
CREATE INDEX pictures_by_date ON all_pictures (taken, id, format, width, height, bytes);
CREATE TRIGGER picture_came AFTER INSERT ON all_pictures {_COUNT};
CREATE TRIGGER picture_went AFTER DELETE ON all_pictures {_COUNT};

-- Removed pictures, which stay until the bin is emptied.
CREATE TABLE bin (
    picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
    since TEXT NOT NULL
);
CREATE TRIGGER picture_binned AFTER INSERT ON bin {_COUNT};
CREATE TRIGGER picture_restored AFTER DELETE ON bin {_COUNT};
-- Pictures that are not in the bin: what searches and pages read.
CREATE VIEW pictures AS SELECT * FROM all_pictures WHERE id NOT IN (SELECT picture FROM bin);

-- Where the file of a picture lies, or lay until it was lost. A path may have been the place of
-- several pictures. "sidecar": its size and time when metadata was last read; NULL for never.
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    lost TEXT,
    sidecar TEXT,
    crc INTEGER NOT NULL
);
CREATE INDEX places_by_path ON places (path);
CREATE INDEX places_of_picture ON places (picture, lost);

-- What files say of pictures besides keywords, of pictures they say anything of; texts that they
-- do not say are empty, and a place is latitude and longitude in degrees, or neither.
CREATE TABLE details (
    picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
    caption TEXT NOT NULL,
    camera TEXT NOT NULL,
    lens TEXT NOT NULL,
    latitude REAL,
    longitude REAL,
    crc INTEGER NOT NULL
);
CREATE INDEX details_by_camera ON details (camera, picture) WHERE camera != '';
CREATE INDEX details_by_lens ON details (lens, picture) WHERE lens != '';

-- What is written in pictures, of those in which it was looked for; empty for nothing.
CREATE TABLE texts (
    picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
    text TEXT NOT NULL,
    crc INTEGER NOT NULL
);

-- Small JPEGs of pictures.
CREATE TABLE thumbnails (
    picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
    jpeg BLOB NOT NULL,
    crc INTEGER NOT NULL
);

-- Folders that were added.
CREATE TABLE roots (path TEXT PRIMARY KEY);

-- Files that could not be added.
CREATE TABLE refused (path TEXT PRIMARY KEY, reason TEXT NOT NULL, noted TEXT NOT NULL);

-- Files of removed pictures, by a digest of path, size and time that tells nothing of them: a
-- rescan skips them while they are unchanged.
CREATE TABLE left_out (digest BLOB PRIMARY KEY) WITHOUT ROWID;

-- Uploaded files of erased pictures, until they are deleted.
CREATE TABLE leftovers (path TEXT PRIMARY KEY) WITHOUT ROWID;

-- Labels, a layer for each source (a number, see labels.py). "key" is the label whatever its case
-- and Unicode form. "shown" is true for the one row of a picture and key that counts; for none
-- where the label was refused or the picture is in the bin.
CREATE TABLE given (
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    key TEXT NOT NULL,
    source INTEGER NOT NULL,
    label TEXT NOT NULL,
    shown INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (picture, key, source)
) WITHOUT ROWID;
CREATE INDEX given_by_key ON given (key, label, picture, shown) WHERE shown;
-- The labels that count.
CREATE VIEW labels AS SELECT picture, key, label FROM given WHERE shown;

-- Words that a picture does not show.
CREATE TABLE refusals (
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    key TEXT NOT NULL,
    word TEXT NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (picture, key)
) WITHOUT ROWID;
CREATE INDEX refusals_by_key ON refusals (key);

-- Clicks to learn from: how often a picture was chosen for a query.
CREATE TABLE clicks (
    query TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    weight REAL NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (query, picture)
) WITHOUT ROWID;
CREATE INDEX clicks_of_picture ON clicks (picture);

-- The log; rows are only ever added. "key" makes a request repeatable, "about" is what events are
-- looked up by. "seal" is a digest of the body with the salt, and "digest" one of the seal and of
-- the digest before: a body can be erased, and the log is still whole.
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    who TEXT NOT NULL,
    key TEXT UNIQUE,
    about TEXT,
    body TEXT NOT NULL,
    digest BLOB NOT NULL,
    salt BLOB NOT NULL,
    seal BLOB NOT NULL
);
CREATE INDEX events_about ON events (about, number) WHERE about IS NOT NULL;

-- What events did to labels of many pictures; a digest of an event's rows is in its body.
CREATE TABLE changes (
    event INTEGER NOT NULL,
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    key TEXT NOT NULL,
    before TEXT,
    after TEXT,
    PRIMARY KEY (event, picture, key)
) WITHOUT ROWID;
CREATE INDEX changes_of_picture ON changes (picture, event);

-- The state of votes after an event, so that not all of them are read again.
CREATE TABLE snapshots (event INTEGER PRIMARY KEY, state BLOB NOT NULL);

-- The ways to search: a feature and what was learned over it. The feature is described by its
-- settings until it is fitted, then by its file and fingerprint. A ranker is ready once all
-- pictures that were there before it are described. Each has a table of records, see below.
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
    annotator INTEGER,
    codes INTEGER
);

-- Pictures that a ranker has no record of: not yet, or for the reason given.
CREATE TABLE undescribed (
    ranker INTEGER NOT NULL REFERENCES rankers ON DELETE CASCADE,
    picture INTEGER NOT NULL REFERENCES all_pictures ON DELETE CASCADE,
    reason TEXT NOT NULL,
    PRIMARY KEY (ranker, picture)
) WITHOUT ROWID;
CREATE INDEX undescribed_pictures ON undescribed (picture);
CREATE TRIGGER described AFTER DELETE ON undescribed {_COUNT};

-- Models of all rankers, in use or not. Models of one run share its number. "people" are those
-- besides the owner whose labels it learned from, with the last event of each (JSON), and "seen"
-- the last event of the log then.
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
    kind TEXT NOT NULL,
    run INTEGER NOT NULL,
    ranker INTEGER NOT NULL,
    method TEXT NOT NULL,
    people TEXT NOT NULL,
    seen INTEGER NOT NULL
);

-- Images and regions to search with. A region goes with its picture.
CREATE TABLE queries (
    token TEXT PRIMARY KEY,
    jpeg BLOB NOT NULL,
    asked INTEGER NOT NULL,
    picture INTEGER REFERENCES all_pictures ON DELETE CASCADE,
    crc INTEGER NOT NULL
);
CREATE INDEX queries_of_picture ON queries (picture) WHERE picture IS NOT NULL;
-- Those whose picture is not in the bin.
CREATE VIEW usable_queries AS SELECT * FROM queries
WHERE picture IS NULL OR picture NOT IN (SELECT picture FROM bin);

-- The record of a query for each ranker.
CREATE TABLE query_records (
    token TEXT NOT NULL REFERENCES queries ON DELETE CASCADE,
    ranker INTEGER NOT NULL REFERENCES rankers ON DELETE CASCADE,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (token, ranker)
);

-- Saved searches with a name. "key" is the name whatever its case and Unicode form; "search" and
-- the ids are JSON; "seen" are the ids when it was last opened. Ids of removed pictures stay: a
-- restored picture is in its albums again.
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
);

COMMIT;
"""  # noqa: S608


def records_table(ranker: int) -> str:
    """Return the name of the table that holds a ranker's records, a row a picture.

    A table each: the records of one feature lie together on disk, and reading them does not
    depend on how many other features there are.
    """
    return f"records_{int(ranker)}"


def create_records(ranker: int) -> str:
    """Return the statement that makes the table of a ranker's records."""
    return f"""CREATE TABLE {records_table(ranker)} (
    picture INTEGER PRIMARY KEY REFERENCES all_pictures ON DELETE CASCADE,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL
)"""
