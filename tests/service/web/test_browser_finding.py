"""The page with a real browser: folders, places, captions and other collections."""

import re

import pytest

from lookalike import Collection
from tests.service.web.browser import Watched, chromium, plainly
from tests.service.web.test_details import http, store  # noqa: F401 fixtures
from tests.service.web.test_serve import Served


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def window(browser, http):  # noqa: F811
    """A window on the collection, in which nothing may go wrong."""
    opened = Watched(browser, str(http.base_url).rstrip("/"))
    yield opened
    opened.close()
    assert opened.trouble == []
    assert opened.abroad == []


@plainly
def test_a_place_leads_to_the_nearest_and_a_dot_to_its_pictures(window, store):  # noqa: F811
    number = next(row.id for row in store.pictures.all() if row.places[0].stem == "vienna")
    page = window.open(f"/picture/{number}")
    assert page.locator(".caption").inner_text() == "<script>alert(1)</script> on the beach"
    page.get_by_role("link", name="48.20833° N").click()
    page.wait_for_url(re.compile("/places"))
    assert page.locator(".nearest .mark-source").all_inner_texts() == ["154 km", "9,132 km"]
    page.locator(".map a").first.click()
    page.wait_for_url(re.compile("near="))
    page.locator(".tile").nth(1).wait_for()
    assert len(window.order()) == 2
    page.get_by_role("link", name="Places").click()
    page.locator(".map").wait_for()
    assert page.locator(".map circle").count() == 2, "a map of fewer pictures is closer"


@plainly
def test_dots_of_the_map_are_seen_and_long_searches_wrapped_on_a_phone(window):
    page = window.open("/places")
    page.set_viewport_size({"width": 390, "height": 844})
    dot = page.locator(".map circle").first
    look = "node => [getComputedStyle(node).stroke, getComputedStyle(node).fill]"
    stroke, fill = dot.evaluate(look)
    assert stroke == fill, "dots are not made smaller by a stroke of the background"
    page.goto(page.url.replace("/places", f"/search?word={'x' * 900}"))
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@plainly
def test_a_folder_is_opened_and_shows_its_pictures_below_those_above_it(window):
    page = window.open("/")
    page.get_by_role("link", name="Folders").click()
    page.locator(".tree a", has_text="photos").click()
    page.wait_for_url(re.compile("folder="))
    assert len(window.order()) == 4
    assert page.locator(".crumbs a").all_inner_texts() == ["Folders", "photos"]


@plainly
def test_a_camera_is_chosen_among_the_filters(window):
    page = window.open("/")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Camera").select_option(label="Apple iPhone <12> (1)")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("camera="))
    assert len(window.order()) == 1


@plainly
def test_another_collection_and_a_new_one_are_opened(browser, indexed, tmp_path):
    Collection.create(tmp_path / "other").close()
    server = Served(indexed, "--port", "0")
    window = Watched(browser, server.address.rstrip("/"))
    try:
        page = window.open("/")
        page.locator("header .which", has_text="store").click()
        page.get_by_role("button", name="Open other").click()
        page.wait_for_url(server.address)
        page.locator("header .which", has_text="other").wait_for()
        page.goto(f"{server.address}collections")
        page.get_by_label("Name of a new collection").fill("fresh")
        page.get_by_role("button", name="Make and open").click()
        page.wait_for_url(server.address)
        page.locator("header .which", has_text="fresh").wait_for()
        assert (tmp_path / "fresh").is_dir()
    finally:
        window.close()
        server.process.kill()
        server.process.communicate()
    assert window.abroad == []
