"""Has tools that declare their effects, and answers with the name of the tool."""

import well_behaved
from well_behaved import Json

EFFECTS: Json = {"look": {"readOnlyHint": True}, "change": {}, "delete": {"destructiveHint": True}}


def say(message: Json) -> None:
    for tool in message.get("result", {}).get("tools", ()):
        tool |= {"description": f"Can {tool['name']} letters.", "annotations": EFFECTS[tool["name"]]}
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve({name: lambda _arguments, name=name: name for name in EFFECTS}, say=say)  # type: ignore[misc]
