import json
import re
from html.parser import HTMLParser

import pytest

from lookalike import Collection
from lookalike.collection import Ask, SavedSearch
from lookalike.service.web.app import make_app
from lookalike.service.web.settings import Settings
from tests.collection.beside import beside
from tests.gates import OPEN
from tests.service.pictures import draw
from tests.service.web.inside import Inside

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
EVIL_FILE = "<script>alert(3)<\x5cscript><img src=x onerror=alert(4)>\"'&.png"


class Page(HTMLParser):
    """A page as a browser reads it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def store(tmp_path, model, run):
    """A collection with one picture and one tag that mean harm, and five that do not."""
    folder = tmp_path / "photos"
    for number in range(5):
        draw(folder / f"{number}.png", (40 * number, 90, 200 - 30 * number), number)
    draw(folder / "<b>bold" / EVIL_FILE, (10, 200, 90), 9)
    assert run("index", folder, "-c", tmp_path / "store", "--model", model).code == 0
    with Collection.open(tmp_path / "store", gate=OPEN) as opened:
        yield opened


@pytest.fixture
def client(store):
    inside = Inside(make_app(store))
    inside.headers["X-Lookalike-Token"] = inside.app.state.token
    yield inside
    inside.close()


@pytest.fixture
def evil(store):
    """The id of the picture whose file means harm."""
    return next(row.id for row in store.pictures.all() if row.places[0].name == EVIL_FILE)


def addresses(store, evil):
    token = store.queries.keep(next(iter(store.pictures.all())).places[0].read_bytes())
    other = next(row.id for row in store.pictures.all() if row.id != evil)
    store.vote(Ask((other,)), picked=[evil], who=EVIL[:40])
    store.label(evil, EVIL)
    store.label(other, f"not {EVIL}", shows=False)
    return [
        "/",
        "/?order=oldest",
        "/?order=added&format=PNG&min_side=10&from=2020&to=2030-02-01",
        f"/?folder=/{EVIL}",
        f"/search?like={other}",
        f"/search?like={other}&unlike={evil}&like={token}",
        f"/search?word={EVIL}",
        "/search?word=nothing+like+that",
        "/search",
        "/search?like=99999",
        f"/picture/{evil}",
        f"/picture/{evil}?at=0",
        "/learned",
        "/add",
        f"/part/chunk?tag={EVIL}",
        f"/part/filters?folder=/{EVIL}&tag={EVIL}&word={EVIL}&path=/search",
        "/part/words?start=%3Cscript",
        "/part/tag-words?word=%3Cscript",
        f"/part/matches?like={other}",
        f"/part/suggestions/{other}",
        f"/part/reasons?like={other}&picture={evil}",
        "/part/history",
        "/part/learned",
    ]


def test_every_page_is_escaped_and_runs_nothing_inline(client, store, evil):
    for path in addresses(store, evil):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert answer.status_code == 200, (path, answer.text[:300])
        page = Page(answer.text)
        scripts = page.all("script")
        assert all(script.get("src", "").startswith("/static/") for script in scripts), path
        assert not page.all("style"), path
        for tag, attributes in page.tags:
            assert "style" not in attributes, (path, tag)
            assert not any(name.startswith("on") for name in attributes), (path, tag, attributes)
            assert not str(attributes.get("href", "")).startswith("javascript:"), path
        for image in page.all("img"):
            assert image.get("alt") is not None, (path, image)
            assert image["src"].startswith(("/thumbnail/", "/query/", "/image/")), (path, image)


def test_hostile_names_are_shown_as_they_are(client, store, evil):
    addresses(store, evil)
    for path in (f"/picture/{evil}", "/learned", f"/search?word={EVIL}", "/part/words?start="):
        assert " ".join(EVIL.split()) in Page(client.get(path).text).text, path
    assert EVIL_FILE in Page(client.get(f"/picture/{evil}").text).text
    alts = [image["alt"] for image in Page(client.get("/").text).all("img")]
    assert EVIL in alts


@pytest.mark.parametrize("path", ["/picture/99999", "/picture/x", "/?min_side=-1", "/?from=soon"])
def test_trouble_is_a_page_with_a_way_back(client, path):
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code in (404, 422)
    assert "/" in [link.get("href") for link in Page(answer.text).all("a")]


def test_an_empty_collection_says_what_to_do(tmp_path, model, run):
    from lookalike.features import Embedding

    with Collection.create(tmp_path / "empty", features=[Embedding(model)]) as store:
        inside = Inside(make_app(store))
        for path in ("/", "/learned"):
            page = Page(inside.get(path).text)
            assert "/add" in [link.get("href") for link in page.all("a")], path
            assert "yet" in page.text
        assert inside.get("/add").status_code == inside.get("/search").status_code == 200
        assert inside.get("/search?like=1").status_code == 200
        inside.close()


def test_every_page_carries_the_token_and_what_changes_needs_it(client, store):
    number = next(iter(store.pictures.all())).id
    for path in ("/", "/search", f"/picture/{number}", "/learned", "/add"):
        page = Page(client.get(path).text)
        names = {meta.get("name"): meta.get("content") for meta in page.all("meta")}
        assert names["lookalike-token"] == client.app.state.token
        assert client.app.state.token in page.all("body")[0]["hx-headers"]
        assert '"allowEval": false' in names["htmx-config"]
    said = {"picture": number, "word": "tree"}
    stranger = {"X-Lookalike-Token": "guessed", "Origin": "http://evil.example"}
    for path in ("/part/tags", "/part/votes", "/part/take-back", "/part/undo", "/part/reset"):
        assert client.post(path, data=said, headers=stranger).status_code == 403, path
    assert store.log.history() == []


def test_votes_show_a_new_order_and_can_be_taken_back(client, store):
    first = next(iter(store.pictures.all())).id

    def ids(text):
        return [
            int(number) for number in re.findall(r'<figure class="tile.*?data-id="(\d+)"', text)
        ]

    before = ids(client.get(f"/part/matches?like={first}").text)
    vote = {
        "like": first,
        "picture": before[-1],
        "verdict": 1,
        "shown": before,
        "k": 60,
        "key": "a",
    }
    after = client.post("/part/votes", data=vote)
    assert after.status_code == 200
    assert ids(after.text).index(before[-1]) < len(before) - 1
    assert f'tile result liked" data-id="{before[-1]}"' in after.text
    assert '"kind": "vote"' in after.headers["HX-Trigger"]
    assert client.post("/part/votes", data=vote).status_code == 200
    assert len(store.log.history()) == 1, "the same key counts once"

    turned = client.post("/part/votes", data={**vote, "verdict": -1, "key": "b"})
    assert before[-1] not in ids(turned.text)
    assert "1 rejected</summary>" in turned.text
    nothing = client.post("/part/votes", data={**vote, "verdict": 0, "key": "c"})
    assert ids(nothing.text) == before
    assert "liked" not in nothing.text
    assert store.votes.verdicts(Ask((first,))) == {}
    client.post("/part/votes", data=vote)
    assert store.votes.verdicts(Ask((first,))) == {}, (
        "a request that comes late again changes nothing"
    )


def test_an_undone_vote_leaves_the_results_as_before(client, store):
    first, second, *_ = [row.id for row in store.pictures.all()]
    client.post("/part/votes", data={"like": first, "picture": second, "verdict": -1})
    event = store.log.history()[0].number
    answer = client.post("/part/take-back", data={"like": first, "event": event})
    assert answer.status_code == 200
    assert store.votes.verdicts(Ask((first,))) == {}
    again = client.post("/part/take-back", data={"like": first, "event": event})
    assert again.status_code == 400
    assert "already undone" in again.json()["error"]


def test_thumbs_on_a_word_say_whether_it_is_right(client, store, run):
    first, second, *_ = [row.id for row in store.pictures.all()]
    store.label(first, "sky")
    found = client.get("/search?word=SKY").text
    assert found.count(">tagged<") == 1
    vote = {"word": "sky", "picture": second, "verdict": 1}
    assert client.post("/part/votes", data=vote).status_code == 200
    assert store.labels.of([second]) == {second: ["sky"]}
    assert client.post("/part/votes", data={**vote, "verdict": 0}).status_code == 200
    assert not any(store.labels.of([second]).values())
    client.post("/part/votes", data={**vote, "picture": first, "verdict": -1})
    assert not any(store.labels.of([first]).values())


def test_tags_are_added_removed_and_taken_back(client, store):
    number = next(iter(store.pictures.all())).id
    added = client.post("/part/tags", data={"picture": number, "word": " blue  sky "})
    assert "blue sky" in Page(added.text).text
    event = store.log.history()[0].number
    gone = client.post("/part/tags", data={"picture": number, "word": "blue sky", "shows": "false"})
    assert "No tags yet" in Page(gone.text).text
    event = store.log.history()[0].number
    back = client.post(f"/part/tags/undo/{number}", data={"event": event})
    assert "blue sky" in Page(back.text).text


def test_the_page_says_by_which_figures_models_are_used_or_not(client, store, stand_in):
    from lookalike.collection import Figures, Gain, ModelRow
    from lookalike.core.evidence import Difference

    before, after = Figures(0.5, 0.5, 0.5, 53), Figures(0.556, 0.557, 0.5, 53)
    name = store.models.rankers()[0].name

    def model(number, used, gain, kind="similarity"):
        made = "2026-01-01T00:00:00Z"
        return ModelRow(
            *(number, kind, "oasis", name, made, {}, before, after, used, used), gain=gain
        )

    won = Gain(Difference(0.078, 0.015), Difference(0.045, 0.018), 264)
    lost = Gain(Difference(0.01, 0.015), Difference(0.0, 0.018), 300)
    rows = [model(1, True, won), model(2, False, lost), model(3, True, None, "words")]
    stand_in(store.models, all=lambda: rows)
    text = Page(client.get("/learned").text).text
    assert "mAP +0.078 ± 0.015, P@1 +0.045 ± 0.018, judged by 264 pictures" in text
    assert "the bars are of the 53 held out" in text
    assert "no clear improvement on 300 test pictures; nothing changed" in text
    assert "mAP +0.010 ± 0.015, P@1 +0.000 ± 0.018, judged by 300 pictures" in text
    assert "mAP +0.056, P@1 +0.057, judged by 53 pictures." in text
    assert client.get("/api/models").json()[0]["gain"]["pictures"] == 264


def test_history_is_paged_told_and_undone(client, store):
    number = next(iter(store.pictures.all())).id
    for count in range(25):
        store.label(number, f"word {count}")
    page = client.get("/learned").text
    assert page.count('class="said') >= 20
    before = re.search(r"/part/history\?before=(\d+)", page).group(1)
    older = client.get(f"/part/history?before={before}").text
    assert "word 0" in older
    assert "word 24" not in older
    last = store.log.history()[0].number
    undone = client.post("/part/undo", data={"event": last}).text
    assert 'class="said undone"' in undone
    redone = client.post("/part/undo", data={"event": store.log.history()[0].number}).text
    assert "word 24" in store.labels.of([number])[number]
    assert f"Undid no. {last}" in Page(redone).text


def test_more_matches_follow_those_shown(client, store):
    first = next(iter(store.pictures.all())).id
    whole = [match.id for match in store.search(Ask((first,)), 10)]
    page = client.get(f"/part/matches?like={first}&k=2").text
    following = re.search(r'hx-get="([^"]*more=true[^"]*)"', page).group(1).replace("&amp;", "&")
    assert "offset=2" in following
    more = client.get(following.replace("k=60", "k=2")).text
    assert re.findall(r'<figure[^>]*data-id="(\d+)"', more) == [str(n) for n in whole[2:4]]
    assert "Show more" in more
    assert "Show more" not in client.get(following.replace("offset=2", "offset=4")).text


def test_neighbours_of_a_picture_follow_the_list_it_was_opened_from(client, store):
    ids = [row.id for row in store.pictures.browse(10)]
    page = Page(client.get(f"/picture/{ids[2]}?at=2").text)
    links = {link.get("rel"): link["href"] for link in page.all("a") if link.get("rel")}
    assert links == {"prev": f"/picture/{ids[1]}?at=1", "next": f"/picture/{ids[3]}?at=3"}
    found = [match.id for match in store.search(Ask((ids[0],)), 10)]
    page = Page(client.get(f"/picture/{found[0]}?like={ids[0]}&at=0").text)
    links = {link.get("rel"): link["href"] for link in page.all("a") if link.get("rel")}
    assert links == {"next": f"/picture/{found[1]}?like={ids[0]}&at=1"}


def test_filters_are_chips_that_can_be_taken_away(client, store):
    page = Page(client.get("/?format=PNG&min_side=10&order=added").text)
    chips = [link["href"] for link in page.all("a") if link.get("class") == "chip"]
    assert chips == ["/?order=added&min_side=10", "/?order=added&format=PNG"]
    assert "No pictures match" in Page(client.get("/?format=JPEG").text).text


def test_examples_can_be_removed_and_turned(client, store):
    first, second, *_ = [row.id for row in store.pictures.all()]
    page = Page(client.get(f"/search?like={first}&unlike={second}").text)
    links = {link.get("class"): link["href"] for link in page.all("a") if link.get("class")}
    assert links["drop-example"] == f"/search?like={first}"
    assert links["sign"] == f"/search?like={first}&like={second}"


def test_the_grid_stays_small_with_100_000_pictures(client, store):
    with beside(store).database.transaction() as connection:
        numbers = range(1000, 101_000)
        taken = (f"{2024 - n % 30}-{1 + n % 12:02}-{1 + n % 28:02}T12:00:00" for n in numbers)
        connection.executemany(
            "INSERT INTO all_pictures VALUES (?1, ?2, 'JPEG', 4000, 3000, 5000000, ?3, '2024', "
            "row_sum(?2, 'JPEG', 4000, 3000, 5000000, ?3, '2024'))",
            ((n, f"{n:064}", time) for n, time in zip(numbers, taken, strict=True)),
        )
        connection.executemany(
            "INSERT INTO places (path, picture, size, mtime_ns, crc) "
            "VALUES (?1, ?2, 1, 1, row_sum(?2, CAST(?1 AS BLOB)))",
            ((f"/photos/{n}.jpg", n) for n in numbers),
        )
    page = client.get("/").text
    assert len(page) < 120_000
    (timeline,) = [part for part in Page(page).all("div") if part.get("id") == "timeline"]
    assert sum(count for _, _, count in json.loads(timeline["data-months"])) == 100_006
    assert page.count("<figure") == 72, "the page fetches more once it is shown"
    chunk = client.get("/part/chunk?start=90000&count=120").text
    assert chunk.count("<figure") == 120
    assert client.get("/part/chunk?start=100000&count=120").text.count("<figure") == 6
    assert client.get("/part/chunk?count=121").status_code == 422


def test_typed_words_find_tags_that_begin_so_then_parts_then_others(client, store):
    first, second, *_ = [row.id for row in store.pictures.all()]
    for word in ("laptop", "Pine-Apple", "snap", "äpple tree", "apple"):
        store.label(first, word)
    store.label(second, "laptop")
    found = re.findall(r'data-word="([^"]*)"', client.get("/part/words?start=AP").text)
    assert found == ["apple", "Pine-Apple", "laptop", "snap"]


def test_an_unknown_word_offers_tags_in_its_place(client, store, monkeypatch):
    monkeypatch.setattr("lookalike.collection.search.reading.text_memory", lambda: None)
    first = next(iter(store.pictures.all())).id
    for word in ("apple-juice", "<i>apple", "stapler"):
        store.label(first, word)
    page = Page(client.get("/search?word=apple").text)
    links = [link["href"] for link in page.all("a") if link.get("href", "").startswith("/search?w")]
    assert links == ["/search?word=apple-juice", "/search?word=%3Ci%3Eapple"]
    assert "No picture is tagged or named “apple”" in page.text
    assert 'href="/search?word=stapler"' in client.get("/search?word=stappler").text
    nothing = Page(client.get("/search?word=%3Cb%3Ezebra").text).text
    assert "Tag some pictures" in nothing
    assert "<b>zebra" in nothing


def test_a_reading_is_shown_and_struck_out_by_a_link(client, store):
    store.label(next(iter(store.pictures.all())).id, "beach")
    page = Page(client.get("/search?word=Strand+before:soon").text)
    (link,) = [one["href"] for one in page.all("a") if "strike=beach" in one.get("href", "")]
    assert "“Strand” read as" in page.text
    assert "Set aside: “before:soon”." in page.text
    struck = Page(client.get(link).text)
    assert "Not read as" in struck.text
    assert any(one.get("href") == link.replace("&strike=beach", "") for one in struck.all("a"))


def test_what_is_gone_is_told_without_words_for_programmers(client, store):
    for path in ("/picture/4711", "/search?like=4711"):
        text = Page(client.get(path).text).text
        assert "removed" in text or "no longer there" in text, path
        assert "Collection.pictures" not in text
        assert "Ask:" not in text


def test_folders_that_are_allowed_are_named_where_pictures_are_added(store, tmp_path):
    folder = tmp_path / "holiday"
    folder.mkdir()
    inside = Inside(make_app(store, Settings(allow=(folder,))))
    assert str(folder) in Page(inside.get("/add").text).text
    inside.close()


def test_a_person_is_undone_after_a_look_at_what_that_changes(client, store):
    store.vote(Ask((1,)), picked=[2], rejected=[3], who=EVIL[:40])
    store.label([1, 2], "Hut", who=EVIL[:40])
    learned = Page(client.get("/learned").text)
    forms = [attrs.get("hx-get") or "" for attrs in learned.all("form")]
    assert any(one.startswith("/part/people/undo") for one in forms)
    named = {"name": EVIL[:40]}
    preview = Page(client.get("/part/people/undo", params=named).text)
    assert "This takes back 1 vote, 2 tags." in preview.text
    store.albums.save("Hüte", pictures=[1], who=EVIL[:40])
    changed = client.get("/part/people/undo", params={**named, "kind": "albums"})
    assert "This takes back 1 change of albums." in Page(changed.text).text
    tags = client.get("/part/people/undo", params={**named, "kind": "tags"})
    assert "This takes back 2 tags." in Page(tags.text).text
    later = client.get("/part/people/undo", params={**named, "since": "9999-01-01"})
    assert "nothing to undo" in Page(later.text).text
    client.post("/part/people/undo", data={**named, "kind": "albums"})
    assert store.albums.names() == []
    client.post("/part/people/undo", data={**named, "kind": "votes"})
    assert [one.votes for one in store.people.all() if one.name] == [0]
    assert len(store.people.proposals()) == 2


def test_proposals_stand_with_a_picture_to_be_accepted_or_rejected(client, store):
    store.label(1, "Hut", who=EVIL[:40])
    page = Page(client.get("/picture/1").text)
    accept, reject = (
        json.loads(attrs["hx-vals"])
        for attrs in page.all("button")
        if "for-owner" in (attrs.get("class") or "")
    )
    assert (accept["shows"], reject["shows"]) == ("true", "false")
    assert client.post("/part/tags", data=accept).status_code == 200
    assert store.labels.of([1]) == {1: ["Hut"]}
    assert "for-owner" not in client.get("/picture/1").text


def test_a_search_and_an_album_say_whose_layers_they_use(store):
    store.albums.save("Alike", search=SavedSearch(Ask((1,))))
    store.vote(Ask((1,)), picked=[5], rejected=[2], who="guest")
    inside = Inside(make_app(store, Settings(key="k" * 24, vote_key="v" * 24)))
    try:
        answers = {}
        for key in "kv":
            headers = {"Authorization": f"Bearer {key * 24}"}
            for layers in ("", "&layers=shared"):
                page = inside.get(f"/search?like=1{layers}", headers=headers).text
                tiles = [one["data-id"] for one in Page(page).all("figure")]
                answers[key, layers] = tiles, "you, the owner and trusted people" in page
            album = inside.get("/album/1", headers=headers).text
            taught = {
                "k": "by what was learned",
                "v": "by what the owner and trusted people taught",
            }
            assert taught[key] in album
            assert [one["data-id"] for one in Page(album).all("figure")] == answers["k", ""][0]
        assert answers["k", ""] == answers["k", "&layers=shared"]
        assert answers["v", ""][0][0] == "5"
        assert answers["v", "&layers=shared"][0] == answers["k", ""][0]
        assert (answers["k", ""][1], answers["v", ""][1]) == (False, True)
    finally:
        inside.close()


def test_the_heading_of_a_long_search_is_cut(client):
    page = client.get(f"/search?word={'x' * 900}").text
    (heading,) = re.findall("<h1>.*?</svg>(x+…)</h1>", page)
    assert len(heading) == 120


def test_what_is_set_aside_alone_lists_nothing_and_says_so(client):
    page = client.get("/search?word=near:91,0").text
    assert "Set aside: “near:91,0”." in page
    assert "There is nothing to look for in “near:91,0”." in page
    assert 'class="tile' not in page
    filtered = client.get("/search?word=format:png").text
    assert 'class="tile' in filtered
    assert "The most probable come first." not in filtered
