"""The page in a browser with 100,000 pictures: the first page, scrolling, and tagging them all.

The collection is the one of ``speed/service.py``. Debian's chromium is driven by Playwright without
a window. Frames are counted by ``requestAnimationFrame`` while the page scrolls, once step by step
as with a wheel and once in leaps as with the scrubber; a frame that takes longer than 1/60 s is
late. Each figure is measured several times: the best run shows what the page can do, since other
work on the machine only adds time, and the median is given beside it.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from bench import Figure, Options, main
from service import Server, make

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-gpu"]
SECONDS = 3
"""How long the page scrolls in each run."""

SCROLL = """([pixels, leap, seconds]) => new Promise((resolve) => {
    const frames = [];
    const end = performance.now() + 1000 * seconds;
    const whole = document.documentElement.scrollHeight - innerHeight;
    let before = performance.now();
    let number = 0;
    const step = (now) => {
        frames.push(now - before);
        before = now;
        number += 1;
        if (leap && number % 30 === 0) scrollTo(0, (number * 7919 * pixels) % whole);
        else if (!leap) scrollBy(0, pixels);
        if (now < end) requestAnimationFrame(step);
        else resolve(frames.slice(1));
    };
    requestAnimationFrame(step);
})"""


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def first_page(browser: Browser, address: str) -> float:
    """Return the milliseconds until the first pictures are on the screen of a new visitor."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".tile img")
    shown = page.evaluate(
        "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    )
    ready = page.evaluate(
        "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    )
    context.close()
    return float(max(shown, ready))


def frames(page: Page, address: str, *, leap: bool) -> float:
    """Return the frames a second while the page scrolls."""
    page.goto(address)
    page.wait_for_selector(".tile")
    page.wait_for_timeout(500)
    times = page.evaluate(SCROLL, [60, leap, SECONDS])
    return 1000 * len(times) / sum(times)


def tag_all(page: Page, address: str, word: str) -> float:
    """Select all pictures and tag them; return the seconds until the notice that it is done."""
    page.goto(address)
    page.wait_for_selector(".tile")
    page.locator(".tile").first.hover()
    page.locator(".tile .pick").first.click()

    def work() -> None:
        page.locator("[data-many=all]").click()
        page.locator("[data-many=tag]:visible").wait_for()
        page.locator("#many-count", has_text="00 selected").wait_for()
        page.locator("[data-many=tag]").click()
        page.locator("#one-word input").fill(word)
        page.keyboard.press("Enter")
        page.locator(".toast", has_text="Tagged").wait_for()

    return seconds(work)


def undo(page: Page) -> float:
    """Take the tags back; return the seconds until that is acknowledged."""

    def work() -> None:
        page.locator(".toast", has_text="Tagged").get_by_role("button", name="Undo").click()
        page.locator(".toast", has_text="Undone").wait_for()

    return seconds(work)


def measure(options: Options) -> list[Figure]:
    count, rounds = (20_000, 2) if options.quick else (100_000, 5)
    options.settings |= {"pictures": count, "rounds": rounds, "seconds of scrolling": SECONDS}
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "collection"
        make(place, Path(temporary) / "pictures", count, options)
        server = Server(place)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
                address = f"http://127.0.0.1:{server.port}/"
                first_page(browser, address)
                opened = [first_page(browser, address) for _ in range(rounds)]
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.set_default_timeout(120_000)
                steps = [frames(page, address, leap=False) for _ in range(rounds)]
                leaps = [frames(page, address, leap=True) for _ in range(rounds)]
                tagged, undone = [], []
                for number in range(rounds):
                    tagged.append(tag_all(page, address, f"word {number}"))
                    undone.append(undo(page))
                browser.close()
        finally:
            server.close()
    return [
        _best("first page, ms", opened, "<=", 300),
        _best("frames a second, scrolling by steps", steps, ">=", 59),
        _best("frames a second, scrolling in leaps", leaps, ">=", 59),
        _best("select all and tag, acknowledged, s", tagged, "<=", 2),
        _best("undo of that, acknowledged, s", undone, "<=", 2),
    ]


def _best(what: str, values: list[float], sense: str, target: float) -> Figure:
    best = min(values) if sense == "<=" else max(values)
    return Figure(what, best, sense, target, f"median {np.median(values):.3g}")  # type: ignore[arg-type]


if __name__ == "__main__":
    main("speed/page", measure)
