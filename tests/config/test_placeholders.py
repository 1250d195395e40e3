"""Placeholders that are expanded, and those that have no value."""

import pytest

from search_mcp.config.placeholders import Complaint, Expansion, Places, at_home, escaped, references

VARIABLES = {
    "HOME": "/home/ada",
    "TOKEN": "s3cret-token",
    "EMPTY": "",
    "ODD(x86)": "odd value",
    "NESTED": "${TOKEN}",
    "NODE_ENV": "production",
}


def expansion(variables: dict[str, str] = VARIABLES) -> Expansion:
    return Expansion(Places(variables, "/home/ada", "/etc/conf", "/usr/bin/python3"), server="s")


EXPANSIONS = [
    # written, expanded, secrets
    ("plain", "plain", set()),
    ("${TOKEN}", "s3cret-token", {"s3cret-token"}),
    ("${env:TOKEN}", "s3cret-token", {"s3cret-token"}),
    ("a${TOKEN}b${HOME}", "as3cret-tokenb/home/ada", {"s3cret-token"}),
    ("${ODD(x86)}", "odd value", {"odd value"}),
    ("${EMPTY}", "", set()),
    ("${NODE_ENV}", "production", set()),
    ("${EMPTY:-unset or empty}", "unset or empty", set()),
    ("${ABSENT:-}", "", set()),
    ("${ABSENT:-a:-b}", "a:-b", set()),
    ("${env:ABSENT:-x}", "x", set()),
    ("${NESTED}", "${TOKEN}", set()),
    ("${home}|${userHome}|${configDir}|${python}", "/home/ada|/home/ada|/etc/conf|/usr/bin/python3", set()),
    ("$${TOKEN} $${ABSENT} a$${env:TOKEN}", "${TOKEN} ${ABSENT} a${env:TOKEN}", set()),
    ("~", "/home/ada", set()),
    ("~/x", "/home/ada/x", set()),
    ("~\\x", "/home/ada\\x", set()),
    ("~grace/x", "~grace/x", set()),
    ("a ~/x", "a ~/x", set()),
    ("$TOKEN $$ ${ ${} ${TOKEN", "$TOKEN $$ ${ ${} ${TOKEN", set()),
    ("${ABSENT:-${TOKEN", "${ABSENT:-${TOKEN", set()),
    ("${name%.*} ${#list} ${list[@]} ${1}", "${name%.*} ${#list} ${list[@]} ${1}", set()),
]


@pytest.mark.parametrize(("written", "expanded", "secrets"), EXPANSIONS)
def test_placeholders_are_expanded(written: str, expanded: str, secrets: set[str]) -> None:
    filling = expansion()
    assert filling.expand(written, "args") == expanded
    assert (filling.secrets, filling.complaints) == (secrets, [])


def test_home_is_known_where_the_platform_has_no_such_variable() -> None:
    assert expansion({}).expand("${HOME}/x", "command") == "/home/ada/x"


COMPLAINTS: list[tuple[str, list[Complaint]]] = [
    # written, complaints
    (
        "a${ABSENT}",
        [
            (
                ("env", "KEY"),
                "environment variable ABSENT, used in env.KEY, is not set",
                "store it with `search-mcp secret s KEY`, or set it where search-mcp is started",
            )
        ],
    ),
    (
        "hidden${input:token}",
        [
            (
                ("env", "KEY"),
                "${input:token} in env.KEY is a placeholder of another client",
                "set an environment variable and write ${VAR}",
            )
        ],
    ),
    (
        "${TOKEN:-hidden${HOME}}",
        [(("env", "KEY"), "the default of TOKEN in env.KEY contains a placeholder", "write plain text there")],
    ),
]


@pytest.mark.parametrize(("written", "complaints"), COMPLAINTS)
def test_a_placeholder_without_a_value_stays_and_is_reported(written: str, complaints: list[Complaint]) -> None:
    filling = expansion()
    assert filling.expand(written, "env", "KEY") == written
    assert filling.complaints == complaints


def test_every_placeholder_without_a_value_is_reported() -> None:
    filling = expansion()
    filling.expand("${ONE} ${TWO}", "args")
    filling.expand("${THREE}", "cwd")
    assert [(path, problem.split()[2]) for path, problem, _ in filling.complaints] == [
        (("args",), "ONE,"),
        (("args",), "TWO,"),
        (("cwd",), "THREE,"),
    ]


def test_references() -> None:
    assert [*references("~/${A} ${env:B} ${C:-x} ${input:d} ${home} ${python} $E $${F}")] == ["A", "B", "C"]


@pytest.mark.parametrize(("path", "filled"), [("~/a", "/h/a"), ("~", "/h"), ("a/~", "a/~"), ("~${A}", "~${A}")])
def test_at_home(path: str, filled: str) -> None:
    assert at_home(path, "/h") == filled


def test_an_escaped_placeholder_is_left_to_the_program() -> None:
    filling = expansion()
    assert filling.expand(escaped("TOKEN"), "args") == "${TOKEN}"
    assert filling.secrets == set()
