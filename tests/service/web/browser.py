"""A real browser for the tests: Debian's chromium, driven by Playwright."""

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
CHROMIUM = SHELL if SHELL.exists() else Path("/usr/bin/chromium")
"""The shell without windows takes a quarter of the time."""

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def missing():
    """Say why there is no browser; empty where there is one, or where there has to be."""
    if os.environ.get("CI_BROWSER") == "1" or CHROMIUM.exists():
        return ""
    return (
        "there is no browser; install Debian's chromium-headless-shell, or set CI_BROWSER=1 to "
        "insist"
    )


def plainly(test):
    """Let a test fail with places and message only.

    Playwright switches stacks below Python 3.11, which then cannot parse source to show it, and
    the whole run would end.
    """

    @functools.wraps(test)
    def run(**given):
        try:
            test(**given)
        except Exception as error:
            places, step = [], error.__traceback__
            while step is not None:
                code = step.tb_frame.f_code
                places.append(f"{code.co_filename}:{step.tb_lineno} {code.co_name}")
                step = step.tb_next
            told = "\n".join([*places, f"{type(error).__name__}: {error}"])
        else:
            return
        pytest.fail(told, pytrace=False)

    return run


@contextmanager
def chromium():
    """Start the browser."""
    if missing():
        pytest.skip(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        yield browser
        browser.close()


class Watched:
    """A window of the browser; whatever it says in anger and wherever it goes is noted."""

    def __init__(self, browser, address, **options):
        self.address = address
        self.context = browser.new_context(**{"reduced_motion": "reduce", **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(300_000)
        self.trouble, self.abroad = [], []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", self._request)

    def _console(self, message):
        # htmx reports a request that was given up, as when a page is left before a part has come.
        given_up = message.text in ("htmx:afterRequest", "htmx:sendAbort", "undefined")
        if message.type in ("error", "warning") and not given_up:
            self.trouble.append(message.text)

    def _request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and f"http://{parts.netloc}" != self.address:
            self.abroad.append(request.url)

    def open(self, path):
        self.page.goto(self.address + path)
        return self.page

    def order(self):
        """Return the ids of the tiles as they are shown."""
        return self.page.eval_on_selector_all(".tile", "all => all.map(tile => tile.dataset.id)")

    def close(self):
        self.context.close()
