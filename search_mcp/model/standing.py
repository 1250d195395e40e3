"""How a server stands: its state in words, what happened, the cause, the remedy and the time.

The screens of commands and the answers for models use these words; JSON of commands and data of errors have the
`State` itself. Pure.
"""

from search_mcp.model.names import State
from search_mcp.model.reasons import parted
from search_mcp.model.sentences import cut
from search_mcp.model.servers import Status
from search_mcp.model.visible import one_line, quoted
from search_mcp.wire.structs import Struct

LONGEST_PART = 150
"""Most characters of what happened, and of its cause: a line of stderr that tells one is seldom longer."""
OFF, NOT_STARTED = "off", "not started"
_WORDS = {State.BACKING_OFF: State.FAILED.value, State.DISABLED: OFF, State.UNKNOWN: NOT_STARTED}
"""The words for people, where they differ from the value of the state."""
_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60))


class Standing(Struct, frozen=True):
    """How one server stands."""

    server: str
    word: str
    what: str
    """What happened, on one line, in words of search-mcp; empty if there is nothing to say."""
    cause: str
    """The words of the server, or of the system, that tell the cause, on one line; hostile, so to be quoted."""
    remedy: str
    """The command that the user can run; empty if there is none."""
    since: float | None
    """The time at which this state began, in seconds since the epoch; `None` while unknown."""

    @property
    def reason(self) -> str:
        """What happened and the cause, unquoted: for `Terminal` only, which escapes hostile characters."""
        return ": ".join(filter(None, (self.what, self.cause)))

    @property
    def explanation(self) -> str:
        """The reason and the remedy, for a terminal."""
        return "; ".join(filter(None, (self.reason, self.remedy and f"run `{self.remedy}`")))

    @property
    def told(self) -> str:
        """The reason for a model, with the cause quoted."""
        return ": ".join(filter(None, (self.what, self.cause and quoted(self.cause, LONGEST_PART))))

    def word_and_age(self, now: float) -> str:
        """Return the word and, for a failure, how long ago it was; `now` in seconds since the epoch."""
        if self.since is None or self.word != State.FAILED:
            return self.word
        return f"{self.word} {ago(now - self.since)}"


def standing_of(status: Status) -> Standing:
    """Put the state of a server into words."""
    what, cause = _reason(status)
    return Standing(status.server, _word(status), what, cause, status.remedy, status.since)


def ago(seconds: float) -> str:
    """Write how long ago something was, in the largest unit that fits."""
    for unit, length in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''} ago"
    return "just now"


def _word(status: Status) -> str:
    if status.state is not State.STOPPED:
        return _WORDS.get(status.state, status.state.value)
    if status.lacked_login:
        return State.NEEDS_LOGIN.value
    if status.reason is not None:
        return State.FAILED.value
    return NOT_STARTED if status.capabilities is None else State.KNOWN.value


def _reason(status: Status) -> tuple[str, str]:
    reason = status.reason or status.last_failure or ""
    if status.state in (State.HELD, State.DISABLED):  # whose reasons are words of search-mcp alone
        return cut(one_line(reason), LONGEST_PART), ""
    happened, line = parted(reason)
    what, _, details = " ".join(happened.split()).rstrip(".").partition(": ")
    return cut(one_line(what), LONGEST_PART), cut(": ".join(filter(None, (details, line))), LONGEST_PART)
