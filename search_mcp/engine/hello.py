"""The first line that a relay or a command sends to an engine process, and the line that it answers.

Both are JSON objects on one line. Two pipes come with an answer that accepts `serve`: one to read and one to write.
They carry the messages of MCP and nothing else. The other requests get one answer. Standard library only, because
relays load nothing else.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

PROTOCOL = 1
"""The version of these lines. The engines of all versions answer `status` and `stop`."""
MAX_BYTES = 16 << 20
"""The longest first line; it holds an environment, which may have several megabytes."""

Json = dict[str, Any]

_MEMBERS: dict[str, Any] = {
    "config": str | None,
    "client": str | None,
    "log_level": str | None,
    "subset": str | None,
    "folder": str,
    "variables": dict,
}
"""The types of the members that `serve` and `page` must have."""


class UnreadableHelloError(ValueError):
    """The other side does not speak this protocol."""


def introduction(options: Mapping[str, str | None]) -> Json:
    """Return the first line of a client of this process, which has these options of `serve`.

    It has the whole environment: an edit of the configuration may refer to any variable, and `inheritEnv` may pass on
    all of them.
    """
    return {
        "wants": "serve",
        "config": options.get("--config"),
        "client": options.get("--client"),
        "log_level": options.get("--log-level"),
        "subset": options.get("--servers"),
        "folder": os.getcwd(),  # noqa: PTH109
        "variables": dict(os.environ),
        "parent": parent_name(),
        "parent_pid": os.getppid(),
    }


def parent_name() -> str:
    """Return the name of the program that started us, for the log and the status; empty if it is unknown."""
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""


def encode(message: Json) -> bytes:
    """Encode one line. Lone surrogates, which stand for bytes that are not UTF-8, survive as escapes."""
    return json.dumps({"search-mcp": PROTOCOL, **message}).encode() + b"\n"


def decode(line: bytes) -> Json:
    """Decode one line, of any version.

    Raises:
        UnreadableHelloError: it is not such a line.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise UnreadableHelloError("not JSON") from exc
    if not isinstance(message, dict) or not isinstance(message.get("search-mcp"), int):
        raise UnreadableHelloError("another protocol")
    return message


def decode_request(line: bytes) -> Json:
    """Decode the first line of a relay or a command.

    Raises:
        UnreadableHelloError: it is not such a line, or a member is missing or has a wrong type.
    """
    request = decode(line)
    for name, kind in _MEMBERS.items() if request.get("wants") in ("serve", "page") else ():
        if name not in request or not isinstance(request[name], kind):
            raise UnreadableHelloError(f"its member {name} is missing or has a wrong type")
    return request
