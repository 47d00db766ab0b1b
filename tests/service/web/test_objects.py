"""Finding the same thing over HTTP and on the page."""

import re

import numpy as np
import pytest
from PIL import Image

from lookalike import Collection
from lookalike.features import Embedding
from lookalike.features.regions import Regions
from lookalike.service.web.app import make_app
from tests.service.web.inside import Inside


def blobs(seed):
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (24, 32), dtype=np.uint8))
    return rough.resize((256, 192), Image.Resampling.BICUBIC).convert("RGB")


@pytest.fixture(scope="module")
def client(tmp_path_factory, model):
    """Serve two views of each of three things, and a scene with two of the things."""
    folder = tmp_path_factory.mktemp("things")
    for thing in range(3):
        for shift in range(2):
            moved = blobs(thing).crop((6 * shift, 4 * shift, 220 + 6 * shift, 170 + 4 * shift))
            moved.save(folder / f"{thing}-{shift}.png")
    scene = Image.new("RGB", (512, 192), "grey")
    scene.paste(blobs(0), (0, 0))
    scene.paste(blobs(1), (256, 0))
    scene.save(folder / "scene.png")
    features = [Embedding(model), Regions(dimension=150)]
    with Collection.create(folder / "store", features=features) as opened:
        opened.add([folder])
        inside = Inside(make_app(opened))
        inside.headers["X-Lookalike-Client"] = "1"
        inside.ids = {path.name: opened.pictures.find(path) for path in folder.glob("*.png")}
        yield inside
        inside.close()


def page(client, path):
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_drawn_box_finds_the_thing_in_it(client):
    ids = client.ids
    body = {"picture": ids["scene.png"], "box": [0.5, 0, 1, 1]}
    token = client.post("/api/queries/region", json=body).json()["token"]
    told = client.get(f"/api/search?like={token}&by=regions&k=3").json()
    assert {one["id"] for one in told["matches"]} == {
        *(ids["1-0.png"], ids["1-1.png"], ids["scene.png"])
    }
    why = client.get(f"/api/why?like={token}&picture={ids['1-1.png']}").json()
    assert why["example"] == token
    assert why["regions"] >= 6
    assert why["agreeing"] > 0.6
    text = page(client, f"/match?like={token}&picture={ids['1-1.png']}&by=regions")
    assert f'href="/query/{token}.jpg"' in text
    assert f'href="/image/{ids["1-1.png"]}"' in text
    assert text.count("<circle r=") >= 12


def test_the_most_alike_of_several_examples_is_explained(client):
    ids = client.ids
    like = f"like={ids['2-0.png']}&like={ids['0-0.png']}"
    assert (
        client.get(f"/api/why?{like}&picture={ids['0-1.png']}").json()["example"] == ids["0-0.png"]
    )


def test_a_search_is_by_look_and_object_unless_one_is_named(client):
    ids = client.ids
    text = page(client, f"/search?like={ids['0-0.png']}")
    assert '<option value="" selected>Content and same thing' in text
    assert re.search(r'<option value="embedding">', text)
    both, named = (
        client.get(f"/api/search?like={ids['0-0.png']}{by}").json()["matches"]
        for by in ("", "&by=together")
    )
    assert both == named
    assert both[0]["id"] in (ids["0-1.png"], ids["scene.png"])
    text = page(client, f"/search?like={ids['0-0.png']}&by=regions")
    assert re.search(r'<option value="regions" selected>', text)
    text = page(client, f"/search?like={ids['0-0.png']}&by=embedding")
    assert re.search(r'<option value="embedding" selected>', text)


def test_pages_offer_to_find_a_thing_and_say_why(client):
    ids = client.ids
    assert 'data-thing="regions"' in page(client, f"/picture/{ids['scene.png']}")
    told = page(client, f"/part/reasons?like={ids['0-0.png']}&picture={ids['0-1.png']}")
    assert "The same thing" in told
    assert f"/match?like={ids['0-0.png']}" in told
    told = page(client, f"/part/reasons?like={ids['0-0.png']}&picture={ids['2-1.png']}")
    assert "The same thing" not in told
    assert page(client, "/learned?by=together")


def test_what_cannot_be_compared_is_refused(client):
    ids = client.ids
    gone = client.get(f"/api/why?like={ids['0-0.png']}&picture=999")
    assert gone.status_code == 404
    assert "has no regions" in gone.json()["error"]
    assert client.get(f"/api/why?like=999&picture={ids['0-0.png']}").status_code == 404
    assert client.get(f"/api/why?picture={ids['0-0.png']}").status_code == 422
    answer = client.get(
        f"/match?like=999&picture={ids['0-0.png']}", headers={"Accept": "text/html"}
    )
    assert answer.status_code == 404
