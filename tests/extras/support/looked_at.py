"""A Chromium for pages of reports. No test may cause a console message or a network request."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

import pytest

TOOLS = "build/browser-tools"


@pytest.fixture(scope="session")
def chromium(checkout):
    tools = checkout / TOOLS
    if not (tools / "complete").exists():
        pytest.fail(f"{TOOLS} is missing: .ci/browser-tools makes it")
    sys.path.insert(0, str(tools / "python"))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=tools / "chromium", args=sandbox)
        yield browser
        browser.close()
    sys.path.remove(str(tools / "python"))


@pytest.fixture
def looking(chromium, tmp_path):
    """Open a page in a window of its own, as a file; each line of its console has the words ``said``."""

    @contextmanager
    def look(text, *, address="", said="", **window):
        file = tmp_path / "run.html"
        file.write_text(text)
        context = chromium.new_context(viewport={"width": 1300, "height": 900}, **window)
        try:
            page = context.new_page()
            page.set_default_timeout(60_000)  # of a busy machine
            told, asked = [], []
            page.on("console", lambda message: told.append(message.text))
            page.on("pageerror", lambda error: told.append(str(error)))
            page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
            page.on("requestfinished", lambda request: asked.append(request.url))
            page.on("requestfailed", lambda request: request.failure == "csp" or asked.append(request.url))
            page.goto(f"{file.as_uri()}{address}")
            yield page
            assert [line for line in told if not said or said not in line] == []
            assert asked == [file.as_uri()]
        finally:
            context.close()

    return look


def listed(page):
    return page.locator(".item").evaluate_all("items => items.map((item) => states[item.dataset.state].id)")


def chosen(page):
    number = page.evaluate("choice.selected")
    return page.evaluate("states[choice.selected].id") if number >= 0 else None


def number_of(page, name):
    return page.evaluate("name => states.findIndex((state) => state.id === name)", name)


def middle(page, view, name):
    """The point of the screen at the middle of a bar or a box."""
    box = page.evaluate(f"number => {view}.boxOf(number)", number_of(page, name))
    canvas = page.locator(f"#{'timeline' if view == 'timeline' else 'graph'} canvas").bounding_box()
    return canvas["x"] + box["x"] + box["width"] / 2, canvas["y"] + box["y"] + box["height"] / 2
