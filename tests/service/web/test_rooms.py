"""What a server touches it decodes elsewhere, and reads only in its own folders."""

import pytest

from lookalike.collection import Collection
from lookalike.images.xmp import EMPTY, FLAT, Packet
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.service.web.served import job_over, png, served

READERS = (
    "PIL.PngImagePlugin.PngImageFile.__init__",
    "lookalike.images.metadata._subjects",
    "lookalike.images.metadata.iptc_texts",
    "lookalike.images.metadata.embedded_packet",
)


@pytest.fixture
def photos(tmp_path):
    album(tmp_path / "photos", 2)
    return tmp_path / "photos"


@pytest.fixture
def client(tmp_path, photos):
    with Collection.create(tmp_path / "store", features=[Colours()]) as store:
        store.add([photos])
        with served(store) as made:
            yield made


def test_no_file_is_decoded_in_the_process_of_the_server(client, photos, monkeypatch):
    def refuse(*_):
        raise AssertionError("decoded here")

    for reader in READERS:
        monkeypatch.setattr(reader, refuse)
    uploaded = client.post("/api/pictures?name=new.png", content=png(seed=1))
    assert uploaded.status_code == 201, uploaded.text
    number = uploaded.json()["picture"]["id"]
    assert client.post("/api/queries", content=png(seed=2)).status_code == 200
    region = {"picture": number, "box": [0, 0, 0.5, 0.5]}
    assert client.post("/api/queries/region", json=region).status_code == 200
    picture(photos / "rescanned.png", PALETTE["rot"], 70)
    job = job_over(client, client.post("/api/jobs", json={"kind": "rescan"}).json())
    assert (job["result"]["added"], job["result"]["refused"]) == (1, 0)
    picture(photos / "imported.png", PALETTE["rot"], 71)
    (photos / "imported.png.xmp").write_bytes(Packet(EMPTY).with_subjects({FLAT: ["Hund"]}))
    wanted = {"kind": "import", "folder": str(photos)}
    job = job_over(client, client.post("/api/jobs", json=wanted).json())
    assert (job["result"]["added"], job["result"]["refused"]) == (1, 0)
    assert client.get("/api/pictures?tag=Hund").json()["total"] == 1


def test_a_collection_decodes_here_again_once_the_server_is_gone(tmp_path, photos):
    with Collection.create(tmp_path / "store", features=[Colours()]) as store:
        with served(store):
            pass
        assert store.add([photos]).added == 6
