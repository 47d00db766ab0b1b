"""What passes a filter, page by page, as a plain loop over the pictures has it."""

import os
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import import_labels
from lookalike.collection.pictures.names import folders
from lookalike.collection.store import browsing as filtering
from lookalike.collection.store.database import Database, stored
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.labels import labels_of, labels_used
from lookalike.core.errors import InvalidInput
from lookalike.core.text import word_key


@dataclass(frozen=True)
class Shot:
    id: int
    places: tuple[str, ...]
    taken: str | None = None
    labels: tuple[str, ...] = ()
    format: str = "JPEG"
    width: int = 40
    height: int = 30
    bytes: int = 1000


def keep(database, shots, roots=("/p",)):
    with database.transaction() as connection:
        connection.execute("DELETE FROM roots")
        connection.execute("DELETE FROM all_pictures")
        connection.executemany("INSERT INTO roots VALUES (?)", [(root,) for root in roots])
        for shot in shots:
            facts = (shot.format, shot.width, shot.height, shot.bytes, shot.taken, "2025-01-01")
            connection.execute(
                "INSERT INTO all_pictures "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, row_sum(?2, ?3, ?4, ?5, ?6, ?7, ?8))",
                (shot.id, f"{shot.id:064x}", *facts),
            )
            connection.executemany(
                "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                "VALUES (CAST(?1 AS TEXT), ?2, 1, 1, row_sum(?2, ?1))",
                [(stored(path), shot.id) for path in shot.places],
            )
        import_labels(NewEntry(connection), "files", {shot.id: shot.labels for shot in shots})


@pytest.fixture
def database(tmp_path):
    Database.create(tmp_path / "some.sqlite")
    with closing(Database(tmp_path / "some.sqlite")) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    path = tmp_path_factory.mktemp("filtering") / "some.sqlite"
    Database.create(path)
    with closing(Database(path)) as opened:
        yield opened


def found(database, **parts):
    """The ids that pass, checked to be the same however they are asked for."""
    where = Filter(**parts)
    ids = filtering.matching(database, where).tolist()
    assert ids == sorted(row.id for row in filtering.browse(database, 999, 0, where))
    assert filtering.count(database, where) == len(ids)
    assert sum(number for _, number in filtering.months(database, where)) == len(ids)
    return ids


def passes(shot, where):
    """Tell slowly whether a picture passes; dates by cutting both to the same length."""
    keys = {word_key(label) for label in shot.labels}
    side = max(shot.width, shot.height)
    first, last = where.taken_from, where.taken_to
    return all(
        (
            where.folder is None
            or any(path.startswith(where.folder.rstrip("/") + "/") for path in shot.places),
            all(word_key(tag) in keys for tag in where.tags),
            not where.formats or shot.format in where.formats,
            first is None or (shot.taken is not None and shot.taken[: len(first)] >= first),
            last is None or (shot.taken is not None and shot.taken[: len(last)] <= last),
            where.min_side is None or side >= where.min_side,
            where.max_side is None or side <= where.max_side,
            where.min_bytes is None or shot.bytes >= where.min_bytes,
            where.max_bytes is None or shot.bytes <= where.max_bytes,
        )
    )


def in_order(shots, order):
    if order == "added":
        return sorted(shots, key=lambda shot: -shot.id)
    known = sorted((s for s in shots if s.taken is not None), key=lambda s: (s.taken, s.id))
    unknown = sorted((s for s in shots if s.taken is None), key=lambda s: s.id)
    return [*known, *unknown] if order == "oldest" else [*known[::-1], *unknown[::-1]]


FOLDERS = ("/p", "/p/a", "/p/A", "/p/a/b", "/p/a b", "/p/a_b", "/p/a%", "/p/a0", "/q", "/q/ü")
TIMES = (
    None,
    "2023-12-31T23:59:59",
    "2024-01-01T00:00:00",
    "2024-05-31T18:30:05",
    "2024-06-01T00:00:00",
)
DATES = (
    "2023",
    "2024",
    "2024-05",
    "2024-06",
    "2024-05-31",
    "2024-05-31T18:30",
    "2024-05-31T18:30:05",
)
LABELS = ("Tee", "tee", "TEE", "Grün", "gru\u0308n", "Straße", "STRASSE")

shots = st.lists(
    st.builds(
        Shot,
        id=st.integers(1, 40),
        places=st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=3).map(tuple),
        taken=st.sampled_from(TIMES),
        labels=st.lists(st.sampled_from(LABELS), unique=True, max_size=3).map(tuple),
        format=st.sampled_from(("JPEG", "PNG", "GIF")),
        width=st.integers(1, 4),
        height=st.integers(1, 4),
        bytes=st.integers(0, 3),
    ),
    unique_by=lambda shot: shot.id,
    max_size=12,
).map(
    lambda made: [
        replace(s, places=tuple(f"{f}/{s.id}-{n}.jpg" for n, f in enumerate(s.places)))
        for s in made
    ]
)


