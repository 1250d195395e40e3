"""What counts as a secret, and every form in which it is known again."""

import json

import pytest

from search_mcp.secrecy import find, is_secret, spellings

FOUND = [
    # value of a configuration file, secrets in it
    ({"env": {"A": "s3cret", "PORT": "80", "B": "${B}"}}, {"s3cret"}),
    ({"env": {"A": "{s3cret}", "B": "${B:-s4cret}"}}, {"{s3cret}"}),
    ({"env": {"A": '{"type": "account"}'}}, {'{"type": "account"}'}),
    ({"env": {"DB": "postgres://me:s3cret@x/db"}}, {"postgres://me:s3cret@x/db", "me:s3cret", "s3cret"}),
    ({"x": {"environment": {"A": "s3cret"}, "headers": {"B": "Bearer s4cret"}}}, {"s3cret", "s4cret", "Bearer s4cret"}),
    ({"oauthToken": "s3cret", "theme": "dark", "apiKey": "{env:K}"}, {"s3cret"}),
    ({"args": ["--api-key", "s3cret", "--token=s4cret", "plain", "--verbose", "plain"]}, {"s3cret", "s4cret"}),
    ({"args": ["--pat", "s3cret", "--path", "place", "--pass", "s4cret"]}, {"s3cret", "s4cret"}),
    ({"args": ["--header", "Authorization: Bearer s3cret"]}, {"Bearer s3cret", "s3cret"}),
    ({"args": ["--header=Authorization:s3cret", "-H", "X-Mine: s4cret"]}, {"s3cret", "s4cret"}),
    ({"args": ["run", "-e", "MINE=s3cret", "--env=MODE=debug", "-e", "HOST_NAME"]}, {"s3cret"}),
    ({"args": ["MY_TOKEN=s3cret", "mode=plain", "-y", "pkg@1.2"]}, {"s3cret"}),
    ({"args": ["postgres://me:s3cret@x/db"]}, {"me:s3cret", "s3cret"}),
    ({"url": "https://me:pw12@x/?a=b&api_key=s3cret&c=d#e"}, {"me:pw12", "pw12", "s3cret"}),
    ({"args": ["plain", 1, None, ["nested"]]}, set()),
]


@pytest.mark.parametrize(("value", "found"), FOUND)
def test_find(value: object, found: set[str]) -> None:
    assert {*find(value)} == found


VARIABLES = [
    # variable, value, whether it is a secret
    ("DATA", "s3cret", True),
    ("LOG_LEVEL", "error", False),
    ("NODE_ENV", "Production", False),
    ("DEBUG", "TRUE", False),
    ("DEBUG", "true story", True),
    ("PASSWORD", "production", True),
    ("API_KEY", "test", True),
    ("GITHUB_PAT", "default", True),
    ("PATH", "/usr/bin:/bin", False),
    ("Path", "C:\\Windows", False),
    ("PWD", "/home/ada", False),
    ("VIRTUAL_ENV", "/home/ada/venv", False),
    ("LC_ALL", "de_DE.UTF-8", False),
    ("AUTH_PATH", "/home/ada/keys", True),
    ("PORT", "808", False),
]


@pytest.mark.parametrize(("variable", "value", "expected"), VARIABLES)
def test_is_secret(variable: str, value: str, expected: bool) -> None:
    assert is_secret(variable, value) is expected


AWKWARD = 'it\'s "q\\u" a/b+c \u00e9\n\u65e5'


@pytest.mark.parametrize(
    "secret", ["plain", "it's", 'say "x"', "back\\slash", "ab/cd", "caf\u00e9", "two\nlines", AWKWARD]
)
def test_spellings(secret: str) -> None:
    """Whatever prints it, it is known again."""
    body = json.dumps({"text": f"so {secret}!"})
    shown = [
        f"so {secret}!",
        body,
        json.dumps({"text": f"so {secret}!"}, ensure_ascii=False),
        body.replace("/", r"\/"),
        json.dumps({"content": body}),
        repr(f"so {secret}!"),
        repr(f'it\'s "so" {secret}!'),
        repr(f"so {secret}!".encode()),
    ]
    known = spellings([secret])
    assert [text for text in shown if not any(each in text for each in known)] == []
    assert spellings(["plain"]) == {"plain"}


def test_a_secret_in_a_url() -> None:
    assert "ab%2Fcd%3D%3D" in spellings(["ab/cd=="])


def test_a_secret_that_is_no_utf_8() -> None:
    assert b"ab\xfccd".decode(errors="replace") in spellings([b"ab\xfccd".decode(errors="surrogateescape")])


def test_long_lines_of_a_secret_are_secrets() -> None:
    assert {"MIIEvQIBADANBgkqhkiG9w0"} == {
        each for each in spellings(["--BEGIN--\nMIIEvQIBADANBgkqhkiG9w0\nx\n"]) if each.isalnum()
    }
