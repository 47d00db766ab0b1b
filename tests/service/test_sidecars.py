import errno
import os
import xml.etree.ElementTree as ET

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from lookalike.images.xmp import ALL, BY_BARS, BY_SLASHES, EMPTY, FLAT, Packet
from lookalike.images.xmp_elements import MAX_BYTES
from lookalike.service import sidecars
from lookalike.service.sidecars import levels, sidecar_of, write_sidecars
from lookalike.supervision import TagTree, read_tag_tree
from tests.service.packets import PROGRAMS, packet


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (8, 8)).save(path)
    return path


def lists(path):
    """Read the flat words and the two lists of paths."""
    found = Packet(path.read_bytes())
    return [found.subjects(kind) for kind in ALL]


def beside(photo, text):
    """Put a sidecar beside a picture."""
    path = photo.with_name("photo.jpg.xmp")
    path.write_bytes(text.encode())
    return path


def test_a_new_sidecar_says_words_and_paths(photo):
    done = write_sidecars({photo: ["animal/cat", "indoors"]})
    sidecar = photo.with_name("photo.jpg.xmp")
    assert (done.written, done.unchanged, done.refused) == ([sidecar], 0, [])
    assert lists(sidecar) == [
        ["cat", "indoors"],
        ["animal|cat", "indoors"],
        ["animal/cat", "indoors"],
    ]
    kinds = [part.tag.partition("}")[2] for part in ET.parse(sidecar).iter()]
    assert (kinds.count("Bag"), kinds.count("Seq")) == (2, 1)
    assert photo.stat().st_mode == sidecar.stat().st_mode


@pytest.mark.parametrize("name", [None, *PROGRAMS])
def test_a_second_run_changes_nothing(photo, name):
    if name is not None:
        beside(photo, PROGRAMS[name])
    words = ["Orte/KÖLN", "heron", "a&b <c> \"d'", "Straße", "x|y", "AC/DC", "😀", "z" * 10_000]
    assert write_sidecars({photo: words}).written
    sidecar = photo.with_name("photo.jpg.xmp")
    content, time = sidecar.read_bytes(), sidecar.stat().st_mtime_ns
    for again in (words, words[::-1], [word.upper() for word in words]):
        done = write_sidecars({photo: again})
        assert (done.written, done.unchanged) == ([], 1)
    assert (sidecar.read_bytes(), sidecar.stat().st_mtime_ns) == (content, time)
    assert sorted(photo.parent.iterdir()) == [photo, sidecar]


def test_a_list_of_paths_that_a_program_keeps_is_kept_to(photo):
    sidecar = beside(photo, PROGRAMS["darktable"])
    write_sidecars({photo: ["Tier/Katze"]})
    assert lists(sidecar) == [
        ["2024", "Föhr", "unterwegs", "Katze"],
        ["unterwegs|Föhr|2024", "Tier|Katze"],
        [],
    ]
    beside(photo, PROGRAMS["immich"])
    write_sidecars({photo: ["Tier/Katze"]})
    assert lists(sidecar) == [["Katze"], [], ["trips/alps", "Tier/Katze"]]
    beside(photo, PROGRAMS["digiKam"])
    write_sidecars({photo: ["Tier/Katze"]})
    assert lists(sidecar) == [
        ["Kind", "Köln", "Katze"],
        ["Leute|Kind", "Orte|Köln", "Tier|Katze"],
        ["Leute/Kind", "Orte/Köln", "Tier/Katze"],
    ]


def test_flat_words_are_not_put_into_a_list_of_paths_that_is_there(photo):
    texts = PROGRAMS["Lightroom"].replace("<rdf:li>Birds</rdf:li>", "<rdf:li>Evening</rdf:li>")
    sidecar = beside(photo, texts)
    write_sidecars({photo: ["water"]})
    assert lists(sidecar)[:2] == [
        ["Evening", "Heron", "water"],
        ["Nature|Birds|Heron", "water"],
    ]


def test_new_lists_of_paths_begin_with_the_flat_words(photo):
    sidecar = beside(photo, PROGRAMS["exiftool"])
    write_sidecars({photo: ["weather/snow", "alps"]})
    assert lists(sidecar) == [
        ["snow", "alps"],
        ["weather|snow", "alps"],
        ["weather/snow", "alps"],
    ]
    beside(photo, PROGRAMS["exiftool"])
    write_sidecars({photo: ["alps"]})
    assert lists(sidecar) == [["snow", "alps"]] * 3


@pytest.mark.parametrize(
    ("word", "added"),
    [
        ("unterwegs/föhr", []),
        ("UNTERWEGS/FO\u0308HR/2024", []),
        ("föhr", []),
        ("2024", []),
        ("Unterwegs", []),
        ("Föhr/2024", ["Föhr|2024"]),
        ("unterwegs/2024", ["unterwegs|2024"]),
        ("unterwegs/föhr/2024/strand", ["unterwegs|föhr|2024|strand"]),
    ],
)
def test_no_path_is_said_twice(photo, word, added):
    sidecar = beside(photo, PROGRAMS["darktable"])
    write_sidecars({photo: [word]})
    assert lists(sidecar)[1] == ["unterwegs|Föhr|2024", *added]


