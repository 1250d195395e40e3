"""Announces a changed list of tools without end, from its first list on, and answers beside that."""

import threading

import well_behaved
from well_behaved import Json


def announce() -> None:
    while True:
        well_behaved.say({"method": "notifications/tools/list_changed"})


def say(message: Json) -> None:
    well_behaved.say(message)
    if "tools" in message.get("result", {}) and threading.active_count() == 1:
        threading.Thread(target=announce, daemon=True).start()


if __name__ == "__main__":
    well_behaved.serve(say=say)
