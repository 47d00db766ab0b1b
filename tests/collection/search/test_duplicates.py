"""Near-duplicates of a collection: groups, which to keep, and what is remembered of them."""

import itertools
import os
import shutil

import numpy as np
import pytest
from PIL import Image

from lookalike import Collection
from lookalike.collection import Ask
from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import import_labels
from lookalike.collection.search import duplicates, near
from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput, NotFound
from lookalike.features import pack_vector, unpack_vectors
from tests.collection.beside import beside, current_ranker, stored_rows, write_rows
from tests.collection.colours import Colours


def scene(seed, size=(240, 160)):
    """Return a picture of soft spots, unlike any other."""
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (9, 13, 3), dtype=np.uint8))
    return rough.resize(size, Image.Resampling.BICUBIC)


class Sparse(Colours):
    """The same vectors as a sparse feature has them."""

    name = "sparse colours"
    sparse = True

    def record(self, image):
        small = np.asarray(image.resize((self.cells, self.cells)), np.float32)
        row = small.reshape(1, -1) + 1
        return pack_vector(sp.csr_matrix(row / np.linalg.norm(row)))

    def vectors(self, records):
        return unpack_vectors(records, self.dimension, sparse=True)


@pytest.fixture
def folder(tmp_path):
    """Twelve scenes; of the first three there are copies."""
    place = tmp_path / "Größe"
    place.mkdir()
    for seed in range(12):
        scene(seed).save(place / f"{seed}.png")
    scene(0).resize((120, 80)).save(place / "0 small.png")
    scene(0).save(place / "0 recompressed.jpg", quality=50)
    scene(1).crop((9, 6, 231, 154)).save(place / "1 cropped.jpg", quality=80)
    scene(2, (480, 320)).save(place / "2 enlarged.png")
    return place


@pytest.fixture
def collection(tmp_path, folder):
    with Collection.create(tmp_path / "sammlung", features=[Colours()]) as made:
        made.add([folder])
        yield made


def named(collection, groups):
    """Return the groups by the names of files, the suggested ones first."""
    return {
        (names := [collection.pictures.get(number).places[0].name for number in group.pictures])[
            0
        ]: set(names[1:])
        for group in groups
    }


COPIES = {
    "0.png": {"0 small.png", "0 recompressed.jpg"},
    "1.png": {"1 cropped.jpg"},
    "2 enlarged.png": {"2.png"},
}


def ids(collection, *names):
    found = {row.places[0].name: row.id for row in collection.pictures.all()}
    return [found[name] for name in names]


@pytest.mark.parametrize("feature", [Colours, Sparse])
def test_copies_are_grouped_around_the_best_whatever_the_feature(tmp_path, folder, feature):
    with Collection.create(tmp_path / "other", features=[feature()]) as made:
        made.add([folder])
        found = made.duplicates.find()
        assert named(made, found) == COPIES
        reasons = {made.pictures.get(group.keeper).places[0].name: group.reason for group in found}
        assert reasons == {
            "0.png": "richest format, PNG",
            "1.png": "largest, 240 × 160",
            "2 enlarged.png": "largest, 480 × 320",
        }
        for group in found:
            assert group.keeper == group.pictures[0]
            assert group.likeness[0] == 1
            assert list(group.likeness) == sorted(group.likeness, reverse=True)
            assert min(group.likeness) >= duplicates.LIKE


def test_which_is_kept_goes_by_size_format_bytes_tags_and_age():
    def facts(number, **changes):
        given = {
            "width": 4,
            "height": 3,
            "format": "JPEG",
            "bytes": 10,
            "taken": None,
            "camera": "",
            "written": 1_700_000_000,
        }
        truths = {"missing": False, "tagged": False, "voted": False}
        return duplicates.Facts(id=number, **{**given, **truths, **changes})

    in_order = [
        (facts(9, width=8, missing=False, height=4), "largest, 8 × 4"),
        (facts(8, format="PNG"), "richest format, PNG"),
        (facts(7, taken="1999-05-01T10:00:00"), "taken first"),
        (facts(10, taken="2001-05-01T10:00:00"), "has its date"),
        (facts(6, voted=True), "has votes"),
        (facts(5, written=1_600_000_000), "oldest file"),
        (facts(11, bytes=20), "largest file"),
        (facts(3), "added first"),
        (facts(4), "richest format, JPEG"),
        (facts(2, format="GIF", bytes=99), "its file is not missing"),
        (facts(1, width=80, missing=True), None),
    ]
    shuffled = [in_order[place][0] for place in (4, 0, 8, 10, 2, 6, 1, 9, 5, 3, 7)]
    assert sorted(shuffled, key=lambda one: one.rank) == [one for one, _ in in_order]
    for (first, reason), (second, _) in itertools.pairwise(in_order):
        assert first.reason(second) == reason
    assert facts(1, tagged=True).reason(facts(2)) == "has tags"
    assert facts(1, camera="Canon").reason(facts(2, bytes=99)) == "has its camera"


