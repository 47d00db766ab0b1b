import csv
import json
import os
from contextlib import contextmanager

import pytest

from lookalike import Collection
from lookalike.collection import PictureTag, TaggedPicture, Tagging
from lookalike.core.text import safe_cell
from lookalike.images import Refused
from lookalike.images.xmp import ALL, FLAT, LEARNED, Packet
from lookalike.service import sidecars
from lookalike.service.album_export import album_table
from lookalike.service.commands.tag import SHOWN
from lookalike.service.label_tables import labels_csv
from lookalike.service.tag_tables import tags_csv, tags_json
from lookalike.supervision import read_labels
from tests.service.packets import PROGRAMS

ODD_WORDS = ["=1+1", "+49", "-5", "@home", 'say "hi", please', "Größe", "😀", "a/b", "x" * 900]


def tagged(path, *words):
    return TaggedPicture(path, tuple(PictureTag(word, 1.5, 0.9375) for word in words))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tag(here, stand_in, run):
    """Run the command on a collection that answers what it is told, and notes what it was asked."""
    asked = {}

    class Store:
        @property
        def words(self):
            return self

        pictures = labels = words

        def tag(self, sources, k=10, *, by=None, min_confidence=None, progress=None):
            asked.update(sources=sources, k=k, by=by, min_confidence=min_confidence)
            progress(1, 2)
            if isinstance(asked["answer"], BaseException):
                raise asked["answer"]
            return asked["answer"]

        def find(self, path):
            return 1

        def sources(self, ids):
            return {1: asked.get("said", [])}

        def refused(self, word, ids):
            return {1} if word in asked.get("refused", ()) else set()

    @contextmanager
    def opened(place):
        asked["place"] = place
        yield Store()

    def call(answer, *args, said=(), refused=()):
        asked.update(answer=answer, said=said, refused=refused)
        return run("tag", here, *args)

    stand_in(Collection, open=opened)
    call.asked = asked
    return call


def test_tags_are_shown_and_nothing_is_written(tag, here):
    answer = Tagging([tagged(here / "a.jpg", "cat", "größe"), tagged(here / "b.jpg")], [], 3)
    ran = tag(answer, "-k", 7, "-c", "store")
    assert ran.code == 0
    assert tag.asked["sources"] == [str(here)]
    assert (tag.asked["k"], tag.asked["min_confidence"]) == (7, None)
    assert str(tag.asked["place"]) == "store"
    (line,) = [line for line in ran.out.splitlines() if "a.jpg" in line]
    assert line.split("a.jpg")[1].strip() == "cat 0.94, größe 0.94"
    assert "Found words for 1 of 2 pictures." in ran.out
    assert list(here.iterdir()) == []


def test_the_screen_shows_some_and_says_where_all_are(tag, here):
    names = [f"{n:03}.jpg" for n in range(SHOWN + 3)]
    ran = tag(Tagging([tagged(here / name, "cat") for name in names]))
    assert [name in ran.out for name in names] == [True] * SHOWN + [False] * 3
    assert "… and 3 more" in ran.out


def test_json_tells_everything(tag, here):
    refused = Refused(here / "bad.jpg", "broken")
    answer = Tagging([tagged(here / "a.jpg", "cat"), tagged(here / "b.jpg")], [refused], 3)
    ran = tag(answer, "--min-confidence", 0.5, "--json")
    assert ran.code == 3
    assert ran.json == {
        "collection": "lookalike.collection",
        "by": None,
        "min_confidence": 0.5,
        "pictures": [
            {
                "path": str(here / "a.jpg"),
                "tags": [{"word": "cat", "score": 1.5, "confidence": 0.9375, "source": "learned"}],
            },
            {"path": str(here / "b.jpg"), "tags": []},
        ],
        "written": [],
        "unchanged": 0,
        "refused": [{"path": str(here / "bad.jpg"), "reason": "broken"}],
        "ignored": 3,
        "likeliest": None,
    }


def test_refused_pictures_are_listed(tag, here):
    ran = tag(Tagging([tagged(here / "a.jpg", "cat")], [Refused(here / "bad.jpg", "broken")]))
    assert ran.code == 3
    assert "1 file refused" in ran.out
    assert "bad.jpg" in ran.out


