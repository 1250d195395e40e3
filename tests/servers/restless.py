"""Describes its tools with the words of the last call, announces the change, and writes much to stderr."""

import sys

import well_behaved
from well_behaved import Json

description = "At first."


def change(arguments: Json) -> str:
    global description
    description = str(arguments["words"])
    well_behaved.say({"method": "notifications/tools/list_changed"})
    print("I am", description, "now", file=sys.stderr, flush=True)
    return description


def say(message: Json) -> None:
    result = message.get("result", {})
    if "capabilities" in result:
        result["capabilities"] = {"tools": {"listChanged": True}}
    for tool in result.get("tools", ()):
        tool["description"] = description
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "change": change}, say=say)
