"""A browser that records what goes wrong on a page: errors, policy violations, dialogs, foreign requests."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from prd2pr.verification.program.camera import BROWSERS

WIDE = {"width": 1360, "height": 900}
PHONE = {"width": 400, "height": 800}
# Without these Chromium makes requests of its own, or needs a sandbox that root cannot have.
SWITCHES = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-gpu")


def found() -> str:
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")


def missing() -> str:
    """Why browser tests cannot run here; empty if they can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "NOT TESTED IN A BROWSER: playwright is not installed (pip install playwright)"
    return "" if found() else "NOT TESTED IN A BROWSER: this machine has no Chromium or Chrome"


needs_browser = pytest.mark.skipif(bool(missing()), reason=missing())


@dataclass
class Tab:
    page: Any
    base: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.base + path, wait_until="load")

    @property
    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found(), args=list(SWITCHES))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def tab(browser: Any, base: str, token: str = "", **options: Any) -> Iterator[Tab]:
    """Open a tab with `token` in its cookie."""
    context = browser.new_context(**({"viewport": WIDE} | options))
    if token:
        context.add_cookies([{"name": "prd2pr_session", "value": token, "url": base, "sameSite": "Strict"}])
    page = context.new_page()
    it = Tab(page, base)
    page.on("console", lambda said: it.wrong.append(f"{said.type}: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: it.wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (it.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda asked: it.wrong.append(f"asked: {asked.url}") if not asked.url.startswith(base) else None)
    page.set_default_timeout(20_000)
    try:
        yield it
    finally:
        context.close()