def test_the_longest_of_new_paths_is_enough(photo):
    write_sidecars({photo: ["animal", "animal/cat", "cat", "ANIMAL/CAT/Siamese", "animal/dog"]})
    assert lists(sidecar_of(photo)) == [
        ["animal", "cat", "Siamese", "dog"],
        ["ANIMAL|CAT|Siamese", "animal|dog"],
        ["ANIMAL/CAT/Siamese", "animal/dog"],
    ]


def test_signs_that_divide_paths_are_exchanged_within_levels(photo, tmp_path):
    table = tmp_path / "tree.csv"
    table.write_text("word,parent\nAC/DC,music\nyes|no,\n")
    write_sidecars({photo: ["AC/DC", "yes|no", "/", "a//b/ c/"]}, read_tag_tree(table))
    assert lists(sidecar_of(photo)) == [
        ["AC/DC", "yes|no", "/", "c"],
        ["music|AC/DC", "yes/no", "/", "a|b|c"],
        ["music/AC|DC", "yes|no", "|", "a/b/c"],
    ]


def test_levels_come_from_the_tree_or_the_word(tmp_path):
    table = tmp_path / "tree.json"
    table.write_text('{"animal": {"pet": ["cat", "dog"]}}')
    tree = read_tag_tree(table)
    assert levels("Cat", tree) == ("animal", "pet", "Cat")
    assert levels("pet", tree) == ("animal", "pet")
    assert levels("boat", tree) == ("boat",)
    assert levels("sea/boat", tree) == ("sea", "boat")
    paths = TagTree.from_paths(["animal/pet/cat"])
    assert levels("animal/pet/cat", paths) == ("animal", "pet", "cat")
    assert levels("\x00\n") == ("\ufffd",)
    assert levels(" ") == ()


def test_signs_that_xml_forbids_are_replaced(photo):
    write_sidecars({photo: ["a\x00b", "caf\udce9", "two\nlines", "\uffff", "", " "]})
    assert lists(sidecar_of(photo))[0] == ["a\ufffdb", "caf\ufffd", "two lines", "\ufffd"]
    done = write_sidecars({photo: ["a\x00b", "caf\udce9", "two\nlines", "\uffff"]})
    assert done.unchanged == 1


def test_a_picture_without_tags_gets_no_sidecar(photo):
    done = write_sidecars({photo: [], photo.with_name("other.jpg"): [""]})
    assert (done.written, done.refused) == ([], [])
    assert [*photo.parent.iterdir()] == [photo]


def test_the_sidecar_lightroom_named_is_added_to(photo):
    shared = photo.with_name("photo.xmp")
    shared.write_text(PROGRAMS["Lightroom"])
    assert write_sidecars({photo: ["water"]}).written == [shared]
    assert lists(shared)[1] == ["Nature|Birds|Heron", "water"]
    own = beside(photo, PROGRAMS["digiKam"])
    content = shared.read_bytes()
    assert write_sidecars({photo: ["fire"]}).written == [own]
    assert shared.read_bytes() == content


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tiff"])
def test_subjects_in_the_picture_are_not_hidden(tmp_path, ending):
    photo = tmp_path / f"photo.{ending}"
    text = PROGRAMS["Lightroom"]
    chunk = PngInfo()
    chunk.add_itxt("XML:com.adobe.xmp", text)
    options = {"png": {"pnginfo": chunk}, "tiff": {"tiffinfo": {700: text.encode()}}}
    Image.new("RGB", (8, 8)).save(photo, **options.get(ending, {"xmp": text.encode()}))
    assert write_sidecars({photo: ["heron"]}).unchanged == 1
    assert not sidecar_of(photo).exists()
    write_sidecars({photo: ["water"]})
    assert lists(sidecar_of(photo)) == [
        ["Birds", "Heron", "water"],
        ["Nature|Birds|Heron", "water"],
        [],
    ]
    assert b"Lightroom" not in sidecar_of(photo).read_bytes()


def test_a_sidecar_without_subjects_begins_with_those_in_the_picture(photo):
    Image.new("RGB", (8, 8)).save(photo, xmp=PROGRAMS["digiKam"].encode())
    sidecar = beside(photo, packet('<rdf:Description rdf:about="" dc:format="image/jpeg"/>'))
    write_sidecars({photo: ["neu"]})
    assert lists(sidecar)[2] == ["Leute/Kind", "Orte/Köln", "neu"]
    beside(photo, PROGRAMS["exiftool"])
    write_sidecars({photo: ["neu"]})
    assert lists(sidecar)[2] == ["snow", "neu"]


