"""What changes or fails while the page is used: a sentence tells it, and the page goes on."""

import html
from pathlib import Path

from auth.authorization import authorization

from page.in_process import Inside, page_inside


async def view(page: Inside, path: str) -> str:
    """Return a view, with its characters as a person sees them."""
    return html.unescape((await page.gets(path)).text)


async def test_a_login_to_a_server_that_cannot_be_started_then(tmp_path: Path) -> None:
    with authorization() as server:
        credentials = {"clientId": "x", "clientSecret": "y", "grant": "client_credentials"}
        entry = {"url": f"{server.url}/mcp", "oauth": credentials, "enabled": False}
        async with page_inside(tmp_path, {"files": entry}) as page:
            await page.sends("login", server="files")
            assert "Error: files cannot be started: it is off" in await view(page, "waiting")
