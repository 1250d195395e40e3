"""Exceptions, and the error response that a client gets for each.

A `WireError` is also a value: the outcome of a failed call. Messages are built from fields. They contain no secrets:
texts of a backend are redacted before an error is made of them.
"""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from search_mcp.model import reasons
from search_mcp.model.names import State
from search_mcp.model.sentences import LONGEST_REASON, cut, shortened
from search_mcp.model.servers import Status
from search_mcp.model.standing import Standing, standing_of
from search_mcp.wire.errors import SERVER_ERROR, SearchMcpError, WireError
from search_mcp.wire.messages import INVALID_PARAMS
from search_mcp.wire.structs import UNSET, ErrorObject

ACTED_ON_BY_CLIENTS = frozenset({-32042, -32021})
"""Codes of errors that clients act on: URL elicitation required (2025-11-25), missing client capability.
They pass through a tool call unchanged."""


def for_shell(word: str) -> str:
    """Quote a word for a command that a person may copy; it may come from an untrusted source."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII):
        return word
    import shlex  # for the few words that need it, not at every start

    return f'"{word}"' if sys.platform == "win32" else shlex.quote(word)


def ask_user(command: str) -> str:
    """Write a remedy that only the user may carry out, for a model, which may have a shell.

    The page can do all of these, except commands for one token of `serve --http`.
    """
    if " --for " in command or command.startswith("search-mcp token "):
        return f"Ask the user to run `{command}` in a terminal of the computer where search-mcp runs"
    _, named, path = command.partition(" --config ")
    return f"Ask the user to run `{command}` in a terminal, or `search-mcp ui{named}{path}`"


class ConfigError(SearchMcpError):
    """The configuration cannot be used; says where, why, and the remedy."""

    def __init__(self, source: str, problem: str, remedy: str, *, line: int | None = None, key: str | None = None):
        super().__init__(source, problem, remedy, line, key)
        self.source, self.problem, self.remedy = source, problem, remedy
        self.line, self.key = line, key

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        what = self.problem if self.key is None else f"{self.key}: {self.problem}"
        return f"{where}: {what}; {self.remedy}"


# The caller asked for something that does not exist or may not be used.


class NotFound(WireError):
    """No backend has the target; `suggestions` are the nearest usable names."""

    code = INVALID_PARAMS
    noun: ClassVar[str]

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(name, suggestions)
        self.name, self.suggestions = name, tuple(suggestions)

    def __str__(self) -> str:
        names = _listed(self.suggestions)
        return f"{self.what}. Nearest: {names}" if names else self.what

    @property
    def what(self) -> str:
        return f"{self.noun} not found: {cut(self.name)}"

    def data(self) -> Mapping[str, Any]:
        return {"suggestions": self.suggestions}


class ToolNotFound(NotFound):
    noun = "Tool"

    def __init__(self, name: str, suggestions: Sequence[str] = (), called_as: str = "") -> None:
        super().__init__(name, suggestions)
        self._called_as = called_as

    def __str__(self) -> str:
        if not self.suggestions:
            return f"{self.what}. search_tools finds tools by what they do"
        called = f". The first is called as {self._called_as}" if self._called_as else ""
        return f"{super().__str__()}{called}"


class ToolNotUnique(NotFound):
    """Tools of several servers have this name; `suggestions` are their full names."""

    def __init__(self, name: str, servers: Sequence[str], suggestions: Sequence[str]) -> None:
        super().__init__(name, suggestions)
        self.servers = tuple(servers)

    def __str__(self) -> str:
        servers = f"{len(self.servers)} servers have {cut(self.name)}: {_listed(self.servers)}"
        return f"{servers}; write {_listed(self.suggestions[:1])}"


class NeedsUser(WireError):
    """An error about a server that only the user can end; `remedy` is the command for it."""

    def __init__(self, server: str, sentence: str, remedy: str) -> None:
        super().__init__(server, sentence, remedy)
        self.server, self.sentence, self.remedy = server, sentence, remedy

    def __str__(self) -> str:
        return f"{self.sentence}. {ask_user(self.remedy)}"

    def data(self) -> Mapping[str, Any]:
        return {"server": self.server}


class Withheld(NeedsUser):
    """A pinned definition changed or is new, and the user has not accepted it."""

    code = INVALID_PARAMS
    noun: ClassVar[str]

    def __init__(self, name: str, server: str, remedy: str, *, is_new: bool = False) -> None:
        """Make the error; `remedy` is the command that shows and accepts it."""
        new = "is new since the server was first seen and not accepted yet"
        why = new if is_new else "has changed since it was first seen"
        super().__init__(server, f"{self.noun} withheld: {cut(name)} {why}", remedy)


class ToolWithheld(Withheld):
    noun = "Tool"


class PromptWithheld(Withheld):
    noun = "Prompt"


class NotCompared(NeedsUser):
    """A pinned server has not listed its definitions, so none can be compared with the accepted ones."""

    code = SERVER_ERROR

    def __init__(self, server: str, kind: str, remedy: str) -> None:
        sentence = f"MCP server '{server}' did not list its {kind}, so they cannot be compared with the accepted ones"
        super().__init__(server, f'{sentence}, as "pinTools" requires', remedy)


class Refused(WireError):
    """The caller may not do this; `remedy` says what to do instead."""

    code = INVALID_PARAMS

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"


class NotReadOnly(Refused):
    """`call_read_only_tool` was used for a tool that is not declared read-only."""

    def __init__(self, name: str, remedy: str) -> None:
        super().__init__(f"Tool not declared read-only: {cut(name)}", remedy)


class SwitchedOff(Refused):
    """One of search-mcp's own tools is switched off in the configuration."""

    def __init__(self, name: str, setting: str, remedy: str) -> None:
        super().__init__(f"{name} is switched off in the configuration ({setting})", remedy)


