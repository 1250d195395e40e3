"""Says its first argument wherever a server can say something."""

import sys

import well_behaved
from well_behaved import Json

MARKUP = sys.argv[1]


def say(message: Json) -> None:
    result = message.get("result", {})
    if "serverInfo" in result:
        result["serverInfo"] = {"name": MARKUP, "title": MARKUP, "version": MARKUP}
        result["instructions"] = MARKUP
    for tool in result.get("tools", ()):
        about = {"type": "string", "title": MARKUP, "description": MARKUP, "enum": [MARKUP], "default": MARKUP}
        schema = {"type": "object", "properties": {MARKUP: about}, "required": [MARKUP], "description": MARKUP}
        tool |= {"title": MARKUP, "description": MARKUP, "inputSchema": schema, "annotations": {"title": MARKUP}}
    well_behaved.say(message)


if __name__ == "__main__":
    print(MARKUP, file=sys.stderr, flush=True)
    well_behaved.serve({MARKUP: lambda _arguments: MARKUP}, say=say)
