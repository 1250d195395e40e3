"""A process that calls a remote server once for each line of its stdin, and prints how that ended."""

import asyncio
import sys
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

from search_mcp.auth.access import Access
from search_mcp.auth.errors import Unauthorized
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore


def post(url: str, token: str | None) -> tuple[int, Message]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers)) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers


async def call(access: Access) -> str:
    """Call as a transport does: a refused request is sent once more."""
    status = 0
    for _ in range(2):
        sent = await access.token()
        status, headers = await asyncio.to_thread(post, access.settings.url, sent)
        if status == 200:
            return "done"
        try:
            await access.refused(sent, status, headers.get_all("WWW-Authenticate") or ())
        except Unauthorized as exc:
            return f"needs a login: {exc}"
    return f"status {status}"


async def main() -> None:
    folder, url = sys.argv[1:]
    access = Access(LoginSettings(name="files", url=url), LoginStore(Path(folder)))
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        try:
            print(await call(access), flush=True)
        except Exception as exc:
            print(f"failed: {exc}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
