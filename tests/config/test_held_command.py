"""Commands of held servers on one line."""

import json

from config.samples import PLAIN, parse
from search_mcp.config.held_command import held_command
from search_mcp.model.sentences import LONGEST_REASON


def test_a_command_line_hides_no_code_and_fills_in_no_placeholder() -> None:
    args = ["-c", "TOKEN=1;evil", "$" + "{TOKEN}", "--api-key", "s3cret", "s3cret"]
    text = json.dumps({"mcpServers": {"a": {"command": "sh", "args": args, "env": {"KEY": "TOKEN=1;evil"}}}})
    (server,) = parse(text).servers
    assert held_command(server) == "sh -c 'TOKEN=1;evil' '${TOKEN}' --api-key '***' s3cret"


def test_a_long_command_line_is_cut_and_printable() -> None:
    (long,) = parse(json.dumps({"mcpServers": {"a": {"command": "x\n", "args": ["y" * LONGEST_REASON]}}})).servers
    assert held_command(long) == f"'x ' {'y' * (LONGEST_REASON - 5)}…"
    assert held_command(PLAIN) == ""
