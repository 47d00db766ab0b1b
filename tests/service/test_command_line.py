import json
import shutil
import subprocess
import sys

import pytest

from lookalike import Collection
from lookalike.collection import Ask
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import oasis, wsabie
from lookalike.service.command_line import COMMANDS
from tests.collection.colours import picture
from tests.features.pairs import write_pair
from tests.gates import OPEN

NAMES = [*COMMANDS]


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
    assert "Exit codes: 0 success" in out


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_no_markup(run, name):
    assert "``" not in run(name, "--help").out


def test_help_keeps_square_brackets(run):
    out = " ".join(run("index", "--help").out.replace("│", " ").split())
    assert "'lookalike[lite2]'" in out
    assert "v2b0" in out


def test_lookalike_runs_as_a_module():
    ran = subprocess.run(
        [sys.executable, "-m", "lookalike", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("lookalike ")


def test_version(run):
    assert run("--version").out.startswith("lookalike ")


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


def test_evaluate(run, learned):
    ran = run("evaluate", "-c", learned)
    assert ran.code == 0
    assert "Ranking on" in ran.out
    assert "Words on" in ran.out
    assert ran.out.count("mean average precision") == 2
    told = run("evaluate", "-c", learned, "--json").json
    for part in (told["similarity"], told["words"]):
        assert part["before"]["queries"] == part["after"]["queries"] > 0


def test_evaluate_of_what_was_learned_alone(run, photos, model, tmp_path):
    place = tmp_path / "store"
    assert run("index", photos, "-c", place, "--model", model).code == 0
    rows = [f"{path.parent.name},{path}" for path in sorted(photos.glob("*/*.png"))]
    (tmp_path / "clicks.csv").write_text("\n".join(["query,file", *rows]))
    assert run("learn", "--clicks", tmp_path / "clicks.csv", "-c", place).code == 0
    told = run("evaluate", "-c", place, "--json").json
    assert told["words"] is None
    assert told["similarity"]["after"]["queries"] > 0
    shutil.rmtree(place)
    assert run("index", photos, "-c", place, "--model", model).code == 0
    assert run("evaluate", "-c", place).code == 1
    names = {str(path): ["photo", path.parent.name] for path in photos.glob("*/*.png")}
    (tmp_path / "tags.json").write_text(json.dumps(names))
    assert run("learn", "--tags", tmp_path / "tags.json", "-c", place).code == 0
    told = run("evaluate", "-c", place, "--json").json
    assert told["similarity"] is None
    assert told["words"]["after"]["queries"] > 0


def test_remove(run, photos, changeable):
    pictures = [photos / "red" / "0.png", photos / "red" / "1.png"]
    told = run("remove", *pictures, "-c", changeable, "--json").json
    assert (told["removed"], told["pictures"]) == (2, 25)
    assert pictures[0].exists()
    ran = run("remove", photos / "red" / "2.png", "-c", changeable)
    assert "1 moved to the bin; 24 pictures" in ran.out
    assert run("remove", photos / "missing.png", "-c", changeable).code == 1
    again = run("index", photos, "-c", changeable, "--json").json
    assert (again["added"], again["pictures"]) == (0, 24)
    ran = run("bin", "-c", changeable)
    assert "3 pictures in the bin" in ran.out
    assert run("restore", pictures[0], "-c", changeable, "--json").json["restored"] == 1
    assert run("restore", pictures[0], "-c", changeable).code == 1
    red = run("remove", photos / "red", "-c", changeable, "--json").json["removed"]
    elsewhere = run("restore", photos / "blue", "-c", changeable)
    assert (elsewhere.code, "no pictures of the folder" in elsewhere.err) == (1, True)
    assert run("restore", photos / "red", "-c", changeable, "--json").json["restored"] == red + 2
    assert run("remove", *pictures[1:], photos / "red" / "2.png", "-c", changeable).code == 0
    assert run("bin", "-c", changeable, "--empty", "--json").json["erased"] == 2
    assert run("index", photos, "-c", changeable, "--json").json["added"] == 0
    assert run("index", photos, "-c", changeable, "--removed", "--json").json["added"] == 2


def test_missing(run, photos, changeable, tmp_path):
    lost = photos / "red" / "0.png"
    content = lost.read_bytes()
    try:
        lost.unlink()
        ran = run("missing", "-c", changeable)
        assert "1 picture missing" in ran.out
        told = run("missing", "-c", changeable, "--remove", "--json").json
        assert told["removed"] == 1
        assert told["pictures"][0]["places"] == [str(lost)]
        assert run("missing", "-c", changeable, "--json").json["pictures"] == []
    finally:
        lost.write_bytes(content)


def test_labels_are_written_with_their_sources(run, photos, changeable, tmp_path):
    from lookalike.collection import Collection

    with Collection.open(changeable) as store:
        store.label(store.pictures.find(photos / "red" / "0.png"), 'Fünf, "sechs"')
    told = run("labels", "--out", tmp_path / "l.json", "-c", changeable, "--json").json
    rows = {row["file"]: row for row in json.loads((tmp_path / "l.json").read_text())}
    assert told["pictures"] == len(rows)
    row = rows[str(photos / "red" / "0.png")]
    own = dict(zip(row["tags"], row["sources"], strict=True))
    assert own['Fünf, "sechs"'] == ["hand"]
    assert run("labels", "--out", tmp_path / "l.csv", "-c", changeable).code == 0
    text = (tmp_path / "l.csv").read_text()
    assert text.startswith("file,tag,sources")
    assert '"Fünf, ""sechs""",hand' in text
    assert run("labels", "--out", tmp_path / "l.txt", "-c", changeable).code == 1
    assert run("learn", "--tags", tmp_path / "l.csv", "-c", changeable).code == 0


def test_rollback(run, photos, changeable):
    query = ("search", photos / "red" / "0.png", "-c", changeable, "--json")
    unlearned = run(*query, "--no-learning").json["matches"]
    ran = run("rollback", "-c", changeable)
    with Collection.open(changeable) as store:
        current = any(model.current for model in store.models.all())
    assert ran.code == 0
    assert "Searches no longer use a learned similarity" in ran.out
    assert "no annotator in use" in ran.out
    assert not current
    assert run(*query).json["matches"] == unlearned
    with Collection.open(changeable, gate=OPEN) as store:
        assert all(store.learn(folders=True).similarity.published for _ in range(2))
    told = run("rollback", "-c", changeable)
    assert "similarity model 3" in told.out
    assert "annotator 4" in told.out
    again = run("rollback", "-c", changeable, "--json").json
    assert (again["model"], again["annotator"]) == (None, None)
    empty = run("rollback", "-c", changeable, "--json")
    assert empty.code == empty.json["exit_code"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn"],
        ["search", "x.png"],
        ["search", "--word", "x"],
        ["tag", "x.png"],
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
        ["index", "x", "--set", "colours"],
        ["learn", "--set", "=1"],
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


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        ("add", ["index", "PHOTOS"], "Finished work is kept"),
        ("learn", ["learn", "--folders"], "collection is unchanged"),
        ("search", ["search", "PHOTOS/red/0.png"], "Nothing was changed"),
    ],
)
def test_interruption_says_what_is_kept(run, photos, learned, stand_in, method, arguments, words):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    stand_in(Collection, **{method: interrupted})
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
def paper(stand_in):
    """Stand in for the reproduction, which takes long."""

    def reproduce(data, out, *, quick, random_state, progress):
        progress(1, 2)
        out.mkdir(parents=True)
        (out / "figure-5-10.png").touch()
        rows = [["OASIS [bold]", Spread(33.0, 1.6, 5), float("nan")], ["MCML", None, 7]]
        first = Table(["method", "mAP", "n"], rows, title="Table 5: Caltech | 10")
        return [first, Table(["quick", "seed"], [[str(quick), random_state]])]

    stand_in(oasis, reproduce=reproduce)


@pytest.mark.usefixtures("paper")
def test_reproduce_prints_and_writes_tables(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("reproduce", "oasis", "--data", tmp_path)
    assert ran.code == 0
    assert "Table 5: Caltech | 10" in ran.out
    assert "OASIS [bold]  33.0 ± 1.6" in ran.out
    assert (tmp_path / "reproduce-oasis" / "report.html").exists()
    out = tmp_path / "out"
    ran = run(
        *("reproduce", "oasis", "--data", tmp_path, "--out", out),
        *("--quick", "--seed", 4, "--json"),
    )
    assert ran.code == 0
    assert ran.json["tables"][1]["rows"] == [["True", 4]]
    assert ran.json["tables"][0]["rows"][0][1]["mean"] == 33.0
    names = ["figure-5-10.png", "report.html", "table-5.csv", "table.csv"]
    assert [path.name for path in sorted(out.iterdir())] == names
    assert ran.json["files"] == [str(out / name) for name in names]
    assert (out / names[2]).read_text().startswith("method,mAP,mAP ±,n\n")


@pytest.mark.usefixtures("paper")
def test_the_page_of_a_paper_says_what_was_run(run, tmp_path):
    out = tmp_path / "out"
    assert run("reproduce", "oasis", "--data", tmp_path, "--out", out, "--quick").code == 0
    page = (out / "report.html").read_text("utf-8")
    for text in (
        "Chechik",
        "Table 5: Caltech | 10",
        "33.0 ± 1.6",
        "OASIS [bold]",
        "These are not the pictures of the paper",
        "Seed: 0.",
        "numpy ",
        "cores",
        "--quick",
        'src="figure-5-10.png"',
    ):
        assert text in page, text
    (tmp_path / "001.ak47").mkdir()
    run("reproduce", "oasis", "--data", tmp_path, "--out", tmp_path / "own")
    assert "not the pictures" not in (tmp_path / "own" / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("paper")
def test_several_seeds_become_means(run, tmp_path):
    out = tmp_path / "out"
    ran = run(
        *("reproduce", "oasis", "--data", tmp_path, "--out", out, "--seeds", 3, "--seed", 4),
        "--json",
    )
    mean = ran.json["tables"][1]["rows"][0][1]
    assert (mean["mean"], mean["deviation"], mean["count"]) == (5.0, 1.0, 3)
    page = (out / "report.html").read_text("utf-8")
    assert "Seeds: 4, 5, 6." in page
    assert 'src="seed-5/figure-5-10.png"' in page


def test_the_papers_are_listed(run):
    ran = run("reproduce", "--list", "--json")
    papers = {one["paper"]: one for one in ran.json["papers"]}
    assert set(papers) == {"oasis", "wsabie", "qah", "sparse", "omks"}
    assert "NUS-WIDE as it is published" in papers["qah"]["needs"]
    assert "Caltech-256" in run("reproduce", "--list").out
    assert "--list" in run("reproduce").err


@pytest.mark.usefixtures("paper")
def test_all_papers_are_those_whose_pictures_are_there(run, tmp_path):
    (tmp_path / "objects").mkdir()
    (tmp_path / "landmarks").mkdir()
    out = tmp_path / "out"
    ran = run("reproduce", "all", "--data", tmp_path, "--out", out, "--json")
    assert ran.code == 0
    assert set(ran.json["pages"]) == {"oasis"}
    assert (out / "oasis" / "report.html").exists()
    assert "NUS-WIDE" in ran.json["missing"]["qah"]
    assert "_query.txt" in ran.json["missing"]["sparse"]
    assert "a folder of pictures for each class" in ran.json["missing"]["omks"]
    empty = run("reproduce", "all", "--data", tmp_path / "landmarks", "--out", out)
    assert empty.code == 1
    assert "no paper could be reproduced" in empty.err


def test_reproduce_wsabie_passes_on_where_the_words_are(run, tmp_path, stand_in):
    asked = {}

    def reproduce(data, out, **said):
        asked.update(said, data=data)
        out.mkdir()
        return [Table(["Wörter"], [["Käse"]], title="Table 3: nearest words")]

    stand_in(wsabie, reproduce=reproduce)
    ran = run(
        *("reproduce", "wsabie", "--data", tmp_path, "--out", tmp_path / "out", "--json"),
        *("--words", "fine", "--levels", "fine,coarse", "--feature", "embedding", "--seed", 3),
    )
    assert ran.code == 0
    assert ran.json["tables"][0]["rows"] == [["Käse"]]
    assert (tmp_path / "out" / "table-3.csv").read_text() == "Wörter\nKäse\n"
    del asked["progress"]
    assert asked == {
        "data": tmp_path,
        "words": "fine",
        "levels": ("fine", "coarse"),
        "feature": "embedding",
        "quick": False,
        "random_state": 3,
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["oasis", "--words", "tags"], "--words: only for qah, wsabie. Leave it out for oasis."),
        (["oasis", "--vocabulary", "9"], "--vocabulary: only for sparse. Leave it out for oasis."),
        (["sparse"], "_query.txt"),
        (["wsabie"], "must contain a table of words"),
        (["wsabie", "--words", "tags"], "no column 'tags'"),
        (["wsabie", "--labels", "missing.csv"], "missing.csv"),
    ],
)
def test_reproduce_says_what_it_lacks(run, tmp_path, given, told):
    ran = run("reproduce", *given, "--data", tmp_path, "--out", tmp_path / "out")
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.err
    assert not (tmp_path / "out").exists()


def test_rollback_of_votes(run, changeable):
    with Collection.open(changeable) as store:
        first, second, third = [picture.id for picture in store.pictures.all()][:3]
        store.vote(Ask((first,)), picked=[second], rejected=[third])
    ran = run("rollback", "--votes", "-c", changeable)
    assert "Discarded 1 vote." in ran.out
    again = run("rollback", "--votes", "-c", changeable, "--json").json
    assert (again["votes"], again["event"]) == (0, None)
    with Collection.open(changeable) as store:
        assert [event.kind for event in store.log.history(2)] == ["reset", "vote"]


def test_a_pair_of_models_finds_pictures_by_text(run, tmp_path):
    image, text = write_pair(tmp_path)
    for name, colour in {"a": (220, 30, 30), "b": (30, 30, 220)}.items():
        picture(tmp_path / "photos" / f"{name}.png", colour, 0)
    place = tmp_path / "store"
    index = ("index", tmp_path / "photos", "-c", place, "--text", text)
    assert "--text works only with --model" in run(*index).err
    plain = ("--mean", "0,0,0", "--std", "1,1,1")
    assert run(*index, "--model", image, *plain).code == 0
    (best, *_) = run("search", "--word", "blue", "-c", place, "--json").json["matches"]
    assert best["path"].endswith("b.png")
