"""The host of ASGI applications."""

import asyncio
import contextlib
import socket

import anyio
import pytest
from starlette.types import Send

from search_mcp.fronts import asgi
from search_mcp.fronts.asgi import AsgiHost, listening_at


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


def test_a_client_that_does_not_read_holds_up_its_response() -> None:
    """Otherwise all of the response is held in memory."""
    begun, sent = asyncio.Event(), 0

    async def app(_scope: object, _receive: object, send: Send) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        while sent < 200:
            sent += 1
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})

    async def main() -> None:
        listening = listening_at("127.0.0.1")
        address = listening.getsockname()
        with socket.create_connection(address) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(AsgiHost(app).run_on, listening)
                await begun.wait()
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
        assert sent < 100

    asyncio.run(main())


def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose head has arrived may take longer."""
    monkeypatch.setattr(asgi, "HEAD_SECONDS", 0.05)
    is_late = asyncio.Event()

    async def app(_scope: object, _receive: object, send: Send) -> None:
        await is_late.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def main() -> bytes:
        listening = listening_at("127.0.0.1")
        async with asyncio.timeout(20), anyio.create_task_group() as tasks:
            tasks.start_soon(AsgiHost(app).run_on, listening)
            whole, asking = await asyncio.open_connection(*listening.getsockname())
            asking.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            half, dripping = await asyncio.open_connection(*listening.getsockname())
            dripping.write(b"GET / HTTP/1.1\r\n")
            while not (half.at_eof() or half.exception()):  # a byte does not give it more time
                dripping.write(b"x")
                await asyncio.sleep(0.005)  # slowly: a long head would be refused
            is_late.set()
            answer = await whole.readuntil(b"\r\n\r\n")
            for writer in (asking, dripping):
                writer.close()
                with contextlib.suppress(ConnectionError):  # it was closed by the host
                    await writer.wait_closed()
            tasks.cancel_scope.cancel()
        return answer

    assert asyncio.run(main()).startswith(b"HTTP/1.1 204 ")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OSError, match=r"assign|valid"):
        listening_at("192.0.2.1")
