"""The first lines between an adapter and an engine process."""

import pytest

from search_mcp.fronts import hello


def test_a_line_survives_with_bytes_that_are_not_utf_8() -> None:
    message = {"folder": b"/caf\xe9".decode("utf-8", "surrogateescape")}
    assert hello.decode(hello.encode(message)) == {"search-mcp": hello.PROTOCOL, **message}


@pytest.mark.parametrize("line", [b"", b"GET / HTTP/1.1\n", b"[" * 100_000, b"[1]", b"{}", b'{"search-mcp": "1"}'])
def test_what_is_no_first_line_is_refused(line: bytes) -> None:
    with pytest.raises(hello.UnreadableHelloError):
        hello.decode(line)
