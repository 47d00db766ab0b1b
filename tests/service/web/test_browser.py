import base64
import json
import re
import time
from urllib.parse import urlsplit

import pytest

from lookalike import Collection
from lookalike.collection import Ask
from lookalike.service.web.app import make_app
from tests.collection.beside import beside
from tests.gates import OPEN
from tests.images.pictures import camera_exif, heic, saved, scene
from tests.service.pictures import draw
from tests.service.web.browser import Watched, chromium, plainly
from tests.service.web.served import png, running, served

DROP = """([name, content]) => {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], name, {type: "image/png"}));
    for (const kind of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true});
        document.body.dispatchEvent(event);
    }
}"""

HERE = """() => Array.from(document.querySelectorAll(".row")).find((row) => {
    const place = row.getBoundingClientRect();
    return place.top < 400 && place.bottom > 350;  // a heading between two is 48 px high
})?.dataset.start"""

LOAD_MORE = """() => {
    const button = document.querySelector(".more-matches button");
    button?.click();
    return button !== null;
}"""
"""Ask for more matches; false if the button is gone, since it also loads when it is in view."""

AROUND = """() => {
    const rows = Array.from(document.querySelectorAll(".row"));
    const places = rows.map((row) => row.getBoundingClientRect().top);
    return Math.min(...places) < -900 && Math.max(...places) > innerHeight + 900;
}"""
"""Whether there are rows far above and far below the screen."""

