"""Questions of a server to the user: its name comes first in every message, and only web pages are opened."""

import json
import re
from unicodedata import category
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.dialects.asking import (
    MOST_AT_ONCE,
    MOST_COLONS,
    MOST_OPEN,
    admitted,
    admitted_error,
    admitted_requests,
)
from search_mcp.model.errors import MisbehavedError
from search_mcp.model.names import Ask
from search_mcp.wire import payload
from search_mcp.wire.payload import LARGE_BYTES, SMALL_BYTES
from search_mcp.wire.structs import UNSET, ErrorObject, Raw

HIDING = st.text(st.sampled_from("\r\n\t\b\x1b\x7f\x9b \xa0\u200b\u200e\u202e\u2066\u2028\u3164\ufeff\U000e0041[]aא"))
TEXTS = st.text() | HIDING


def message(text: str, server: str = "github") -> str:
    params = admitted(server, Ask.ELICIT, {"message": payload.encode(text)})
    written: str = json.loads(bytes(params["message"]))
    return written


@given(TEXTS)
def test_a_message_begins_with_the_server_s_name_and_nothing_writes_over_it(text: str) -> None:
    label, written = message(text)[:9], message(text)[9:]
    assert label == "[github] "
    assert written == "" or not (written[0].isspace() or category(written[0]) in ("Cc", "Cf", "Zl", "Zp"))
    assert not {each for each in written.replace("\r\n", "") if category(each) == "Cc"} - {"\n", "\t"}
    assert re.sub("[^A-Za-z0-9 ]", "", written).lstrip() == re.sub("[^A-Za-z0-9 ]", "", text).lstrip()


@given(st.text())
def test_no_server_name_can_imitate_the_brackets(server: str) -> None:
    written = message("Who?", server)
    assert written.startswith("[")
    assert written.endswith("] Who?")
    assert (written.count("["), written.count("]")) == (1, 1)
    assert written.isprintable()


def test_the_longest_message_is_read_at_once() -> None:
    long = "\n" * (LARGE_BYTES // 2 - 2)
    assert message(long) == "[github] "


PIECES = [
    "http",
    "https",
    ":",
    "//",
    "/",
    "\\",
    "@",
    "localhost",
    "127.0.0.1",
    "[::1]",
    ":80",
    "evil.com",
    ".",
    "?",
    "#",
    " ",
]


@given(
    st.lists(st.sampled_from([*PIECES, "\t", "\u202e", "javascript", "ſ", "%", "x"]), max_size=8).map("".join)
    | st.text()
)
def test_a_page_that_may_be_opened_is_https_or_on_this_machine(url: str) -> None:
    try:
        admitted("s", Ask.ELICIT, {"mode": Raw(b'"url"'), "url": payload.encode(url)})
    except ValueError:
        return
    parts = urlsplit(url)
    assert parts.scheme in ("http", "https")
    assert parts.netloc
    assert parts.netloc.isascii()
    assert not set(parts.netloc) & {"@", "%"}
    if parts.scheme == "http":
        assert parts.hostname in ("localhost", "127.0.0.1", "::1")


@pytest.mark.parametrize(
    "data",
    [
        UNSET,
        Raw(b"7"),
        Raw(b"{}"),
        Raw(b'{"elicitations":{}}'),
        Raw(b'{"elicitations":[7]}'),
        Raw(b'{"elicitations":{"a":{"mode":"url","url":"javascript:1","message":"unlabelled"}}}'),
        Raw(b'[{"mode":"url","url":"javascript:1","message":"unlabelled"}]'),
    ],
)
def test_an_error_with_invalid_elicitations_is_passed_on_without_its_data(data: Raw) -> None:
    left = admitted_error("s", ErrorObject(-32042, "m", data))
    assert isinstance(left, ErrorObject)
    assert (left.code, left.message, left.data) == (-32042, "m", UNSET)
    other = ErrorObject(-32000, "m", Raw(b'{"elicitations":[{"mode":"url","message":"x"}]}'))
    assert admitted_error("s", other) is other


URL = {"mode": "url", "url": "https://a.b/", "elicitationId": "1", "message": "Sign in"}
TOO_MUCH = [
    pytest.param([URL] * (MOST_OPEN + 1), "more than 4 questions", id="too many"),
    pytest.param([{}] * 10_000, "more than 4 questions", id="nothing often"),
    pytest.param([{}] * 1_000_000, "more than 65,536 bytes", id="nothing very often"),
    pytest.param([{**URL, "x": "x" * SMALL_BYTES}], "more than 65,536 bytes", id="too long"),
]


@pytest.mark.parametrize(("elicitations", "why"), TOO_MUCH)
def test_an_error_that_asks_too_much_is_refused(elicitations: list[object], why: str) -> None:
    refused = admitted_error("s", ErrorObject(-32042, "m", payload.encode({"elicitations": elicitations})))
    assert isinstance(refused, MisbehavedError)
    assert why in str(refused)


def test_as_many_urls_as_may_be_open_are_asked_for_in_one_error() -> None:
    left = admitted_error("s", ErrorObject(-32042, "m", payload.encode({"elicitations": [URL] * MOST_OPEN, "x": 1})))
    assert isinstance(left, ErrorObject)
    assert isinstance(left.data, Raw)
    shown = {**URL, "message": "[s] Sign in"}
    assert json.loads(bytes(left.data)) == {"elicitations": [shown] * MOST_OPEN, "x": 1}


ROOTS = {"method": "roots/list"}


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        pytest.param({f"r{each}": ROOTS for each in range(MOST_AT_ONCE + 1)}, "more than 16 questions", id="many"),
        pytest.param({f"r{each}": {} for each in range(MOST_COLONS + 1)}, "too long for a person to read", id="wide"),
    ],
)
def test_an_answer_that_asks_for_too_much_at_once_is_refused(requests: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        admitted_requests("s", payload.encode(requests))


def test_the_roots_may_be_asked_for_beside_other_questions() -> None:
    requests = {f"r{each}": ROOTS for each in range(MOST_AT_ONCE)}
    assert len(admitted_requests("s", payload.encode(requests))) == MOST_AT_ONCE


DEEP = b"[" * 100_000 + b"]" * 100_000  # Python 3.13 reads 9,000 levels, 3.11 fewer than 1,000


@pytest.mark.parametrize(
    "request_",
    [
        b'{"method":"elicitation/create","params":{"message":"x","deep":%b}}' % DEEP,
        b'{"method":"elicitation/create","deep":%b,"params":{"message":"x"}}' % DEEP,
    ],
    ids=["params", "request"],
)
def test_a_question_that_cannot_be_read_is_not_passed_on_unread(request_: bytes) -> None:
    with pytest.raises(ValueError, match="recursion"):
        admitted_requests("s", Raw(b'{"q":%b}' % request_))


@pytest.mark.parametrize("request_", [b"7", b"{}", b'{"method":"roots/list"}', b'{"method":"what/ever","params":{}}'])
def test_a_request_without_a_question_to_the_user_is_not_changed(request_: bytes) -> None:
    assert bytes(admitted_requests("s", Raw(b'{"q":%b}' % request_))["q"]) == request_
