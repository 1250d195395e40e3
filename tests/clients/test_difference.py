"""What an edit changes is shown, but no secret."""

import pytest

from search_mcp.clients import document
from search_mcp.clients.difference import secrets, unified

SECRETS = [
    ({"env": {"A": "s3cret", "PORT": "80", "B": "${B}"}}, {"s3cret"}),
    ({"x": {"environment": {"A": "s3cret"}, "headers": {"B": "Bearer s3cret"}}}, {"s3cret", "Bearer s3cret"}),
    ({"oauthToken": "s3cret", "theme": "dark", "apiKey": "{env:K}"}, {"s3cret"}),
    ({"args": ["--api-key", "s3cret", "--token=s4cret", "--verbose", "plain"]}, {"s3cret", "s4cret"}),
    ({"url": "https://me:pw12@x/?a=b&api_key=s3cret&c=d#e"}, {"me:pw12", "s3cret"}),
    ({"args": ["plain", 1, None, ["nested"]]}, set()),
]


@pytest.mark.parametrize(("value", "found"), SECRETS)
def test_secrets(value: object, found: set[str]) -> None:
    assert {*secrets(value)} == found


def test_unified_hides_them_as_they_are_written() -> None:
    before = document.read(b'{"env": {"A": "\\"q\\"\\u00e9"}}\n', "json", "f")
    after = before.put(("env", "B"), 'two\n"é"')
    assert unified(before, after) == (
        '--- f\n+++ f\n@@ -1 +1 @@\n-{"env": {"A": "***"}}\n+{"env": {"A": "***", "B": "***"}}'
    )


def test_unified_hides_what_is_commented_out() -> None:
    before = document.read(b'{\n  // "MY_TOKEN": "s3cret", "apiKey": s4cret\n}', "jsonc", "f")
    assert '\n   // "MY_TOKEN": "***", "apiKey": ***\n' in unified(before, before.put(("a",), 1))


def test_unified_of_nothing() -> None:
    same = document.read(b"{}", "json", "f")
    assert unified(same, same) == ""