class HiddenByReadOnly(WireError):
    """The configuration, or the client's token, admits only read-only tools of this server."""

    code = INVALID_PARAMS

    def __init__(self, name: str, server: str) -> None:
        super().__init__(name, server)
        self.name, self.server = name, server

    def __str__(self) -> str:
        why = f"no other of server '{self.server}' may be called (readOnly)"
        return f"Tool not declared read-only: {cut(self.name)}, and {why}"

    def data(self) -> Mapping[str, Any]:
        return {"server": self.server}


class PromptNotFound(NotFound):
    noun = "Prompt"


class UriNotFound(NotFound):
    def data(self) -> Mapping[str, Any]:
        return {"uri": self.name, "suggestions": self.suggestions}


class ResourceNotFound(UriNotFound):
    """The front dialect of legacy revisions replaces the code by their own."""

    noun = "Resource"


class SkillNotFound(UriNotFound):
    noun = "Skill"


class DirectoryNotFound(UriNotFound):
    noun = "Directory"


class TaskNotFound(NotFound):
    noun = "Task"


# A backend failed.


class NotRunning(WireError):
    """The backend is disabled, failed, or did not start in time."""

    code = SERVER_ERROR

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.server, self.status = status.server, status

    def __str__(self) -> str:
        why = ": ".join(filter(None, (self.what, self.standing.told)))
        return f"{why}{' ' if why.endswith(('?', '!')) else '. '}{self._what_next}" if self._what_next else why

    @property
    def what(self) -> str:
        return f"MCP server '{self.server}' is not running"

    @property
    def standing(self) -> Standing:
        return standing_of(self.status)

    @property
    def _what_next(self) -> str:
        if self.status.remedy:
            return ask_user(self.status.remedy)
        if self.status.reason is not None and reasons.is_lasting(self.status.reason):
            return "Tell the user: calling again helps only after that is fixed"
        if (seconds := self.status.retry_after_seconds) is not None:
            return f"search-mcp tries again in {max(1, math.ceil(seconds))} s; call again after that"
        if self.status.state is State.FAILED:
            return "After fixing that, call again: the call makes search-mcp try again"
        return "Call again in a few seconds" if self.status.state in _PASSING_STATES else ""

    def data(self) -> Mapping[str, Any]:
        data: dict[str, Any] = {"server": self.server, "state": self.status.state, "reason": self.status.reason}
        if self.status.remedy:
            data["remedy"] = ask_user(self.status.remedy)
        if self.status.retry_after_seconds is not None:
            data["retryAfterSeconds"] = round(self.status.retry_after_seconds, 3)
        return data