def perhaps(values):
    return st.none() | st.none() | values


wheres = st.builds(
    Filter,
    folder=perhaps(st.sampled_from((*FOLDERS, "/", "/p/a/", "/p/nowhere"))),
    tags=st.lists(st.sampled_from((*LABELS, "Kaffee")), max_size=2).map(tuple),
    taken_from=perhaps(st.sampled_from(DATES)),
    taken_to=perhaps(st.sampled_from(DATES)),
    formats=st.lists(st.sampled_from(("JPEG", "PNG", "BMP")), max_size=2).map(tuple),
    min_side=perhaps(st.integers(0, 4)),
    max_side=perhaps(st.integers(0, 4)),
    min_bytes=perhaps(st.integers(0, 3)),
    max_bytes=perhaps(st.integers(0, 3)),
)


@settings(max_examples=60)
@given(shots, st.lists(wheres, min_size=1, max_size=6), st.data())
def test_every_filter_is_a_plain_loop(shared, made, asked, data):
    keep(shared, made)
    for where in (None, Filter(), *asked):
        try:
            (where or Filter()).check()
        except InvalidInput:
            with pytest.raises(InvalidInput):
                filtering.matching(shared, where)
            continue
        passed = [shot for shot in made if where is None or passes(shot, where)]
        ids = filtering.matching(shared, where)
        if where is None or where == Filter():
            assert ids is None
        else:
            assert ids.dtype == np.int64
            assert ids.tolist() == sorted(shot.id for shot in passed)
        assert filtering.count(shared, where) == len(passed)
        for order in ("newest", "oldest", "added"):
            k, offset = data.draw(st.integers(1, 13)), data.draw(st.integers(0, 13))
            page = filtering.browse(shared, k, offset, where, order)
            expected = in_order(passed, order)[offset : offset + k]
            assert [row.id for row in page] == [shot.id for shot in expected]
            for row, shot in zip(page, expected, strict=True):
                assert tuple(map(str, row.places)) == shot.places
                assert (row.taken, row.format, row.width) == (shot.taken, shot.format, shot.width)
        by_month = {}
        for shot in in_order(passed, "newest"):
            month = (shot.taken or "")[:7]
            by_month[month] = by_month.get(month, 0) + 1
        assert filtering.months(shared, where) == list(by_month.items())
    words = labels_used(shared)
    assert [number for _, number in words] == sorted((n for _, n in words), reverse=True)
    assert {word_key(word) for word, _ in words} == {word_key(w) for s in made for w in s.labels}
    for word, number in words:
        assert filtering.count(shared, Filter(tags=(word,))) == number
    for folder, number in folders(shared):
        assert filtering.count(shared, Filter(folder=folder)) == number > 0


def test_a_folder_is_cut_at_a_separator_and_nothing_in_its_name_is_special(database):
    odd = os.fsdecode(b"/p/\xff\xfe")
    beside = ("/p/a", "/p/a.b", "/p/a0", "/p/ab", "/p/A", "/p/a%", "/p/a_", "/p/a/b", "/p/ä", odd)
    keep(
        database,
        [Shot(n, (f"{folder}/x.jpg",)) for n, folder in enumerate(beside, 1)]
        + [Shot(99, ("/p/a.jpg",))],
    )
    assert found(database, folder="/p/a") == [1, 8]
    assert found(database, folder="/p/a/") == [1, 8]
    assert found(database, folder="/p/x/../a") == [1, 8]
    assert found(database, folder="/p/a%") == [6]
    assert found(database, folder="/p/a_") == [7]
    assert found(database, folder="/p/A") == [5]
    assert found(database, folder="/p/ä") == [9]
    assert found(database, folder=odd) == [10]
    assert found(database, folder="/p/a.jpg") == []
    assert len(found(database, folder="/p")) == len(found(database, folder="/")) == 11


def test_a_picture_with_copies_is_one_picture(database):
    keep(
        database,
        [
            Shot(1, ("/p/a/1.jpg", "/p/a/copy.jpg", "/p/b/1.jpg")),
            Shot(2, ("/p/b/2.jpg",)),
            Shot(3, ("/p/a/deep/er/3.jpg",)),
        ],
    )
    assert found(database, folder="/p/a") == [1, 3]
    assert found(database, folder="/p/b") == [1, 2]
    assert folders(database) == [
        ("/p", 3),
        ("/p/a", 2),
        ("/p/a/deep", 1),
        ("/p/a/deep/er", 1),
        ("/p/b", 2),
    ]