def test_an_original_is_kept_before_a_larger_file_of_a_brighter_copy_of_it(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    scene(1).save(folder / "original.jpg", quality=60)
    brighter = scene(1).point(lambda value: min(255, value * 1.1))
    brighter.save(folder / "brighter.jpg", quality=95)
    os.utime(folder / "original.jpg", (1_600_000_000, 1_600_000_000))
    with Collection.create(tmp_path / "other", features=[Colours()]) as made:
        made.add([folder])
        (group,) = made.duplicates.find(radius=near.BITS)
        assert made.pictures.get(group.keeper).places[0].name == "original.jpg"
        assert group.reason == "oldest file"


def test_of_exact_copies_of_one_time_the_one_with_the_shorter_name_comes_first(tmp_path):
    first = tmp_path / "Urlaub in Italien" / "X.jpg"
    copy = tmp_path / "alt" / "Kopie von X.jpg"
    for path in (first, copy):
        path.parent.mkdir()
    scene(1).save(first)
    shutil.copy2(first, copy)
    with Collection.create(tmp_path / "other", features=[Colours()]) as made:
        made.add([first.parent, copy.parent])
        assert [one.paths for one in made.duplicates.copies()] == [(first, copy)]


def test_a_picture_in_colour_is_kept_before_a_larger_file_of_a_grey_copy_of_it(tmp_path):
    folder = tmp_path / "scans"
    folder.mkdir()
    scene(1).save(folder / "colours.jpg", quality=60)
    scene(1).convert("L").save(folder / "grey.png")
    scene(1).convert("L").save(folder / "grey.jpg", quality=95)
    with Collection.create(tmp_path / "other", features=[Colours()]) as made:
        made.add([folder])
        (group,) = made.duplicates.find(radius=near.BITS)
        names = [made.pictures.get(number).places[0].name for number in group.pictures]
        assert (names[0], group.reason) == ("colours.jpg", "in colour")
        assert sorted(names[1:]) == ["grey.jpg", "grey.png"]
        assert made.duplicates.find(radius=near.BITS) == [group]


def test_frames_that_drift_do_not_become_one_group(tmp_path):
    """Each frame is like the next ones, the first and the last have nothing in common."""
    wide = scene(40, (1200, 160))
    (tmp_path / "film").mkdir()
    for number in range(40):
        left = 12 * number
        wide.crop((left, 0, left + 240, 160)).save(tmp_path / "film" / f"{number:02}.bmp")
    with Collection.create(tmp_path / "frames", features=[Colours()]) as made:
        made.add([tmp_path / "film"])
        found = made.duplicates.find(radius=64)
        assert len(found) > 5
        together = [number for group in found for number in group.pictures]
        assert len(together) == len(set(together)), "a picture is in one group at most"
        copies = near.NearCopies(64)
        copies.follow(current_ranker(made))
        for group in found:
            assert len(group.pictures) <= 5
            others = group.pictures[1:]
            scores = copies.alike(beside(made).database, group.keeper, others)
            assert min(scores) >= duplicates.LIKE, "each is a copy of the one to keep itself"


def test_a_verdict_holds_until_undone_and_survives_moving_and_indexing_again(
    tmp_path, collection, folder
):
    one, small, jpeg = ids(collection, "0.png", "0 small.png", "0 recompressed.jpg")
    said = collection.duplicates.tell_apart([small], [one, jpeg], who="Jürgen", key="k")
    again = collection.duplicates.tell_apart([small], [one, jpeg], who="Jürgen", key="k")
    assert again == said
    assert len([it for it in collection.log.history() if it.kind == "distinct"]) == 1
    apart = {**COPIES, "0.png": {"0 recompressed.jpg"}}
    assert named(collection, collection.duplicates.find()) == apart
    shutil.move(folder, tmp_path / "moved")
    collection.add([tmp_path / "moved"])
    collection.pictures.find_missing()
    assert named(collection, collection.duplicates.find()) == apart
    with Collection.open(collection.path, features=[Colours()]) as other:
        assert named(other, other.duplicates.find()) == apart
        undone = other.undo(said.number)
        assert named(other, other.duplicates.find()) == COPIES
    assert named(collection, collection.duplicates.find()) == COPIES
    collection.undo(undone.number)
    assert named(collection, collection.duplicates.find()) == apart
    collection.log.check()


def test_keeping_all_hides_a_whole_group(collection):
    group = ids(collection, "0.png", "0 small.png", "0 recompressed.jpg")
    said = collection.duplicates.tell_apart(group, verdict="keep")
    assert said.body == {"pictures": sorted(group), "difference": "keep"}
    assert "0.png" not in named(collection, collection.duplicates.find())
    assert len(collection) == 16


def test_a_picture_told_apart_from_a_member_does_not_join_it(collection):
    """Though both are copies of the third."""
    small, jpeg = ids(collection, "0 small.png", "0 recompressed.jpg")
    collection.duplicates.tell_apart([small, jpeg])
    (group,) = [
        it for it in collection.duplicates.find() if small in it.pictures or jpeg in it.pictures
    ]
    assert len(group.pictures) == 2


def test_keeping_one_moves_the_others_to_the_bin_and_can_be_undone(collection):
    one, small, jpeg = ids(collection, "0.png", "0 small.png", "0 recompressed.jpg")
    said = collection.duplicates.keep_one(one, [small, jpeg], key="k")
    assert (said.kind, said.body["pictures"]) == ("removal", 2)
    assert collection.duplicates.keep_one(one, [small, jpeg], key="k").number == said.number
    assert {row.id for row in collection.bin.browse()} == {small, jpeg}
    assert set(named(collection, collection.duplicates.find())) == {"1.png", "2 enlarged.png"}
    with pytest.raises(NotFound):
        collection.duplicates.keep_one(small, [one])
    assert collection.pictures.find(collection.pictures.get(one).places[0]) == one, (
        "never are both removed"
    )
    collection.undo(said.number)
    assert named(collection, collection.duplicates.find()) == COPIES


def test_the_best_of_several_groups_are_kept_as_one_event(collection):
    groups = collection.duplicates.find()
    collection.label(groups[0].pictures[1], "Hafen")
    choices = [(group.keeper, group.pictures[1:]) for group in groups]
    event = collection.duplicates.keep_best(choices, key="k")
    assert collection.duplicates.keep_best(choices, key="k").number == event.number
    assert event.body["pictures"] == 4
    assert collection.duplicates.find() == []
    assert collection.labels.of([groups[0].keeper])[groups[0].keeper] == ["Hafen"]
    for bad in ([], [(1, [])], [(1, [1])], [(1, [2]), (2, [3])], [(1, [3]), (2, [3])]):
        with pytest.raises((InvalidInput, NotFound)):
            collection.duplicates.keep_best(bad)
    collection.undo(event.number)
    assert named(collection, collection.duplicates.find()) == COPIES
    collection.log.check()


def said_of(collection, *pictures):
    """Return all that is kept by hand of pictures, and the albums."""
    rows = beside(collection).database.rows
    return (
        rows("SELECT * FROM given ORDER BY 1, 2, 3"),
        rows("SELECT * FROM refusals ORDER BY 1, 2"),
        rows("SELECT id, pictures FROM albums ORDER BY 1"),
        collection.labels.of(pictures),
    )


def give(collection, source, words):
    with beside(collection).database.transaction() as connection:
        import_labels(NewEntry(connection), source, words)


def test_the_one_kept_gets_what_was_said_of_the_others(collection):
    one, small, jpeg = ids(collection, "0.png", "0 small.png", "0 recompressed.jpg")
    give(collection, "files", {small: ["Rügen"], jpeg: ["Boot", "OSTSEE"]})
    collection.label(jpeg, "Größe")
    collection.label(small, "GRÖSSE")
    collection.label(jpeg, "Möwe")
    collection.label(jpeg, "Zug", shows=False)
    collection.label(small, "Boot", shows=False)
    # What was said of the one kept counts more.
    collection.label(one, "möwe", shows=False)
    collection.label(one, "Kran")
    collection.label(small, "Kran", shows=False)
    collection.albums.save("Äpfel", pictures=[small])
    collection.albums.save("Beide", pictures=[one, jpeg])
    before = said_of(collection, one, small, jpeg)
    kept = collection.duplicates.keep_one(one, [small, jpeg])
    assert (kept.kind, kept.body["pictures"], kept.body["words"]) == ("removal", 2, 4)
    assert collection.labels.of([one]) == {one: ["Boot", "Größe", "Kran", "OSTSEE", "Rügen"]}
    assert collection.albums.get("Äpfel").pictures == (small, one)
    assert collection.albums.get("Äpfel").members == (one,)
    assert set(collection.albums.get("Beide").pictures) == {one, jpeg}
    refused = stored_rows(collection, "SELECT key FROM refusals WHERE picture = ?", one)
    assert {key for (key,) in refused} == {"möwe", "zug"}
    after = said_of(collection, one)
    undone = collection.undo(kept.number)
    assert said_of(collection, one, small, jpeg) == before
    collection.undo(undone.number)
    assert said_of(collection, one) == after
    collection.log.check()
    assert not collection.upkeep.check().findings


def test_what_is_said_later_of_the_one_kept_outlives_the_undoing(collection):
    one, small = ids(collection, "0.png", "0 small.png")
    collection.label(small, "Hafen")
    collection.label(small, "Ufer")
    kept = collection.duplicates.keep_one(one, [small])
    later = collection.label(one, "Hafen", shows=False)
    again = collection.label(one, "Ufer")
    assert (again.kind, again.number) == ("label", later.number + 1), "not the removal"
    collection.undo(kept.number)
    assert collection.labels.of([one, small]) == {one: ["Ufer"], small: ["Hafen", "Ufer"]}
    collection.undo(later.number)
    collection.undo(again.number)
    assert collection.labels.of([one]) == {one: []}
    # Undone after the keeping, a word goes back to what came from the duplicate.
    collection.duplicates.keep_one(one, [small])
    refusal = collection.label(one, "Hafen", shows=False)
    assert collection.labels.of([one]) == {one: ["Ufer"]}
    collection.undo(refusal.number)
    assert collection.labels.of([one]) == {one: ["Hafen", "Ufer"]}


def test_words_of_duplicates_stay_when_these_are_erased_and_go_with_the_one_kept(collection):
    one, small = ids(collection, "0.png", "0 small.png")
    collection.label(small, "Größe")
    collection.albums.save("Äpfel", pictures=[small])
    collection.duplicates.keep_one(one, [small])
    collection.bin.empty()
    assert collection.labels.of([one]) == {one: ["Größe"]}
    assert collection.albums.get("Äpfel").members == (one,)
    collection.remove([one])
    collection.bin.empty()
    collection.log.check()
    left = stored_rows(collection, "SELECT * FROM changes WHERE picture = ?", one)
    assert left == []


def test_names_of_folders_are_not_said_of_duplicates(collection):
    one, small = ids(collection, "0.png", "0 small.png")
    give(collection, "folders", {small: ["Ordner"]})
    kept = collection.duplicates.keep_one(one, [small])
    assert "words" not in kept.body
    assert collection.labels.of([one]) == {one: []}


def test_pictures_that_come_and_go_are_followed(tmp_path, collection, folder):
    """By what was found before as by what starts anew."""
    assert named(collection, collection.duplicates.find()) == COPIES
    scene(5).save(folder / "5 again.jpg", quality=60)
    scene(0, (480, 320)).save(folder / "0 large.png")
    collection.add([folder])
    after = {
        **{name: them for name, them in COPIES.items() if name != "0.png"},
        "0 large.png": {"0.png", *COPIES["0.png"]},
        "5.png": {"5 again.jpg"},
    }
    assert named(collection, collection.duplicates.find()) == after
    with Collection.open(collection.path, features=[Colours()]) as other:
        assert named(other, other.duplicates.find()) == after
    collection.remove(ids(collection, "0 large.png", "5.png"))
    assert named(collection, collection.duplicates.find()) == COPIES
    collection.restore()
    assert named(collection, collection.duplicates.find()) == after


def test_a_tagged_or_voted_one_is_kept_where_nothing_else_differs(collection, tmp_path):
    image = scene(50)
    (tmp_path / "twins").mkdir()
    for number in range(2):
        image.putpixel((number, 0), (0, 0, 0))
        image.save(tmp_path / "twins" / f"{number}.bmp")
    collection.add([tmp_path / "twins"])
    first, second = ids(collection, "0.bmp", "1.bmp")

    def group():
        return next(it for it in collection.duplicates.find() if first in it.pictures)

    assert (group().keeper, group().reason) == (first, "added first")
    said = collection.vote(Ask((first,)), picked=[second])
    collection.label(second, "Hafen")
    assert (group().keeper, group().reason)[1] in ("has tags", "added first")
    collection.undo(said.number)
    assert (group().keeper, group().reason) == (second, "has tags")


def test_large_groups_are_not_compared_pair_by_pair(collection, tmp_path, monkeypatch, set_limits):
    image = scene(60)
    (tmp_path / "many").mkdir()
    for number in range(60):
        image.putpixel((number, 0), (0, 0, 0))
        image.save(tmp_path / "many" / f"{number}.bmp")
        os.utime(tmp_path / "many" / f"{number}.bmp", (1_600_000_000, 1_600_000_000))
    collection.add([tmp_path / "many"])
    compared = []
    whole = near.likeness
    monkeypatch.setattr(near, "likeness", lambda a, b: compared.append(len(b)) or whole(a, b))
    set_limits(many_duplicates=10)
    found = collection.duplicates.find()
    assert max(len(group.pictures) for group in found) == 60
    assert sum(compared) < 60 * 4
    before = len(found)
    many = next(group for group in found if len(group.pictures) == 60)
    collection.duplicates.tell_apart(many.pictures, verdict="keep")
    assert len(collection.duplicates.find()) == before - 1


def test_a_thumbnail_that_cannot_be_read_is_no_duplicate(collection):
    (small,) = ids(collection, "0 small.png")
    write_rows(collection, "UPDATE thumbnails SET jpeg = x'00' WHERE picture = ?", small)
    assert named(collection, collection.duplicates.find())["0.png"] == {"0 recompressed.jpg"}


def test_no_pictures_one_picture_and_plain_ones(tmp_path):
    with Collection.create(tmp_path / "none", features=[Colours()]) as made:
        assert made.duplicates.find() == []
        (tmp_path / "few").mkdir()
        for number, level in enumerate((255, 255, 0)):
            flat = Image.new("RGB", (20, 20), (level, level, level))
            flat.putpixel((number, 0), (level, level, level - 1) if level else (0, 0, 1))
            flat.save(tmp_path / "few" / f"{number}.png")
            made.add([tmp_path / "few"])
            assert made.duplicates.find() == [], "plain surfaces have nothing to be known by"


@pytest.mark.parametrize(
    "given",
    [{"radius": -1}, {"radius": 129}, {"radius": 2.5}, {"like": 0}, {"like": 1.1}, {"like": "x"}],
)
def test_what_cannot_be_meant_is_refused(collection, given):
    with pytest.raises(InvalidInput, match=f"{next(iter(given))} must be"):
        collection.duplicates.find(**given)


def test_verdicts_that_cannot_be_meant_are_refused_and_nothing_is_recorded(collection):
    one, two = ids(collection, "0.png", "1.png")
    last = collection.log.history()[0].number if collection.log.history() else 0
    for some, of, verdict in [
        *[([one], [], "keep"), ([one], [one], "keep"), ([], [], "keep"), ([], [one], "keep")],
        ([one, two], [], "perhaps"),
    ]:
        with pytest.raises(InvalidInput, match=r"Collection\.duplicates"):
            collection.duplicates.tell_apart(some, of, verdict=verdict)
    with pytest.raises(NotFound):
        collection.duplicates.tell_apart([one, 999])
    for others in ([], [one]):
        with pytest.raises(InvalidInput, match=r"Collection\.duplicates"):
            collection.duplicates.keep_one(one, others)
    assert (collection.log.history()[0].number if collection.log.history() else 0) == last
