"""A running page and its visitors: an engine in an empty home, browsers, and requests that no browser sends."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from processes.run import SECONDS
from processes.shared import Home

from search_mcp.clients.command import SAFELY
from search_mcp.engine import hello
from search_mcp.engine.joining import ask_started
from search_mcp.engine.meeting import meeting

ON_MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", ON_MACOS)
"""Names of the browser's command, and its place where no command is installed with it."""
PROGRAM = (sys.executable, *SAFELY, "search_mcp")
WIDE, NARROW = 1000, 380
"""Widths of a window, in pixels."""

expect.set_options(timeout=30_000)  # a busy machine; what is expected comes within a second


class PageHome(Home):
    """A home whose engine shows the page."""

    def types(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in this home."""
        return self.client().types(*words, "--config", str(self.config))

    def invites(self) -> str:
        """Return a new address of the page, as `search-mcp ui` prints it; the first time, the engine is started."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "environ", self.client().environment)
            first = {**hello.introduction({"--config": str(self.config)}), "wants": "page", "program": PROGRAM}
            place = meeting(str(self.config), os.environ)
            answer = ask_started(place, {**first, "folder": str(self.folder)}, SECONDS)
        return f"{answer['address']}#{answer['token']}"

    def runs_ui(self) -> str:
        """Run `search-mcp ui`; return the address that it prints."""
        done = self.types("ui", "--no-open")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def visit(self) -> "Iterator[Guest]":
        """Provide a client of HTTP that was let in as a browser is."""
        with Guest(self.invites()) as guest:
            guest.enters()
            yield guest

    def edits(self, change: Callable[[str], str]) -> None:
        """Replace the configuration file in one step, as an editor does."""
        new = self.config.with_suffix(".new")
        new.write_text(change(self.config.read_text("utf-8")), "utf-8")
        new.replace(self.config)


class Guest(httpx2.Client):
    """A client of HTTP with an address of `search-mcp ui`; it sends the headers of a browser, if not told otherwise.

    It loads no certificates, which takes 0.05 s.
    """

    def __init__(self, address: str) -> None:
        self.address, _, self.token = address.partition("#")
        parts = urlsplit(self.address)
        self.root, self.authority = parts.path, parts.netloc
        self.origin, self.port = f"http://{parts.netloc}", int(parts.port or 0)
        self.form_token = ""
        headers = {"origin": self.origin, "sec-fetch-site": "same-origin"}
        super().__init__(base_url=self.origin, headers=headers, timeout=SECONDS, trust_env=False, verify=False)

    def enters(self) -> httpx2.Response:
        """Use the token of the address; return the response, which has the cookie."""
        answer = self.post(f"{self.root}enter", data={"token": self.token})
        if answer.cookies:
            self.form_token = "".join(re.findall(r'name="form_token" value="([^"]+)"', self.view("servers"))[:1])
        return answer

    @property
    def cookie(self) -> str:
        """The header that shows the session."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def view(self, path: str) -> str:
        """Return the HTML of a view."""
        answer = self.get(self.root + path)
        assert answer.status_code == 200, answer
        return answer.text

    def sends(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of the page."""
        return self.post(self.root + path, data={"form_token": self.form_token, **fields})


def chromium() -> str | None:
    """Return the program of a Chromium browser, `None` if there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def running_browser(program: str) -> Iterator[Browser]:
    """Run a browser. Meanwhile no other event loop can run in this thread, because one of Playwright does."""
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person with a browser of their own, which shares nothing with others.

    It collects the browser's complaints: errors of scripts, of loading, and of the content security policy.
    """

    def __init__(self, browser: Browser, **options: Any) -> None:
        """`options` are those of a browser context, such as `color_scheme`."""
        self.complaints: list[str] = []
        self._forgiven: list[str] = []
        self._has_script = options.get("java_script_enabled", True)
        self.context = browser.new_context(**{"viewport": {"width": WIDE, "height": 760}, **options})
        self.context.set_default_timeout(1000 * SECONDS)
        self.context.on("console", self._note)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def enters(self, home: PageHome, view: str = "servers") -> Page:
        """Open the page with a new address; return it when it shows a view."""
        page, address = self.context.new_page(), home.invites()
        page.goto(address)
        if not self._has_script:
            page.get_by_label("Or paste what follows").fill(address.partition("#")[2])
            page.get_by_role("button", name="Open the page").click()
        page.wait_for_url("**/servers")
        if view != "servers":
            page.goto(page.url.removesuffix("servers") + view)
        return page

    def forgives(self, words: str) -> None:
        """Expect complaints with these words."""
        self._forgiven.append(words)

    def leaves(self) -> list[str]:
        """Close all pages; return the complaints that were not expected."""
        self.context.close()
        return [each for each in self.complaints if not any(words in each for words in self._forgiven)]


def has_overflow(page: Page) -> bool:
    """Return whether a page scrolls sideways."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wide


def waits_until(what: Callable[[], bool]) -> None:
    """Poll until a condition outside of a page is true for which there is no event."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.01)
