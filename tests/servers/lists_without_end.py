"""Lists tools, prompts and resources without an end, in pages that are odd in the way that its argument names."""

import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

import well_behaved
from well_behaved import Json

TEXT = "x" * (4 << 20)
KEYS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
numbers = itertools.count()


def entry(**more: Any) -> Json:
    return {"name": f"n{next(numbers)}", "uri": f"a:{next(numbers)}", "inputSchema": {"type": "object"}, **more}


def members(count: int) -> Json:
    return {f"k{number}": number for number in range(count)}


PAGES: dict[str, Callable[[], tuple[list[Json], Json]]] = {
    "cursors": lambda: ([entry()], {"nextCursor": f"{next(numbers)} {TEXT}"}),
    "short cursors": lambda: ([entry()], {"nextCursor": f"{next(numbers)} {TEXT[:60_000]}"}),
    "padded pages": lambda: ([entry()], {"padding": TEXT}),
    "definitions": lambda: ([entry(description=TEXT[:300_000]) for _ in range(20)], {}),
    "small definitions": lambda: ([entry() for _ in range(2_000)], {}),
    "large definitions": lambda: ([entry(description=TEXT)], {}),
    "names": lambda: ([entry(name=f"{TEXT[:500_000]}{number}", uri=TEXT) for number in range(4)], {}),
    "wide definitions": lambda: ([entry(**members(950)) for _ in range(200)], {}),
    "very wide definitions": lambda: ([entry(**members(60_000)) for _ in range(10)], {}),
}


def result(method: str, params: Json) -> Json:
    if method == "initialize":
        return {**well_behaved.opened(params), "capabilities": {"tools": {}, "prompts": {}, "resources": {}}}
    entries, more = PAGES[sys.argv[1]]() if method in KEYS else ([], {})
    return {KEYS.get(method, "resourceTemplates"): entries, "nextCursor": f"{next(numbers)}", **more}


if __name__ == "__main__":
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            well_behaved.say({"id": message["id"], "result": result(message["method"], message.get("params", {}))})
