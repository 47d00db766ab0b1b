import csv
import json
import os
import shutil
from contextlib import ExitStack

import pytest
from PIL import Image

from lookalike import Collection, images
from lookalike.collection import Added, Figures, Learned
from lookalike.collection.folder import Folder
from lookalike.core.errors import CollectionBusy, InvalidInput
from lookalike.evaluate import Spread, Table
from lookalike.features import Embedding
from lookalike.service.commands import COMMANDS
from tests.service.pictures import draw, write_model

NAMES = [command.__name__ for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples(run, name):
    for flag in ("--help", "-h"):
        ran = run(name, flag)
        assert ran.code == 0
        assert "Examples:" in ran.out
        assert f"$ lookalike {name}" in ran.out
        assert "--json" in ran.out


def test_help_names_commands_and_exit_codes(run):
    out = run("--help").out
    assert all(name in out for name in NAMES)
    assert "Exit codes: 0 done" in out


def test_version(run):
    assert run("--version").out.startswith("lookalike ")


def test_index_counts_and_goes_on(run, photos, tmp_path):
    place = tmp_path / "store"
    first = run("index", photos / "red", "-c", place)
    assert first.code == 0
    assert "9 added; 9 pictures" in first.out
    shutil.copy(photos / "red" / "0.png", tmp_path / "copy.png")
    (tmp_path / "notes.txt").touch()
    again = run("index", photos, tmp_path / "*", "-c", place, "--threads", 1, "--json")
    assert again.code == 0
    told = again.json
    counts = {name: told[name] for name in ("added", "known", "copies", "moved", "pictures")}
    assert counts == {"added": 18, "known": 9, "copies": 1, "moved": 0, "pictures": 27}
    assert told["refused"] == []


def test_index_lists_every_refused_file(run, photos, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "[bold]empty.png").touch()
    (bad / "[red]nonsense.jpg").write_bytes(b"no picture")
    (bad / "two\nlines.gif").write_bytes(b"GIF89a")
    whole = (photos / "red" / "0.png").read_bytes()
    (bad / os.fsdecode(b"caf\xe9.png")).write_bytes(whole[:-40])
    place = tmp_path / "store"
    sources = [photos / "red", bad, tmp_path / "missing"]
    ran = run("index", *sources, "-c", place)
    assert ran.code == 3
    assert "9 added" in ran.out
    assert "5 refused" in ran.out
    names = ("[bold]empty.png", "[red]nonsense.jpg", "two\\nlines.gif", "caf\\xe9.png")
    for name in (*names, "missing"):
        line = next(line for line in ran.out.splitlines() if name in line)
        reason = line.partition(name)[2].strip()
        assert len(reason) > 5
    again = run("index", *sources, "-c", place, "--json")
    assert again.code == 3
    refused = again.json["refused"]
    assert len(refused) == 5
    assert str(bad / os.fsdecode(b"caf\xe9.png")) in [entry["path"] for entry in refused]
    assert all(entry["reason"] for entry in refused)


def test_index_keeps_limits(run, photos, tmp_path):
    draw(tmp_path / "large.png", (9, 9, 9), 1)
    sources = [photos / "red" / "0.png", tmp_path / "large.png"]
    for option in ("--max-pixels", "--max-bytes"):
        ran = run("index", *sources, "-c", tmp_path / option, option, 10)
        assert ran.code == 3
        assert ran.out.count("too large") == 2


def test_index_of_nothing_makes_no_collection(run, tmp_path):
    for source in (tmp_path / "missing", "", tmp_path):
        ran = run("index", source, "-c", tmp_path / "store")
        assert ran.code == 1
        assert ran.err.startswith("Error: index: there is no picture in")
        assert not (tmp_path / "store").exists()


def test_index_with_visterms(run, tmp_path):
    for number in range(6):
        draw(tmp_path / "in" / f"{number}.png", (90, 90, 90), number, side=400)
    place = tmp_path / "store"
    assert run("index", tmp_path / "in", "-c", place, "--feature", "visterms").code == 0
    told = run("search", tmp_path / "in" / "0.png", "-c", place, "--json").json
    assert len(told["matches"]) == 5


def test_index_that_fails_leaves_no_collection(run, photos, tmp_path):
    place = tmp_path / "store"
    ran = run("index", photos, "-c", place, "--feature", "visterms")
    assert ran.code == 1
    assert "Give more pictures" in ran.err
    assert not place.exists()


def test_index_that_fails_leaves_a_given_empty_folder_empty(run, photos, tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    assert run("index", photos, "-c", place, "--feature", "visterms").code == 1
    assert list(tmp_path.iterdir()) == [place]
    assert list(place.iterdir()) == []


def test_index_into_an_empty_folder(run, photos, model, tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    assert run("index", photos, "-c", place, "--model", model).code == 0
    assert run("index", photos, "-c", place, "--json").json["known"] == 27


def test_index_leaves_a_folder_of_other_things_alone(run, photos, tmp_path):
    (tmp_path / "diary.txt").write_text("mine")
    ran = run("index", photos, "-c", tmp_path)
    assert ran.code == 1
    assert str(tmp_path) in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_index_never_removes_what_another_builds(run, photos, model, tmp_path, monkeypatch):
    """Another process makes the collection while this one is still starting."""
    place, add = tmp_path / "store", Collection.add
    made = []
    find = images.find_pictures

    def make_first(sources):
        if not made:
            made.append(Collection.create(place, feature=Embedding(model)))
        return find(sources)

    def busy(self, *args, **kwargs):
        with Folder(place).writing():
            return add(self, *args, **kwargs)

    monkeypatch.setattr(images, "find_pictures", make_first)
    monkeypatch.setattr("lookalike.service.opening.find_pictures", make_first, raising=False)
    monkeypatch.setattr(Collection, "add", busy)
    for _ in range(2):  # made meanwhile, then opened
        assert run("index", photos, "-c", place, "--model", model).code == 1
        assert (place / "manifest.json").exists()
        assert len(made[0]) == 0
    made[0].close()


@pytest.mark.parametrize("error", [CollectionBusy("busy"), InvalidInput("wrong")])
def test_index_removes_only_what_stayed_empty_and_is_free(run, photos, model, tmp_path, error):
    """Another process comes in between the making of the collection and its filling."""

    def fail(self, *args, **kwargs):
        with Collection.open(place) as other:
            other_add(other, [photos / "red"])
        raise error

    place, other_add = tmp_path / "store", Collection.add
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collection, "add", fail)
        assert run("index", photos, "-c", place, "--model", model).code == 1
    with Collection.open(place) as store:
        assert len(store) == 9
    shutil.rmtree(place)

    def fail_while_locked(self, *args, **kwargs):
        stack.enter_context(Folder(place).writing())
        raise error

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(Collection, "add", fail_while_locked)
        assert run("index", photos, "-c", place, "--model", model).code == 1
        assert (place / "manifest.json").exists()


def test_index_options_of_a_model(run, photos, tmp_path):
    open_model = tmp_path / "open.onnx"
    write_model(open_model, shape=[1, "a", "b", "c"])
    ran = run("index", photos, "-c", tmp_path / "s", "--model", open_model)
    assert ran.code == 1
    assert "layout" in ran.err
    options = ("--side", 32, "--layout", "NCHW", "--mean", "0.5,0.4,.3", "--std", "0.5, 1, 2e-1")
    asked = ("index", photos, "-c", tmp_path / "s", "--model", open_model, *options)
    assert run(*asked).code == 0
    wanted = Embedding(open_model, side=32, layout="NCHW", mean=(0.5, 0.4, 0.3), std=(0.5, 1, 0.2))
    with Collection.open(tmp_path / "s") as store:
        assert store.feature.fingerprint == wanted.fingerprint
    assert run(*asked, "--json").json["known"] == 27
    assert run("index", photos, "-c", tmp_path / "s", "--json").json["known"] == 27
    other = run(*asked, "--mean", "0,0,0")
    assert other.code == 1
    assert "cannot be compared" in other.err


def test_index_says_which_normalisation_is_assumed(run):
    out = " ".join(run("index", "--help").out.split())
    assert "0.485,0.456,0.406" in out
    assert "0.229,0.224,0.225" in out


@pytest.mark.parametrize(
    "options", [("--side", 9), ("--layout", "NHWC"), ("--mean", "0,0,0"), ("--std", "1,1,1")]
)
def test_index_options_of_a_model_need_one(run, photos, learned, tmp_path, options):
    for place in (tmp_path / "s", learned):
        ran = run("index", photos, "-c", place, *options)
        assert ran.code == 1
        assert f"{options[0]} is for --model" in ran.err
    assert not (tmp_path / "s").exists()


def test_index_dimension_of_visterms(run, photos, learned, tmp_path):
    for number in range(3):
        draw(tmp_path / "in" / f"{number}.png", (90, 90, 90), number, side=400)
    asked = ("index", tmp_path / "in", "-c", tmp_path / "s", "--feature", "visterms")
    assert run(*asked, "--dimension", 50).code == 0
    with Collection.open(tmp_path / "s") as store:
        assert store.feature.dimension == 50
    assert run(*asked, "--dimension", 50).code == run(*asked).code == 0
    other = run(*asked, "--dimension", 51)
    assert other.code == 1
    assert "made with --dimension 50, not 51" in other.err
    for place in (tmp_path / "new", learned):
        ran = run("index", photos, "-c", place, "--dimension", 50)
        assert ran.code == 1
        assert "--dimension is for --feature visterms" in ran.err


def test_index_tells_what_was_learned_again(run, photos, learned, monkeypatch):
    again = Learned(
        before=Figures(0.25, 0.5, 0.75, 4),
        after=Figures(0.26, 0.51, 0.76, 4),
        published=True,
        reason="It ranks better, says the test.",
        pictures=27,
        labels=3,
        held_back=5,
        unmatched=[],
        model=2,
    )
    monkeypatch.setattr(Collection, "add", lambda *args, **kw: Added(learned_again=again))
    ran = run("index", photos, "-c", learned)
    assert "learned again" in ran.out
    assert "It ranks better, says the test." in ran.out
    assert "0.260" in ran.out
    told = run("index", photos, "-c", learned, "--json").json
    assert told["learned_again"]["reason"] == again.reason
    monkeypatch.setattr(Collection, "add", lambda *args, **kw: Added(unlearned="Too few."))
    ran = run("index", photos, "-c", learned)
    assert "without what was learned before: Too few." in ran.out
    assert "learned again" not in ran.out


def test_index_never_mixes_features(run, photos, model, learned, tmp_path):
    ran = run("index", photos, "-c", learned, "--feature", "visterms")
    assert ran.code == 1
    assert "was made with --feature embedding" in ran.err
    for options in (["--feature", "embedding"], ["--model", model], []):
        assert run("index", photos, "-c", learned, *options).code == 0
    other = tmp_path / "other.onnx"
    other.write_bytes(model.read_bytes() + b"\x32\x00")  # an empty producer's name
    ran = run("index", photos, "-c", learned, "--model", other)
    assert ran.code == 1
    assert "cannot be compared" in ran.err
    other.write_bytes(b"no model")
    assert run("index", photos, "-c", learned, "--model", other).code == 1
    both = run("index", photos, "-c", tmp_path / "s", "--feature", "visterms", "--model", model)
    assert both.code == 1
    assert "--model" in both.err
    assert not (tmp_path / "s").exists()


def test_collection_by_environment(run, photos, learned, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_COLLECTION", str(learned))
    assert run("search", photos / "red" / "0.png").code == 0


def test_collection_in_the_home_folder(run, photos, learned, monkeypatch):
    monkeypatch.setenv("HOME", str(learned.parent))
    place = f"~/{learned.name}"
    assert run("search", photos / "red" / "0.png", "-c", place).code == 0
    monkeypatch.setenv("LOOKALIKE_COLLECTION", place)
    assert run("search", photos / "red" / "0.png").code == 0
    assert run("evaluate", "-c", "~no such user/x").code == 2


def test_collection_in_the_current_folder(run, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOOKALIKE_COLLECTION", raising=False)
    assert run("index", photos / "red").code == 0
    assert (tmp_path / "lookalike.collection").is_dir()
    assert run("search", photos / "red" / "0.png").code == 0


def test_learn_from_folders(run, changeable):
    ran = run("learn", "--folders", "-c", changeable, "--seed", 3)
    assert ran.code == 0
    for words in ("mean average precision", "precision at 1", "precision at 10", "before", "after"):
        assert words in ran.out
    told = run("learn", "--folders", "-c", changeable, "--seed", 3, "--json").json
    assert told["reason"]
    with Collection.open(changeable) as store:
        reason = store.learn(folders=True, random_state=3).reason
    assert told["reason"] == reason


def test_learn_from_labels_lists_unmatched_rows(run, photos, changeable, tmp_path):
    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "label"])
        for path in sorted(photos.glob("*/*.png")):
            writer.writerow([path, path.parent.name])
        writer.writerows([f"gone/[bold]{number}.png", "red"] for number in range(14))
    ran = run("learn", "--labels", table, "-c", changeable)
    assert ran.code == 0
    assert "14 rows name no picture" in ran.out
    assert "gone/[bold]9.png" in ran.out
    assert "gone/[bold]10.png" not in ran.out
    assert "and 4 more" in ran.out
    told = run("learn", "--labels", table, "-c", changeable, "--json").json
    assert len(told["unmatched"]) == 14
    assert told["pictures"] == 27
    assert 0 <= told["before"]["mean_average_precision"] <= 1


def test_learn_from_clicks(run, photos, changeable, tmp_path):
    table = tmp_path / "clicks.csv"
    rows = [f"{path.parent.name},{path}" for path in sorted(photos.glob("*/*.png"))]
    table.write_text("\n".join(["query,file", *rows]))
    told = run("learn", "--clicks", table, "-c", changeable, "--json")
    assert told.code == 0
    assert told.json["labels"] == 3


def test_learn_with_a_threshold(run, photos, changeable, tmp_path, monkeypatch):
    given = []
    learn = Collection.learn

    def noted(self, *args, **kwargs):
        given.append(kwargs["threshold"])
        return learn(self, *args, **kwargs)

    monkeypatch.setattr(Collection, "learn", noted)
    table = tmp_path / "clicks.csv"
    rows = [f"{path.parent.name},{path}" for path in sorted(photos.glob("*/*.png"))]
    table.write_text("\n".join(["query,file", *rows]))
    asked = ("learn", "--clicks", table, "-c", changeable)
    assert run(*asked, "--threshold", 0.001).code == 0
    assert run(*asked).code == 0
    assert given == [0.001, 0]
    none_left = run(*asked, "--threshold", 9)
    assert none_left.code == 1


def test_learn_again_uses_stored_labels(run, changeable):
    ran = run("learn", "-c", changeable, "--json")
    assert ran.code == 0
    assert ran.json["pictures"] == 27


def test_learn_without_any_source_says_what_to_do(run, photos, tmp_path):
    run("index", photos, "-c", tmp_path / "store")
    ran = run("learn", "-c", tmp_path / "store")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "label" in ran.err


def test_search_inside_and_outside(run, photos, learned, tmp_path):
    outside = tmp_path / "new.png"
    draw(outside, (200, 40, 40), 999)
    for picture in (photos / "red" / "0.png", outside):
        ran = run("search", picture, "-k", 5, "-c", learned)
        assert ran.code == 0
        lines = [line for line in ran.out.splitlines() if ".png" in line]
        assert len(lines) == 5
        assert lines[0].split()[0] == "1"
        told = run("search", picture, "-k", 5, "-c", learned, "--no-learning", "--json").json
        assert [match["rank"] for match in told["matches"]] == [1, 2, 3, 4, 5]
        scores = [match["score"] for match in told["matches"]]
        assert scores == sorted(scores, reverse=True)


def test_search_writes_a_sheet(run, photos, learned, tmp_path):
    picture = tmp_path / "<b>query.png"
    draw(picture, (1, 2, 3), 5)
    sheet = tmp_path / "deep" / "found.html"
    ran = run("search", picture, "-k", 4, "-c", learned, "--sheet", sheet)
    assert ran.code == 0
    assert str(sheet) in ran.out
    page = sheet.read_text()
    assert page.count("<img") == 5
    assert "<b>query" not in page


def test_sheet_of_a_picture_whose_file_is_gone(run, photos, model, tmp_path):
    pictures, place, sheet = tmp_path / "in", tmp_path / "store", tmp_path / "found.html"
    shutil.copytree(photos / "red", pictures)
    assert run("index", pictures, "-c", place, "--model", model).code == 0
    picture = pictures / "0.png"
    asked = ("search", picture, "-k", 3, "-c", place, "--sheet", sheet)
    assert run(*asked).code == 0
    page = sheet.read_bytes()
    picture.unlink()
    sheet.unlink()
    assert run(*asked).code == 0
    assert sheet.read_bytes() == page
    draw(picture, (0, 0, 250), 77)
    assert run(*asked).code == 0
    assert sheet.read_bytes() != page


def test_sheet_names_a_query_it_cannot_show(run, learned, tmp_path, monkeypatch):
    picture = tmp_path / "odd.png"
    picture.write_bytes(b"no picture")
    monkeypatch.setattr(Collection, "search", lambda *args, **kwargs: [])
    ran = run("search", picture, "-c", learned, "--sheet", tmp_path / "found.html")
    assert ran.code == 1
    assert str(picture) in ran.err


def test_search_of_hostile_files(run, learned, tmp_path):
    bad = tmp_path / "[bold]bad\n.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n")
    for picture in (bad, tmp_path, tmp_path / "missing.png", "/dev/zero", ""):
        ran = run("search", picture, "-c", learned)
        assert ran.code == 1
        assert ran.out == ""
        assert ran.err.startswith("Error: ")
        assert ran.err.count("\n") == 1
        told = run("search", picture, "-c", learned, "--json")
        assert told.code == told.json["exit_code"] == 1
        assert told.json["error"]
        assert told.err == ""


def test_search_of_a_bomb(run, learned, tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    ran = run("search", tmp_path / "bomb.png", "-c", learned)
    assert ran.code == 1
    assert "too large" in ran.err


def test_evaluate(run, learned):
    ran = run("evaluate", "-c", learned)
    assert ran.code == 0
    assert "mean average precision" in ran.out
    told = run("evaluate", "-c", learned, "--json").json
    assert told["before"]["queries"] == told["after"]["queries"] > 0


def test_remove(run, photos, changeable):
    pictures = [photos / "red" / "0.png", photos / "red" / "1.png"]
    told = run("remove", *pictures, "-c", changeable, "--json").json
    assert (told["removed"], told["pictures"]) == (2, 25)
    assert pictures[0].exists()
    ran = run("remove", photos / "red" / "2.png", "-c", changeable)
    assert "1 removed; 24 pictures" in ran.out
    assert run("remove", photos / "missing.png", "-c", changeable).code == 1


def test_rollback(run, photos, changeable):
    query = ("search", photos / "red" / "0.png", "-c", changeable, "--json")
    unlearned = run(*query, "--no-learning").json["matches"]
    ran = run("rollback", "-c", changeable)
    with Collection.open(changeable) as store:
        current = any(model.current for model in store.models())
    assert ran.code == 0
    assert not current
    assert run(*query).json["matches"] == unlearned
    empty = run("rollback", "-c", changeable, "--json")
    assert empty.code == empty.json["exit_code"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn"],
        ["search", "x.png"],
        ["evaluate"],
        ["remove", "x.png"],
        ["rollback"],
        ["index", "missing"],
        ["reproduce", "oasis", "--data", "missing"],
    ],
)
def test_errors_are_one_line_or_json(run, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOOKALIKE_COLLECTION", raising=False)
    ran = run(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1
    told = run(*arguments, "--json")
    assert (told.code, told.err) == (1, "")
    assert set(told.json) == {"error", "exit_code"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", "x", "-k", "0"],
        ["search", "x", "--nonsense"],
        ["index"],
        ["index", "x", "--feature", "dreams"],
        ["index", "x", "--layout", "NCWH"],
        ["index", "x", "--mean", "0.5,0.5"],
        ["index", "x", "--std", "1,2,three"],
        ["index", "x", "--dimension", "0"],
        ["learn", "--hold-back", "0"],
        ["learn", "--hold-back", "1"],
        ["learn", "--hold-back", "nan"],
        ["learn", "--threshold", "-1"],
        ["reproduce", "nothing", "--data", "x"],
        ["nonsense"],
    ],
)
def test_wrong_usage(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Usage" in ran.err
    told = run(*arguments, "--json")
    assert told.code == told.json["exit_code"] == 2
    assert told.err == ""


def test_files_that_cannot_be_written(run, photos, learned, tmp_path):
    (tmp_path / "file").touch()
    sheet = tmp_path / "file" / "sheet.html"
    ran = run("search", photos / "red" / "0.png", "-c", learned, "--sheet", sheet)
    assert ran.code == 1
    assert ran.err.startswith("Error: ")
    assert "sheet.html" in ran.err or str(tmp_path / "file") in ran.err
    ran = run("index", photos, "-c", tmp_path / "file")
    assert ran.code == 1
    assert ran.err.count("\n") == 1


def test_json_of_labels_file(run, photos, changeable, tmp_path):
    table = tmp_path / "labels.json"
    names = {str(path): path.parent.name for path in photos.glob("*/*.png")}
    table.write_text(json.dumps(names))
    assert run("learn", "--labels", table, "-c", changeable, "--json").json["unmatched"] == []


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        ("add", ["index", "PHOTOS"], "added so far are kept"),
        ("learn", ["learn", "--folders"], "as it was before"),
        ("search", ["search", "PHOTOS/red/0.png"], "Nothing was changed"),
    ],
)
def test_interruption_says_what_is_kept(
    run, photos, learned, monkeypatch, method, arguments, words
):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Collection, method, interrupted)
    given = [argument.replace("PHOTOS", str(photos)) for argument in arguments]
    ran = run(*given, "-c", learned)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.startswith("Interrupted. ")
    assert words in ran.err
    assert ran.err.count("\n") == 1
    told = run(*given, "-c", learned, "--json")
    assert (told.code, told.err) == (130, "")
    assert words in told.json["error"]


