"""Has a thousand tools with a page of description each: a list of several megabytes."""

import well_behaved
from well_behaved import Json


def say(message: Json) -> None:
    for tool in message.get("result", {}).get("tools", ()):
        tool["description"] = f"Does what {tool['name']} says. " + "And so on. " * 100
    well_behaved.say(message)


if __name__ == "__main__":
    tools = {f"tool_{number}": well_behaved.TOOLS["echo"] for number in range(1000)}
    well_behaved.serve({**well_behaved.TOOLS, **tools}, say=say)