def test_a_table_has_a_row_for_each_tag(tag, here):
    answer = Tagging([tagged(here / "a, \r\n b.jpg", *ODD_WORDS), tagged(here / "none.jpg")])
    ran = tag(answer, "--write", "csv")
    assert ran.code == 0
    assert "Words written to tags.csv." in ran.out
    with (here / "tags.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["file", "tag", "score", "confidence", "source"]
    assert rows[1:] == [
        [str(here / "a, \r\n b.jpg"), safe_cell(word), "1.5", "0.9375", "learned"]
        for word in ODD_WORDS
    ]
    assert read_labels(here / "tags.csv") == {str(here / "a, \r\n b.jpg"): ODD_WORDS}


def test_a_list_keeps_every_word_and_name(tag, here):
    odd = here / os.fsdecode(b"caf\xe9.jpg")
    words = [*ODD_WORDS, "a|b", "c;d", "back\\slash"]
    answer = Tagging([tagged(here / "a.jpg", *words), tagged(odd, "cat"), tagged(here / "none")])
    assert tag(answer, "--write", "json", "--json").json["written"] == ["tags.json"]
    content = json.loads((here / "tags.json").read_bytes())
    assert content[1] == {
        "file": str(odd),
        "tags": ["cat"],
        "scores": [1.5],
        "confidences": [0.9375],
        "sources": ["learned"],
    }
    assert "Größe" in (here / "tags.json").read_text(encoding="utf-8")
    assert read_labels(here / "tags.json") == {str(here / "a.jpg"): words, str(odd): ["cat"]}


def test_a_confidence_that_is_not_known_is_left_out(tag, here):
    answer = Tagging([TaggedPicture(here / "a.jpg", (PictureTag("cat", -0.5, float("nan")),))])
    ran = tag(answer, "--min-confidence", 0)
    assert "Found words for 1 of 1 picture." in ran.out
    (line,) = [line for line in ran.out.splitlines() if "a.jpg" in line]
    assert line.split("a.jpg")[1].strip() == "cat"
    assert tags_csv(answer.pictures).decode().splitlines()[1] == f"{here}/a.jpg,cat,-0.5,,learned"
    assert json.loads(tags_json(answer.pictures))[0]["confidences"] == [None]


def test_a_cell_stays_whole_where_others_separate_by_semicolons_or_tabs(here):
    words = ["x;=1+1", "'+cmd|calc;-2+3", "x\t=1", "x\n@a", 'q"=1']
    lines = tags_csv([tagged(here / "a.jpg", *words, "plain")]).decode().split("\r\n")[1:-1]
    for word, line in zip(words, lines, strict=False):
        assert ',"{}",'.format(safe_cell(word).replace('"', '""')) in line
    assert lines[-1].startswith(f"{here}/a.jpg,plain,")
    labels = labels_csv([(here / "a.jpg", [("x;=1+1", "hand")])]).decode()
    assert f'"{here}/a.jpg","x;=1+1","hand"' in labels
    details = {"caption": "x;=1", "camera": "", "lens": "", "latitude": None, "longitude": None}
    row = {"id": 1, "path": "/a.jpg", "labels": ["x", "=1+1"], "new": False, **details}
    assert '"1","/a.jpg","x;=1+1","False","x;=1"' in album_table([row])


def test_tables_of_nothing():
    assert tags_csv([]) == b"file,tag,score,confidence,source\r\n"
    assert json.loads(tags_json([])) == []


def test_a_name_that_is_no_text_is_refused_by_csv(tag, here):
    odd = here / os.fsdecode(b"caf\xe9.jpg")
    ran = tag(Tagging([tagged(odd, "cat"), tagged(here / "b.jpg", "cat")]), "--write", "csv")
    assert ran.code == 3
    assert "use --write json" in ran.out
    assert read_labels(here / "tags.csv") == {str(here / "b.jpg"): ["cat"]}


def test_a_table_that_is_there_is_replaced_only_if_named(tag, here):
    answer = Tagging([tagged(here / "a.jpg", "cat")])
    (here / "tags.csv").write_text("mine")
    ran = tag(answer, "--write", "csv")
    assert ran.code == 1
    assert "tags.csv already exists" in ran.err
    assert "sources" not in tag.asked
    assert (here / "tags.csv").read_text() == "mine"
    assert tag(answer, "--write", "csv", "--out", "tags.csv").code == 0
    assert tag(answer, "--write", "json", "--out", "new/some.json").code == 0
    assert read_labels(here / "tags.csv") == read_labels(here / "new" / "some.json")


def test_sidecars_are_written_with_levels(tag, here):
    (here / "tree.csv").write_text("word,parent\ncat,animal\n")
    (here / "b.jpg.xmp").write_text(PROGRAMS["darktable"])
    (here / "c.jpg.xmp").write_text("damaged")
    pictures = [tagged(here / f"{name}.jpg", "cat", "sea/boat") for name in "abc"]
    answer = Tagging([*pictures, tagged(here / "none.jpg")])
    ran = tag(answer, "--write", "xmp", "--tree", "tree.csv")
    assert ran.code == 3
    assert "2 sidecars written; 0 already had every word." in ran.out
    (line,) = [line for line in ran.out.splitlines() if "c.jpg.xmp" in line]
    assert "not XML" in line
    assert (here / "c.jpg.xmp").read_text() == "damaged"
    found = Packet((here / "a.jpg.xmp").read_bytes())
    assert [found.subjects(kind) for kind in ALL] == [
        ["cat", "boat"],
        ["animal|cat", "sea|boat"],
        ["animal/cat", "sea/boat"],
    ]
    again = tag(answer, "--write", "xmp", "--tree", "tree.csv", "--json").json
    assert (again["written"], again["unchanged"], len(again["refused"])) == ([], 2, 1)
    assert not (here / "none.jpg.xmp").exists()


def test_no_picture_at_all_is_an_error(tag):
    ran = tag(Tagging())
    assert ran.code == 1
    assert "tag: no pictures found in" in ran.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--out", "x.csv"], "--out needs --write csv"),
        (["--write", "xmp", "--out", "x.csv"], "--out needs --write csv"),
        (["--tree", "x.csv"], "--tree needs --write xmp"),
        (["--write", "csv", "--tree", "x.csv"], "--tree needs --write xmp"),
        (["--min-confidence", "1.5"], "--min-confidence"),
        (["-k", "0"], "-k"),
        (["--write", "pdf"], "pdf"),
    ],
)
def test_wrong_use_is_told(tag, options, why):
    ran = tag(Tagging(), *options, "--json")
    assert ran.code == 2
    assert why in ran.json["error"]
    assert "sources" not in tag.asked


