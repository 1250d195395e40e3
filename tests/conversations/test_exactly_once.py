"""Any interleaving of calls, progress, questions, cancellations and exits ends every request exactly once.

The pair fails on an unexpected message, so each step expects its own consequences and no others.
"""

import random

import pytest

from conversations.back import Served
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import accept, elicit, text

STEPS = 40
MOST_OPEN = 5


class Walk:
    """A random walk; the same seed gives the same walk."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair = pair
        self.random = random.Random(seed)
        self.open: list[tuple[Asked, Served]] = []
        self.count = 0

    def step(self) -> None:
        possible = [self.calls] if len(self.open) < MOST_OPEN else []
        if self.open:
            possible += [self.returns, self.returns, self.fails, self.cancels, self.reports, self.dies]
        if len(self.open) == 1:
            possible.append(self.asks)
        self.random.choice(possible)()

    def calls(self) -> None:
        self.count += 1
        asked = self.pair.front.calls("alpha.echo", token=f"t{self.count}", number=self.count)
        self.open.append((asked, self.pair.alpha.is_called("echo", number=self.count)))

    def one(self) -> tuple[Asked, Served]:
        return self.open.pop(self.random.randrange(len(self.open)))

    def returns(self) -> None:
        asked, served = self.one()
        self.count += 1
        served.returns(text(f"result {self.count}"))
        asked.gets(text(f"result {self.count}"))

    def fails(self) -> None:
        asked, served = self.one()
        served.fails(-1, "no")
        asked.fails(-32000, "Backend MCP server error: no")

    def cancels(self) -> None:
        asked, served = self.one()
        asked.cancels("enough")
        served.is_cancelled("enough")

    def reports(self) -> None:
        _, served = self.random.choice(self.open)
        self.count += 1  # "The `progress` value MUST increase with each notification"
        served.reports(self.count)
        assert self.pair.front.hears("notifications/progress").params["progress"] == self.count

    def asks(self) -> None:
        asked, served = self.open[0]
        served.asks(who=elicit("Your name?"))
        asked.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
        served.gets(who=accept(name="Ada"))

    def dies(self) -> None:
        if self.random.random() < 0.7:
            return
        self.pair.alpha.exits(1)
        for asked, _ in self.open:
            assert asked.fails(-32000).body["error"]["data"]["mayHaveRun"] is True
        self.open.clear()
        self.pair.after(120)


@pytest.mark.parametrize("seed", range(8))
def test_every_request_ends_exactly_once(pair: Pair, seed: int) -> None:
    pair.front.opens(elicitation={})
    walk = Walk(pair, seed)
    for _ in range(STEPS):
        walk.step()
    while walk.open:
        walk.returns()
    pair.front.hears_nothing()
    pair.alpha.hears_nothing()
