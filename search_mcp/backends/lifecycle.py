"""The transitions between a backend's states, the ways in which a connection ends, and the delays between starts.

The table knows no processes and no time: the supervisor reports an event and reads the new state. A pair that is not
in the table is a bug and raises.
"""

import enum

from search_mcp.backends.channel import MissingFile
from search_mcp.model.names import State
from search_mcp.wire.structs import Struct


class Event(enum.Enum):
    START = "start"
    OPENED = "opened"
    ENDED = "ended"  # it exited, was refused or did not open in time
    GIVE_UP = "give up"
    UNAUTHORIZED = "be unauthorized"
    REST = "rest"
    RESTART = "be restarted"
    TERMINATE = "be terminated"
    STOP = "stop"
    STOPPED = "stopped"


TRANSITIONS = {
    (State.STOPPED, Event.START): State.STARTING,
    (State.BACKING_OFF, Event.START): State.STARTING,
    (State.FAILED, Event.START): State.STARTING,  # a call needs it again
    (State.NEEDS_LOGIN, Event.START): State.STARTING,  # a call needs it, or the user has logged in
    (State.STARTING, Event.OPENED): State.READY,
    (State.STARTING, Event.ENDED): State.BACKING_OFF,
    (State.READY, Event.ENDED): State.BACKING_OFF,
    (State.STARTING, Event.GIVE_UP): State.FAILED,
    (State.READY, Event.GIVE_UP): State.FAILED,
    (State.STARTING, Event.UNAUTHORIZED): State.NEEDS_LOGIN,
    (State.READY, Event.UNAUTHORIZED): State.NEEDS_LOGIN,
    (State.READY, Event.REST): State.STOPPED,  # idle; a call starts it again
    (State.STARTING, Event.RESTART): State.RESTARTING,
    (State.READY, Event.RESTART): State.RESTARTING,
    (State.RESTARTING, Event.START): State.STARTING,
    (State.RESTARTING, Event.STOP): State.STOPPING,
    (State.RESTARTING, Event.TERMINATE): State.STOPPING,
    (State.STOPPED, Event.STOP): State.STOPPING,
    (State.STARTING, Event.STOP): State.STOPPING,
    (State.READY, Event.STOP): State.STOPPING,
    (State.BACKING_OFF, Event.STOP): State.STOPPING,
    (State.FAILED, Event.STOP): State.STOPPING,
    (State.NEEDS_LOGIN, Event.STOP): State.STOPPING,
    (State.STOPPED, Event.TERMINATE): State.STOPPING,
    (State.STARTING, Event.TERMINATE): State.STOPPING,
    (State.READY, Event.TERMINATE): State.STOPPING,
    (State.BACKING_OFF, Event.TERMINATE): State.STOPPING,
    (State.FAILED, Event.TERMINATE): State.STOPPING,
    (State.NEEDS_LOGIN, Event.TERMINATE): State.STOPPING,
    (State.STOPPING, Event.TERMINATE): State.STOPPING,
    (State.STOPPING, Event.OPENED): State.STOPPING,  # it answered before it was terminated
    (State.STOPPING, Event.STOP): State.STOPPING,  # after it was terminated
    (State.STOPPING, Event.STOPPED): State.STOPPED,
}


def advance(state: State, event: Event) -> State:
    """Look up the next state.

    Raises:
        RuntimeError: this event cannot happen in this state.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise RuntimeError(f"a backend that is {state.value} cannot {event.value}") from None


class Next(enum.Enum):
    """What follows the end of a connection."""

    RETRY = enum.auto()  # another start, after a delay
    AT_ONCE = enum.auto()  # the same; the first in a row without a delay
    OTHER_ERA = enum.auto()  # the same, in the other era at once if it was not known which one the server speaks
    GIVE_UP = enum.auto()  # nothing: another start would end in the same way until something else is changed
    UNAUTHORIZED = enum.auto()  # the login that only the user can make
    REST = enum.auto()  # nothing until a client needs it


class Ended(Struct, frozen=True):
    """How the connection to a server ended, or why it could not be opened."""

    reason: str = ""
    next: Next = Next.RETRY
    after_seconds: float = 0.0
    """Time that the server wants to be left alone."""
    is_era_known: bool = True
    """Whether the next start may count on the era in which the server was opened before."""
    missing: MissingFile | None = None
    """The file that the user has to write before the next start."""


class Backoff(Struct, frozen=True):
    """Delays after consecutive failures, in seconds, and the number of attempts."""

    first_seconds: float = 0.5
    longest_seconds: float = 30.0
    attempts: int = 5
    """Consecutive failures after which it is given up, until a call needs it."""
    settled_seconds: float = 60.0
    """Time that a backend must be ready before failures are counted anew."""

    def delay(self, failures: int, jitter: float) -> float | None:
        """Return seconds until the next start, or `None` to give up; `jitter` is random, from 0 to 1.

        Half of each delay is fixed and half is random, so that backends that ended together do not start together.
        """
        if failures >= self.attempts:
            return None
        step: float = min(self.first_seconds * 2 ** (failures - 1), self.longest_seconds)
        return step * (0.5 + 0.5 * jitter)
