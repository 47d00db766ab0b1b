"""The page with a real browser: many pictures at once, albums, the viewer, tiles under the hand."""

import re

import pytest

from lookalike import Collection
from lookalike.collection import Ask, Filter
from tests.service.web.browser import Watched, chromium, plainly
from tests.service.web.served import served


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def store(changeable):
    with Collection.open(changeable) as opened:
        yield opened


@pytest.fixture
def window(browser, store):
    """A window on the collection, in which nothing may go wrong."""
    with served(store) as client:
        opened = Watched(browser, str(client.base_url).rstrip("/"))
        yield opened
        opened.close()
        assert opened.trouble == []
        assert opened.abroad == []


def tile(page, number):
    return page.locator(f'#matches > .results > .tile[data-id="{number}"]')


def pick(page, place, **options):
    page.locator(".tile").nth(place).hover()
    page.locator(".tile .pick").nth(place).click(**options)


def name_it(page, name):
    page.locator("#one-word input").fill(name)
    page.keyboard.press("Enter")


@plainly
def test_a_tile_stays_under_the_hand_and_others_tell_how_far_they_moved(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    before = window.order()
    wanted, unwanted = before[12], before[2]
    tile(page, wanted).locator(".vote.up").hover()
    where = tile(page, wanted).bounding_box()
    tile(page, wanted).locator(".vote.up").click()
    page.locator(".moved").first.wait_for()
    assert tile(page, wanted).bounding_box() == where, "it did not move under the pointer"
    assert page.locator("#matches").get_attribute("aria-busy") == "true"
    told = re.fullmatch("([↑↓]) ([0-9]+) → ([0-9]+)", page.locator(".moved").first.inner_text())
    assert (int(told[2]) > int(told[3])) == (told[1] == "↑")
    page.mouse.move(3, 3)
    page.wait_for_selector("#matches:not([aria-busy])")
    assert window.order()[0] == wanted
    tile(page, unwanted).locator(".vote.down").hover()
    where = tile(page, unwanted).bounding_box()
    tile(page, unwanted).locator(".vote.down").click()
    page.get_by_text("1 rejected").wait_for()
    moved = tile(page, unwanted).bounding_box()
    assert moved["x"] == where["x"], "it leaves once the pointer has left it"
    page.mouse.move(3, 3)
    tile(page, unwanted).wait_for(state="detached")
    assert store.votes.verdicts(Ask((first,))) == {int(wanted): 1, int(unwanted): -1}


@plainly
def test_many_are_selected_tagged_and_one_undo_takes_it_back(window, store):
    page = window.open("/")
    order = window.order()
    pick(page, 1)
    pick(page, 5, modifiers=["Shift"])
    page.get_by_text("5 selected").wait_for()
    page.locator(".tile .open").nth(7).click()  # selects, too, while some are selected
    page.get_by_text("6 selected").wait_for()
    page.locator(".tile .open").nth(3).focus()
    page.keyboard.press("x")
    page.get_by_text("5 selected").wait_for()
    chosen = {int(order[place]) for place in (1, 2, 4, 5, 7)}
    page.get_by_role("button", name="Tag the selected pictures", exact=True).click()
    name_it(page, "Grün <i>")
    page.get_by_text("Tagged 5 pictures “Grün <i>”.").wait_for()
    assert {row.id for row in store.pictures.browse(50, where=Filter(tags=("grün <I>",)))} == chosen
    page.get_by_role("button", name="All of this result").click()
    page.get_by_text("27 selected").wait_for()
    page.get_by_role("button", name="Untag the selected").click()
    name_it(page, "Grün <i>")
    page.get_by_text("Removed “Grün <i>” from 5 pictures.").wait_for()
    assert store.pictures.count(Filter(tags=("grün <i>",))) == 0
    page.locator(".toast", has_text="Removed").get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.").wait_for()
    assert {row.id for row in store.pictures.browse(50, where=Filter(tags=("grün <i>",)))} == chosen
    page.locator(".tile .pick").nth(0).click()
    page.get_by_text("26 selected").wait_for()
    page.get_by_role("button", name="Remove the selected").click()
    page.locator("#sure [value=yes]").click()
    page.locator(".tile").nth(1).wait_for(state="detached")
    assert len(store) == 1


@plainly
def test_a_band_selects_and_these_are_searched_with(window, store):
    page = window.open("/")
    boxes = [page.locator(".tile").nth(place).bounding_box() for place in (0, 2)]
    head = page.locator(".month h2").bounding_box()
    page.mouse.move(boxes[1]["x"] + 20, head["y"] + 5)
    page.mouse.down()
    page.mouse.move(boxes[0]["x"] + 20, boxes[0]["y"] + 30, steps=5)
    page.mouse.up()
    page.get_by_text("3 selected").wait_for()
    chosen = window.order()[:3]
    page.get_by_role("button", name="Search with these").click()
    page.wait_for_url(re.compile(r"/search\?like="))
    assert page.locator("li.example").count() == 3
    page.wait_for_selector("#matches .tile")
    assert not {*chosen} & {*window.order()}
    pick(page, 0)
    page.keyboard.press("Escape")
    page.locator("#many").wait_for(state="hidden")


@plainly
def test_an_album_name_that_is_refused_can_be_mended(window, store):
    first = next(iter(store.pictures.all())).id
    store.albums.save("Ferien", pictures=[first])
    page = window.open(f"/search?like={first}")
    page.get_by_role("button", name="Save as album").click()
    name_it(page, "Ferien")
    page.locator(".toast", has_text="already an album").wait_for()
    field = page.locator("#one-word input")
    field.wait_for()
    window.trouble.clear()  # chromium logs every answer that refuses
    assert field.input_value() == "Ferien"
    name_it(page, "Ferien 2")
    page.locator(".toast", has_text="Saved as album").wait_for()
    assert {*store.albums.names()} == {"Ferien", "Ferien 2"}


@plainly
def test_an_album_is_saved_opened_learns_and_is_deleted(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    page.get_by_role("button", name="Save as album").click()
    name_it(page, "Mine <b>& more")
    page.locator(".toast").get_by_role("button", name="Open").click()
    page.wait_for_url(re.compile(r"/album/\d+"))
    assert page.locator("h1", has_text="Mine <b>& more").is_visible()
    assert page.locator("#new-title").count() == 0
    store.albums.delete("mine <b>& more")

    page = window.open("/")
    pick(page, 0)
    pick(page, 2, modifiers=["Shift"])
    own = {int(number) for number in window.order()[:3]}
    page.get_by_role("button", name="Add to album").click()
    page.locator("#into-album input").fill("Three")
    page.keyboard.press("Enter")
    page.locator(".toast").get_by_role("button", name="Open").click()
    page.wait_for_url(re.compile(r"/album/\d+"))
    assert {
        *page.locator("#members .tile").evaluate_all("all => all.map(t => +t.dataset.id)")
    } == own
    joins = int(page.locator("#matches .tile").first.get_attribute("data-id"))
    tile(page, joins).locator(".vote.up").click()
    page.locator(f'#members .tile[data-id="{joins}"]').wait_for()
    assert {*store.albums.get("Three").members} == {*own, joins}
    ask = store.albums.get("Three").search.ask
    store.vote(ask, picked=[store.search(ask, 27)[-1].id])
    page = window.open("/albums")
    page.get_by_text("2 new").wait_for()
    with page.expect_response(re.compile("/opened$")):
        page.locator(".album-card").click()
    page.get_by_text("2 new since").wait_for()
    assert store.albums.get("Three").new == ()
    page.goto(f"{window.address}/?album=Three")
    assert len(window.order()) == 5
    page.go_back()
    page.locator("[data-delete-album]").click()
    page.locator("#sure [value=yes]").click()
    page.get_by_text("No albums yet").wait_for()
    assert store.albums.names() == []


@plainly
def test_pictures_are_added_to_an_album_that_is_there_taken_out_and_it_is_renamed(window, store):
    every = [row.id for row in store.pictures.all()]
    album = store.albums.save("There", pictures=every[:2])
    page = window.open("/")
    chosen = next(int(number) for number in window.order() if int(number) not in every[:2])
    page.locator(f'.tile[data-id="{chosen}"]').hover()
    page.locator(f'.tile[data-id="{chosen}"] .pick').click()
    page.get_by_role("button", name="Add to album").click()
    page.locator("#into-album-list button", has_text="There").click()
    page.locator(".toast", has_text="Added 1 picture to “There”").wait_for()
    assert {*store.albums.get("There").members} == {*every[:2], chosen}
    page = window.open(f"/album/{album.id}")
    page.locator(f'#members .tile[data-id="{chosen}"]').hover()
    page.locator(f'#members .tile[data-id="{chosen}"] .pick').click()
    with page.expect_navigation():
        page.get_by_role("button", name="Take out of the album").click()
    assert {*store.albums.get("There").members} == {*every[:2]}
    page.locator("[data-rename-album]").click()
    with page.expect_navigation():
        name_it(page, "Elsewhere")
    assert page.locator(".album-title h1").inner_text() == "Elsewhere"
    assert store.albums.names() == ["Elsewhere"]


@plainly
def test_the_viewer_votes_walks_the_list_it_came_from_and_zooms(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    before = window.order()
    tile(page, before[3]).locator(".open").click()
    page.wait_for_selector(".viewer")
    page.wait_for_load_state()
    page.keyboard.press("d")
    page.locator(".toast", has_text="Less like this: noted.").wait_for()
    for place in (4, 5):
        page.keyboard.press("ArrowRight")
        page.wait_for_url(re.compile(f"/picture/{before[place]}[?]"))
    page.keyboard.press("u")
    page.locator(".toast", has_text="More like this: noted.").wait_for()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(f"/picture/{before[4]}[?]"))
    page.keyboard.press("w")
    page.locator("#why li").first.wait_for()
    assert "1.png" not in page.locator("#why").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.locator(".viewer.zoomed").wait_for()
    page.keyboard.press("ArrowRight")  # moves the picture, now that it is larger than the window
    assert "translate" in page.locator("#large").get_attribute("style")
    page.keyboard.press("f")
    page.locator(".viewer:not(.zoomed)").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(r"/search\?"))
    page.get_by_text("1 rejected").wait_for()
    assert window.order()[0] == before[5]
    assert before[3] not in window.order()
    assert store.votes.verdicts(Ask((first,))) == {int(before[3]): -1, int(before[5]): 1}
