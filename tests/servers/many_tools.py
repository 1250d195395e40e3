"""Has a thousand tools, or as many as its argument says, with a page of description each: several megabytes."""

import sys

import well_behaved
from well_behaved import Json


def say(message: Json) -> None:
    for tool in message.get("result", {}).get("tools", ()):
        tool["description"] = f"Does what {tool['name']} says. " + "And so on. " * 100
    well_behaved.say(message)


if __name__ == "__main__":
    number = int(sys.argv[1]) if sys.argv[1:] else 1000
    tools = {f"tool_{each}": well_behaved.TOOLS["echo"] for each in range(number)}
    well_behaved.serve({**well_behaved.TOOLS, **tools}, say=say)
