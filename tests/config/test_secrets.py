"""Texts that count as secrets, and the forms in which they are found again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.config.secrets import (
    Redactor,
    find_secrets,
    is_secret,
    shown_arguments,
    shown_variable,
    shown_words,
    spellings,
)
from search_mcp.logs import LONGEST_TEXT

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
def test_the_secrets_in_a_value_are_found(value: object, found: set[str]) -> None:
    assert {*find_secrets(value)} == found


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
    """A secret is found in plain text, in JSON and in a repr."""
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


IN_ADDRESSES: list[tuple[dict[str, object], set[str]]] = [
    ({"url": "https://x/s/Ab3dEf6hIj9lMn2p/mcp"}, {"Ab3dEf6hIj9lMn2p"}),
    ({"url": "https://x/projects/monitoring-dashboard/mcp"}, set()),
    ({"url": "https://a1b2c3d4e5f6a7b8.example/mcp?a=b"}, set()),
    ({"headers": {"X-MCP-Readonly": "true", "X-Level": "debug", "X-Key": "test"}}, {"test"}),
]


@pytest.mark.parametrize(("value", "secrets"), IN_ADDRESSES)
def test_the_secrets_of_an_address(value: dict[str, object], secrets: set[str]) -> None:
    assert set(find_secrets(value)) == secrets


def test_a_secret_in_a_url() -> None:
    assert "ab%2Fcd%3D%3D" in spellings(["ab/cd=="])


def test_a_secret_that_is_no_utf_8() -> None:
    assert b"ab\xfccd".decode(errors="replace") in spellings([b"ab\xfccd".decode(errors="surrogateescape")])


def test_long_lines_of_a_secret_are_secrets() -> None:
    assert {"MIIEvQIBADANBgkqhkiG9w0"} == {
        each for each in spellings(["--BEGIN--\nMIIEvQIBADANBgkqhkiG9w0\nx\n"]) if each.isalnum()
    }


SHOWN_ARGUMENTS = [
    # arguments, as they are shown
    (["--api-key", "s3cret", "--token=s4cret", "--dbSecret", "s5cret"], "--api-key *** --token=*** --dbSecret ***"),
    (["-e", "MINE=abcdefgh12345678", "--env=MY_KEY=s3cret"], "-e MINE=*** --env=MY_KEY=***"),
    (["A_TOKEN=s3cret", "-H", "X: Bearer s3cret", "--header=A:s4cret"], "A_TOKEN=*** -H X: Bearer *** --header=A:***"),
    (["--from", "git+https://me:s3cret@x/y?api_key=s4cret&a=b"], "--from git+https://***@x/y?api_key=***&a=b"),
    (["--url=https://me:s3cret@x"], "--url=https://***@x"),
    (["https://${HOST:-x}/mcp?token=s3cret", "https://x?key=${KEY}"], "https://${HOST:-x}/mcp?token=*** https://x?key=${KEY}"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "shown"), SHOWN_ARGUMENTS)
def test_shown_arguments(args: list[str], shown: str) -> None:
    assert " ".join(shown_arguments(args)) == shown


IN_FULL = [
    ["-c", "TOKEN=1;touch PWNED"],
    ["-c", "touch PWNED", "x", "--token", "touch PWNED"],
    ["-c", "evil", "--token", "ev|l", "-H", "A: $(evil)", "-e", "KEY=`evil`", "KEY='evil'", "--key=e(vil)"],
    ["-c", "curl http://$(evil)@x", "http://e;vil@x", "/tmp/://evil@", "https://x/?token=$(evil)"],
    ["https://evil/x@y", "--auth-url", "https://evil/x", "--token", "https://evil/x"],
    ["-pass", "evil.pl", "-auth", "evil.sh"],  # bundles of one-letter options, in Perl and in bash
    ["-e", "A=%x@/repo/evil@", "TOKEN=%x@/repo/evil@"],  # Ruby runs that
    ["--always-auth", "evil", "--askpass", "evil", "--bypass", "evil"],
    ["GIT_ASKPASS=/repo/evil", "--env=PYTHON_KEYRING_BACKEND=evil.Ring"],
    ["--token", "${TOKEN}", "--key", "abc"],
]


@pytest.mark.parametrize("args", IN_FULL)
def test_arguments_that_may_be_code_are_not_starred(args: list[str]) -> None:
    assert [*shown_arguments(args)] == args


def test_a_text_is_starred_in_the_place_of_a_secret_only() -> None:
    args = ["run-it", "--api-key", "run-it", "run-it"]
    assert [*shown_arguments(args)] == ["run-it", "--api-key", "***", "run-it"]


SHOWN_VARIABLES = [
    # variable, value, as it is shown
    ("PATH", "/repo/bin", "/repo/bin"),
    ("LD_PRELOAD", "/repo/abcdefgh12345678.so", "/repo/abcdefgh12345678.so"),
    ("NODE_OPTIONS", "--require /repo/evil.js", "--require /repo/evil.js"),
    ("GIT_CONFIG_KEY_0", "core.sshCommand", "core.sshCommand"),
    ("PYTHON_KEYRING_BACKEND", "evil.Ring", "evil.Ring"),
    ("BASH_FUNC_pass%%", "() { evil; }", "() { evil; }"),
    ("SSH_ASKPASS", "/repo/evil", "/repo/evil"),
    ("https_proxy", "http://me:s3cret@x", "http://***@x"),
    ("npm_config_registry", "https://evil", "https://evil"),
    ("PIP_EXTRA_INDEX_URL", "https://me:s3cret@x https://s4cret@y", "https://***@x https://***@y"),
    ("MODE", "fast and loose", "fast and loose"),
    ("DB", "postgres://me:s3cret@x/db", "postgres://***@x/db"),
    ("API_KEY", "x y", None),
    ("npm_config__authToken", "s3cret", None),
    ("GIT_TOKEN", "s3cret", None),
    ("GIT_TOKEN", "$(evil)", "$(evil)"),
    ("MINE", "abcdefgh12345678", None),
    ("MINE", "hunter2", None),
    ("MINE", "production", "production"),
    ("MINE", "${TOKEN}", "${TOKEN}"),
    ("MINE", "/repo/evil.sh", "/repo/evil.sh"),
    ("API", "https://evil", "https://evil"),
    ("MINE", "-----BEGIN RSA X-----\nMIIE\n-----END RSA X-----\n", None),
]


@pytest.mark.parametrize(("name", "value", "shown"), SHOWN_VARIABLES)
def test_shown_variable(name: str, value: str, shown: str | None) -> None:
    assert shown_variable(name, value) == shown


REDACTIONS = [
    # text, secrets, result
    ("nothing", [], "nothing"),
    ("nothing", [""], "nothing"),
    ("a key and a key", ["key"], "a *** and a ***"),
    ("token-long token", ["token", "token-long"], "*** ***"),
    ("1abcdefg", ["abcd", "bcdefg"], "1a***"),
]


@pytest.mark.parametrize(("text", "secrets", "result"), REDACTIONS)
def test_secrets_are_starred(text: str, secrets: list[str], result: str) -> None:
    assert Redactor(secrets)(text) == result


@given(st.text(alphabet="abc "), st.lists(st.text(alphabet="abc", min_size=1)))
def test_a_redactor_leaves_no_secret(text: str, secrets: list[str]) -> None:
    redact, whole = Redactor(secrets), text + "".join(secrets)
    redacted = redact(whole)
    assert not any(secret in redacted for secret in secrets)
    assert redacted == redact(redacted) == Redactor(reversed(secrets))(whole)


def test_a_redactor_leaves_no_part_of_a_longer_secret() -> None:
    redact = Redactor({"abcd", "abcdefgh", ""})
    assert redact("abcdefgh and abcd and ab") == "*** and *** and ab"
    assert Redactor()("abcd") == "abcd"


@given(st.integers(0, 3 * LONGEST_TEXT))
def test_a_long_text_is_shortened_without_its_middle_and_without_parts_of_secrets(position: int) -> None:
    secret = "0123456789" * 5
    text = "x" * position + secret + "x" * (3 * LONGEST_TEXT - position) + "end"
    shortened = Redactor({secret, "another"}).shortened(text)
    assert not set(shortened) & set(secret)
    assert shortened.endswith("end")
    assert LONGEST_TEXT // 2 < len(shortened) <= LONGEST_TEXT


def test_a_text_of_which_little_is_left_is_shortened_without_parts_of_secrets() -> None:
    assert Redactor({"0" * LONGEST_TEXT}).shortened("0" * 3 * LONGEST_TEXT) == "…"


@pytest.mark.parametrize(
    ("entry", "then"),
    [
        ({"command": "npx", "args": ["--token", "s3cret"]}, ["npx", "--token", "***"]),
        ({"command": "npx", "args": "one"}, ["npx", "one"]),
        ({"command": "prog --token s3cret -v", "args": ["a"]}, ["prog --token *** -v", "a"]),
        ({"command": "prog\t--token\ts3cret"}, ["prog\t--token\t***"]),
        (
            {"command": "prog -H 'Authorization: Bearer s3cret' --name=\"it's\" '"},
            ["prog -H 'Authorization: Bearer ***' --name=\"it's\" '"],
        ),
        ({"command": "TOKEN=evil x"}, ["TOKEN=evil x"]),
        ({}, [""]),
    ],
)
def test_the_words_of_a_command_are_shown_without_secrets(entry: dict[str, object], then: list[str]) -> None:
    assert shown_words(entry) == then
