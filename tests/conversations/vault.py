"""A scripted password manager: the commands of `${command:...}` in these conversations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.config import parsing
from search_mcp.config.schema import ServerConfig


class Vault:
    """What each command prints: a text, a failure, or a text after some seconds."""

    def __init__(self) -> None:
        self.prints: dict[str, str] = {}
        self.fails: dict[str, str] = {}
        self.takes_seconds: dict[str, float] = {}
        self.asked: list[str] = []
        self.variables: list[dict[str, str]] = []

    async def run(
        self, words: Sequence[str], variables: Mapping[str, str], home: str, folder: str | None, most_bytes: int
    ) -> bytes:
        command = " ".join(words)
        self.asked.append(command)
        self.variables.append(dict(variables))
        await anyio.sleep(self.takes_seconds.get(command, 0))
        if command in self.fails:
            raise CannotOpenChannelError(self.fails[command])
        return f"{self.prints[command]}{variables.get('SUFFIX', '')}\n".encode()


def configured(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a server that come from an entry with sources of secrets."""
    text = json.dumps({"mcpServers": {"s": entry}})
    folders = {"home": "/home/test", "config_dir": "/home/test/config", "python": "python"}
    server: ServerConfig = parsing.parse(text, source="f", variables={}, **folders).servers[0]
    assert server.problem is None
    return {"env": server.env, "unfilled": server.unfilled, "secrets": server.secrets}
