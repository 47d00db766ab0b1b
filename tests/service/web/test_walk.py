"""The whole way of a person on photographs, in a browser, over a server that is started twice.

With ``WALK_PICTURES=DIR`` in the environment, pictures of the page are written there.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.images.pictures import camera_exif, heic, saved
from tests.service.packets import DARKTABLE
from tests.service.web.browser import Watched, chromium, plainly

SKY, GRASS, SAND = (90, 150, 230), (60, 150, 50), (225, 195, 130)
COLOURS = {"sky": SKY, "grass": GRASS, "sand": SAND}


def photograph(colour, seed):
    """A picture of one kind: its colour, with shapes of its own and the noise of a camera."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (320, 240), colour)
    draw = ImageDraw.Draw(image)
    for _ in range(7):
        x, y, size = *rng.integers(0, 300, 2).tolist(), int(rng.integers(12, 70))
        shade = tuple(int(part * rng.uniform(0.4, 1.0)) for part in colour)
        draw.ellipse((x, y, x + size, y + size), fill=shade)
    noise = rng.normal(0, 6, (240, 320, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


@pytest.fixture
def home(tmp_path):
    """A home folder with photographs in it, as cameras and other programs write them."""
    folder = tmp_path / "home" / "Pictures"
    folder.mkdir(parents=True)
    for kind, colour in COLOURS.items():
        for number in range(10):
            data = saved(photograph(colour, hash_of(kind) + number), "JPEG", quality=90)
            (folder / f"{kind} {number}.jpg").write_bytes(data)
    dated = saved(photograph(SKY, 51), "JPEG", exif=camera_exif("2020:02:29 01:02:03"))
    (folder / "dated.jpg").write_bytes(dated)
    (folder / "phone.heic").write_bytes(heic(camera_exif("2023:01:02 03:04:05")))
    tagged = saved(photograph(GRASS, 152), "JPEG", xmp=DARKTABLE.encode())
    (folder / "Größe.jpg").write_bytes(tagged)
    # A copy of a file, a changed copy, and what no program can read.
    (folder / "dated again.jpg").write_bytes(dated)
    grey = photograph(SAND, hash_of("sand")).convert("L").resize((160, 120))
    (folder / "sand grey.png").write_bytes(saved(grey, "PNG"))
    (folder / "half.jpg").write_bytes(tagged[: len(tagged) // 2])
    return folder.parent


def hash_of(kind):
    return 100 * [*COLOURS].index(kind)


@contextmanager
def serving(home):
    """Serve ``~/photos`` by the command that people type; give its address."""
    command = "from lookalike.service.command_line import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-c", command, "serve", "-c", "photos", "--port", "0", "--json"],
        cwd=home,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    try:
        yield json.loads(server.stdout.readline())["address"].rstrip("/")
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=300)
    assert server.returncode == 0


class Walk(Watched):
    """A person at the page."""

    def __init__(self, browser, address):
        super().__init__(browser, address)
        self.page.set_default_timeout(100_000)

    def show(self, name):
        """Keep a picture of the page, if they are wanted."""
        if folder := os.environ.get("WALK_PICTURES"):
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    def go(self, room):
        self.page.get_by_role("link", name=room, exact=True).first.click()

    def job(self, text):
        """Wait for the end of a job that says this."""
        self.page.locator(".job", has_text=re.compile(text)).wait_for()

    def pick(self, names):
        """Select the tiles of some pictures."""
        for name in names:
            one = self.page.locator(f'.tile:has(img[alt="{name}"])').first
            one.hover()
            one.locator(".pick").click()

    def search(self, text):
        """Search for words; give what the pictures are called, the first first."""
        self.page.locator("#word").fill(text)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile(r"/search\?"))
        tiles = self.page.locator("#matches .tile img")
        tiles.first.wait_for()
        return tiles.evaluate_all("all => all.map((one) => one.alt)")


@plainly
def test_the_way_of_a_person_from_the_first_minute_to_the_next_day(home):
    with chromium() as browser:
        with serving(home) as address:
            walk = Walk(browser, address)
            first_day(walk)
            walk.close()
            assert walk.trouble == []
            assert walk.abroad == []
        with serving(home) as address:
            walk = Walk(browser, address)
            next_day(walk)
            walk.close()
            assert walk.trouble == []


def first_day(walk):
    page = walk.open("/")
    # Import, by choosing a folder. One file is refused, and that is said.
    page.get_by_role("button", name="Choose…").click()
    page.locator("#folders-list button", has_text="home").click()
    page.locator("#folders-list button", has_text="Pictures").click()
    page.get_by_text("36 pictures in it").wait_for()
    walk.show("choose")
    page.get_by_role("button", name="Choose this folder").click()
    page.get_by_role("button", name="Import", exact=True).click()
    walk.job("1 file could not be used")
    assert "34 added, 1 copy, 1 refused" in page.locator(".job").inner_text()
    walk.show("imported")
    walk.go("Pictures")
    page.get_by_role("heading", name="January 2023").wait_for()
    page.get_by_role("heading", name="February 2020").wait_for()
    walk.show("pictures")

    # Keywords of another program are tags, and are found; a phone's picture is shown in full.
    page.locator("#word").fill("Föhr")
    page.keyboard.press("Enter")
    page.locator("#matches .tile").first.wait_for()
    walk.show("search")
    page.locator("#matches .open").first.click()
    page.locator(".facts h1", has_text="Größe.jpg").wait_for()
    page.go_back()
    walk.go("Pictures")
    page.locator('img[alt="phone.heic"]').click()
    page.wait_for_function("() => document.getElementById('large')?.naturalWidth > 0")
    assert "/image/" in page.locator("#large").get_attribute("src")
    walk.show("heic")

    # Votes change the search at once, and one is taken back.
    page.go_back()
    page.locator('img[alt="sky 0.jpg"]').click()
    page.locator("[data-alike]").click()
    page.locator("#matches .tile").first.wait_for()
    page.locator("#matches .tile .vote.up").nth(1).click()
    page.get_by_text("You picked 1 picture here").wait_for()
    page.locator("#matches .tile .vote.down").last.click()
    page.get_by_text("1 rejected").wait_for()
    walk.show("votes")
    page.keyboard.press("z")
    page.get_by_text("1 rejected").wait_for(state="detached")

    # Tags, on many at once, and on one.
    walk.go("Pictures")
    for kind in COLOURS:
        walk.pick([f"{kind} {number}.jpg" for number in range(8)])
        page.get_by_role("button", name="Tag the selected pictures", exact=True).click()
        page.locator("#one-word input").fill(kind)
        page.keyboard.press("Enter")
        page.locator(".toast", has_text=f"Tagged 8 pictures “{kind}”").wait_for()
        page.keyboard.press("Escape")
        page.reload()
    walk.go("Learned")
    page.get_by_role("button", name="Learn from tags").click()
    walk.job("Learning: done")
    assert "test pictures" in page.locator(".job").first.inner_text()
    walk.show("learned")
    shown = walk.search("sand")
    assert shown[:8] == ["sand"] * 8, shown
    assert {"sand 8.jpg", "sand 9.jpg"} & {*shown[8:12]}, shown

    # An album of some pictures, one more for it, and its name.
    walk.go("Pictures")
    walk.pick(["dated again.jpg", "phone.heic"])
    page.get_by_role("button", name="Add to album").click()
    page.locator("#into-album input").fill("Sommer")
    page.keyboard.press("Enter")
    page.locator(".toast", has_text="Added 2 pictures to “Sommer”").wait_for()
    walk.pick(["sky 9.jpg"])
    page.get_by_role("button", name="Add to album").click()
    page.locator("#into-album-list button", has_text="Sommer").click()
    page.locator(".toast", has_text="Added 1 picture to “Sommer”").wait_for()
    walk.go("Albums")
    page.get_by_text("3 pictures").wait_for()
    walk.show("albums")

    # Duplicates: the copy of a file is listed; the grey copy goes to the bin.
    walk.go("Pictures")
    walk.go("Duplicates")
    page.get_by_role("heading", name="Exact copies").wait_for()
    page.locator(".exact code", has_text="dated again.jpg").wait_for()
    card = page.locator(".duplicate", has_text="sand grey.png")
    card.wait_for()
    walk.show("duplicates")
    card.get_by_role("button", name="Keep only sand 0.jpg").click()
    page.locator(".toast", has_text="moved to the bin").wait_for()
    walk.go("Bin")
    page.locator(".binned", has_text="sand grey.png").wait_for()
    walk.show("bin")


def next_day(walk):
    page = walk.open("/bin")
    page.get_by_role("button", name="Restore all").click()
    page.get_by_text("The bin is empty").wait_for()
    walk.go("Albums")
    page.locator(".album-card", has_text="Sommer").click()
    page.get_by_role("heading", name="Sommer").wait_for()
    assert page.locator("#members .tile").count() == 3
    assert walk.search("sky")[:8] == ["sky"] * 8
    walk.go("Pictures")
    page.locator('img[alt="sky"]').first.wait_for()
    walk.go("Learned")
    page.get_by_text("1 vote in effect").wait_for()
    walk.show("next day")
