"""The JSON API over a small collection."""

import json
import threading
from pathlib import Path

import pytest

from lookalike.collection import Ask, Collection
from lookalike.service.web.app import make_app
from lookalike.service.web.decoding.decoder import Decoder
from lookalike.service.web.security.keys import KEY_FILE, make_key, revoke_keys
from lookalike.service.web.security.users import Rates
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.gates import OPEN
from tests.service.web.served import job_over, png, served

REF_WANTED = "like.0: must be a picture's id, or the token of a stored query."
UNKNOWN = "u" + 32 * "0"


@pytest.fixture
def photos(tmp_path):
    album(tmp_path / "photos", 8)
    return tmp_path / "photos"


@pytest.fixture
def store(tmp_path, photos):
    with Collection.create(tmp_path / "store", features=[Colours()], gate=OPEN) as made:
        made.add([photos])
        yield made


@pytest.fixture
def client(store):
    with served(store) as found:
        yield found


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A collection that no test changes."""
    folder = tmp_path_factory.mktemp("kept")
    album(folder / "photos", 8)
    with Collection.create(folder / "store", features=[Colours()], gate=OPEN) as made:
        made.add([folder / "photos"])
        yield made


@pytest.fixture(scope="module")
def reader(kept):
    """A client of that collection."""
    with served(kept) as found:
        yield found


def got(answer, status=200):
    assert answer.status_code == status, answer.text
    return answer.json()


def ids(found):
    return [match["id"] for match in found["matches"]]


def refused(answer, status, words):
    told = got(answer, status)
    assert set(told) == {"error"}
    assert words in told["error"]
    assert "Traceback" not in told["error"]


def test_a_search_by_likeness_tells_all_of_its_matches(reader, kept):
    found = got(reader.get("/api/search", params={"like": 1, "k": 5}))
    matches = kept.search(1, 5)
    assert ids(found) == [match.id for match in matches]
    first, row = found["matches"][0], kept.pictures.get(matches[0].id)
    assert first["score"] == pytest.approx(matches[0].score)
    assert first["path"] == str(matches[0].path) == first["places"][0]
    assert (first["width"], first["height"], first["format"]) == (row.width, row.height, "PNG")
    assert (first["verdict"], first["labels"]) == (0, [])
    assert first["thumbnail"] == f"/thumbnail/{row.id}.jpg?v={row.sha256[:16]}"
    assert reader.get(first["thumbnail"]).headers["content-type"] == "image/jpeg"


def test_the_facts_of_all_matches_are_read_at_once(reader, kept, monkeypatch):
    rows, asked = kept._session.database.rows, []

    def counted(sql, *values):
        asked.append(sql)
        return rows(sql, *values)

    reader.get("/api/search", params={"like": 1, "k": 2})
    monkeypatch.setattr(kept._session.database, "rows", counted)
    reader.get("/api/search", params={"like": 1, "k": 2})
    few = len(asked)
    asked.clear()
    reader.get("/api/search", params={"like": 1, "k": 20})
    assert len(asked) == few


def test_pages_follow_each_other_to_the_end(reader, kept):
    page = got(reader.get("/api/search", params={"like": 1, "unlike": [20, 21], "k": 7}))
    found = ids(page)
    while page["next"]:
        assert page["next"].startswith("/api/search?")
        page = got(reader.get(page["next"]))
        found += ids(page)
        assert len(page["matches"]) == 7
    assert len(found) == len(set(found)) == 21
    whole = got(reader.get("/api/search", params={"like": 1, "unlike": [20, 21], "k": 100}))
    assert found == ids(whole)
    assert whole["next"] is None


def test_filters_cut_off_and_plain_searches(reader, kept):
    photos, client = kept.path.parent / "photos", reader
    found = got(client.get("/api/search", params={"like": 1, "k": 50, "folder": photos / "blau"}))
    assert {match["path"].split("/")[-2] for match in found["matches"]} == {"blau"}
    scores = [match["score"] for match in got(client.get("/api/search?like=1&k=50"))["matches"]]
    cut = got(client.get("/api/search", params={"like": 1, "k": 50, "min_score": scores[3]}))
    assert len(cut["matches"]) == 4
    assert got(client.get("/api/search?like=1&k=3&min_side=1000"))["matches"] == []
    assert got(client.get("/api/search?like=1&folder=/%00"))["matches"] == []
    # A form sends its empty fields, too.
    empty = "/api/search?like=1&k=3&word=&folder=&tag=&from=&to=&format=&min_side=&min_score="
    assert ids(got(client.get(empty))) == ids(got(client.get("/api/search?like=1&k=3")))
    assert got(client.get("/api/search?like=1&k=3&learned=false"))["matches"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 400, "or both"),
        ("like=1&word=rot&weight=2", 422, "weight"),
        ("word=rot&unlike=1", 400, "unlike"),
        ("like=999", 404, "999"),
        (f"like={UNKNOWN}", 404, UNKNOWN),
        ("like=../etc/passwd", 422, "like"),
        ("like=-1", 422, "like"),
        ("like=" + "9" * 30, 422, "like"),
        ("like=1&k=0", 422, "k"),
        ("like=1&k=1001", 422, "k"),
        ("like=1&k=2&offset=99999", 422, "100,000"),
        ("like=1&min_score=nan", 422, "min_score"),
        ("like=1&from=yesterday", 422, "from"),
        ("like=1&from=2024-13", 400, "taken_from"),
        ("like=1&min_side=2&max_side=1", 400, "min_side"),
        ("like=1&folder=relative", 400, "folder"),
        ("like=1&tag=%20", 400, "tags"),
        ("&".join(["like=1"] * 300), 422, "like"),
    ],
)
def test_searches_that_make_no_sense_are_refused(reader, query, status, words):
    refused(reader.get(f"/api/search?{query}"), status, words)


def test_a_vote_changes_the_next_search_and_undo_takes_it_back(client):
    before = got(client.get("/api/search?like=1&k=23"))
    wrong, right = ids(before)[0], ids(before)[-1]
    body = {"like": [1], "picked": [right], "rejected": [wrong], "shown": ids(before)}
    said = got(client.post("/api/votes", json={**body, "key": "one"}))
    assert (said["event"]["kind"], said["event"]["who"]) == ("vote", "")
    assert said["event"]["body"]["picked"] == [right]
    assert said["standing"]["votes"] == 1
    after = got(client.get("/api/search?like=1&k=23"))
    verdicts = {match["id"]: match["verdict"] for match in after["matches"]}
    assert (verdicts[right], verdicts.get(wrong)) == (1, None)
    assert after["rejected"] == [wrong]
    again = got(client.post("/api/votes", json={**body, "key": "one"}))
    assert again["event"]["number"] == said["event"]["number"]
    undone = got(client.post("/api/undo", json={"event": said["event"]["number"]}))
    assert undone["standing"]["votes"] == 0
    back = got(client.get("/api/search?like=1&k=23"))
    assert back == before
    events = got(client.get("/api/events"))["events"]
    assert [(event["kind"], event["undone"]) for event in events] == [
        ("undo", False),
        ("vote", True),
    ]


def test_the_log_comes_in_pages(client):
    for number in range(2, 7):
        client.post("/api/votes", json={"like": [1], "picked": [number]})
    page = got(client.get("/api/events?k=2"))
    assert len(page["events"]) == 2
    numbers = [event["number"] for event in page["events"]]
    while page["next"]:
        page = got(client.get(page["next"]))
        numbers += [event["number"] for event in page["events"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 5


def test_all_votes_are_reset(client):
    client.post("/api/votes", json={"like": [1], "picked": [2]})
    said = got(client.post("/api/reset", json={}))
    assert (said["event"]["kind"], said["standing"]["votes"]) == ("reset", 0)
    assert got(client.get("/api/standing")) == said["standing"]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("votes", {"like": []}, 422, "like: needs at least 1."),
        ("votes", {"like": ["x"], "picked": [2]}, 422, REF_WANTED),
        ("votes", {"like": [0], "picked": [2]}, 422, REF_WANTED),
        ("votes", {"like": [1], "picked": [0]}, 422, "picked.0: must be at least 1."),
        ("votes", {"picked": [2]}, 422, "like: is missing."),
        ("votes", {"like": [1]}, 400, "at least one"),
        ("votes", {"like": [1], "picked": [2], "rejected": [2]}, 400, "both"),
        ("votes", {"like": [1], "picked": [999]}, 404, "999"),
        ("votes", {"like": [999], "picked": [2]}, 404, "999"),
        ("votes", {"like": [UNKNOWN], "picked": [2]}, 404, UNKNOWN),
        ("votes", {"like": [1], "picked": [2**63]}, 422, "picked"),
        ("votes", {"like": [1], "picked": [2], "user": "x" * 65}, 422, "user"),
        ("votes", {"like": [1], "picked": [2], "k": 5}, 422, "k"),
        ("votes", {"like": [1], "picked": [2], "user": "\ud800"}, 422, "user"),
        ("votes", {"like": [1], "picked": [2], "\ud800": 1}, 422, "string"),
        ("tags", {"picture": 1, "word": ""}, 422, "word"),
        ("tags", {"picture": 1, "word": " "}, 400, "empty"),
        ("tags", {"picture": 999, "word": "x"}, 404, "999"),
        ("tags", {"picture": 1, "word": "x" * 2000}, 422, "word"),
        ("undo", {"event": 99}, 404, "99"),
        ("undo", {"event": "one"}, 422, "event"),
        ("rollback", {}, 409, "no model to roll back"),
        ("queries/region", {"picture": 1, "box": [0, 0, 1]}, 422, "box"),
        ("queries/region", {"picture": 1, "box": [0.5, 0, 0.5, 1]}, 400, "region"),
        ("queries/region", {"picture": 1, "box": [0, 0, 2, 1]}, 422, "box"),
        ("jobs", {"kind": "dance"}, 422, "kind"),
        ("jobs", {"kind": "import"}, 400, "either folder or paths"),
        ("jobs", {"kind": "import", "folder": "/", "paths": ["/"]}, 400, "either"),
        ("jobs", {"kind": "learn", "folder": "/"}, 400, "other jobs take neither"),
        ("jobs", {"kind": "import", "folder": "/etc"}, 400, "--allow"),
    ],
)
def test_what_makes_no_sense_is_refused(reader, path, body, status, words):
    sent = json.dumps(body)
    kind = {"Content-Type": "application/json"}
    refused(reader.post(f"/api/{path}", content=sent, headers=kind), status, words)


def test_no_body_and_no_json_are_refused(reader):
    kind = {"Content-Type": "application/json"}
    for content in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000):
        assert reader.post("/api/votes", content=content, headers=kind).status_code in (400, 422)


def test_words_are_given_refused_and_suggested(client, store):
    event = got(client.post("/api/tags", json={"picture": 1, "word": " Abend  rot "}))
    assert (event["kind"], event["body"]["word"]) == ("label", "Abend rot")
    assert got(client.get("/api/pictures/1"))["labels"] == ["Abend rot"]
    assert got(client.get("/api/search?like=2&k=50&tag=abend ROT"))["matches"][0]["labels"]
    event = got(client.post("/api/tags", json={"picture": 1, "word": "Abend rot", "shows": False}))
    assert (event["kind"], event["body"]["shows"]) == ("label", False)
    assert got(client.get("/api/pictures/1"))["labels"] == []
    assert isinstance(got(client.get("/api/suggestions/1"))["suggestions"], list)


def test_many_pictures_are_labelled_and_one_undoing_takes_it_back(client, store):
    event = got(client.post("/api/selection/tag", json={"pictures": [3, 1], "word": "Flur"}))[
        "event"
    ]
    assert (event["kind"], event["body"]["pictures"]) == ("label", 2)
    assert got(client.get("/api/pictures?tag=flur"))["total"] == 2
    no = {"all_of": {"tag": ["Flur"]}, "word": "flur", "shows": False}
    again = got(client.post("/api/selection/tag", json=no))["event"]
    assert (again["body"]["shows"], again["who"]) == (False, "")
    assert got(client.get("/api/pictures?tag=flur"))["total"] == 0
    got(client.post("/api/undo", json={"event": again["number"]}))
    assert got(client.get("/api/pictures?tag=flur"))["total"] == 2
    refused(client.post("/api/undo", json={"event": again["number"]}), 400, "already undone")
    every = got(client.post("/api/selection/tag", json={"all_of": {}, "word": "alle"}))
    assert every["pictures"] == len(store)
    for body, status, words in (
        ({"word": "x"}, 400, "either pictures"),
        ({"word": "x", "pictures": [1], "all_of": {}}, 400, "either pictures"),
        ({"word": "x", "pictures": []}, 400, "either pictures"),
        ({"word": "x", "pictures": [1, 999]}, 404, "no picture 999"),
        ({"word": "a\0", "pictures": [1]}, 400, "control characters"),
    ):
        refused(client.post("/api/selection/tag", json=body), status, words)


def test_a_decoder_that_does_not_start_is_no_fault_of_the_request(client):
    with Decoder(python="/nowhere") as client.app.state.decoder:
        refused(client.post("/api/pictures", content=png()), 503, "Cannot start the process")


def test_removed_pictures_lie_in_the_bin(client, store):
    got(client.post("/api/tags", json={"picture": 2, "word": "Flur"}))
    assert got(client.delete("/api/pictures/1")) == {"pictures": 1}
    assert got(client.post("/api/selection/remove", json={"all_of": {"tag": ["flur"]}})) == {
        "pictures": 1
    }
    listed = got(client.get("/api/bin?k=1"))
    assert (listed["total"], [row["id"] for row in listed["pictures"]]) == (2, [2])
    assert [row["id"] for row in got(client.get(listed["next"]))["pictures"]] == [1]
    refused(client.get("/api/pictures/2"), 404, "no picture 2")
    page = client.get("/bin").text
    assert "2 removed pictures" in page
    part = client.post("/part/bin/restore", data={"picture": 1}).text
    assert "1 removed picture." in part
    assert got(client.post("/api/bin/restore", json={})) == {"pictures": 1}
    assert got(client.get("/api/pictures/2"))["labels"] == ["Flur"]
    assert "The bin is empty" in client.get("/bin").text
    got(client.delete("/api/pictures/1"))
    refused(client.post("/api/bin/restore", json={"pictures": [2]}), 404, "in the bin")
    assert got(client.post("/api/bin/empty", json={})) == {"pictures": 1}
    refused(client.post("/api/bin/restore", json={"pictures": [1]}), 404, "in the bin")
    assert len(store) == 23


def test_a_missing_file_is_told_and_looked_for(client, store):
    place = store.pictures.get(3).places[0]
    away = place.with_suffix(".away")
    place.rename(away)
    page = client.get("/picture/3").text
    assert "File missing" in page
    assert "/thumbnail/3.jpg" in page
    assert got(client.post("/api/pictures/3/look"))["missing"]
    assert got(client.get("/api/pictures?missing=true"))["total"] == 1
    assert "1 picture</a> whose files" in client.get("/add").text
    away.rename(place)
    assert got(client.post("/api/pictures/3/look"))["missing"] is None
    assert "File missing" not in client.get("/picture/3").text


def test_one_client_may_say_so_much_a_minute(client):
    client.app.state.rates = Rates(most=3)
    for number in range(2, 5):
        got(client.post("/api/votes", json={"like": [1], "picked": [number]}))
    answer = client.post("/api/votes", json={"like": [1], "picked": [7]})
    refused(answer, 429, "may make 3 a minute")
    assert int(answer.headers["Retry-After"]) >= 1
    refused(client.delete("/api/pictures/1"), 429, "may make 3 a minute")


def test_rates_fill_up_again_and_forget():
    now = [0.0]
    rates = Rates(most=60, clients=2, clock=lambda: now[0])
    for _ in range(60):
        rates.count("Ada")
    with pytest.raises(Exception, match="may make 60 a minute"):
        rates.count("Ada")
    now[0] = 1.0
    rates.count("Ada")
    with pytest.raises(Exception, match="may make 60 a minute"):
        rates.count("Ada")
    rates.count("Bob")
    rates.count("Eve")
    assert len(rates._left) == 2


def test_the_votes_of_one_person_are_looked_at_and_discarded(client, store):
    for name, picked in (("Ada", 2), ("Bob", 3), ("Ada", 4)):
        key = make_key(store.path / KEY_FILE, name, "vote")
        said = {"Authorization": f"Bearer {key}"}
        body = {"like": [1], "picked": [picked]}
        assert got(client.post("/api/votes", json=body, headers=said))["event"]["who"] == name
    for name in ("Ada", "Bob"):
        got(client.post("/api/people", json={"name": name, "change": "trust"}))
    of_ada = got(client.get("/api/events?of=Ada"))["events"]
    assert [event["who"] for event in of_ada] == ["Ada", "Ada"]
    said = got(client.post("/api/reset", json={"of": "Ada"}))
    assert said["standing"]["votes"] == 1
    refused(client.post("/api/reset", json={"of": "Ada"}), 404, "No vote of Ada counts")
    undone = got(client.post("/api/undo", json={"event": said["event"]["number"]}))
    assert undone["standing"]["votes"] == 3
    token = client.app.state.token
    page = client.post("/part/reset", data={"of": "Bob"}, headers={"X-Lookalike-Token": token})
    assert "Discarded the votes of Bob" in page.text
    assert "Bob" in client.get("/part/history?of=Bob").text


def test_pictures_are_listed_and_told(reader, kept):
    page = got(reader.get("/api/pictures?k=10&order=added"))
    assert page["total"] == 24
    numbers = [row["id"] for row in page["pictures"]]
    while page["next"]:
        page = got(reader.get(page["next"]))
        numbers += [row["id"] for row in page["pictures"]]
    assert numbers == list(range(24, 0, -1))
    row = kept.pictures.get(3)
    told = got(reader.get("/api/pictures/3"))
    assert (told["sha256"], told["bytes"], told["path"]) == (
        row.sha256,
        row.bytes,
        str(row.places[0]),
    )
    refused(reader.get("/api/pictures/99"), 404, "99")
    refused(reader.get("/api/pictures/x"), 422, "id")
    refused(reader.get(f"/api/pictures/{2**70}"), 422, "id")


def test_names_that_are_no_utf8_can_be_told(store, photos, client):
    picture(photos / "caf\udce9" / "caf\udce9.png", PALETTE["rot"], 99)
    store.add([photos])
    told = got(client.get("/api/pictures/25"))
    assert told["path"].endswith("caf\N{REPLACEMENT CHARACTER}.png")
    got(client.get("/api/search?like=25&k=30"))
    got(client.get("/api/search?like=1&k=30"))
    got(client.get("/api/facets"))
    got(client.get("/api/pictures?k=30"))


def test_a_picture_is_deleted_and_its_file_stays(client, store):
    place = store.pictures.get(5).places[0]
    assert got(client.delete("/api/pictures/5")) == {"pictures": 1}
    assert place.exists()
    assert 5 not in ids(got(client.get("/api/search?like=1&k=50")))
    refused(client.delete("/api/pictures/5"), 404, "5")
    assert got(client.get("/api/events"))["events"][0]["kind"] == "removal"


def test_emptying_the_bin_waits_for_a_job_but_not_for_ever(client):
    client.app.state.jobs.patience = 0.05
    done = threading.Event()
    with client.app.state.jobs.writing():
        answers = []

        def empty():
            answers.append(client.post("/api/bin/empty", json={}))
            done.set()

        thread = threading.Thread(target=empty)
        thread.start()
        assert done.wait(300)
        thread.join()
    refused(answers[0], 409, "A job is writing")
    assert answers[0].headers["Retry-After"]
    assert got(client.post("/api/bin/empty", json={})) == {"pictures": 0}


def test_an_upload_is_kept_known_and_deleted_with_its_file(client, store):
    told = got(client.post("/api/pictures", content=png(seed=1)), 201)
    assert told["new"]
    number, path = told["picture"]["id"], store.pictures.get(told["picture"]["id"]).places[0]
    assert path.parent == store.path.absolute() / "uploads"
    assert path.suffix == ".png"
    assert path.stem == told["picture"]["sha256"]
    again = got(client.post("/api/pictures", content=png(seed=1)))
    assert (again["new"], again["picture"]["id"]) == (False, number)
    assert client.get(told["picture"]["image"]).status_code == 200
    got(client.delete(f"/api/pictures/{number}"))
    assert path.exists()
    got(client.post("/api/bin/empty", json={}))
    assert not path.exists()


@pytest.mark.parametrize("path", ["/api/pictures", "/api/queries"])
def test_what_is_no_picture_is_not_taken(reader, kept, path):
    for content in (b"", b"hello", png()[:100], b"<svg xmlns='http://www.w3.org/2000/svg'/>"):
        answer = reader.post(path, content=content)
        assert answer.status_code == 422, answer.text
    assert len(kept) == 24
    assert not list(kept.path.glob("uploads/*"))


def test_an_upload_that_is_too_large_is_refused(store):
    with served(store, max_upload_bytes=1000) as client:
        refused(client.post("/api/pictures", content=b"x" * 1001), 413, "1,000")


def test_a_query_of_ones_own_is_searched_with_and_voted_on(client, store):
    token = got(client.post("/api/queries", content=png(PALETTE["blau"], 5)))
    assert client.get(token["thumbnail"]).headers["content-type"] == "image/jpeg"
    found = got(client.get("/api/search", params={"like": token["token"], "k": 5}))
    assert {match["path"].split("/")[-2] for match in found["matches"]} == {"blau"}
    assert len(store) == 24
    body = {"like": [token["token"]], "picked": [ids(found)[1]], "rejected": [ids(found)[0]]}
    assert got(client.post("/api/votes", json=body))["standing"]["votes"] == 1
    again = got(client.post("/api/queries", content=png(PALETTE["blau"], 5)))
    assert again == token


def test_a_part_of_a_picture_is_searched_with(client):
    token = got(client.post("/api/queries/region", json={"picture": 1, "box": [0, 0, 0.5, 1]}))
    assert len(got(client.get("/api/search", params={"like": token["token"]}))["matches"])
    refused(
        client.post("/api/queries/region", json={"picture": 99, "box": [0, 0, 1, 1]}), 404, "99"
    )


def test_a_read_only_collection_is_searched_with_a_picture_of_ones_own(store):
    store.close()
    database = store.path / "collection.sqlite"
    before = database.read_bytes()
    with (
        Collection.open(store.path, features=[Colours()], read_only=True) as closed,
        served(closed, read_only=True) as client,
    ):
        token = got(client.post("/api/queries", content=png(PALETTE["blau"], 5)))
        assert client.get(token["thumbnail"]).headers["content-type"] == "image/jpeg"
        found = got(client.get("/api/search", params={"like": token["token"], "k": 5}))
        assert {match["path"].split("/")[-2] for match in found["matches"]} == {"blau"}
        assert got(client.post("/api/queries", content=png(PALETTE["blau"], 5))) == token
        part = got(client.post("/api/queries/region", json={"picture": 1, "box": [0, 0, 0.5, 1]}))
        assert len(got(client.get("/api/search", params={"like": part["token"]}))["matches"])
        body = {"like": [token["token"]], "picked": [1], "rejected": [2]}
        refused(client.post("/api/votes", json=body), 403, "read-only")
        refused(client.post("/api/pictures", content=png(PALETTE["blau"], 5)), 403, "read-only")
        del client.headers["X-Lookalike-Client"]
        refused(client.post("/api/queries", content=png(PALETTE["rot"], 5)), 403, "token of a page")
    assert database.read_bytes() == before


def test_a_part_of_a_file_put_in_its_place_is_not_shown(client, tmp_path):
    place = Path(got(client.get("/api/pictures/1"))["path"])
    secret = tmp_path / "secret.png"
    secret.write_bytes(png())
    place.unlink()
    place.symlink_to(secret)
    body = {"picture": 1, "box": [0, 0, 0.5, 1]}
    refused(client.post("/api/queries/region", json=body), 404, "leads out")


def test_an_upload_goes_whatever_the_collection_is_called_by(store, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with Collection.open("../store", features=[Colours()]) as found, served(found) as client:
        added = got(client.post("/api/pictures", content=png()), 201)["picture"]
        assert Path(added["path"]).exists()
        got(client.delete(f"/api/pictures/{added['id']}"))
        got(client.post("/api/bin/empty", json={}))
        assert not Path(added["path"]).exists()


def test_an_upload_that_cannot_be_written_is_told(client, store, fill_disk):
    fill_disk()
    refused(client.post("/api/pictures", content=png()), 507, "No space left")
    assert not list((store.path / "uploads").iterdir())


def test_of_an_upload_that_cannot_be_added_nothing_is_left(client, store, stand_in):
    def full(*_):
        raise OSError(28, "No space left on device")

    stand_in(Collection, add=full)
    assert client.post("/api/pictures", content=png()).status_code == 500
    assert not list((store.path / "uploads").iterdir())


def test_the_environment_has_no_requests_reported_elsewhere(store, monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    config = getattr(make_app(store), "_telemetry", {})  # which older versions lack
    assert not any(config.get(part) for part in ("auto_configure", "tracing", "metrics", "logs"))


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**70])
def test_numbers_too_large_are_refused(client, number):
    event = {"event": str(number), "like": "1"}
    for answer in (
        client.get(f"/picture/{number}"),
        client.get(f"/part/history?before={number}"),
        client.post("/part/undo", data=event),
        client.post("/part/take-back", data=event),
        client.post("/part/tags/undo/1", data=event),
        client.post("/api/undo", json={"event": number}),
    ):
        assert answer.status_code < 500, answer.url


def test_a_verdict_taken_back_leaves_votes_before_a_reset(client, store):
    first = store.vote(Ask((1,)), picked=[2])
    store.votes.reset()
    second = store.vote(Ask((1,)), picked=[2])
    form = {"like": "1", "picture": "2", "verdict": "0"}
    assert client.post("/part/votes", data=form).status_code == 200
    undone = {event.number for event in store.log.history() if event.undone}
    assert undone == {second.number}
    assert first.number not in undone


def test_learning_words_and_models(client, store, tmp_path):
    assert got(client.get("/api/search?like=1"))["reach"] is None
    order = {"kind": "learn", "folders": True, "settings": {"steps": 50, "blend": 0.4}}
    job = job_over(client, got(client.post("/api/jobs", json=order), 202))
    assert job["state"] == "done", job
    assert got(client.get("/api/search?like=1"))["reach"] == pytest.approx(0.4)
    assert got(client.get("/api/search?like=1&learned=false"))["reach"] is None
    assert got(client.get("/api/search?word=rot"))["reach"] is None
    models = got(client.get("/api/models"))
    assert {model["kind"] for model in models} == {"similarity", "words"}
    found = got(client.get("/api/search?word=ROT&k=4"))
    assert {match["path"].split("/")[-2] for match in found["matches"]} == {"rot"}
    assert client.get("/api/search?word=lila").json()["counts"]["unknown"] == ["lila"]
    assert isinstance(got(client.get("/api/reasons?like=1&picture=2"))["reasons"], list)
    used = got(client.post("/api/rollback", json={}))
    assert set(used) == {"similarity", "annotator", "codes", "labels"}
    facets = got(client.get("/api/facets"))
    assert facets["tags"] == dict.fromkeys(PALETTE, 8)
    assert facets["formats"] == {"PNG": 24}
    assert sum(facets["months"].values()) == 24
    assert len(facets["folders"]) == 4


def test_what_was_learned_can_be_taken_along(client):
    client.post("/api/votes", json={"like": [1], "picked": [9], "rejected": [2]})
    answer = client.get("/api/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "attachment" in answer.headers["content-disposition"]
    length = int.from_bytes(answer.content[:8], "little")
    json.loads(answer.content[8 : 8 + length])


def test_jobs_are_listed_followed_and_stopped(client, store, photos):
    picture(photos / "new.png", PALETTE["rot"], 70)
    job = got(client.post("/api/jobs", json={"kind": "import", "folder": str(photos)}), 202)
    with client.stream("GET", f"/api/jobs/{job['id']}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        lines = list(answer.iter_lines())
    assert "event: end" in lines
    told = json.loads(lines[-2].removeprefix("data: "))
    assert (told["state"], told["result"]["added"]) == ("done", 1)
    paths = {"kind": "import", "paths": [str(photos / "rot"), str(photos / "new.png")]}
    assert job_over(client, got(client.post("/api/jobs", json=paths), 202))["total"] == 9
    assert job_over(client, got(client.post("/api/jobs", json={"kind": "rescan"}), 202))
    listed = got(client.get("/api/jobs"))
    assert [one["kind"] for one in listed] == ["rescan", "import", "import"]
    assert got(client.delete(f"/api/jobs/{job['id']}"))["state"] == "done"
    refused(client.get("/api/jobs/0123456789abcdef"), 404, "0123456789abcdef")
    refused(client.get("/api/jobs/0123456789abcdef/events"), 404, "0123456789abcdef")
    refused(client.delete("/api/jobs/x"), 422, "id")


def test_the_status_tells_pictures_roots_and_jobs(client, photos):
    told = got(client.get("/api/status"))
    assert (told["pictures"], told["jobs"], told["refused"]) == (24, 0, 0)
    assert told["roots"] == [str(photos)]
    assert told["watching"] == {"on": False, "folders": [], "trouble": ""}


def test_an_empty_collection_can_be_asked(tmp_path):
    with (
        Collection.create(tmp_path / "store", features=[Colours()]) as store,
        served(store) as client,
    ):
        assert got(client.get("/api/pictures")) == {"pictures": [], "total": 0, "next": None}
        assert got(client.get("/api/status"))["pictures"] == 0
        got(client.get("/api/facets"))
        got(client.get("/api/events"))
        got(client.get("/api/models"))
        for path in ("search?like=1", "standing", "export", "suggestions/1"):
            answer = client.get(f"/api/{path}")
            assert answer.status_code < 500, (path, answer.text)
        told = got(client.post("/api/pictures", content=png(seed=1)), 201)
        assert told["picture"]["id"] == 1


def test_what_fails_by_mistake_tells_nothing(store, stand_in):
    def broken(*_, **__):
        raise RuntimeError("secret")

    with served(store) as client:
        stand_in(store.votes, standing=broken)
        answer = client.get("/api/standing")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert set(answer.json()) == {"error"}


def test_openapi_tells_of_every_route(reader):
    described = got(reader.get("/openapi.json"))
    routes = {
        (method, path)
        for path, methods in described["paths"].items()
        for method in methods
        if path.startswith("/api/")
    }
    assert routes == {
        *[("get", "/api/pictures"), ("post", "/api/pictures"), ("get", "/api/pictures/{id}")],
        *[("post", f"/api/selection/{name}") for name in ("tag", "remove", "examples")],
        *[("get", "/api/albums"), ("post", "/api/albums"), ("get", "/api/albums/{id}")],
        *[("delete", "/api/albums/{id}"), ("post", "/api/albums/{id}/opened")],
        *[("get", "/api/albums/{id}/export"), ("get", "/api/pictures/ids")],
        *[("delete", "/api/pictures/{id}"), ("get", "/api/search"), ("post", "/api/queries")],
        *[("post", "/api/queries/region"), ("post", "/api/votes"), ("post", "/api/tags")],
        ("get", "/api/bin"),
        *[("get", "/api/duplicates"), ("post", "/api/duplicates/keep")],
        ("post", "/api/duplicates/distinct"),
        *[("post", "/api/bin/restore"), ("post", "/api/bin/empty")],
        ("post", "/api/pictures/{id}/look"),
        *[("post", "/api/undo"), ("post", "/api/reset"), ("post", "/api/rollback")],
        *[("get", "/api/people"), ("post", "/api/people"), ("get", "/api/people/proposals")],
        *[("get", "/api/people/undo"), ("post", "/api/people/undo")],
        *[("get", "/api/events"), ("get", "/api/standing"), ("get", "/api/models")],
        *[("get", "/api/suggestions/{ref}"), ("get", "/api/reasons"), ("get", "/api/facets")],
        *[("get", "/api/views"), ("get", "/api/why"), ("get", "/api/folders")],
        *[("get", "/api/labels"), ("get", "/api/duplicates/files")],
        *[("get", "/api/pictures/{id}/nearby"), ("get", "/api/subfolders")],
        *[("get", "/api/collections"), ("post", "/api/collections")],
        ("post", "/api/collections/open"),
        *[("post", "/api/duplicates/keep-suggested"), ("delete", "/api/rankers/{name}")],
        ("post", "/api/rankers/{name}/default"),
        *[("patch", "/api/albums/{id}"), ("post", "/api/albums/{id}/pictures")],
        ("post", "/api/albums/{id}/take-out"),
        *[("post", "/api/jobs"), ("get", "/api/jobs"), ("get", "/api/jobs/{id}")],
        *[("get", "/api/jobs/{id}/events"), ("delete", "/api/jobs/{id}"), ("get", "/api/export")],
        *[("get", "/api/status"), ("get", "/api/rankers"), ("get", "/api/words")],
    }
    for method, path in routes:
        route = described["paths"][path][method]
        assert route["summary"], path
        assert route["description"], path
        assert {"400", "404", "409", "413", "422", "429"} <= route["responses"].keys(), path
        told = route["responses"]["422"]["content"]["application/json"]["schema"]
        assert told == {"$ref": "#/components/schemas/Problem"}


def test_what_others_say_changes_nothing_until_they_are_trusted(client, store):
    file = store.path / KEY_FILE
    ada, second = ({"Authorization": f"Bearer {make_key(file, 'Ada', 'vote')}"} for _ in range(2))
    before = got(client.get("/api/search?like=1&k=23"))
    body = {"like": [1], "picked": [ids(before)[-1]], "rejected": [ids(before)[0]]}
    assert got(client.post("/api/votes", json=body, headers=ada))["event"]["who"] == "Ada"
    refused(client.post("/api/votes", json={**body, "user": "Bob"}, headers=ada), 422, "user")
    got(client.post("/api/tags", json={"picture": 1, "word": "Hut"}, headers=ada))
    assert got(client.get("/api/search?like=1&k=23")) == before
    own = got(client.get("/api/search?like=1&k=23", headers=second))
    assert ids(own)[0] == ids(before)[-1], "two keys of one person are one person"
    assert got(client.get("/api/search?like=1&k=23&layers=shared", headers=ada)) != own
    asked = {"": "mine", "&layers=shared": "shared", "&learned=false": "plain"}
    for given, layers in asked.items():
        assert got(client.get(f"/api/search?like=1{given}", headers=ada))["layers"] == layers
    (one,) = got(client.get("/api/people/proposals"))
    assert (one["person"], one["word"], one["picture"]) == ("Ada", "Hut", 1)
    trust = {"name": "Ada", "change": "trust"}
    refused(client.post("/api/people", json=trust, headers=ada), 403, "only search, vote and tag")
    got(client.post("/api/people", json=trust))
    assert ids(got(client.get("/api/search?like=1&k=23"))) == ids(own)
    assert got(client.get("/api/people/undo?name=Ada"))["votes"] == 1
    undone = got(client.post("/api/people/undo", json={"name": "Ada"}))
    assert got(client.get("/api/search?like=1&k=23")) == before
    got(client.post("/api/undo", json={"event": undone["number"]}))
    assert ids(got(client.get("/api/search?like=1&k=23"))) == ids(own)
    assert revoke_keys(file, "Ada") == 2
    make_key(file, "Bob", "vote")
    refused(client.get("/api/search?like=1", headers=ada), 401, "A key is needed")


def test_who_is_not_trusted_takes_back_only_their_own(client, store):
    """Also through a search by word, where a vote of 0 undoes what was said last."""
    ada = {"Authorization": f"Bearer {make_key(store.path / KEY_FILE, 'Ada', 'vote')}"}
    store.label(1, "Hut")
    form = {"word": "Hut", "picture": "1", "verdict": "0"}
    got_page = client.post("/part/votes", data=form, headers=ada)
    assert got_page.status_code == 200
    assert dict(store.labels.used()) == {"Hut": 1}
    client.post("/part/votes", data={**form, "verdict": "-1"}, headers=ada)
    assert [one.shows for one in store.people.proposals("Ada")] == [False]
    client.post("/part/votes", data=form, headers=ada)
    assert store.people.proposals("Ada") == []
    assert client.post("/part/votes", data=form).status_code == 200
    assert dict(store.labels.used()) == {}


def test_proposals_do_not_set_learning_off(client, store):
    ada = {"Authorization": f"Bearer {make_key(store.path / KEY_FILE, 'Ada', 'vote')}"}
    got(client.post("/api/tags", json={"picture": 1, "word": "Hut"}, headers=ada))
    assert store.labels.to_learn().count == 0
    store.people.accept("Ada")
    assert store.labels.to_learn().count > 0


def test_what_a_trusted_person_gainsays_comes_back_when_they_are_revoked(client, store):
    """A vote of 0 in a search by word takes back nothing of what the owner said."""
    ada = {"Authorization": f"Bearer {make_key(store.path / KEY_FILE, 'Ada', 'vote')}"}
    store.people.trust("Ada")
    for one, shows in ((3, True), (4, False)):
        store.label(one, "Hut", shows=shows)
        form = {"word": "Hut", "picture": str(one), "verdict": "0"}
        assert client.post("/part/votes", data=form, headers=ada).status_code == 200
    assert store.labels.all() == {4: ["Hut"]}
    store.people.revoke("Ada")
    assert store.labels.all() == {3: ["Hut"]}