def test_folders_go_up_to_the_highest_that_was_added_and_no_further(database):
    keep(
        database,
        [
            Shot(1, ("/media/bilder/pictures/2024/may/1.jpg",)),
            Shot(2, ("/media/bilder/pictures/2024 b/2.jpg",)),
            Shot(3, ("/tmp/alone/3.jpg",)),
            Shot(4, ("/tmp/alone/in/deep/4.jpg",)),
        ],
        roots=("/media/bilder/pictures", "/media/bilder/pictures/2024", "/media/bilder/other"),
    )
    pictures = "/media/bilder/pictures"
    assert folders(database) == [
        (pictures, 2),
        (f"{pictures}/2024", 1),
        (f"{pictures}/2024/may", 1),
        (f"{pictures}/2024 b", 1),
        ("/tmp/alone", 2),
        ("/tmp/alone/in", 1),
        ("/tmp/alone/in/deep", 1),
    ]
    keep(database, [Shot(1, ("/a/1.jpg",)), Shot(2, ("/2.jpg",))], roots=("/a",))
    assert folders(database) == [("/", 2), ("/a", 1)]


def test_tags_are_found_however_they_are_spelled(database):
    keep(
        database,
        [
            Shot(1, ("/p/1.jpg",), labels=("Café", "Tisch")),
            Shot(2, ("/p/2.jpg",), labels=("CAFE\u0301",)),
            Shot(3, ("/p/3.jpg",), labels=("Café", "café", "Tischler")),
            Shot(4, ("/p/4.jpg",)),
        ],
    )
    for spelled in ("Café", "  cafe\u0301 ", "CAFÉ"):
        assert found(database, tags=(spelled,)) == [1, 2, 3]
    assert found(database, tags=("cafe",)) == []
    assert found(database, tags=("tisch", "CAFÉ")) == [1]
    assert found(database, tags=("Tisch", "tisch")) == [1]
    assert found(database, tags=("Tisch", "Stuhl")) == []
    assert found(database, tags=("Tisch%",)) == []
    used = labels_used(database)
    assert used == [("Café", 3), ("Tisch", 1), ("Tischler", 1)]


def test_both_ends_of_a_date_are_included(database):
    times = (
        "2023-12-31T23:59:59",
        "2024-01-01T00:00:00",
        "2024-05-31T18:30:59",
        "2024-12-31T23:59:59",
    )
    keep(database, [Shot(n, (f"/p/{n}",), time) for n, time in enumerate((*times, None), 1)])
    assert found(database, taken_to="2024") == [1, 2, 3, 4]
    assert found(database, taken_to="2024-05") == [1, 2, 3]
    assert found(database, taken_to="2024-05-31T18:30") == [1, 2, 3]
    assert found(database, taken_to="2024-05-31T18:29") == [1, 2]
    assert found(database, taken_from="2024") == [2, 3, 4]
    assert found(database, taken_from="2024-05-31T18:30:59") == [3, 4]
    assert found(database, taken_from="2024-05-31", taken_to="2024-05") == [3]
    assert found(database, taken_from="2024", taken_to="2024") == [2, 3, 4]
    assert found(database, taken_from="0001") == [1, 2, 3, 4]


def test_ids_rise_whatever_index_they_are_found_by(database):
    keep(database, [Shot(n, (f"/p/{9 - n}",), f"{2030 - n}-01-01T00:00:00") for n in range(1, 9)])
    assert filtering.matching(database, Filter(taken_from="2023")).tolist() == list(range(1, 8))
    assert filtering.matching(database, Filter(folder="/p")).tolist() == list(range(1, 9))


def test_formats_in_any_case_and_how_often_each_is_used(database):
    formats = ("JPEG", "PNG", "PNG", "HEIF")
    keep(database, [Shot(n, (f"/p/{n}",), format=name) for n, name in enumerate(formats, 1)])
    assert found(database, formats=("jpeg", "Heif", "nonsense", "\ud800")) == [1, 4]
    assert filtering.formats(database) == [("PNG", 2), ("HEIF", 1), ("JPEG", 1)]


def test_the_labels_of_some(database):
    keep(
        database,
        [
            Shot(1, ("/p/1",), labels=("b", "a")),
            Shot(2, ("/p/2",)),
            Shot(3, ("/p/3",), labels=("c",)),
        ],
    )
    asked = np.array([3, 1, 2, 77, 1])
    assert labels_of(database, asked) == {3: ["c"], 1: ["a", "b"], 2: [], 77: []}
    assert labels_of(database, []) == {}