@pytest.mark.parametrize("inside", [b"<x:xmpmeta", b"<x:xmpmeta></x:xmpmeta>", b"</x:xmpmeta>"])
def test_a_damaged_packet_in_a_picture_is_passed_over(photo, inside):
    photo.write_bytes(photo.read_bytes() + inside)
    assert write_sidecars({photo: ["neu"]}).written
    assert lists(sidecar_of(photo)) == [["neu"]] * 3


def test_hostile_sidecars_are_left_alone_and_listed(photo):
    bad = {
        "document type": "<!DOCTYPE x [<!ENTITY a 'b'>]>" + PROGRAMS["darktable"],
        "not XML": PROGRAMS["darktable"][:500],
        "its root is html": "<html/>",
        "too large": PROGRAMS["darktable"] + " " * MAX_BYTES,
        "empty": "",
        "cannot add to its dc:subject": packet(
            '<rdf:Description><dc:subject rdf:resource="x"/></rdf:Description>'
        ),
    }
    tags = {photo: ["cat"]}
    for number, text in enumerate(bad.values()):
        path = photo.with_name(f"{number}.jpg")
        path.with_name(f"{number}.jpg.xmp").write_text(text, encoding="utf-8")
        tags[path] = ["cat"]
    done = write_sidecars(tags)
    assert done.written == [sidecar_of(photo)]
    for refused, (reason, text) in zip(done.refused, bad.items(), strict=True):
        assert reason in refused.reason
        assert refused.path.read_text(encoding="utf-8") == text


def test_what_is_no_file_of_its_own_is_left_alone(photo, tmp_path):
    outside = tmp_path / "outside.xmp"
    outside.write_text(PROGRAMS["darktable"])
    names = ["link", "dangling", "folder", "pipe", "read-only"]
    pictures = {name: tmp_path / f"{name}.jpg" for name in names}
    places = {name: tmp_path / f"{name}.jpg.xmp" for name in names}
    places["link"].symlink_to(outside)
    places["dangling"].symlink_to(tmp_path / "nowhere")
    places["folder"].mkdir()
    os.mkfifo(places["pipe"])
    places["read-only"].write_text(PROGRAMS["darktable"])
    places["read-only"].chmod(0o444)
    done = write_sidecars({**{path: ["cat"] for path in pictures.values()}, photo: ["cat"]})
    assert done.written == [sidecar_of(photo)]
    reasons = dict(zip(names, [refused.reason for refused in done.refused], strict=True))
    assert "a link" in reasons["link"]
    assert "a link" in reasons["dangling"]
    assert "a folder" in reasons["folder"]
    assert "pipe" in reasons["pipe"]
    assert "read-only" in reasons["read-only"]
    assert outside.read_text() == places["read-only"].read_text() == PROGRAMS["darktable"]
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_cannot_be_written_does_not_stop_the_others(photo, tmp_path, monkeypatch):
    def write(path, content):
        if path.name.startswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        path.write_bytes(content)

    monkeypatch.setattr(sidecars, "write_whole", write)
    locked = tmp_path / "locked.jpg"
    steps = []
    done = write_sidecars(
        {locked: ["cat"], photo: ["cat"]}, progress=lambda *step: steps.append(step)
    )
    assert done.written == [sidecar_of(photo)]
    assert [(refused.path, refused.reason) for refused in done.refused] == [
        (tmp_path / "locked.jpg.xmp", "cannot write it: permission denied")
    ]
    assert steps == [(1, 2), (2, 2)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_reported(photo):
    photo.parent.chmod(0o555)
    try:
        (refused,) = write_sidecars({photo: ["cat"]}).refused
    finally:
        photo.parent.chmod(0o755)
    assert refused.reason == "cannot write it: permission denied"


def test_a_name_too_long_for_a_sidecar_is_reported(tmp_path):
    (refused,) = write_sidecars({tmp_path / f"{'x' * 250}.jpg": ["cat"]}).refused
    assert refused.reason == "cannot write it: file name too long"


def test_the_mode_is_kept(photo):
    sidecar = beside(photo, PROGRAMS["darktable"])
    sidecar.chmod(0o640)
    write_sidecars({photo: ["cat"]})
    assert sidecar.stat().st_mode & 0o777 == 0o640


def test_names_that_are_no_text_get_sidecars(tmp_path):
    photo = tmp_path / os.fsdecode(b"caf\xe9 \n.jpg")
    done = write_sidecars({photo: ["cat"]})
    assert done.written == [tmp_path / os.fsdecode(b"caf\xe9 \n.jpg.xmp")]
    assert lists(done.written[0])[0] == ["cat"]


def test_the_lists_say_the_same_as_programs_would_read(photo):
    write_sidecars({photo: ["Tier/Katze", "Größe", "x|y"]})
    found = Packet(sidecar_of(photo).read_bytes())
    # As immich turns one list into the other.
    turned = [
        "/".join(level.replace("/", "|") for level in path.split("|"))
        for path in found.subjects(BY_BARS)
    ]
    assert turned == found.subjects(BY_SLASHES)
    assert EMPTY.startswith(b"<?xpacket")
    assert found.subjects(FLAT) == ["Katze", "Größe", "x|y"]
