"""A headless Chromium for the tests of pages, and pages that remember what they complained of."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field

import pytest

REQUIRED = "JOINTDR_REQUIRE_BROWSER"
"""With this environment variable set to 1, tests fail where there is no browser instead of being skipped."""

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--no-sandbox",  # which a container does not allow
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def unavailable(why: str):
    """Skip the test, or fail where a browser is required."""
    message = f'browser tests need Chromium and playwright (pip install "jointdr[browser]"): {why}'
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def chromium() -> str | None:
    """Where the system's Chromium is; JOINTDR_CHROMIUM names another one."""
    named = os.environ.get("JOINTDR_CHROMIUM")
    return named or next((path for name in CHROMIUM if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    """The browser, one for all tests of a process."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    path = chromium()
    if path is None:
        unavailable("no Chromium was found")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except Error as error:
            unavailable(f"{path} did not start ({str(error).splitlines()[0]})")
        yield found
        found.close()


@dataclass
class Watch:
    """What went wrong in a page: errors in its console, errors of its scripts, and requests it should not make."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def watched(page) -> Watch:
    """Take down from now on what a page complains of, and every address that it asks for."""
    watch = Watch()
    page.on("console", lambda message: watch.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: watch.errors.append(str(error)))
    page.on("request", lambda request: watch.requests.append(request.url))
    return watch


@pytest.fixture
def open_page(browser):
    """open_page(width=…, dark=…, offline=…) is a new page and what it complains of; it is closed after the test."""
    contexts = []

    def opened(*, width: int = 1200, height: int = 900, dark: bool = False, offline: bool = False, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        context.set_offline(offline)
        context.set_default_timeout(300_000)  # on a busy machine
        page = context.new_page()
        return page, watched(page)

    yield opened
    for context in contexts:
        context.close()
