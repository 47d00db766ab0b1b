"""The command ``lookalike learn``."""

import csv
import json

import pytest

from lookalike import Collection

QUICK = ("--set", "steps=50")
"""For tests in which it does not matter how well pictures are ranked."""


def test_learn_from_folders(run, changeable):
    ran = run("learn", "--folders", "-c", changeable, "--seed", 3)
    assert ran.code == 0
    for words in (
        "mean average precision",
        "precision at 1",
        "precision at 10",
        "in use (oasis)",
        "new (oasis)",
    ):
        assert words in ran.out
    assert "Ranking on" in ran.out
    assert "Words on" in ran.out
    assert "27 pictures with 3 words" in ran.out
    told = run("learn", "--folders", "-c", changeable, "--seed", 3, "--json").json
    with Collection.open(changeable) as store:
        learned = store.learn(folders=True, random_state=3)
    assert told["similarity"]["reason"] == learned.similarity.reason
    assert told["words"]["reason"] == learned.words.reason


def test_learn_says_which_annotator_it_chose(run, changeable):
    ran = run("learn", "--folders", "-c", changeable, *QUICK)
    assert "Chosen: " in ran.out
    told = run("learn", "--folders", "-c", changeable, "--json", *QUICK).json["words"]
    assert set(told["tried"]) == {"wsabie", "ridge", "linear"}
    assert told["tried"][told["method"]] == told["after"]
    one = run("learn", "-c", changeable, "--words", "ridge", "--json", *QUICK).json["words"]
    assert (one["method"], list(one["tried"])) == ("ridge", ["ridge"])
    wrong = run("learn", "-c", changeable, "--words", "magic")
    assert wrong.code == 1
    assert "words must be one of auto, wsabie, linear, ridge" in wrong.err
    assert "one_vs_rest" in run("learn", "--help").out


def test_help_lists_what_a_person_would_choose_first(run):
    told = " ".join(run("learn", "--help").out.replace("│", " ").split())
    assert (
        "What learns the similarity: oasis, oks, omks, sparse, lda, cosine, hamming (compared in "
        "the papers: euclidean, itml, kitml, krca, lego, lmnn, mcml, mmc, nca, rca)."
    ) in told


def test_learn_from_labels_lists_unmatched_rows(run, photos, changeable, tmp_path):
    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "label"])
        for path in sorted(photos.glob("*/*.png")):
            writer.writerow([path, path.parent.name])
        writer.writerows([f"gone/[bold]{number}.png", "red"] for number in range(14))
    ran = run("learn", "--tags", table, "-c", changeable, *QUICK)
    assert ran.code == 0
    assert "14 pictures not in the collection" in ran.out
    assert "gone/[bold]9.png" in ran.out
    assert "gone/[bold]10.png" not in ran.out
    assert "and 4 more" in ran.out
    told = run("learn", "--labels", table, "-c", changeable, "--json", *QUICK).json
    assert len(told["unmatched"]) == 14
    for part in (told["similarity"], told["words"]):
        assert part["pictures"] == 27
        assert 0 <= part["before"]["mean_average_precision"] <= 1


def test_learn_from_clicks(run, photos, changeable, tmp_path):
    table = tmp_path / "clicks.csv"
    rows = [f"{path.parent.name},{path}" for path in sorted(photos.glob("*/*.png"))]
    table.write_text("\n".join(["query,file", *rows]))
    told = run("learn", "--clicks", table, "-c", changeable, "--json", *QUICK)
    assert told.code == 0
    assert told.json["similarity"]["labels"] == 3
    assert told.json["words"] is None
    assert "Words" not in run("learn", "--clicks", table, "-c", changeable, *QUICK).out


def test_learn_with_a_threshold(run, photos, changeable, tmp_path, stand_in):
    given = []
    learn = Collection.learn

    def noted(self, *args, **kwargs):
        given.append(kwargs["threshold"])
        return learn(self, *args, **kwargs)

    stand_in(Collection, learn=noted)
    table = tmp_path / "clicks.csv"
    rows = [f"{path.parent.name},{path}" for path in sorted(photos.glob("*/*.png"))]
    table.write_text("\n".join(["query,file", *rows]))
    asked = ("learn", "--clicks", table, "-c", changeable, *QUICK)
    assert run(*asked, "--threshold", 0.001).code == 0
    assert run(*asked).code == 0
    assert given == [0.001, 0]
    none_left = run(*asked, "--threshold", 9)
    assert none_left.code == 1


def test_learn_again_uses_stored_labels(run, changeable):
    ran = run("learn", "-c", changeable, "--json")
    assert ran.code == 0
    assert ran.json["similarity"]["pictures"] == ran.json["words"]["pictures"] == 27


def test_learn_without_any_source_says_what_to_do(run, photos, tmp_path):
    run("index", photos, "-c", tmp_path / "store")
    ran = run("learn", "-c", tmp_path / "store")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "Give --tags FILE, --folders" in ran.err


