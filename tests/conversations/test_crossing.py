"""Twelve clients of all eras and profiles on one pool, at the same time: nothing of one reaches another."""

import random
import re
from itertools import cycle, islice

import pytest

from conversations.back import Back
from conversations.front import Asked, Front
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import LEGACY, MODERN, NEWEST_LEGACY, text
from search_mcp.catalog.profiles import BY_NAME

CLIENTS = 12
CALLS = 40
"""Calls of each client, in bursts."""


class Echoing:
    """A server that answers after a random time: first progress and a log message, then its caller's own words."""

    def __init__(self, back: Back, rng: random.Random) -> None:
        self._rng, self._cancelled = rng, set[tuple[int, object]]()
        back.on("tools/call", self.call)
        back.on("notifications/cancelled", self.cancel)

    def call(self, back: Back, said: Said) -> None:
        channel = back.channel_of(said)
        by = said.params["arguments"]["by"]

        def answer() -> None:
            if channel.has_ended() or (channel.pid, said.id) in self._cancelled:
                return
            back.speaks_as(channel)
            back.notifies("notifications/progress", progressToken=said.meta["progressToken"], progress=1, message=by)
            if not back.is_modern:
                back.notifies("notifications/message", level="error", data=by)
            back.answer(said.id, text(by))

        back.pair.loop.call_later(self._rng.random(), answer)

    def cancel(self, back: Back, said: Said) -> None:
        self._cancelled.add((back.channel_of(said).pid, said.params["requestId"]))


@pytest.mark.parametrize("back", [NEWEST_LEGACY, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_crosses(back: str, seed: int, is_beside_a_busy_client: bool) -> None:
    rng = random.Random(seed)
    revisions = list(islice(cycle([MODERN, NEWEST_LEGACY, MODERN, NEWEST_LEGACY, LEGACY[0]]), CLIENTS))
    profiles = list(islice(cycle(BY_NAME.values()), CLIENTS))
    with Pair(revisions[0], back, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": True}
        pair.alpha.logs = back != MODERN
        Echoing(pair.alpha, rng)
        pair.front.opens()
        fronts = [pair.front]
        for revision, profile in zip(revisions[1:], profiles[1:], strict=True):
            fronts.append(pair.joined_by(revision, profile))
            fronts[-1].opens()
        assert len(pair.alpha.channels) == 1, "one process for clients of all revisions"
        open_calls: dict[Front, dict[object, Asked]] = {front: {} for front in fronts}
        for burst in range(4):
            for front in rng.sample(fronts, len(fronts)):
                _call(front, open_calls[front], burst, rng)
            if burst == 2:
                gone = fronts.pop(rng.randrange(1, len(fronts)))
                pair.left_by(gone)
                gone.inbox.clear()
            pair.after(rng.random())
        pair.after(10)
        for front in fronts:
            _judge(front, open_calls[front])


def _call(front: Front, calls: dict[object, Asked], burst: int, rng: random.Random) -> None:
    for number in range(CALLS // 4):
        by = f"<{front.name}:{burst}:{number}>"
        call = front.calls("alpha.echo", token=f"{burst}.{number}", by=by)
        if rng.random() < 0.2:
            call.cancels()
        else:
            calls[call.id] = call


def _judge(front: Front, calls: dict[object, Asked]) -> None:
    """Check that every message names this client alone, and that each call has its own answer, once."""
    progress: list[str] = []
    for said in front.inbox:
        words = re.findall(r"<(front[ 0-9]*):(\d+):(\d+)>", said.line.decode())
        assert {name for name, _, _ in words} == {front.name}, said
        ((_, burst, number),) = words
        if said.method == "notifications/progress":
            progress.append(said.params["progressToken"])
            assert said.params["progressToken"] == f"{burst}.{number}"
        elif said.method is None:
            call = calls.pop(said.id)
            assert call.params["arguments"]["by"] == f"<{front.name}:{burst}:{number}>"
            assert f"{burst}.{number}" in progress, "progress leaves before the answer"
            call.is_over()
    assert calls == {}
    assert len(progress) == len(set(progress))
    front.inbox.clear()
