"""Differences of edits, without secrets."""

import json

import pytest

from search_mcp.clients import document
from search_mcp.clients.difference import unified


def test_unified_hides_them_as_they_are_written() -> None:
    before = document.read(b'{"env": {"A": "\\"q\\"\\u00e9"}}\n', "json", "f")
    after = before.put(("env", "B"), 'two\n"é"')
    assert unified(before, after) == (
        '--- f\n+++ f\n@@ -1 +1 @@\n-{"env": {"A": "***"}}\n+{"env": {"A": "***", "B": "***"}}'
    )


def test_unified_hides_secrets_in_commented_out_entries() -> None:
    before = document.read(b'{\n  // "MY_TOKEN": "s3cret", "apiKey": s4cret\n}', "jsonc", "f")
    assert '\n   // "MY_TOKEN": "***", "apiKey": ***\n' in unified(before, before.put(("a",), 1))


SHOWN = [
    # args, as they are shown
    (["--header", "Authorization: Bearer s3cret"], '["--header", "Authorization: ***"]'),
    (["--header=Authorization:Token s3cret"], '["--header=Authorization:***"]'),
    (["-H", "X-Mine: s3cret"], '["-H", "X-Mine: ***"]'),
    (["--pat", "s3cret", "--path", "here"], '["--pat", "***", "--path", "here"]'),
    (["--api-key", "s3cret", "server.js"], '["--api-key", "***", "server.js"]'),
    (["-y", "mcp-auth", "server.js"], '["-y", "mcp-auth", "server.js"]'),
    (["--token", "${TOKEN}"], '["--token", "${TOKEN}"]'),
]


@pytest.mark.parametrize(("args", "shown"), SHOWN)
def test_unified_hides_secrets_in_arguments(args: list[str], shown: str) -> None:
    before = document.read(b"{}", "json", "f")
    after = document.read(json.dumps({"args": args}).encode(), "json", "f")
    assert f'+{{"args": {shown}}}' in unified(before, after)


COMMENTS = [
    # commented out, as it is shown
    ('"Authorization: Bearer s3cret"', '"Authorization: Bearer ***"'),
    ('"Authorization": "Basic s3cret"', '"Authorization": "Basic ***"'),
    ('["--api-key", "s3cret"]', '["--api-key", "***"]'),
    ("--pat s3cret", "--pat ***"),
    ('"apiKey": "${API_KEY}"', '"apiKey": "${API_KEY}"'),
    ("${keyring:x/API_KEY} ${MY_KEY:-s3cret}", "${keyring:x/API_KEY} ${MY_KEY:***"),
]


@pytest.mark.parametrize(("comment", "shown"), COMMENTS)
def test_unified_hides_secrets_in_comments(comment: str, shown: str) -> None:
    before = document.read(f"{{\n  // {comment}\n}}".encode(), "jsonc", "f")
    assert f"\n   // {shown}\n" in unified(before, before.put(("a",), 1))


def test_unified_without_a_difference() -> None:
    same = document.read(b"{}", "json", "f")
    assert unified(same, same) == ""
