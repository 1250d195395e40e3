"""Clients of a pool that come, call, cancel, stop reading and leave at random, while servers die and are edited.

Every call is answered once, by its own words or by an error; none runs twice; no server is left without a client.
"""

import random
from collections import Counter
from typing import Any

import pytest

from conversations.back import Back
from conversations.front import Asked, Front
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import MODERN, NEWEST_LEGACY, text
from search_mcp.pool.pooled_server import LINGER_SECONDS

STEPS = 120
MOST_CLIENTS = 6


class World:
    """The clients and one server of a scenario."""

    def __init__(self, pair: Pair, rng: random.Random) -> None:
        self.pair, self.rng = pair, rng
        self.fronts = [pair.front]
        self.silent: set[Front] = set()
        self.calls: dict[Front, dict[object, Asked]] = {pair.front: {}}
        self.runs: Counter[str] = Counter()
        self._count = 0
        pair.alpha.on("tools/call", self._serve)
        pair.alpha.on("notifications/cancelled", lambda _back, _said: None)
        pair.alpha.on("notifications/roots/list_changed", lambda _back, _said: None)

    def _serve(self, back: Back, said: Said) -> None:
        channel, by = back.channel_of(said), said.params["arguments"]["by"]
        self.runs[by] += 1

        def answer() -> None:
            if not channel.has_ended():
                back.speaks_as(channel)
                back.answer(said.id, text(by))

        back.pair.loop.call_later(2 * self.rng.random(), answer)

    def step(self) -> None:
        acts = [self._call] * 8 + [self._pass] * 4 + [self._cancel] * 2 + [self._join, self._leave]
        acts += [self._die, self._edit, self._stop_reading, self._read_on]
        self.rng.choice(acts)()

    def _call(self) -> None:
        front = self.rng.choice(self.fronts)
        self._count += 1
        call = front.calls("alpha.echo", by=f"<{self._count}>")
        self.calls[front][call.id] = call

    def _cancel(self) -> None:
        front = self.rng.choice(self.fronts)
        self._sort(front)
        if self.calls[front]:
            self.calls[front].pop(self.rng.choice(list(self.calls[front]))).cancels()

    def _pass(self) -> None:
        self.pair.after(self.rng.random())

    def _join(self) -> None:
        if len(self.fronts) < MOST_CLIENTS:
            front = self.pair.joined_by(self.rng.choice([self.pair.front.revision, MODERN, NEWEST_LEGACY]))
            self.fronts.append(front)
            self.calls[front] = {}
            if not front.is_modern:
                front.initializes()
            front.asks("tools/list")

    def _leave(self) -> None:
        if len(self.fronts) > 1:
            front = self.fronts.pop(self.rng.randrange(1, len(self.fronts)))
            self.silent.discard(front)
            self.pair.left_by(front, seconds=1)
            front.inbox.clear()
            self.pair.others.remove(front)

    def _die(self) -> None:
        alive = [channel for channel in self.pair.alpha.channels if not channel.has_ended()]
        if alive:
            self.rng.choice(alive).exit(1, "")
            self.pair.settle()

    def _edit(self) -> None:
        config: dict[str, Any] = {"share": self.rng.choice([None, True, False])}
        if self.rng.random() < 0.5:
            config["env"] = {"A": str(self.rng.randrange(3))}
        self.pair.alpha.config = config
        self.pair.edit()

    def _stop_reading(self) -> None:
        front = self.rng.choice(self.fronts)
        if front not in self.silent:
            self.silent.add(front)
            self.pair.stops_reading(front)

    def _read_on(self) -> None:
        if self.silent:
            front = self.rng.choice(sorted(self.silent, key=lambda each: each.name))
            self.silent.remove(front)
            self.pair.reads_on(front)

    def _sort(self, front: Front) -> None:
        """Take the answers from what a client heard, and check that each is its own."""
        for said in front.inbox:
            call = self.calls[front].pop(said.id, None) if said.method is None else None
            if call is None:
                continue  # an opening, a list or a notification
            by = call.params["arguments"]["by"]
            if "error" in said.body:
                assert said.body["error"]["code"] == -32000, said
            else:
                assert said.body["result"]["content"][0]["text"] == by
                assert self.runs[by] == 1
            call.is_over()
        front.inbox.clear()

    def ends(self) -> None:
        """Let everything come to an end."""
        while self.silent:
            self._read_on()
        self.pair.after(120)
        for front in self.fronts:
            self._sort(front)
            assert self.calls[front] == {}, "every call is answered"
        assert set(self.runs.values()) <= {1}, "no call runs twice"
        assert self.pair.pool is not None
        for front in self.fronts[1:]:
            self.pair.left_by(front, seconds=1)
            front.inbox.clear()
            self.pair.others.remove(front)
        self.pair.after(LINGER_SECONDS + 1)
        assert sum(not channel.has_ended() for channel in self.pair.alpha.channels) <= 1
        assert len(self.pair.pool.servers) == 1
        self.pair.front.inbox.clear()


@pytest.mark.parametrize("back", [NEWEST_LEGACY, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("seed", range(8))
def test_every_call_is_answered_once(back: str, seed: int, is_beside_a_busy_client: bool) -> None:
    rng = random.Random(seed)
    front = rng.choice([NEWEST_LEGACY, MODERN])
    with Pair(front, back, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.front.opens()
        world = World(pair, rng)
        for _ in range(STEPS):
            world.step()
        world.ends()
        pair.alpha.inbox.clear()
