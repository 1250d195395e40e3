"""Has another list of tools a hundred times a second, each with other names and descriptions, and announces each."""

import threading
import time
from itertools import count

import well_behaved
from well_behaved import Json

NUMBERS = count()


def announce() -> None:
    while True:
        time.sleep(0.01)
        well_behaved.say({"method": "notifications/tools/list_changed"})


def say(message: Json) -> None:
    result = message.get("result", {})
    if "capabilities" in result:
        result["capabilities"] = {"tools": {"listChanged": True}}
    if "tools" in result:
        number = next(NUMBERS)
        names = [f"tool_{number}_{each}" for each in range(number % 50 + 1)]
        schema = {"type": "object"}
        result["tools"] = [{"name": each, "description": f"Is {each}. " * 20, "inputSchema": schema} for each in names]
        if not number:
            threading.Thread(target=announce, daemon=True).start()
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
