"""The host of ASGI applications."""

import asyncio
import socket

import pytest

from search_mcp.fronts.asgi import listening_at


def test_small_parts_of_a_response_are_sent_at_once() -> None:
    """Otherwise a second part waits 40 ms until the client has acknowledged the first."""

    async def main() -> bool:
        async def on_connection(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted: socket.socket = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0)
            writer.close()

        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        listening = listening_at("127.0.0.1")
        async with await asyncio.start_server(on_connection, sock=listening), asyncio.timeout(60):
            with socket.create_connection(listening.getsockname()):
                return await found

    assert asyncio.run(main())


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OSError, match=r"assign|valid"):
        listening_at("192.0.2.1")