@pytest.fixture
def paper(monkeypatch):
    """Stand in for the reproduction, which takes long."""

    def reproduce(data, out, *, quick, random_state, progress):
        progress(1, 2)
        out.mkdir(parents=True)
        (out / "report.md").touch()
        rows = [["OASIS [bold]", Spread(33.0, 1.6, 5), float("nan")], ["MCML", None, 7]]
        first = Table(["method", "mAP", "n"], rows, title="Table 5: Caltech | 10")
        return [first, Table(["quick", "seed"], [[str(quick), random_state]])]

    monkeypatch.setattr("lookalike.service.reproduce.reproduce", reproduce)


@pytest.mark.usefixtures("paper")
def test_reproduce_prints_and_writes_tables(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("reproduce", "oasis", "--data", tmp_path)
    assert ran.code == 0
    assert "Table 5: Caltech | 10" in ran.out
    assert "OASIS [bold]  33.0 ± 1.6" in ran.out
    assert (tmp_path / "reproduce-oasis" / "report.md").exists()
    out = tmp_path / "out"
    ran = run(
        *("reproduce", "oasis", "--data", tmp_path, "--out", out),
        *("--quick", "--seed", 4, "--json"),
    )
    assert ran.code == 0
    assert ran.json["tables"][1]["rows"] == [["True", 4]]
    assert ran.json["tables"][0]["rows"][0][1]["mean"] == 33.0
    names = ["report.md", "table-1-table-5-caltech-10.csv", "table-2-untitled.csv"]
    assert [path.name for path in sorted(out.iterdir())] == names
    assert ran.json["files"] == [str(out / name) for name in names]
    assert (out / names[1]).read_text().startswith("method,mAP,mAP ±,n\n")