def test_nothing_in_an_empty_collection(database):
    assert filtering.browse(database, 10) == []
    assert filtering.count(database) == 0
    assert found(database, tags=("a",)) == found(database, folder="/p") == []
    for ask in (filtering.months, folders, filtering.formats, labels_used):
        assert ask(database) == []


def test_huge_pages_and_far_offsets(database):
    keep(database, [Shot(1, ("/p/1",)), Shot(2, ("/p/2",))])
    assert [row.id for row in filtering.browse(database, 10**30)] == [2, 1]
    assert filtering.browse(database, np.int64(2), 10**30) == []
    assert [row.id for row in filtering.browse(database, 1, np.int64(1))] == [1]


@pytest.mark.parametrize(
    ("k", "offset", "order", "why"),
    [
        (0, 0, "newest", "k must be a whole number from 1; got 0"),
        (True, 0, "newest", "k must be"),
        (1.5, 0, "newest", "k must be"),
        (1, -1, "newest", "offset must be a whole number from 0; got -1"),
        (1, "0", "newest", "offset must be"),
        (1, 0, "id; DROP TABLE pictures", "order must be one of newest, oldest, added"),
        (1, 0, "", "order must be"),
    ],
)
def test_a_page_that_makes_no_sense(database, k, offset, order, why):
    with pytest.raises(InvalidInput, match=f"browse: {why}"):
        filtering.browse(database, k, offset, None, order)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("folder", bad) for bad in ("", "pictures", "./a", "~/a", b"/p", 3, "/p/\ud800")),
        *(("tags", bad) for bad in ("tee", ["tee"], ("",), (" \t",), (3,), None)),
        *(("formats", bad) for bad in ("JPEG", ("",), (None,))),
        *(
            (end, bad)
            for end in ("taken_from", "taken_to")
            for bad in (
                *(
                    "",
                    "24",
                    "2024-5",
                    "2024-13",
                    "2024-00",
                    "2024-02-30",
                    "0000",
                    "2024-05-31 18:30",
                ),
                *(
                    "2024-05-31T18",
                    "2024-05-31T24:00",
                    "2024-05-31T18:30:00Z",
                    "2024-05-31T18:30+01:00",
                ),
                *("2024~", "2024\n", "२०२४", "gestern", 2024),
            )
        ),
        *(
            (f"{end}_{what}", bad)
            for what in ("side", "bytes")
            for end in ("min", "max")
            for bad in (-1, 1.0, "1", True, 2**63)
        ),
    ],
)
def test_a_filter_that_makes_no_sense(database, part, value):
    where = Filter(**{part: value})
    with pytest.raises(InvalidInput, match=f"^Filter: {part} must be "):
        where.check()
    for asked in (filtering.matching, filtering.count, filtering.months):
        with pytest.raises(InvalidInput):
            asked(database, where)
    with pytest.raises(InvalidInput):
        filtering.browse(database, 1, 0, where)


@pytest.mark.parametrize(
    "parts",
    [
        {"taken_from": "2024-06", "taken_to": "2024-05"},
        {"taken_from": "2025", "taken_to": "2024-12-31"},
        {"taken_from": "2024-05-31T18:31", "taken_to": "2024-05-31T18:30"},
        {"min_side": 2, "max_side": 1},
        {"min_bytes": 1, "max_bytes": 0},
    ],
)
def test_ends_the_wrong_way_round(parts):
    first, last = parts
    with pytest.raises(InvalidInput, match=f"^Filter: {first} must not be (after|above) {last}"):
        Filter(**parts).check()


def test_ends_that_meet_are_right():
    Filter(taken_from="2024-05-31", taken_to="2024-05", min_side=3, max_side=3).check()
    Filter(taken_from="2024", taken_to="2024-01-01T00:00", min_bytes=0, max_bytes=0).check()
    Filter(folder="/", tags=("a",), formats=("PNG",), max_bytes=2**63 - 1).check()


def test_what_was_read_lately_is_read_again_once_something_is_written(collection, monkeypatch):
    asked = []
    count = filtering.count
    monkeypatch.setattr(filtering, "count", lambda *given: asked.append(given) or count(*given))
    red = Filter(tags=("rot",))
    assert collection.pictures.count(red) == collection.pictures.count(red) == 0
    assert len(asked) == 1
    collection.label(3, "Rot")
    assert collection.pictures.count(red) == 1
    assert [match.id for match in collection.search(1, where=red)] == [3]
    collection.remove([3])
    assert collection.pictures.count(red) == 0
    assert collection.search(1, where=red) == []
    assert len(asked) == 3
    with pytest.raises(InvalidInput, match="tags"):
        collection.search(1, where=Filter(tags=["rot"]))