class NotStarting(NotRunning):
    """A server under development does not start; the model that edits it reads the end of its stderr."""

    def __str__(self) -> str:
        how, mark, tail = (self.status.reason or "").partition(reasons.STDERR_TAIL_MARK)
        if not mark:
            return super().__str__()
        # Loaded for such an error only. No line of the server can be taken for one of search-mcp.
        from search_mcp.model.visible import indented

        quoted = indented(tail, "| ")
        return f"{self.what}: {shortened(how)}. End of its stderr:\n{quoted}\n{self._what_next}"

    @property
    def _what_next(self) -> str:
        if self.status.state not in (State.BACKING_OFF, State.FAILED):
            return super()._what_next
        return "It is started again as soon as one of its watched files changes"


class NeedsLogin(NeedsUser):
    """A remote server refused a request because the user is not logged in there; it was not carried out."""

    code = SERVER_ERROR

    def __init__(self, server: str, remedy: str, reason: str | None = None) -> None:
        why = "" if reason is None else f" ({shortened(reason)})"
        super().__init__(server, f"MCP server '{server}' needs a login{why}", remedy)
        self.reason = reason

    def data(self) -> Mapping[str, Any]:
        data = {"server": self.server, "remedy": ask_user(self.remedy)}
        return data if self.reason is None else {**data, "reason": self.reason}


class Lost(WireError):
    """The backend received the call and will not answer it; it may have run, so it is not repeated."""

    code = SERVER_ERROR

    def __init__(self, server: str, how: str, reason: str | None = None) -> None:
        super().__init__(server, how, reason)
        self.server, self.how, self.reason = server, how, reason

    def __str__(self) -> str:
        why = "" if self.reason is None else f": {shortened(self.reason)}"
        return f"{self.what}{why}. The call may still have run"

    @property
    def what(self) -> str:
        return f"MCP server '{self.server}' {self.how}"

    def data(self) -> Mapping[str, Any]:
        data: dict[str, Any] = {"server": self.server, "mayHaveRun": True}
        if self.reason is not None:
            data["reason"] = self.reason
        return data


class NotRun(WireError):
    """The backend refused the call, or could not be reached; it did not run."""

    code = SERVER_ERROR

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(server, reason)
        self.server, self.reason = server, reason

    def __str__(self) -> str:
        return f"MCP server '{self.server}' did not run the call: {shortened(self.reason)}"

    def data(self) -> Mapping[str, Any]:
        return {"server": self.server, "mayHaveRun": False, "reason": self.reason}


class MisbehavedError(WireError):
    """A backend broke the protocol in a way that ends the call."""

    code = SERVER_ERROR

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"Backend MCP server error: {self.problem}"


class BackendToolError(WireError):
    """A backend's error response to a tool call, with hints for a model."""

    code = SERVER_ERROR

    def __init__(
        self, server: str, tool: str, error: ErrorObject, input_schema: object | None = None, hint: str = ""
    ) -> None:
        super().__init__(server, tool, error, input_schema, hint)
        self.server, self.tool, self.error, self.input_schema = server, tool, error, input_schema
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what

    @property
    def what(self) -> str:
        return f"Backend MCP server error: {self.error.message}"

    def data(self) -> Mapping[str, Any]:
        code, message = self.error.code, self.error.message
        data: dict[str, Any] = {"server": self.server, "tool": self.tool, "code": code, "message": message}
        if self.error.data is not UNSET:
            data["data"] = self.error.data
        if self.input_schema is not None:
            data["inputSchema"] = self.input_schema
        return data


_PASSING_STATES: Final = frozenset({State.STARTING, State.RESTARTING, State.READY, State.STOPPING, State.STOPPED})
"""States in which a server may take calls again soon."""


def _listed(names: Sequence[str]) -> str:
    """Join usable names in one line, without those that are too long or not printable."""
    written: list[str] = []
    for name in names:
        if name.isprintable() and sum(map(len, written)) + len(name) <= LONGEST_REASON:
            written.append(name)
    return ", ".join(written)
