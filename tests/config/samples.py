"""Read configurations as text, for the tests of the configuration."""

import json
from collections.abc import Mapping
from typing import Any

from search_mcp.config import parsing
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.wire.structs import replace

VARIABLES = {"HOME": "/home/ada", "TOKEN": "s3cret-token"}


def parse(text: str | bytes, variables: Mapping[str, str] = VARIABLES) -> Config:
    return parsing.parse(
        text,
        source="f",
        variables=variables,
        home="/home/ada",
        config_dir="/etc/conf",
        python="/usr/bin/python3",
    )


def server(entry: object, settings: object = None, **options: Any) -> ServerConfig:
    """Parse a file whose one server, "s", is `entry`."""
    text = json.dumps({"mcpServers": {"s": entry}, "settings": settings})
    (only,) = parse(text, **options).servers
    return replace(only, program=b"")


PLAIN = ServerConfig(name="s", command="c")