def test_json_of_labels_file(run, photos, changeable, tmp_path):
    table = tmp_path / "labels.json"
    names = {str(path): path.parent.name for path in photos.glob("*/*.png")}
    table.write_text(json.dumps(names))
    told = run("learn", "--labels", table, "-c", changeable, "--json", *QUICK).json
    assert told["unmatched"] == []


def write(table, names):
    table.write_text("\n".join(["file,tags", *(f"{path},{tags}" for path, tags in names.items())]))
    return table


def test_learn_words_where_all_is_alike(run, photos, changeable, tmp_path):
    names = {path: f"photo|{path.parent.name}" for path in sorted(photos.glob("*/*.png"))}
    asked = ("learn", "--tags", write(tmp_path / "tags.csv", names), "-c", changeable)
    ran = run(*asked)
    assert ran.code == 0
    assert "Ranking: no new model. learn: nothing can be learned from this" in ran.out
    assert "Ranking on" not in ran.out
    assert "Words on" in ran.out
    told = run(*asked, "--json").json
    assert told["similarity"]["before"] is None
    assert told["words"]["labels"] == 4


def test_learn_where_all_words_are_one(run, photos, changeable, tmp_path):
    spelled = {"red": "Colour", "green": "COLOUR", "blue": "colour"}
    names = {path: spelled[path.parent.name] for path in sorted(photos.glob("*/*.png"))}
    with Collection.open(changeable) as store:
        for event in store.log.history():
            if event.kind == "import":
                store.undo(event.number)
    ran = run("learn", "--tags", write(tmp_path / "tags.csv", names), "-c", changeable)
    assert ran.code == 0
    assert "Words: no new model. learn: " in ran.out
    assert "at least two are needed" in ran.out
    assert "Words on" not in ran.out
    assert "Ranking on" in ran.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"picture,colour\n0.png,red\n", ["tags.csv", "needs a column named", "'tags'"]),
        (b"file,tags\nred/0.png,r\xf6tlich\n", ["tags.csv, line 2", "not UTF-8", "Save the file"]),
        (b"file,tags\nred/0.png,a,b\n", ["tags.csv, line 2", "3 cells", "double quotes"]),
        (b"file,tags\nred/0.png," + b"w" * 10_000, ["tags.csv, line 2", "10000 characters"]),
        (b"file,tags\nnothing.png,unicorn\n", ["it is not in the collection. Add"]),
        (b"file,tags\n0.png,unicorn\n", ["it could be", "Name more of the path"]),
        (b"", ["tags.csv is empty"]),
    ],
)
def test_learn_from_bad_tables_loses_nothing(run, changeable, tmp_path, content, words):
    (tmp_path / "tags.csv").write_bytes(content)

    def state():
        with Collection.open(changeable) as store:
            return (
                store.models.all(),
                store.labels.all(),
                store.words.learned(),
                store.search_word("red"),
            )

    before = state()
    ran = run("learn", "--tags", tmp_path / "tags.csv", "-c", changeable)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert all(some in ran.err for some in words)
    assert state() == before


@pytest.fixture
def few_suffice(set_limits):
    """Let 27 pictures have codes, for the 5 nearest."""
    set_limits(code_neighbours=5, min_for_codes=20)


def test_codes_are_learned_alone_and_rolled_back(run, changeable, few_suffice):
    asked = ("learn", "--codes", "itq", "--bits", 24, "--candidates", 8, "-c", changeable)
    ran = run(*asked)
    assert ran.code == 0
    assert "Codes: Searches use codes to find candidates: recall@5 of exact search" in ran.out
    assert "with 8 candidates of 27 pictures, on 5 held-out queries." in ran.out
    assert "Ranking" not in ran.out
    told = run(*asked, "--json").json
    assert (told["similarity"], told["words"]) == (None, None)
    assert (told["codes"]["method"], told["codes"]["figures"]["bits"]) == ("itq", 24)
    with Collection.open(changeable) as store:
        assert store.models.rankers()[0].codes.candidates == 8
    back = run("rollback", "-c", changeable)
    assert f"Codes of model {told['codes']['model'] - 1} find candidates." in back.out
    assert run("rollback", "-c", changeable, "--json").json["codes"] is None


def test_bad_codes_are_refused(run, changeable, few_suffice):
    for words, *options in (
        ("no encoder 'morse'. Choose one of s3plh, deep_belief", "--codes", "morse"),
        ("bits are those of codes; name the codes", "--bits", 8),
        ("greater than or equal to 1", "--codes", "itq", "--bits", 0),
        ("greater than or equal to 1", "--codes", "itq", "--candidates", 0),
        ("bits must be a whole number from 1 to", "--codes", "itq", "--bits", 10**9),
    ):
        ran = run("learn", "-c", changeable, *options)
        assert ran.code in (1, 2)
        assert words in " ".join(ran.err.split())
    assert "ridge_codes" in run("learn", "--help").out
