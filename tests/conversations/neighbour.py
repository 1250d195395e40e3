"""A busy client beside the client of a conversation: on the same pool, and at the same servers where these are shared.

It opens right after the client, and does something with each message of the conversation: it calls, cancels, lists,
searches, subscribes. A call of it is in progress whenever the client or a server says something. Its messages are kept
from the conversation, and it must hear nothing of the conversation.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from conversations.back import Back, FakeChannel
from conversations.transcript import Said, encode
from conversations.words import CAPABILITIES, CLIENT_INFO, MODERN, VERSION, Json, text
from search_mcp.backends.process.launching import Command

if TYPE_CHECKING:
    from conversations.pair import Pair

INFO: Json = {"name": "a busy client", "version": "2"}
MARK = "busy"
"""The argument of its calls, with their number."""


class Neighbour:
    """The busy client."""

    def __init__(self, pair: "Pair") -> None:
        self._pair = pair
        self.is_open = False
        self._ids = 0
        self._calls: dict[int, str] = {}  # in progress at search-mcp: the answer that each may get, by id
        self._requests: set[int] = set()  # other requests
        self._served: list[tuple[Back, FakeChannel, Said]] = []  # in progress at the servers
        self._own: dict[str, Back] = {}  # servers that it does not share
        self._feed: Callable[[bytes], None] = lambda _data: None

    # As a client

    def opens(self, feed: Callable[[bytes], None]) -> None:
        """Open like the client of the conversation, whose servers it shares if that is possible."""
        self.is_open, self._feed = True, feed
        front = self._pair.front
        if not front.is_modern:
            params = {"protocolVersion": front.revision, "capabilities": front.capabilities, "clientInfo": INFO}
            self._asks("initialize", params)
            self._says(method="notifications/initialized")
            self._asks("logging/setLevel", {"level": "debug"})
        else:
            self._asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        self._asks("tools/list", {})

    def acts(self) -> None:
        """Do something."""
        self._calls_a_server()
        match self._ids % 5:
            case 0:
                self._asks("tools/list", {})
            case 1:
                self._asks("tools/call", {"name": "search_tools", "arguments": {"query": "echo"}})
            case 2 if self._calls:
                cancelled = next(iter(self._calls))
                del self._calls[cancelled]
                self._says(method="notifications/cancelled", params={"requestId": cancelled})
            case 3:
                self._asks("resources/list", {})
            case _:
                pass
        while len(self._served) > 1:
            self._answer()

    def waits(self) -> None:
        """Have all calls answered."""
        while self._served:
            self._answer()

    def _calls_a_server(self) -> None:
        backs = list(self._pair.backs.values())
        back = backs[self._ids % len(backs)]
        if not back.tools:
            return
        number = self._ids = self._ids + 1
        self._calls[number] = f"{MARK} {number}"
        arguments = {"name": f"{back.name}.{back.tools[0]['name']}", "arguments": {MARK: number}}
        self._says_request(number, "tools/call", arguments, {"progressToken": number})

    def _asks(self, method: str, params: Json) -> None:
        self._ids += 1
        self._requests.add(self._ids)
        self._says_request(self._ids, method, params, {})

    def _says_request(self, number: int, method: str, params: Json, meta: Json) -> None:
        if self._pair.front.is_modern:
            stamp = {VERSION: MODERN, CLIENT_INFO: INFO, CAPABILITIES: self._pair.front.capabilities}
            meta = {**stamp, **meta}
        self._says(id=number, method=method, params={**params, **({"_meta": meta} if meta else {})})

    def _says(self, **message: object) -> None:
        self._feed(encode({"jsonrpc": "2.0", **message}) + b"\n")

    def hear(self, line: bytes) -> None:
        """Check that a message is the client's own."""
        said = Said(line)
        if said.method is None:
            is_own = self._is_answered(said)
        elif said.method == "notifications/progress":
            is_own = said.params.get("message") == f"{MARK} {said.params['progressToken']}"
        else:
            is_own = "id" not in said.body and (
                said.method.endswith("/list_changed") or said.method == "notifications/subscriptions/acknowledged"
            )
        if not is_own:
            self._pair.transcript.faults.append(f"the busy client hears {said!r}")

    def _is_answered(self, said: Said) -> bool:
        """Return whether a response answers a request of this client; an error may answer any."""
        number = said.id
        if number in self._requests:
            self._requests.discard(number)
            return True
        words = self._calls.pop(number, None) if isinstance(number, int) else None
        if words is None or said.result is None:
            return words is not None
        return bool(said.body["result"].get("isError")) or said.body["result"]["content"] == text(words)["content"]

    # At the servers

    async def spawn(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> FakeChannel:
        """Start a process that the conversation has no part in."""
        name = command.args[0]
        model = self._pair.backs[name]
        back = self._own.get(name)
        if back is None:
            back = self._own[name] = Back(self._pair, f"{name} of the neighbour", model.revision)
        back.tools, back.prompts, back.resources = model.tools, model.prompts, model.resources
        return await back.spawn(on_stdout, on_end)

    def serves(self, back: Back, life: FakeChannel, said: Said) -> bool:
        """Take a message of this client to a server; return false for others."""
        if said.method == "notifications/cancelled":
            cancelled = [each for each in self._served if each[1] is life and each[2].id == said.params["requestId"]]
            for each in cancelled:
                self._served.remove(each)
            return bool(cancelled)
        if said.method != "tools/call" or MARK not in said.params.get("arguments", {}):
            return False
        self._served.append((back, life, said))
        return True

    def _answer(self) -> None:
        back, life, said = self._served.pop(0)
        if life.has_ended():
            return
        words = f"{MARK} {said.params['arguments'][MARK]}"
        progress = {"progressToken": said.meta["progressToken"], "progress": 1, "message": words}
        result = text(words, **({"resultType": "complete"} if back.is_modern else {}))
        for message in ({"method": "notifications/progress", "params": progress}, {"id": said.id, "result": result}):
            line = encode({"jsonrpc": "2.0", **message}) + b"\n"
            self._pair.loop.call_soon(life.on_stdout, line)
        self._pair.settle()


ALONE = {
    "test_a_backend_cannot_report_on_anothers_call": "a server answers an id that it guesses: one of the busy client",
}
"""Tests of conversations that are not played beside a busy client, each with the reason."""
