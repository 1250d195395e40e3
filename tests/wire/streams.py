"""Byte streams for the tests of framing and messages, and their decoding."""

from search_mcp.wire.framing import Line, LineDecoder

LIMIT = 64
DEEP = 100_000


def cut(chunks: list[bytes], limit: int = LIMIT) -> list[Line]:
    """Decode a stream that arrives in these chunks and then ends; return its lines, stripped."""
    decoder = LineDecoder(limit)
    lines = [line for chunk in chunks for line in decoder.feed(chunk)]
    lines += decoder.flush()
    return [line.strip() if isinstance(line, bytes) else line for line in lines]


def one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def body(text: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(text) + text


LONG = bytes(range(ord("0"), ord("9") + 1)) * 20  # 200 bytes
