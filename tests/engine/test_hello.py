"""The first lines between a relay and an engine process."""

import pytest

from search_mcp.engine import hello


def test_a_line_survives_with_bytes_that_are_not_utf_8() -> None:
    message = {"folder": b"/caf\xe9".decode("utf-8", "surrogateescape")}
    assert hello.decode(hello.encode(message)) == {"search-mcp": hello.PROTOCOL, **message}


@pytest.mark.parametrize("line", [b"", b"GET / HTTP/1.1\n", b"[" * 100_000, b"[1]", b"{}", b'{"search-mcp": "1"}'])
def test_what_is_no_first_line_is_refused(line: bytes) -> None:
    with pytest.raises(hello.UnreadableHelloError):
        hello.decode(line)


REQUEST: hello.Json = {
    "wants": "serve",
    "config": None,
    "client": None,
    "log_level": None,
    "subset": None,
    "folder": "/",
    "variables": {},
}


@pytest.mark.parametrize("name", [name for name in REQUEST if name != "wants"])
def test_a_request_that_lacks_a_member_is_refused(name: str) -> None:
    assert hello.decode_request(hello.encode(REQUEST))["folder"] == "/"
    for wrong in ({key: value for key, value in REQUEST.items() if key != name}, {**REQUEST, name: 7.5}):
        with pytest.raises(hello.UnreadableHelloError, match=f"its member {name} is missing or has a wrong type"):
            hello.decode_request(hello.encode(wrong))


@pytest.mark.parametrize("wants", ["status", "stop", ["serve"], None])
def test_other_requests_need_no_members(wants: object) -> None:
    assert hello.decode_request(hello.encode({"wants": wants}))["wants"] == wants
