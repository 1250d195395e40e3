"""Browsers that Playwright cannot run as Debian has them: the commands of WebDriver, for WebKitGTK and Firefox."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from processes.run import SECONDS

from page.running import waits_until

Send = Callable[[str, str, dict[str, Any]], Any]
"""Carries out a command: its name in Marionette, its path in HTTP, its parameters."""
FIREFOX = ("firefox-esr", "firefox")
MINI_BROWSERS = ("/usr/lib/*/webkit2gtk-4.*/MiniBrowser", "/usr/libexec/webkit2gtk-4.*/MiniBrowser")
ENTER = "\ue007"


class MissingError(Exception):
    """An element is not there, or not there any more."""


class Window:
    """The only window of a browser."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def opens(self, address: str) -> None:
        self._send("Navigate", "url", {"url": address})

    def goes_back(self) -> None:
        self._send("Back", "back", {})

    def runs(self, script: str, *arguments: Any) -> Any:
        """Return the value of an expression of JavaScript."""
        return self._send("ExecuteScript", "execute/sync", {"script": f"return {script}", "args": [*arguments]})

    def shows(self, text: str) -> None:
        """Wait until a text is shown."""
        try:
            waits_until(lambda: bool(self.runs("document.body.innerText.includes(arguments[0])", text)))
        except AssertionError as exc:
            raise AssertionError(f"{text!r} is not in:\n{self.runs('document.body.innerText')}") from exc

    def has(self, xpath: str) -> None:
        """Wait for an element."""
        self._uses(xpath)

    def clicks(self, xpath: str) -> None:
        self._uses(xpath, "ElementClick", "click")

    def types(self, xpath: str, text: str) -> None:
        self._uses(xpath, "ElementSendKeys", "value", text=text)

    def _uses(self, xpath: str, command: str = "", path: str = "", **given: str) -> None:
        """Wait for an element, and send it a command; an event may replace it in between."""

        def attempt() -> bool:
            try:
                (identity,) = self._send("FindElement", "element", {"using": "xpath", "value": xpath}).values()
                if command:
                    self._send(command, f"element/{identity}/{path}", {"id": identity, **given})
            except MissingError:
                return False
            return True

        waits_until(attempt)

    def presses(self, *keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        given = {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        self._send("PerformActions", "actions", given)


@contextmanager
def webkit(_: Path) -> Iterator[Window]:
    """Run WebKitGTK's small browser; skip the test where it is not installed."""
    program = next((path for each in MINI_BROWSERS for path in Path("/").glob(each[1:])), None)
    driver = shutil.which("WebKitWebDriver")
    if driver is None or program is None or shutil.which("xvfb-run") is None:
        pytest.skip("WebKitGTK's driver or xvfb-run is missing (Debian: apt-get install webkit2gtk-driver xvfb)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"binary": str(program), "args": ["--automation"]}
    command = ["xvfb-run", "-a", driver, f"--port={port}"]
    with (
        _running(command),
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False) as http,
    ):

        def send(_: str, path: str, given: dict[str, Any]) -> Any:
            answer = http.post(path, json=given)
            value = answer.json()["value"]
            if answer.status_code != 200:
                raise _error(value)
            return value

        waits_until(lambda: _listens(port))
        session = send("", "/session", {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}})
        root = f"/session/{session['sessionId']}"
        yield Window(lambda name, path, given: send(name, f"{root}/{path}", given))
        http.delete(root)


@contextmanager
def firefox(profile: Path) -> Iterator[Window]:
    """Run Firefox; skip the test where it is not installed."""
    program = next(filter(None, map(shutil.which, FIREFOX)), None)
    if program is None:
        pytest.skip("Firefox is missing (Debian: apt-get install firefox-esr)")
    (profile / "user.js").write_text('user_pref("marionette.port", 0);\n')
    written = profile / "MarionetteActivePort"
    with _running([program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]):
        waits_until(written.exists)
        with socket.create_connection(("127.0.0.1", int(written.read_text())), SECONDS) as connection:
            stream = connection.makefile("rwb")

            def read() -> Any:
                """Read one message: its length, a colon, JSON."""
                length = b""
                while (byte := stream.read(1)) != b":":
                    length += byte
                return json.loads(stream.read(int(length)))

            def send(name: str, _: str, given: dict[str, Any]) -> Any:
                message = json.dumps([0, 1, f"WebDriver:{name}", given]).encode()
                stream.write(b"%d:%s" % (len(message), message))
                stream.flush()
                _, _, error, result = read()
                if error is not None:
                    raise _error(error)
                return result.get("value", result) if result else result

            read()  # its greeting
            send("NewSession", "", {})
            yield Window(send)


def _error(told: dict[str, Any]) -> Exception:
    is_missing = told["error"] in ("no such element", "stale element reference")
    return MissingError(told["message"]) if is_missing else AssertionError(told["message"])


def _listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _running(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait(SECONDS)
