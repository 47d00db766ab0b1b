import os
from pathlib import Path

import pytest

from lookalike.core.errors import InvalidInput
from lookalike.images import Refused, find_pictures

NAMES = ["a.jpg", "B.PNG", "c.JpEg", "ü ß.webp", "br[ack]et*.gif", "new\nline.tif", "d.heic"]


@pytest.fixture
def tree(tmp_path):
    for name in NAMES:
        (tmp_path / name).write_bytes(b"x")
    deep = tmp_path / "größe und [maß]" / "sub"
    deep.mkdir(parents=True)
    (deep / "e.avif").write_bytes(b"x")
    # Sidecars are read with their pictures, so they are not skipped.
    for name in ("notes.txt", ".hidden.jpg", "no ending", "jpg", "a.jpg.xmp"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "f.jpg").write_bytes(b"x")
    return tmp_path


def test_a_folder_is_searched_to_the_bottom_in_order(tree):
    found = find_pictures([tree])
    expected = [*(tree / name for name in NAMES), tree / "größe und [maß]" / "sub" / "e.avif"]
    assert found.paths == sorted(expected, key=lambda path: path.parts)
    assert found.ignored == 5
    assert found.problems == []
    assert find_pictures([str(tree)]) == found


def test_a_file_named_in_full_is_always_taken(tree):
    named = [tree / "notes.txt", tree / ".hidden.jpg", tree / "br[ack]et*.gif"]
    found = find_pictures(named)
    assert found.paths == named
    assert (found.ignored, found.problems) == (0, [])


def test_a_hidden_folder_named_in_full_is_searched(tree):
    assert find_pictures([tree / ".git"]).paths == [tree / ".git" / "f.jpg"]


def test_each_file_once(tree, monkeypatch):
    monkeypatch.chdir(tree)
    (tree / "link.jpg").symlink_to(tree / "a.jpg")
    sources = ["a.jpg", "./a.jpg", tree / "a.jpg", tree, ".", "*.jpg", "link.jpg"]
    found = find_pictures(sources)
    names = [path.name for path in found.paths]
    assert sorted(names) == sorted([*NAMES, "e.avif"])
    assert names[0] == "a.jpg"
    assert found.ignored == 5


