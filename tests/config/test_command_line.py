"""Commands of servers as a person decides on them."""

import json

from config.samples import PLAIN, parse
from search_mcp.config.command_line import LONGEST_COMMAND, command_line


def test_a_command_line_hides_no_code_and_fills_in_no_placeholder() -> None:
    args = ["-c", "TOKEN=1;evil", "$" + "{TOKEN}", "--api-key", "s3cret", "s3cret"]
    text = json.dumps({"mcpServers": {"a": {"command": "sh", "args": args, "env": {"KEY": "TOKEN=1;evil"}}}})
    (server,) = parse(text).servers
    assert command_line(server) == "sh -c 'TOKEN=1;evil' '${TOKEN}' --api-key '***' s3cret"


def test_a_long_command_line_is_cut_and_printable() -> None:
    (long,) = parse(json.dumps({"mcpServers": {"a": {"command": "x\n", "args": ["y" * LONGEST_COMMAND]}}})).servers
    assert command_line(long) == f"'x ' {'y' * (LONGEST_COMMAND - 6)}…"
    assert command_line(PLAIN) == ""
