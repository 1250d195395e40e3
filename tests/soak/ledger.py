"""Record of a client's open requests: each is answered once, with its own text, or cancelled."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Ledger:
    """Judge of both directions of a conversation, line by line and in order.

    An answer and a cancellation may cross. A cancelled request may therefore still be answered, once, until a ping sent
    after the cancellation has been answered: then the server has read the cancellation.
    """

    answered: int = 0
    served: int = 0
    """Number of those that had a result."""
    cancelled: int = 0
    _open: dict[int, str | None] = field(default_factory=dict)  # the text that each answer must contain
    _crossing: set[int] = field(default_factory=set)
    _fences: dict[int, set[int]] = field(default_factory=dict)  # by the id of a ping: the requests cancelled before it

    def sent(self, line: bytes) -> None:
        """Record a line from the client."""
        message = json.loads(line)
        params = message.get("params", {})
        if "id" in message:
            self._open[message["id"]] = params.get("arguments", {}).get("words")
            if message["method"] == "ping":
                self._fences[message["id"]] = set(self._crossing)
        elif message["method"] == "notifications/cancelled" and params["requestId"] in self._open:
            del self._open[params["requestId"]]
            self._crossing.add(params["requestId"])
            self.cancelled += 1

    def received(self, line: bytes) -> None:
        """Judge a line to the client.

        Raises:
            AssertionError: the request is not open, or the answer is wrong.
        """
        message = json.loads(line)
        if "method" in message:
            return
        identifier = message["id"]
        assert identifier in self._open or identifier in self._crossing, (
            f"no request with this id is open: {line[:500]!r}"
        )
        if identifier in self._crossing:
            self._crossing.discard(identifier)
            self.cancelled -= 1
        else:
            _judge(message, self._open.pop(identifier))
        self._crossing -= self._fences.pop(identifier, set())
        self.answered += 1
        self.served += "result" in message

    def waiting(self) -> list[int]:
        """Return the ids of the requests without an answer."""
        return list(self._open)


def _judge(message: dict[str, Any], words: str | None) -> None:
    if "error" in message:
        assert message["error"]["code"] in (-32000, -32602), message
    elif words is not None:
        assert message["result"]["content"][0]["text"] == words, "the text belongs to another call"