def test_globs(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert [path.name for path in find_pictures(["*.jpg"]).paths] == ["a.jpg"]
    assert [path.name for path in find_pictures(["**/*.avif"]).paths] == ["e.avif"]
    assert [path.name for path in find_pictures(["gr*"]).paths] == ["e.avif"]
    found = find_pictures(["*"])
    assert len(found.paths) == len(NAMES) + 1
    assert found.ignored == 3


def test_missing_paths_and_globs_are_listed_and_the_rest_found(tree):
    sources = [tree / "gone.jpg", str(tree / "*.xyz"), "", "nul\0byte", tree / "a.jpg" / "b.jpg"]
    found = find_pictures([*sources, tree / "a.jpg"])
    assert found.paths == [tree / "a.jpg"]
    assert [problem.reason for problem in found.problems] == [
        "does not exist",
        "no file matches this pattern",
        "does not exist: the path is empty",
        "cannot read it: embedded null byte",
        "does not exist",
    ]
    assert found.problems[0] == Refused(tree / "gone.jpg", "does not exist")


def test_links_in_a_circle_end_and_prefer_the_own_place(tree):
    (tree / "a loop").symlink_to(tree)
    (tree / "a link").symlink_to(tree / "größe und [maß]")
    (tree / "größe und [maß]" / "up").symlink_to(tree)
    found = find_pictures([tree])
    assert len(found.paths) == len(NAMES) + 1
    assert tree / "größe und [maß]" / "sub" / "e.avif" in found.paths


def test_a_link_that_leads_outside_is_a_problem(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "g.bmp").write_bytes(b"x")
    (tree / "away").symlink_to(outside)
    (tree / "one.bmp").symlink_to(outside / "g.bmp")
    (tree / "more words.txt").symlink_to(outside / "notes.txt")
    found = find_pictures([tree])
    assert len(found.paths) == len(NAMES) + 1
    assert [problem.path.name for problem in found.problems] == ["away", "one.bmp"]
    assert all("index the folder it leads to" in problem.reason for problem in found.problems)
    # Where the folder it leads to is given as well, its pictures are found there.
    both = find_pictures([tree, outside])
    assert outside / "g.bmp" in both.paths or tree / "away" / "g.bmp" in both.paths
    assert both.problems == []


def test_within_holds_for_what_is_named_too(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "g.bmp").write_bytes(b"x")
    (tree / "away").symlink_to(outside)
    named = [tree / "away", tree / "away" / "g.bmp", str(tree / "away" / "*"), outside]
    assert find_pictures(named, within=[tree]).paths == []
    assert len(find_pictures(named, within=[tree]).problems) == 4
    assert len(find_pictures([tree], within=[tree]).paths) == len(NAMES) + 1
    assert len(find_pictures(named, within=[tree, outside]).paths) == 1


def test_a_link_to_nowhere_is_taken_so_that_reading_reports_it(tree):
    (tree / "lost.jpg").symlink_to(tree / "nowhere")
    assert tree / "lost.jpg" in find_pictures([tree]).paths


def test_undecodable_names(tmp_path):
    name = os.fsdecode(b"caf\xe9.jpg")
    (tmp_path / name).write_bytes(b"x")
    assert [os.fsencode(path.name) for path in find_pictures([tmp_path]).paths] == [b"caf\xe9.jpg"]


def test_an_unreadable_folder_is_a_problem_and_the_rest_is_found(tree, monkeypatch):
    listing = os.scandir

    def refuse(path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_pictures([tree])
    assert len(found.paths) == len(NAMES)
    assert [problem.reason for problem in found.problems] == ["cannot list it: permission denied"]


def test_an_empty_folder_finds_nothing(tmp_path):
    found = find_pictures([tmp_path])
    assert (found.paths, found.ignored, found.problems) == ([], 0, [])


def test_a_single_path_is_refused():
    with pytest.raises(InvalidInput, match="Put it in a list"):
        find_pictures("photos")
    with pytest.raises(InvalidInput, match="Put it in a list"):
        find_pictures(Path("photos"))


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home [of] me*"
    (folder / "photos").mkdir(parents=True)
    (folder / "photos" / "a.jpg").write_bytes(b"x")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    "source",
    ["~", "~/photos", "~//photos", Path("~/photos/a.jpg"), "~/photos/*.jpg", "~/**/?.jpg", "~/*/"],
)
def test_a_tilde_is_the_home(home, source):
    found = find_pictures([source])
    assert found.paths == [home / "photos" / "a.jpg"]
    assert found.problems == []


def test_names_that_begin_with_a_tilde_are_found(home):
    for name in ("~draft.jpg", "~"):
        Path(name).write_bytes(b"x")
    assert find_pictures(["~draft.jpg", "~"]).paths == [Path("~draft.jpg"), Path("~")]
    assert find_pictures(["~dr*.jpg"]).paths == [Path("~draft.jpg")]


def test_a_home_that_is_not_known_is_a_problem(home):
    sources = ["~no-such-user/a.jpg", "~no-such-user/*.jpg", "~nul\0byte/a.jpg", "~/gone.jpg"]
    found = find_pictures([*sources, "~/photos"])
    assert found.paths == [home / "photos" / "a.jpg"]
    assert found.problems == [
        Refused(Path(sources[0]), "does not exist: ~no-such-user has no known home folder"),
        Refused(Path(sources[1]), "does not exist: ~no-such-user has no known home folder"),
        Refused(Path(sources[2]), "cannot read it: embedded null byte"),
        Refused(home / "gone.jpg", "does not exist"),
    ]


def test_a_link_to_itself_is_a_problem_and_the_rest_is_found(tree):
    before = find_pictures([tree]).paths
    for name in ("2loop", "loop.jpg"):
        (tree / name).symlink_to(tree / name)
    found = find_pictures([tree])
    assert found.paths == before
    assert [problem.path for problem in found.problems] == [tree / "2loop", tree / "loop.jpg"]
    assert all("symbolic links" in problem.reason for problem in found.problems)
