"""Has the tools that its arguments name, each as NAME=DESCRIPTION; answers with the name."""

import sys

import well_behaved
from well_behaved import Json

ABOUT = dict(argument.split("=", 1) for argument in sys.argv[1:])


def say(message: Json) -> None:
    for tool in message.get("result", {}).get("tools", ()):
        tool["description"] = ABOUT[tool["name"]]
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve({name: lambda _arguments, name=name: name for name in ABOUT}, say=say)  # type: ignore[misc]
