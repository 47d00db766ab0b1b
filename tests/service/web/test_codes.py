"""Codes over the API, by the client and on the page."""

import pytest

from lookalike import Collection
from lookalike.service.client import Client
from lookalike.service.web.app import make_app
from tests.service.web.inside import Inside
from tests.service.web.served import job_over, served

CODES = {"codes": "itq", "bits": 24, "candidates": 8}


@pytest.fixture(autouse=True)
def few_suffice(set_limits):
    """Let 27 pictures have codes, for the 5 nearest."""
    set_limits(code_neighbours=5, min_for_codes=20)


@pytest.fixture
def client(changeable):
    with Collection.open(changeable) as opened:
        inside = Inside(make_app(opened))
        inside.headers["X-Lookalike-Client"] = "1"
        yield inside
        inside.close()


def test_a_job_learns_codes_and_all_tell_of_them(client):
    answer = client.post("/api/jobs", json={"kind": "learn", **CODES})
    assert answer.status_code == 202, answer.text
    job = job_over(client, answer.json())
    assert job["state"] == "done", job
    assert job["message"].startswith("Codes: Searches use codes to find candidates: recall@5")
    figures = job["result"]["codes"]["figures"]
    assert (figures["candidates"], figures["bits"], figures["pictures"]) == (8, 24, 27)
    assert client.get("/api/rankers").json()[0]["codes"] == figures
    assert client.get("/api/status").json()["rankers"][0]["codes"] == figures
    model = client.get("/api/models").json()[-1]
    assert (model["kind"], model["codes"], model["before"]) == ("codes", figures, None)
    page = client.get("/learned").text
    assert "Searches find 8 candidates among 27 pictures by codes of 24 bits" in page
    assert f"Recall@5 of exact search: {figures['recall']:.3f}" in page
    assert "Learned codes: new codes" in page
    assert client.get("/api/search?like=1").json()["matches"]
    back = client.post("/api/rollback", json={})
    assert back.json()["codes"] is None
    assert "candidates among" not in client.get("/learned").text
    assert "with 8 candidates" in client.get("/learned").text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"codes": "morse"}, "Choose one of s3plh"),
        ({"bits": 8}, "name the codes as well"),
        ({"codes": "itq", "bits": 0}, "bits"),
        ({"codes": "itq", "candidates": 0}, "candidates"),
        ({"codes": "itq", "bits": "many"}, "bits"),
    ],
)
def test_bad_codes_are_refused_at_once(client, body, words):
    answer = client.post("/api/jobs", json={"kind": "learn", **body})
    assert answer.status_code in (400, 422)
    assert words in answer.text
    assert client.get("/api/jobs").json() == []


def test_the_client_learns_codes(changeable):
    with (
        Collection.open(changeable) as store,
        served(store) as server,
        Client(str(server.base_url)) as remote,
    ):
        job = remote.learn(**CODES)
        assert job.result["codes"]["published"]
        assert remote.rankers()[0].codes.bits == 24
