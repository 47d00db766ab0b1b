"""What commands say and make when something is missing."""

import json
import os
import signal
import subprocess
import sys

import httpx
import pytest

from lookalike import Collection


def test_no_collection_here(run, tmp_path):
    ran = run("search", "x.png", "-c", tmp_path / "none")
    assert ran.code == 1
    assert "There is no collection here" in ran.err
    assert "Make one: lookalike index FOLDER, or name one with -c." in ran.err.replace("\n", " ")


def test_export_makes_folders(run, learned, tmp_path):
    out = tmp_path / "a" / "b" / "learned.safetensors"
    assert run("export", "--out", out, "-c", learned).code == 0
    assert out.exists()
    (tmp_path / "file").write_text("")
    ran = run("export", "--out", tmp_path / "file" / "b.safetensors", "-c", learned)
    assert ran.code == 1
    assert "cannot be written" in ran.err


def test_evaluate_names_what_it_compares_with(run, learned):
    told = run("evaluate", "-c", learned).out
    for name in ("cosine", "commonest words", "in use"):
        assert name in told


def test_tag_says_at_which_confidence_it_would_find_something(run, learned, photos, stand_in):
    from lookalike.collection import PictureTag, TaggedPicture, Tagging
    from lookalike.collection.nouns.words import Words

    picture = photos / "red" / "0.png"

    def tag(self, sources, k=10, *, by=None, min_confidence=None, progress=None, **other):
        tags = (PictureTag("red", 1.0, 0.317),) if min_confidence == 0 else ()
        return Tagging([TaggedPicture(picture, tags)])

    stand_in(Words, tag=tag)
    told = run("tag", picture, "-c", learned).out
    assert "The likeliest word has a confidence of 0.32. To see it: --min-confidence 0.31" in told


def test_pictures_are_counted_not_files(run, photos, model, tmp_path):
    from shutil import copy

    folder = tmp_path / "copies"
    folder.mkdir()
    for name in ("a.png", "b.png", "c.png"):
        copy(photos / "red" / "0.png", folder / name)
    copy(photos / "red" / "1.png", folder / "d.png")
    place = tmp_path / "store"
    assert run("index", folder, "-c", place, "--model", model, "--json").json["added"] == 2
    assert run("index", folder, "-c", place, "--json").json["known"] == 2


def test_a_missing_reduction_names_its_remedy(tmp_path):
    from lookalike import Collection
    from lookalike.core.errors import DamagedFile
    from tests.collection.colours import Colours, album

    album(tmp_path / "bilder")
    with Collection.create(tmp_path / "store", features=[Colours()]) as made:
        made.add([tmp_path / "bilder"])
        row = made._session.rankers.row()
        from dataclasses import replace

        with pytest.raises(DamagedFile, match="restore the file from a backup"):
            made._session.rankers.parts.space(replace(row, reduction="0" * 32))


@pytest.mark.parametrize("named", [(), ("-c", "new"), ("-c", "empty")])
def test_serve_without_a_collection_makes_one(tmp_path, named):
    (tmp_path / "empty").mkdir()
    command = "from lookalike.service.command_line import main; main()"
    served = subprocess.Popen(
        [sys.executable, "-c", command, "serve", "--port", "0", "--json", *named],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    try:
        told = json.loads(served.stdout.readline())
        assert told["pictures"] == 0
        page = httpx.get(told["address"], trust_env=False, timeout=300).text
        assert "No pictures yet" in page
        assert str(tmp_path) in page
        assert (tmp_path / (named[-1] if named else "lookalike.collection")).is_dir()
        listed = httpx.get(f"{told['address']}api/folders", trust_env=False, timeout=300).json()
        assert str(tmp_path) in listed["folders"]
    finally:
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=300)


def test_serve_asks_where_a_collection_is_named_nearly_so(run, tmp_path):
    Collection.create(tmp_path / "family").close()
    ran = run("serve", tmp_path / "famliy")
    assert (ran.code, ran.out) == (1, "")
    assert f"Did you mean {tmp_path / 'family'}?" in ran.err
    assert "lookalike index PICTURES --collection" in ran.err
    assert not (tmp_path / "famliy").exists()


def test_serve_makes_no_folder_for_a_collection(run, tmp_path):
    ran = run("serve", "-c", tmp_path / "typo" / "store")
    assert ran.code == 1
    assert f"there is no folder {tmp_path / 'typo'}" in ran.err.replace("\n", "")
    assert not (tmp_path / "typo").exists()
