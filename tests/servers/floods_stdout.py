"""Sends log messages without end from the moment of its first call."""

import well_behaved
from well_behaved import Json

MESSAGE: Json = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}}


def flood(_arguments: Json) -> str:
    while True:
        well_behaved.say(MESSAGE)


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "flood": flood})
