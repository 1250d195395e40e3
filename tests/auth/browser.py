"""A browser whose user agrees at once."""

import asyncio
import http.client
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlencode, urlsplit

from auth.authorization import SECONDS


class Browser:
    """Opens addresses as a browser does, and keeps what it shows."""

    def __init__(self, answer: dict[str, str] | None = None) -> None:
        self.answer = answer or {}
        """Members of the answer that are changed on the way."""
        self.opened: list[str] = []
        self.pages: list[str] = []
        self._tabs: list[asyncio.Future[None]] = []

    async def show(self, url: str) -> None:
        self.begin(url)

    def begin(self, url: str) -> None:
        """Open an address in a tab of its own."""
        self.opened.append(url)
        self._tabs.append(asyncio.get_running_loop().run_in_executor(None, self._follow, url))

    async def ask(self, url: str) -> str:
        self.opened.append(url)
        return await asyncio.to_thread(self.redirected, url)

    async def close(self) -> None:
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*self._tabs)

    def _follow(self, url: str) -> None:
        try:
            with urllib.request.urlopen(self.redirected(url), timeout=SECONDS) as page:
                self.pages.append(page.read().decode())
        except urllib.error.HTTPError as error:
            self.pages.append(error.read().decode())

    def redirected(self, url: str) -> str:
        """Return the address to which the authorization server sends the browser."""
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
        connection.request("GET", f"{parts.path}?{parts.query}")
        target = urlsplit(connection.getresponse().headers["Location"])
        connection.close()
        members = {name: value for name, (value,) in parse_qs(target.query).items()} | self.answer
        return target._replace(query=urlencode(members)).geturl()