ALL_SHOWN = """() => Array.from(document.querySelectorAll(".row img"))
    .every((image) => image.complete && image.naturalWidth)"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def store(changeable):
    with Collection.open(changeable, gate=OPEN) as opened:
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


def lengthen(store):
    """Add 6,000 pictures of 61 years, which all have the same thumbnail."""
    with beside(store).database.transaction() as connection:
        numbers = range(1000, 7000)
        connection.executemany(
            "INSERT INTO all_pictures VALUES (?1, ?2, 'JPEG', 40, 30, 50, ?3, '2024-01-01', "
            "row_sum(?2, 'JPEG', 40, 30, 50, ?3, '2024-01-01'))",
            ((n, f"{n:064}", f"{2024 - n // 100}-05-{1 + n % 28:02}T12:00:00") for n in numbers),
        )
        connection.executemany(
            "INSERT INTO places (path, picture, size, mtime_ns, crc) "
            "VALUES (?1, ?2, 1, 1, row_sum(?2, CAST(?1 AS BLOB)))",
            ((f"/photos/{n}.jpg", n) for n in numbers),
        )
        connection.execute(
            "INSERT INTO thumbnails SELECT p.id, t.jpeg, row_sum(p.id, t.jpeg) FROM pictures p, "
            "(SELECT jpeg FROM thumbnails LIMIT 1) t WHERE p.id >= 1000"
        )


def settled(page):
    """Take the pointer from the results, and wait until they are as ranked."""
    page.mouse.move(3, 3)
    page.wait_for_selector("#matches:not([aria-busy])")


def answered(page, path):
    """Wait for an answer of the server."""
    return page.expect_response(lambda response: path in response.url)


@plainly
def test_two_collections_on_the_same_port_do_not_share_thumbnails(browser, tmp_path, model, run):
    places = []
    for name, side in (("demo", 24), ("own", 40)):
        draw(tmp_path / name / "a.png", (200, 90, 30), side, side=side)
        places.append(tmp_path / f"{name}.collection")
        assert run("index", tmp_path / name, "-c", places[-1], "--model", model).code == 0
    context, port, widths = browser.new_context(), 0, []
    for place in places:
        with Collection.open(place) as opened, running(make_app(opened), port) as address:
            port = int(address.rpartition(":")[2])
            page = context.new_page()
            page.goto(address)
            image = page.locator(".tile img")
            page.wait_for_function("() => document.querySelector('.tile img').complete")
            widths.append(image.evaluate("image => image.naturalWidth"))
            page.close()
    context.close()
    assert widths == [24, 40]


@plainly
def test_a_chosen_picture_is_searched_with_and_voted_on(window, store):
    page = window.open("/")
    assert len(window.order()) == 27
    choice = {"name": "mine.png", "mimeType": "image/png", "buffer": png((230, 120, 120))}
    page.set_input_files(".search-bar input[type=file]", choice)
    page.wait_for_url(re.compile(r"/search\?like=u[0-9a-f]{32}$"))
    token = page.url.split("=")[1]
    before = window.order()
    page.wait_for_function("() => document.querySelector('.example img').naturalWidth > 0")

    wanted = before[9]
    with answered(page, "/part/votes"):
        page.locator(f'.tile[data-id="{wanted}"] .vote.up').click()
    page.wait_for_selector(f'.tile.liked[data-id="{wanted}"]')
    page.wait_for_selector(".toast.said")
    settled(page)
    voted = window.order()
    assert voted[0] == wanted
    unwanted = voted[1]
    with answered(page, "/part/votes"):
        page.locator(f'.tile[data-id="{unwanted}"] .vote.down').click()
    settled(page)
    assert store.votes.verdicts(Ask((token,))) == {int(wanted): 1, int(unwanted): -1}
    both = window.order()
    assert unwanted not in both

    page.reload()
    assert window.order() == both
    assert page.locator(".tile.liked").get_attribute("data-id") == wanted
    page.get_by_text("1 rejected").click()
    assert page.locator(".rejected .tile").get_attribute("data-id") == unwanted

    with answered(page, "/part/votes"):
        page.get_by_role("button", name="Bring back").click()
    page.locator(".rejected").wait_for(state="detached")
    settled(page)
    assert window.order() == voted

    page.get_by_text("Show without learning").click()
    page.wait_for_url(re.compile("learned=false"))
    assert len(window.order()) == 27


@plainly
def test_a_dropped_picture_is_searched_with(window):
    page = window.open("/")
    page.evaluate(DROP, ["mine.png", base64.b64encode(png((40, 200, 60))).decode()])
    page.wait_for_url(re.compile(r"/search\?like=u"))
    assert page.locator(".tile").count() == 27
    page.set_input_files(
        ".example.more input", {"name": "2.png", "mimeType": "image/png", "buffer": png(seed=2)}
    )
    page.wait_for_url(re.compile(r"like=u.*like=u"))
    assert page.locator("li.example").count() == 2


@plainly
def test_a_file_that_is_no_picture_is_refused_with_the_reason(window):
    page = window.open("/")
    page.evaluate(DROP, ["mine.png", base64.b64encode(b"no picture").decode()])
    page.wait_for_selector(".toast.bad")
    assert "/search" not in page.url
    window.trouble.clear()  # chromium logs every answer that refuses


@plainly
def test_the_keyboard_goes_votes_and_takes_back(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    before = window.order()
    page.keyboard.press("ArrowDown")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    here = "document.activeElement.closest('.tile').dataset.id"
    assert page.evaluate(here) == before[3]
    with answered(page, "/part/votes"):
        page.keyboard.press("u")
    page.wait_for_selector(".tile.liked")
    page.wait_for_selector(".toast.said")
    assert page.evaluate(here) == before[3], "the focus goes with the picture"
    assert store.votes.verdicts(Ask((first,))) == {int(before[3]): 1}
    with answered(page, "/part/take-back"):
        page.keyboard.press("z")
    page.locator(".tile.liked").wait_for(state="detached")
    assert window.order() == before
    with answered(page, "/part/reasons"):
        page.keyboard.press("w")
    page.wait_for_selector("#why li")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "word"
    page.keyboard.type("gre")
    page.locator("#words li:only-child").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/search\?word=green"))
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()


@plainly
def test_votes_are_taken_back_one_after_the_other(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    before = window.order()
    for place, key in ((2, "u"), (5, "d"), (7, "u")):
        page.locator(f'.tile[data-id="{before[place]}"] .open').focus()
        with answered(page, "/part/votes"):
            page.keyboard.press(key)
        page.wait_for_timeout(100)
    assert len(store.votes.verdicts(Ask((first,)))) == 3
    liked = page.locator(f'.tile[data-id="{before[2]}"] .vote.up')
    with answered(page, "/part/votes"):
        liked.click()  # what is taken back on the picture is not taken back again by z
    for left in (1, 0):
        with answered(page, "/part/take-back"):
            page.keyboard.press("z")
        page.locator(".tile.liked, .rejected").nth(left).wait_for(state="detached")
        assert len(store.votes.verdicts(Ask((first,)))) == left
    settled(page)
    assert window.order() == before
    page.keyboard.press("z")
    page.locator(".toast", has_text="Nothing more to undo").wait_for()


@plainly
def test_a_vote_that_does_not_arrive_does_not_look_given(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    page.route("**/part/votes", lambda route: route.abort())
    page.locator(".vote.up").nth(4).click()
    page.locator(".toast.bad", has_text="is not responding").wait_for()
    page.locator(".tile.liked").wait_for(state="detached")
    page.unroute("**/part/votes")
    with answered(page, "/part/votes"):
        page.locator(".vote.down").nth(4).click()
    page.locator(".tile.unliked").wait_for()
    window.trouble.clear()  # chromium logs what did not arrive


@plainly
def test_the_focus_stays_in_its_place_when_its_picture_is_voted_away(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}&min_score=0.3")
    tiles = page.locator("#matches .tile")
    here = "document.activeElement.closest('.tile')?.dataset.id"
    for _ in range(8):
        count = tiles.count()
        tiles.nth(count - 1).locator(".open").focus()
        with answered(page, "/part/votes"):
            page.keyboard.press("d")
        page.wait_for_selector(".toast.said")
        assert page.evaluate(here) in window.order()
        settled(page)
        assert page.evaluate(here) in window.order()


@plainly
def test_the_best_are_cut_off_and_filters_are_in_the_address(window, store):
    first = next(iter(store.pictures.all())).id
    best = [str(match.id) for match in store.search(Ask((first,)), 20)]
    page = window.open(f"/search?like={first}")
    with answered(page, "/part/matches"):
        page.locator("select[name=most]").select_option("20")
    page.locator(".tile").nth(20).wait_for(state="detached")
    assert window.order() == best
    assert "most=20" in page.url
    page.click("[data-open=filters]")
    page.get_by_label("PNG").check()
    page.get_by_label("Tag", exact=True).fill("red")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.wait_for_url(re.compile("tag=red"))
    assert re.search(f"like={first}.*most=20.*format=PNG", page.url)
    assert "folder" not in page.url
    page.locator(".chip", has_text="tag: red").click()
    page.wait_for_url(lambda url: "tag=red" not in url)
    page.get_by_text("Show without learning").click()
    page.wait_for_url(re.compile("learned=false"))
    page.locator(".chip", has_text="PNG").click()
    page.wait_for_url(lambda url: "PNG" not in url)
    assert "learned=false" in page.url
    assert "most=20" in page.url


@plainly
def test_votes_in_quick_succession_all_count(window, store):
    first = next(iter(store.pictures.all())).id
    page = window.open(f"/search?like={first}")
    chosen = window.order()[2:8]
    page.evaluate(
        """(ids) => ids.forEach((id, place) => document.querySelector(
            `.tile[data-id="${id}"] .vote.${place % 2 ? "down" : "up"}`).click())""",
        chosen,
    )
    expected = {int(id_): -1 if place % 2 else 1 for place, id_ in enumerate(chosen)}
    until = time.monotonic() + 300
    while store.votes.verdicts(Ask((first,))) != expected and time.monotonic() < until:
        page.wait_for_timeout(50)
    assert store.votes.verdicts(Ask((first,))) == expected
    page.get_by_text("3 rejected").wait_for()
    settled(page)
    assert {*window.order()[:3]} == {*chosen[::2]}


@plainly
def test_tags_are_accepted_added_and_removed_and_stay(window, store):
    number = next(row.id for row in store.pictures.all() if "red" in str(row.places[0]))
    for row in store.pictures.all():
        if row.id != number:
            store.label(row.id, "noisy")
    page = window.open(f"/picture/{number}")
    offered = page.locator(".suggestion", has_text="noisy")
    offered.wait_for()
    drawn = page.eval_on_selector_all(
        "use", "all => all.every(one => document.querySelector(one.getAttribute('href')))"
    )
    assert drawn, "every icon is there"
    with answered(page, "/part/tags"):
        offered.locator(".check").click()
    page.locator(".tag", has_text="noisy").wait_for()
    with answered(page, "/part/tags"):
        page.fill("#new-tag", "holiday")
        page.keyboard.press("Enter")
    page.locator(".tag", has_text="holiday").wait_for()
    page.reload()
    assert set(store.labels.of([number])[number]) >= {"noisy", "holiday"}
    with answered(page, "/part/tags"):
        page.get_by_label("Remove the tag holiday").click()
    page.locator(".tag", has_text="holiday").wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    page.locator(".tag", has_text="holiday").wait_for()
    assert "holiday" in store.labels.of([number])[number]


@plainly
def test_a_region_drawn_is_searched_with(window, store):
    number = next(iter(store.pictures.all())).id
    page = window.open(f"/picture/{number}?at=0")
    page.click("[data-region]")
    box = page.locator("#large").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.9 * box["height"], steps=4)
    page.mouse.up()
    with page.expect_request("**/api/queries/region") as asked:
        page.click("[data-region-go]")
    assert asked.value.post_data_json["box"] == pytest.approx([0.2, 0.3, 0.7, 0.9], abs=0.02)
    page.wait_for_url(re.compile(r"/search\?like=u"))
    assert page.locator(".tile").count() > 20


@plainly
def test_a_picture_is_removed_once_that_is_confirmed(window, store):
    _, row, following, *_ = store.pictures.browse(4)
    page = window.open("/")
    page.locator(f'.tile[data-id="{row.id}"] .open').click()
    page.wait_for_url(re.compile(f"/picture/{row.id}"))
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(f"/picture/{store.pictures.browse(1)[0].id}"))
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(f"/picture/{row.id}"))
    page.click("[data-remove]")
    page.click("#sure [value=no]")
    assert len(store) == 27
    page.click("[data-remove]")
    page.click("#sure [value=yes]")
    page.wait_for_url(re.compile(rf"/picture/{following.id}\?at=1$"))  # the next takes its place
    assert len(store) == 26
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(r"/$"))
    page.locator(f'.tile[data-id="{row.id}"]').wait_for(state="detached")
    page.locator(".tile").nth(25).wait_for(state="attached")
    assert str(row.id) not in window.order()
    last = store.pictures.browse(26)[-1]
    page = window.open(f"/picture/{last.id}?at=25")
    page.click("[data-remove]")
    page.click("#sure [value=yes]")
    page.wait_for_url(re.compile(r"/$"))
    assert len(store) == 25


@plainly
def test_what_was_learned_is_told_undone_and_learned_again(window, store):
    first, second, *_ = [row.id for row in store.pictures.all()]
    store.vote(Ask((first,)), picked=[second])
    page = window.open("/learned")
    with answered(page, "/part/undo"):
        page.locator(".said").first.get_by_role("button", name="Undo").click()
    page.locator(".said.undone").wait_for()
    assert store.votes.verdicts(Ask((first,))) == {}
    with answered(page, "/part/undo"):
        page.locator(".said").first.get_by_role("button", name="Redo").click()
    page.locator(".said").nth(2).wait_for()
    assert store.votes.verdicts(Ask((first,))) == {second: 1}
    page.get_by_role("button", name="Discard all votes").click()
    with answered(page, "/part/reset"):
        page.click("#sure [value=yes]")
    page.locator(".said").nth(3).wait_for()
    page.get_by_role("button", name="Learn from folders").click()
    page.locator(".job").wait_for()
    with answered(page, "/api/jobs"):
        page.reload()  # it goes on, and is found again if it is not over yet


@plainly
def test_an_import_that_refuses_files_does_not_end_as_a_success(browser, store, tmp_path):
    dated = saved(scene(), "JPEG", exif=camera_exif())
    ends = {
        "good": ([dated, heic(camera_exif())], "done", "Importing pictures: done"),
        "some": ([dated + b"1", b"no"], "partly", "done, but 1 file could not be used"),
        "bad": ([dated + b"2", b"no", b"neither"], "failed", "most files could not be used"),
    }
    with served(store, allow=(tmp_path,)) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open("/add")
        for name, (contents, look, title) in ends.items():
            (tmp_path / name).mkdir()
            for number, data in enumerate(contents):
                (tmp_path / name / f"{number}.jpg").write_bytes(data)
            page.get_by_label("Path of a folder").fill(str(tmp_path / name))
            page.get_by_role("button", name="Import", exact=True).click()
            box = page.locator(f".job.{look}")
            box.wait_for()
            assert title in box.inner_text()
            if look == "done":
                assert "2 added" in box.inner_text()
            else:
                assert "not a picture: unsupported format" in box.inner_text()
                assert box.get_by_role("link", name="could not be used").is_visible()
        assert window.trouble == []
        window.close()


@plainly
def test_nothing_else_is_learned_or_rolled_back_while_learning(window, store):
    store.learn(folders=True)
    job = {
        "id": "a" * 16,
        "kind": "learn",
        "state": "running",
        "done": 1,
        "total": 9,
        "message": "",
    }
    told = f"event: progress\ndata: {json.dumps(job)}\n\n"
    stream = {"body": told, "content_type": "text/event-stream"}
    window.page.route("**/api/jobs", lambda route: route.fulfill(json=[job]))
    window.page.route("**/api/jobs/*/events", lambda route: route.fulfill(**stream))
    page = window.open("/learned")
    page.locator(".job", has_text="the job continues").wait_for()
    for name in ("Learn from tags", "Learn from folders", "Go back"):
        assert page.get_by_role("button", name=name).is_disabled(), name
    window.page.unroute("**/api/jobs")
    page.reload()
    assert page.get_by_role("button", name="Learn from folders").is_enabled()


@plainly
def test_pictures_are_added_by_upload(window, store):
    page = window.open("/add")
    files = [
        {"name": "new.png", "mimeType": "image/png", "buffer": png((10, 250, 250), 77)},
        {"name": "bad.png", "mimeType": "image/png", "buffer": b"no picture"},
    ]
    page.set_input_files("[data-upload=picture]", files)
    page.locator("#uploads a", has_text="added").wait_for()
    page.locator("#uploads .failed", has_text="Cannot use “bad.png”").wait_for()
    page.locator("[data-total]", has_text="28").wait_for()
    assert len(store) == 28
    window.trouble.clear()  # chromium logs every answer that refuses


@pytest.mark.parametrize("scheme", ["light", "dark"])
@plainly
def test_a_phone_shows_all_without_scrolling_sideways(browser, store, scheme):
    number = next(iter(store.pictures.all())).id
    store.label(number, "a-very-long-tag-without-any-space-in-it-" * 5)
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"), color_scheme=scheme, **phone)
        paths = ("/", f"/search?like={number}", "/search?word=red", f"/picture/{number}")
        store.albums.save("a-very-long-name-without-any-space-in-it-" * 4, pictures=[number])
        album = f"/album/{store.albums.all()[0].id}"
        for path in (*paths, "/learned", "/add", "/?format=PNG&min_side=10", "/albums", album):
            page = window.open(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        page = window.open(f"/search?like={number}")
        sizes = page.eval_on_selector_all(
            ".vote",
            "all => all.map(one => one.getBoundingClientRect()).map(b => [b.width, b.height])",
        )
        assert min(min(pair) for pair in sizes) >= 44
        with answered(page, "/part/votes"):
            page.locator(".vote.up").nth(3).tap()
        page.wait_for_selector(".tile.liked")
        assert window.trouble == window.abroad == []
        window.close()


@plainly
def test_dark_or_light_is_chosen_and_kept(window):
    page = window.open("/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("[data-theme-switch]")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


@plainly
def test_a_long_grid_fills_what_is_near_and_is_come_back_to(window, store):
    lengthen(store)
    page = window.open("/")
    height = page.evaluate("document.documentElement.scrollHeight")
    assert len(window.order()) < 2000
    page.evaluate("scrollTo(0, 20000)")
    page.locator(".row .pick").first.dispatch_event("click")
    chosen = page.locator(".tile.chosen").get_attribute("data-id")
    page.evaluate("scrollTo(0, 22800)")  # out of the page, but its tile is kept
    page.locator(f'.tile[data-id="{chosen}"]').wait_for(state="detached")
    page.keyboard.press("Escape")
    page.evaluate("scrollTo(0, 20000)")
    page.locator(f'.tile[data-id="{chosen}"]').wait_for()
    assert page.locator(".tile.chosen").count() == 0, "nothing is selected any more"
    here = page.wait_for_function(HERE).json_value()
    page.locator(f'.row[data-start="{here}"] .open').first.click()
    page.wait_for_url(re.compile("/picture/.*at="))
    place = int(page.url.split("at=")[1])
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(f"at={place + 1}$"))
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("/$"))
    page.wait_for_function("() => scrollY > 10000")  # the list is where it was left
    window.trouble.clear()  # there is no file behind these pictures
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.locator(".month:last-child .tile").last.wait_for(state="attached")
    page.locator('.month[data-start="0"]').wait_for(state="detached")
    assert page.locator(".month").count() < 30, "of 61 months, those far away are not in the page"
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert len(window.order()) < 2000
    page.evaluate("scrollTo(0, 0)")
    page.locator('.month[data-start="0"] .tile').first.wait_for()
    head = page.locator('.month[data-start="0"] h2').bounding_box()
    page.mouse.move(head["x"] + head["width"] + 200, head["y"] + 20)
    page.mouse.down()
    page.mouse.move(900, 400)
    first = page.locator(".tile.chosen").first.get_attribute("data-id")
    page.evaluate("scrollTo(0, 12000)")
    page.locator(f'.tile[data-id="{first}"]').wait_for(state="detached")
    page.locator(".tile").first.wait_for()
    page.mouse.move(900, 420)
    page.mouse.up()
    page.evaluate("scrollTo(0, 0)")
    page.locator(f'.tile.chosen[data-id="{first}"]').wait_for()  # a band keeps what is out of sight


@plainly
def test_a_row_of_the_grid_asks_once_for_its_thumbnails(window, store):
    lengthen(store)
    page = window.open("/")
    page.wait_for_load_state("networkidle")
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.evaluate("scrollTo(0, 20000)")
    page.wait_for_function(AROUND)
    page.wait_for_function(ALL_SHOWN)
    rows = page.locator(".row").count()
    assert rows - 3 <= asked.count("/part/thumbnails") <= rows + 3  # some may be on their way
    assert not [path for path in asked if path.startswith("/thumbnail/")]
    page.route("**/part/thumbnails?*", lambda route: route.abort())
    page.evaluate("scrollTo(0, 60000)")
    page.wait_for_function(AROUND)
    page.wait_for_function(ALL_SHOWN)  # each was asked for on its own
    assert [path for path in asked if path.startswith("/thumbnail/")]
    window.trouble.clear()  # the answers that did not come


@plainly
def test_the_ranker_is_chosen_and_kept(browser, two):
    with Collection.open(two) as store, served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open("/search?like=1")
        first = window.order()
        assert page.get_by_label("Search by", exact=False).locator("option").count() == 2
        with answered(page, "/part/matches"):
            page.locator(".by select").select_option("brightness")
        page.wait_for_url(re.compile("by=brightness"))
        second = window.order()
        assert first != second
        assert [int(number) for number in second] == [
            match.id for match in store.search(1, 60, by="brightness")
        ]
        page.reload()
        assert window.order() == second
        assert page.locator(".by select").input_value() == "brightness"

        wanted = second[9]
        with answered(page, "/part/votes"):
            page.locator(f'.tile[data-id="{wanted}"] .vote.up').click()
        settled(page)
        ranked = [match.id for match in store.search(Ask((1,)), 60, by="brightness")]
        assert [int(number) for number in window.order()] == ranked
        with answered(page, "/part/reasons") as asked:
            page.locator(f'.tile[data-id="{wanted}"] [data-why]').click()
        assert "by=brightness" in asked.value.url
        page.wait_for_selector("#why li")
        page.keyboard.press("Escape")

        page.locator(f'.tile[data-id="{second[2]}"] .open').click()
        page.wait_for_url(re.compile(r"/picture/.*by=brightness"))
        page.keyboard.press("a")
        page.wait_for_url(re.compile(rf"/search[?]like={second[2]}&by=brightness"))
        with answered(page, "/part/matches"):
            page.locator(".by select").select_option("")
        page.wait_for_url(re.compile(r"like=\d+$"))
        assert page.locator(".rooms a[href='/learned']").count() == 1
        window.close()
        assert (window.trouble, window.abroad) == ([], [])


@plainly
def test_nothing_is_voted_on_while_another_ranking_is_awaited(browser, two):
    with Collection.open(two) as store, served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open("/search?like=1")
        held = []
        page.route("**/part/matches*", lambda route: held.append(route))
        page.locator(".by select").select_option("brightness")
        page.wait_for_function("() => getComputedStyle(matches).opacity < 1")
        page.locator(".tile .open").first.focus()
        page.keyboard.press("u")
        with answered(page, "/part/matches"):
            held[0].continue_()
        page.wait_for_function("() => getComputedStyle(matches).opacity == 1")
        assert store.votes.standing().votes == 0
        with answered(page, "/part/votes"):
            page.locator(".tile .vote.up").first.click()
        assert store.votes.standing().votes == 1
        window.close()
        assert (window.trouble, window.abroad) == ([], [])


@plainly
def test_votes_given_while_one_is_sent_are_recorded(window, store):
    page = window.open("/search?like=1")
    held = []
    page.route("**/part/votes", lambda route: route.continue_() if held else held.append(route))
    tiles = [page.locator(f'.tile[data-id="{number}"]') for number in window.order()[:3]]
    with page.expect_request("**/part/votes"):
        tiles[0].locator(".vote.up").click()
    tiles[1].locator(".vote.up").click()
    tiles[2].locator(".vote.down").click()
    assert [tile.locator("[aria-pressed=true]").count() for tile in tiles] == [1, 1, 1]
    held[0].continue_()
    for _ in range(6000):
        if store.votes.standing().votes == 3:
            break
        page.wait_for_timeout(50)
    settled(page)
    assert store.votes.standing().votes == 3
    page.reload()
    assert page.locator(".liked").count() == 2


@plainly
def test_learning_is_for_the_ranker_in_view(browser, two):
    with Collection.open(two) as store, served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open("/learned?by=brightness")
        with answered(page, "/part/learned"):
            page.get_by_text("Learn from folders").click()
        assert {model.ranker for model in store.models.all()} == {"embedding", "brightness"}
        assert "by=brightness" in page.url
        page.get_by_text("about brightness").wait_for()
        window.close()
        assert (window.trouble, window.abroad) == ([], [])


@plainly
def test_one_box_finds_what_is_most_probable_first_and_says_why(window, store):
    reds = [row.id for row in store.pictures.all() if row.places[0].parent.name == "red"]
    greens = [row.id for row in store.pictures.all() if row.places[0].parent.name == "green"]
    store.label(greens[0], "Lieblingsbild")
    page = window.open("/search?word=lieblingsbild")
    assert page.locator(".mark-source").all_text_contents() == ["tagged"]
    # What is most like the one picture that has the word.
    assert window.order()[0] == str(greens[0])
    assert int(window.order()[1]) in greens
    # A word that was learned: all that have it before all that may.
    store.label(reds[0], "red", shows=False)
    page = window.open("/search?word=red")
    assert page.locator(".mark-source").all_text_contents() == 8 * ["tagged"] + ["in the name"]
    assert set(window.order()[:8]) == {str(number) for number in reds[1:]}
    # Completed as it is typed, from words that have pictures, and several together.
    page.fill("#word", "lieb")
    page.get_by_role("option", name=re.compile("Lieblingsbild")).click()
    page.wait_for_url(re.compile("word=Lieblingsbild"))
    page.fill("#word", "green liebl")
    page.get_by_role("option", name=re.compile("green Lieblingsbild")).click()
    page.wait_for_url(re.compile("word=green"))
    assert window.order()[0] == str(greens[0])
    assert page.locator(".vote").count() == 0


@plainly
def test_a_tap_tags_a_picture_that_a_word_found(browser, store):
    store.label(1, "meadow")
    with served(store) as client:
        touch = {"has_touch": True, "is_mobile": True}
        window = Watched(browser, str(client.base_url).rstrip("/"), **touch)
        page = window.open("/search?word=meadow")
        page.locator(".tile .vote.up").nth(2).tap()
        page.locator(".mark-source").nth(1).wait_for()
        window.close()
        assert (window.trouble, window.abroad) == ([], [])


@plainly
def test_pictures_loaded_after_a_vote_stay(window, store, set_limits):
    set_limits(page=9)
    page = window.open("/search?like=1")
    rejected = page.locator(".tile").nth(2)
    number = rejected.get_attribute("data-id")
    with answered(page, "/part/votes"):
        rejected.locator(".vote.down").click()
    # It stays under the pointer, while more pictures are loaded.
    page.wait_for_selector(".rejected")
    page.wait_for_selector("#matches[aria-busy]")
    page.evaluate(LOAD_MORE)
    page.wait_for_function("() => document.querySelectorAll('.results > .tile').length > 15")
    settled(page)
    everything = {str(row.id) for row in store.pictures.all()} - {"1", number}
    while page.evaluate(LOAD_MORE):
        page.wait_for_timeout(100)
    assert sorted(window.order()) == sorted(everything)


@plainly
def test_a_missing_file_shows_its_thumbnail_and_no_bare_icon(browser, store, tmp_path):
    path = tmp_path / "gone.png"
    draw(path, (200, 10, 10), 999)
    store.add([path])
    number = store.pictures.find(path)
    path.unlink()
    with served(store) as client:
        window = Watched(browser, str(client.base_url).rstrip("/"))
        page = window.open(f"/picture/{number}")
        page.wait_for_selector(".missing")
        page.wait_for_function("() => document.getElementById('large').naturalWidth > 0")
        page = window.open("/")
        page.evaluate("document.querySelector('.tile img').src = '/thumbnail/99999.jpg'")
        page.wait_for_selector(".tile .broken")
        assert page.locator(".tile img").first.is_hidden()
        window.close()


@plainly
def test_nobody_sees_buttons_that_cannot_work(browser, store, tmp_path):
    first = next(iter(store.pictures.all())).id
    store.label(first, "sky")
    draw(tmp_path / "gone.png", (10, 200, 10), 998)
    store.add([tmp_path / "gone.png"])
    gone = store.pictures.find(tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    store.pictures.find_missing()
    with served(store, key="k" * 24, read_key="r" * 24, vote_key="v" * 24) as client:
        for key in ("k" * 24, "r" * 24, "v" * 24):
            window = Watched(
                browser,
                str(client.base_url).rstrip("/"),
                extra_http_headers={"Authorization": f"Bearer {key}"},
            )
            for path, mark in (
                (f"/search?like={first}", ".vote"),
                (f"/picture/{first}", "[data-remove]"),
                (f"/picture/{first}", ".tag button"),
                (f"/picture/{gone}", "[data-look]"),
                (f"/search?like={gone}", ".for-voters"),
                ("/search?word=sky", ".for-voters"),
                ("/learned", "[data-job]"),
                ("/", "a[href='/add']"),
            ):
                page = window.open(path)
                for_voters = (".vote", ".for-voters", ".tag button")
                may = key[0] == "k" or (key[0] == "v" and mark in for_voters)
                assert page.locator(mark).first.is_visible() is may, (path, mark, key[0])
            if key[0] == "v":
                page = window.open(f"/search?like={first}")
                page.locator(".vote").first.click()
                page.locator(".toast").first.wait_for()
                assert [
                    person.votes for person in store.people.all() if person.name == "guest"
                ] == [1]
            window.close()


@plainly
def test_the_api_page_works_offline(window):
    page = window.open("/docs")
    page.get_by_text("Search by pictures or by words").click()
    page.get_by_text("Leave out matches after this many of the best.").wait_for()
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