def test_a_tree_that_cannot_be_read_stops_before_the_work(tag, here):
    (here / "tree.csv").write_text("word,parent\na,b\nb,a\n")
    ran = tag(Tagging(), "--write", "xmp", "--tree", "tree.csv")
    assert ran.code == 1
    assert "cycle" in ran.err
    assert "sources" not in tag.asked


def test_sidecars_tell_what_people_said_from_what_was_learned(tag, here):
    found = Tagging([tagged(here / "a.jpg", "cat", "Dog", "red")])
    said = [("dog", "hand"), ("Köln", "files"), ("scans", "folders")]
    assert tag(found, "--write", "xmp", said=said, refused=["red"]).code == 0
    packet = Packet((here / "a.jpg.xmp").read_bytes())
    assert packet.subjects(FLAT) == ["dog", "Köln", "cat"]
    assert packet.subjects(LEARNED) == ["cat"]
    # Said later, it is there already; what was learned is not read back as a keyword.
    assert tag(found, "--write", "xmp", said=[("cat", "hand")], refused=["red", "Dog"]).code == 0
    assert Packet((here / "a.jpg.xmp").read_bytes()).subjects(LEARNED) == ["cat"]


def test_interrupted_says_what_is_kept(tag, here, stand_in):
    ran = tag(KeyboardInterrupt(), "--write", "csv")
    assert ran.code == 130
    assert "Nothing was written" in ran.err
    assert not (here / "tags.csv").exists()

    def stop(*_, **__):
        raise KeyboardInterrupt

    stand_in(sidecars, write_sidecars=stop)
    ran = tag(Tagging([tagged(here / "a.jpg", "cat")]), "--write", "xmp")
    assert ran.code == 130
    assert "The sidecars written so far are kept" in ran.err
