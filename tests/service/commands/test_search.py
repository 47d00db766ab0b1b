"""The command ``lookalike search``."""

import re
import shutil

import pytest
from PIL import Image

from lookalike import Collection
from tests.service.pictures import draw


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


def test_sheet_names_a_query_it_cannot_show(run, learned, tmp_path, stand_in):
    picture = tmp_path / "odd.png"
    picture.write_bytes(b"no picture")
    stand_in(Collection, search=lambda *args, **kwargs: [])
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


def test_search_by_a_word(run, photos, learned):
    ran = run("search", "--word", "GREEN", "-k", 4, "-c", learned)
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if ".png" in line]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    told = run("search", "--word", "green", "-k", 4, "-c", learned, "--json").json
    assert (told["query"], told["word"]) == (None, "green")
    assert [match["rank"] for match in told["matches"]] == [1, 2, 3, 4]
    assert {match["path"].split("/")[-2] for match in told["matches"]} == {"green"}
    scores = [match["score"] for match in told["matches"]]
    assert scores == sorted(scores, reverse=True)


def test_search_by_an_unknown_word(run, photos, model, learned, tmp_path):
    ran = run("search", "--word", "gren", "-c", learned)
    assert ran.code == 0
    assert ran.out == "No picture is tagged or named “gren”. Did you mean 'green'?\n"
    assert run("index", photos, "-c", tmp_path / "store", "--model", model).code == 0
    told = run("search", "--word", "green", "-c", tmp_path / "store", "--json").json
    assert told["counts"]["named"] == 9
    assert {match["source"] for match in told["matches"]} == {"name"}


def test_a_word_given_as_a_picture_is_told_how_to_be_searched_for(run, learned):
    ran = run("search", "sunset", "-c", learned)
    assert "use --word 'sunset'" in ran.err
    assert "--word" not in run("search", "sunset.jpg", "-c", learned).err


def test_search_by_a_word_writes_a_sheet(run, photos, learned, changeable, tmp_path):
    sheet = tmp_path / "found.html"
    assert run("search", "--word", "green", "-k", 4, "-c", learned, "--sheet", sheet).code == 0
    page = sheet.read_text()
    assert page.count("<img") == 4
    assert "Best matches for “green”</title>" in page
    # Of one and of none.
    assert run("search", "--word", "green", "-k", 1, "-c", changeable, "--sheet", sheet).code == 0
    assert sheet.read_text().count("<img") == 1
    run("remove", *sorted(photos.glob("*/*.png")), "-c", changeable)
    assert run("search", "--word", "green", "-c", changeable, "--sheet", sheet).code == 0
    assert sheet.read_text().count("<img") == 0


@pytest.mark.parametrize("arguments", [["--word", "y", "--explain"], []])
def test_search_needs_a_picture_or_words(run, arguments):
    ran = run("search", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage" in ran.err
    told = run("search", *arguments, "--json")
    assert told.code == told.json["exit_code"] == 2


def test_search_by_a_picture_and_words(run, photos, learned):
    picture = photos / "red" / "0.png"
    found = run("search", picture, "--word", "green", "--weight", 0.9, "-c", learned, "--json").json
    assert found["matches"][0]["path"].split("/")[-2] == "green"
    assert found["counts"]["terms"] == ["green"]
    without = run("search", picture, "--word", "-green", "-c", learned, "--json").json
    assert not any("/green/" in match["path"] for match in without["matches"])


def test_start_words_of_the_default_model(run, photos, tmp_path):
    place = tmp_path / "store"
    assert run("index", photos / "red" / "0.png", photos / "green" / "1.png", "-c", place).code == 0
    picture = photos / "red" / "0.png"
    told = run("tag", picture, "--min-confidence", 0.01, "-c", place, "--json").json
    tags = told["pictures"][0]["tags"]
    assert {tag["source"] for tag in tags} == {"start"}
    assert (
        "Words with * are built in"
        in run("tag", picture, "--min-confidence", 0.01, "-c", place).out
    )
    found = run("search", "--word", tags[0]["word"], "-c", place, "--json").json["matches"]
    (match,) = [match for match in found if match["path"].endswith("red/0.png")]
    assert match["source"] == "start"
    assert match["score"] == pytest.approx(tags[0]["confidence"], rel=1e-4)
    shown = run("search", "--word", tags[0]["word"], "-c", place).out
    assert re.search(rf"built-in word +{match['score']:.2f} ", shown)
    ran = run("search", "--word", "dalmation", "-c", place)
    # Read as what it must mean, which neither picture shows.
    assert ran.code == 0
    assert ran.out.startswith("“dalmation” read as: dalmatian.\nNo picture is tagged or named")
