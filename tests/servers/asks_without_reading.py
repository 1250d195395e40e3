"""From its first call on, sends pings with ids of 60 kB without end and reads no answer."""

import well_behaved
from well_behaved import Json


def ask(_arguments: Json) -> str:
    number = 0
    while True:
        number += 1
        well_behaved.say({"id": f"{number} {'x' * 60_000}", "method": "ping"})


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "ask": ask})
