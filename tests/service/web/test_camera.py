"""Files as cameras and phones write them come in by every way, as they do on the command line."""

import shutil
import time
from io import BytesIO
from urllib.parse import quote

import pytest
from PIL import Image, ImageCms

from lookalike import Collection
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.settings import Pace, Settings
from tests.images.pictures import camera_exif, heic, saved, scene
from tests.service.packets import DARKTABLE
from tests.service.web.served import job_over

DATED = camera_exif()


def lab():
    """The scene in the colours of a scanner."""
    profiles = [ImageCms.createProfile(name) for name in ("sRGB", "LAB")]
    return ImageCms.applyTransform(scene(), ImageCms.buildTransform(*profiles, "RGB", "LAB"))


def files():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    second = [Image.new("RGB", (32, 24), "white")]
    made = {
        f"{turn}.jpg": saved(
            scene(), "JPEG", exif=camera_exif("2020:02:29 01:02:03", turn), icc_profile=profile
        )
        for turn in range(1, 9)
    }
    made |= {
        f"dated.{kind}": saved(scene(40, 30), kind, exif=DATED)
        for kind in ("PNG", "WEBP", "AVIF", "TIFF")
    }
    made["phone.heic"] = heic(camera_exif("2023:01:02 03:04:05"))
    made["stereo.jpg"] = saved(scene(), "MPO", save_all=True, append_images=second, exif=DATED)
    made["Größe.jpg"] = saved(scene(48, 32), "JPEG", exif=DATED, xmp=DARKTABLE.encode())
    made["scan.tif"] = saved(lab(), "TIFF")
    made["no date.jpg"] = saved(scene(64, 32), "JPEG", exif=camera_exif("0000:00:00 00:00:00"))
    made["half.jpg"] = made["Größe.jpg"][:-200]
    return made


FILES = files()


@pytest.fixture
def camera(tmp_path):
    folder = tmp_path / "camera"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


def contents(collection):
    """What is known of each picture, by its content."""
    labels = collection.labels.all()
    return {
        row.sha256: (
            *(row.format, row.width, row.height, row.taken, labels.get(row.id)),
            *(row.caption, row.camera, row.lens, row.latitude, row.longitude),
        )
        for row in collection.pictures.all()
    }


@pytest.fixture
def expected(camera, tmp_path, model, run):
    """What the command line makes of the files: pictures, and the reason for the one refused."""
    ran = run("index", camera, "-c", tmp_path / "by command", "--model", model, "--json").json
    assert (ran["added"], len(ran["refused"])) == (len(FILES) - 1, 1)
    with Collection.open(tmp_path / "by command") as collection:
        pictures = contents(collection)
    assert sum(facts[3] is not None for facts in pictures.values()) == len(FILES) - 3
    assert ["2024", "Föhr", "unterwegs"] in [facts[4] for facts in pictures.values()]
    said = ("A day out", "Maker Ltd. Model 7", "Lens 50mm F1.8", 48.137308, 11.577775)
    assert sum(facts[5:] == said for facts in pictures.values()) == len(FILES) - 2
    return pictures, [ran["refused"][0]["reason"]]


def reasons(client, **body):
    job = job_over(client, client.post("/api/jobs", json=body).json())
    assert job["state"] == "done", job
    return [refusal["reason"] for refusal in job["result"]["refusals"]]


def by_import(client, folder):
    return reasons(client, kind="import", folder=str(folder))


def by_rescan(client, folder):
    (root := folder.parent / "root").mkdir()
    assert reasons(client, kind="import", folder=str(root)) == []
    for place in folder.iterdir():
        shutil.copy2(place, root)
    return reasons(client, kind="rescan")


def by_upload(client, folder):
    answers = [
        client.post(f"/api/pictures?name={quote(place.name)}", content=place.read_bytes())
        for place in folder.iterdir()
    ]
    return [answer.json()["error"] for answer in answers if answer.status_code != 201]


def by_watching(client, folder):
    (root := folder.parent / "root").mkdir()
    assert reasons(client, kind="import", folder=str(root)) == []
    collection = client.app.state.collection
    until = time.monotonic() + 300
    while str(root) not in client.get("/api/status").json()["watching"]["folders"]:
        assert time.monotonic() < until
        time.sleep(0.02)
    for place in folder.iterdir():
        shutil.copy2(place, root)
    while len(collection) < 6 + len(FILES) - 1 or not collection.pictures.refused():
        assert time.monotonic() < until, collection.pictures.refused()
        time.sleep(0.02)
    return [refused.reason for refused in collection.pictures.refused()]


@pytest.mark.parametrize("way", [by_import, by_rescan, by_upload, by_watching])
def test_every_way_in_gives_what_the_command_line_does(served, expected, camera, tmp_path, way):
    client = served(
        Settings(allow=(tmp_path,), watch=way is by_watching, pace=Pace(quiet=0.1, look=0.05))
    )
    collection = client.app.state.collection
    before = contents(collection).keys()
    refusals = way(client, camera)
    after = {
        sha256: facts for sha256, facts in contents(collection).items() if sha256 not in before
    }
    assert (after, refusals) == expected


def test_they_are_queries_regions_and_shown_in_full(served, camera, tmp_path):
    client = served(Settings(allow=(tmp_path,)))
    by_import(client, camera)
    rows = {row.places[0].name: row for row in client.app.state.collection.pictures.all()}
    for name in FILES.keys() - {"half.jpg"}:
        row = rows[name]
        token = client.post("/api/queries", content=FILES[name]).json()["token"]
        first = client.get(f"/api/search?like={token}&k=1").json()["matches"][0]
        assert first["score"] == pytest.approx(1, abs=1e-5), name
        region = {"picture": row.id, "box": [0, 0, 1, 1]}
        assert client.post("/api/queries/region", json=region).status_code == 200, name
        shown = client.get(f"/image/{row.id}")
        assert shown.status_code == 200, name
        if row.format in ("HEIF", "TIFF"):
            assert Image.open(BytesIO(shown.content)).size == (row.width, row.height)
    assert client.post("/api/queries", content=FILES["half.jpg"]).status_code == 422


def use(client, decoder):
    """Let a server decode by another decoder."""
    client.app.state.decoder = decoder
    client.app.state.collection.pictures.decode_with(decoder.decode)


def test_a_decoder_that_does_not_start_refuses_no_file(served, camera, tmp_path):
    client = served(Settings(allow=(tmp_path,)))
    whole, broken = client.app.state.decoder, Decoder(python="/bin/false")
    use(client, broken)
    body = {"kind": "import", "folder": str(camera)}
    job = job_over(client, client.post("/api/jobs", json=body).json())
    assert job["state"] == "failed"
    assert "Cannot start the process that decodes pictures" in job["message"]
    assert client.app.state.collection.pictures.refused() == []
    assert client.post("/api/queries", content=FILES["1.jpg"]).status_code == 503
    use(client, whole)
    broken.close()
    assert len(by_import(client, camera)) == 1
