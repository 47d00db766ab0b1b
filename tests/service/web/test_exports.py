"""What the page writes for other programs: sidecars beside pictures, and tables of labels."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lookalike.service.web.settings import Settings
from tests.service.web.served import job_over

DOCS = Path(__file__).parents[3] / "docs" / "export.md"


@pytest.fixture
def client(served, tmp_path):
    return served(Settings(allow=(tmp_path,)))


def sidecars(client):
    return job_over(client, client.post("/api/jobs", json={"kind": "sidecars"}).json())


def test_tags_are_written_beside_the_pictures_and_not_twice(client):
    store = client.app.state.collection
    one, other, gone = list(store.pictures.all())[:3]
    store.label(one.id, "animal/dog")
    store.label(one.id, "Föhr")
    store.label(gone.id, "lost")
    gone.places[0].unlink()
    job = sidecars(client)
    assert job["message"].startswith("1 sidecar written; 0 already had every word.")
    assert [*one.places[0].parent.glob("*.xmp")] == [Path(f"{one.places[0]}.xmp")]
    assert "0 sidecars written; 1 already" in sidecars(client)["message"]
    store.label(other.id, "new")
    Path(f"{other.places[0]}.xmp").write_text("<broken")
    told = sidecars(client)
    assert told["result"]["refused"] == 1
    assert "1 could not be written, first " in told["message"]
    assert Path(f"{other.places[0]}.xmp").read_text() == "<broken"


def test_labels_are_exported_as_the_command_does(client, run):
    store = client.app.state.collection
    first = next(iter(store.pictures.all()))
    store.label(first.id, "Föhr")
    table = client.get("/api/labels")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert f"{first.places[0]},Föhr,hand" in table.text
    (row,) = [
        row
        for row in json.loads(client.get("/api/labels?format=json").text)
        if row["file"] == str(first.places[0])
    ]
    assert "Föhr" in row["tags"]
    assert client.get("/api/labels?format=xml").status_code == 422
    page = client.get("/add").text
    assert 'href="/api/labels"' in page
    assert "Write XMP sidecars" in page


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
def test_other_programs_read_them_as_the_docs_say(client, tmp_path):
    """By exiftool, with the lines and the command that docs/export.md shows."""
    store, text = client.app.state.collection, DOCS.read_text(encoding="utf-8")
    one = next(iter(store.pictures.all()))
    store.label(one.id, "animal/dog")
    store.label(one.id, "Föhr")
    sidecars(client)
    lists = ["-G1", "-s", "-Subject", "-HierarchicalSubject", "-TagsList"]

    def read(*given):
        return subprocess.run(
            ["exiftool", *map(str, given)], capture_output=True, text=True, check=True
        ).stdout

    shown = read(*lists, f"{one.places[0]}.xmp")
    assert re.findall(r"^\[XMP-.*", text, flags=re.MULTILINE) == shown.splitlines()
    # Into the file itself, by the options that the docs give for Lightroom.
    (command,) = re.findall(r"^exiftool -r .*?~/Pictures$", text, flags=re.MULTILINE | re.DOTALL)
    options = command.replace("\\\n", " ").split()[1:-1]
    copy = tmp_path / "again" / "photo.jpg"
    copy.parent.mkdir()
    from PIL import Image

    Image.new("RGB", (8, 8)).save(copy)
    shutil.copy(f"{one.places[0]}.xmp", f"{copy}.xmp")
    read("-q", *options, copy.parent)
    assert read("-s3", "-XMP-lr:HierarchicalSubject", copy).strip() == "animal|dog, Föhr"
    assert copy.with_name("photo.jpg_original").exists()
