"""Near-duplicates over the API, by the client, by command and on the page."""

import json

import numpy as np
import pytest
from PIL import Image

from lookalike import Client, Collection
from lookalike.core.errors import InvalidInput, NotFound
from tests.service.web.browser import Watched, chromium, plainly
from tests.service.web.served import served

KEY, READ_KEY = "write-write-write-write", "read-read-read-read-read"


def scene(seed):
    rough = np.random.default_rng(seed).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    return Image.fromarray(rough).resize((120, 80), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of which there are 30 groups: one of three, the others of two."""
    place = tmp_path_factory.mktemp("Möwen & <b>")
    for seed in range(30):
        scene(seed).save(place / f"{seed:02}.png")
        scene(seed).resize((90, 60)).save(place / f"{seed:02} <i>copy.jpg", quality=90)
    scene(0).resize((60, 40)).save(place / "00 small.jpg", quality=90)
    return place


@pytest.fixture
def place(folder, tmp_path, model, run):
    assert run("index", folder, "-c", tmp_path / "store", "--model", model).code == 0
    return tmp_path / "store"


@pytest.fixture
def store(place):
    with Collection.open(place) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


def test_the_page_shows_how_far_the_first_look_is(store):
    with served(store) as client:
        address = "/part/duplicates/progress"
        assert f'hx-get="{address}"' in client.get("/duplicates").text
        assert "<progress" not in client.get(address).text
        client.app.state.duplicates_done = 1500, 4000
        assert "1,500 of 4,000 pictures" in client.get(address).text
        assert client.get("/part/duplicates").status_code == 200
        assert client.app.state.duplicates_done == (61, 61)
        assert "<progress" not in client.get(address).text


def test_groups_are_paged_and_described(store):
    with served(store) as client:
        answer = client.get("/api/duplicates?k=25").json()
        assert (answer["total"], answer["duplicates"]) == (30, 31)
        assert len(answer["groups"]) == 25
        rest = client.get(answer["next"]).json()
        assert len(rest["groups"]) == 5
        assert rest["next"] is None
        groups = answer["groups"] + rest["groups"]
        assert len({group["keeper"] for group in groups}) == 30
        for group in groups:
            assert group["pictures"] == [one["id"] for one in group["details"]]
            assert group["pictures"][0] == group["keeper"]
            assert group["details"][0]["path"].endswith(".png")
            assert group["reason"] == "largest, 120 × 80"
        assert client.get("/api/duplicates?like=2").status_code == 422
        assert client.get("/api/duplicates?radius=129").status_code == 422
        assert client.get("/api/duplicates?by=none").status_code == 400
        assert client.get("/api/duplicates?offset=99").json()["groups"] == []


def test_the_client_keeps_one_tells_apart_and_undoes(store):
    with (
        served(store) as running,
        Client(str(running.base_url)) as client,
    ):
        first, second, *_ = client.duplicates()
        client.tag(first.pictures[1], "Größe")
        said = client.keep_one(first.pictures[0], first.pictures[1:], key="one")
        assert client.keep_one(first.pictures[0], first.pictures[1:], key="one") == said
        assert (said.kind, said.who) == ("removal", "")
        assert said.body["words"] == 1
        assert client.picture(first.keeper).labels == ("Größe",)
        assert len(client.bin()) == len(first.pictures) - 1
        with pytest.raises(NotFound):
            client.keep_one(first.pictures[1], first.pictures[:1])
        apart = client.not_duplicates(second.pictures, verdict="keep")
        left = {group.keeper for group in client.duplicates(100)}
        assert not left & {first.keeper, second.keeper}
        client.undo(said.number)
        assert client.picture(first.keeper).labels == ()
        client.undo(apart.number)
        assert len(client.duplicates(100)) == 30
        with pytest.raises(InvalidInput):
            client.not_duplicates(first.pictures[:1])


def test_only_who_may_write_can_decide(store):
    settings = {"key": KEY, "read_key": READ_KEY}
    with served(store, **settings) as client:
        reading = {"Authorization": f"Bearer {READ_KEY}"}
        groups = client.get("/api/duplicates", headers=reading).json()["groups"]
        body = {"picture": groups[0]["pictures"][0], "remove": groups[0]["pictures"][1:]}
        for path, said in (("keep", body), ("distinct", {"pictures": groups[0]["pictures"]})):
            answer = client.post(f"/api/duplicates/{path}", json=said, headers=reading)
            assert answer.status_code == 403
        part = client.get("/part/duplicates", headers=reading)
        assert part.status_code == 200
        assert "Keep only" not in part.text
        writing = {"Authorization": f"Bearer {KEY}"}
        assert "Keep only" in client.get("/part/duplicates", headers=writing).text
    assert store.bin.count() == 0


def test_the_command_lists_groups_writes_a_sheet_and_changes_nothing(place, tmp_path, run):
    shown = run("duplicates", "-c", place, "--sheet", tmp_path / "sheet.html")
    assert shown.code == 0
    assert "30 groups of near-duplicates; 31 pictures could go." in shown.out
    assert "keep (largest, 120 × 80)" in shown.out
    sheet = (tmp_path / "sheet.html").read_text()
    assert sheet.count("<section>") == 30
    assert "<i>copy" not in sheet
    told = json.loads(run("duplicates", "-c", place, "--json").out)
    assert len(told["groups"]) == 30
    assert told["duplicates"] == 31
    assert all(group["pictures"][0]["likeness"] == 1 for group in told["groups"])
    assert run("duplicates", "-c", place, "--like", "1", "--radius", "0").code == 0
    wrong = run("duplicates", "-c", place, "--like", "1.5")
    assert (wrong.code, "Like must be above 0" in wrong.err) == (1, True)
    with Collection.open(place) as store:
        assert store.log.history() == []
        assert len(store) == 61


@plainly
def test_the_page_keeps_one_keeps_all_and_undoes_by_keyboard_and_mouse(store, browser):
    from playwright.sync_api import expect

    with served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open("/")
        page.get_by_role("link", name="Duplicates", exact=True).click()
        cards = page.locator(".duplicate")
        cards.first.wait_for()
        assert cards.count() == 20
        assert page.locator(".duplicate i").count() == 0, "names of files are text"
        assert page.get_by_text("30 groups").is_visible()
        assert cards.first.locator(".differs dt").first.inner_text() == "Size"
        # Keep one, by keyboard: the next group's first button has the focus then.
        before = len(store)
        cards.first.get_by_role("button", name="Keep only").first.focus()
        page.keyboard.press("Enter")
        page.get_by_text("moved to the bin").wait_for()
        expect(cards).to_have_count(19)
        assert len(store) < before
        left = sum(len(group.pictures) - 1 for group in store.duplicates.find())
        told = f"29 groups, the most alike first; {left} pictures could go."
        expect(page.locator("#duplicates-count")).to_contain_text(told)
        page.locator(".duplicate :focus").wait_for()
        page.get_by_role("button", name="Undo").click()
        expect(cards).to_have_count(20)
        expect(page.locator("#duplicates-count")).to_contain_text("30 groups")
        assert len(store) == before
        # The suggestions of the page at once, and undone at once.
        page.get_by_role("button", name="Keep all suggestions below").click()
        page.locator("#sure [value=yes]").click()
        expect(cards).to_have_count(10)
        page.get_by_role("button", name="Undo").last.click()
        expect(cards).to_have_count(20)
        assert len(store) == before
        # Keep all; what is not shown yet is asked for, none twice and none left out.
        cards.nth(1).get_by_role("button", name="Keep all").click()
        page.get_by_text("Kept all").wait_for()
        page.get_by_role("button", name="Show more").click()
        expect(cards).to_have_count(29)
        keys = cards.evaluate_all("all => all.map((one) => one.dataset.ids)")
        assert len(set(keys)) == 29
        # One of three is not a duplicate: the other two stay together.
        three = page.locator(".duplicate", has_text="3 pictures")
        three.get_by_role("button", name="00 small.jpg is not a duplicate").click()
        three.wait_for(state="detached")
        page.goto(f"{window.address}/learned")
        page.get_by_text("Said that a picture is not a duplicate of 2 others").wait_for()
        said = page.locator(".said", has_text="Kept all of 2 pictures that look alike")
        said.get_by_role("button", name="Undo").click()
        page.locator(".said.undone", has_text="Kept all of").wait_for()
        assert len(store.duplicates.find()) == 30
        window.close()
        assert window.trouble == []
