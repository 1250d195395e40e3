"""What a client is owed: every request answered once, with its own words, or cancelled."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Ledger:
    """Both directions of one conversation, line by line and in order.

    An answer may cross a cancellation on its way. So a cancelled request may still be answered, once, until the
    answer to a ping that was sent behind the cancellation shows that it was read.
    """

    answered: int = 0
    served: int = 0
    """How many of those had a result."""
    cancelled: int = 0
    _open: dict[int, str | None] = field(default_factory=dict)  # the words each answer must repeat
    _crossing: set[int] = field(default_factory=set)
    _fences: dict[int, set[int]] = field(default_factory=dict)  # by the ping's id: what was cancelled before it

    def sent(self, line: bytes) -> None:
        """Note one line from the client."""
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
        """Judge one line to the client.

        Raises:
            AssertionError: it answers what does not wait for it, or not as it should.
        """
        message = json.loads(line)
        if "method" in message:
            return
        identifier = message["id"]
        assert identifier in self._open or identifier in self._crossing, f"nobody waits for this: {line[:500]!r}"
        if identifier in self._crossing:
            self._crossing.discard(identifier)
            self.cancelled -= 1
        else:
            _judge(message, self._open.pop(identifier))
        self._crossing -= self._fences.pop(identifier, set())
        self.answered += 1
        self.served += "result" in message

    def waiting(self) -> list[int]:
        """The requests that are owed an answer."""
        return list(self._open)


def _judge(message: dict[str, Any], words: str | None) -> None:
    if "error" in message:
        assert message["error"]["code"] in (-32000, -32602), message
    elif words is not None:
        assert message["result"]["content"][0]["text"] == words, "these are another call's words"
