"""Answers every request twice, and once more with the id as a string."""

import well_behaved
from well_behaved import Json


def say(message: Json) -> None:
    well_behaved.say({**message, "id": str(message["id"])})
    well_behaved.say(message)
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
