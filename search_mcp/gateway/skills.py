"""The search for a skill that no server lists: servers with skills are asked one after another (`skills/get`)."""

from search_mcp.gateway.forwarding import Forwarding
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call, Outcome, Result
from search_mcp.model.errors import SkillNotFound
from search_mcp.model.names import Kind
from search_mcp.model.similar import nearest
from search_mcp.wire import structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Cancel, Reason, cancel_nothing
from search_mcp.wire.messages import INVALID_PARAMS


class SkillSearch:
    """One request for such a skill: the first server that has it answers, and its files are read there."""

    # "A server MUST answer for every skill it serves, whether or not that skill appears in its `skills/list` result."

    def __init__(self, call: Call, servers: Servers, forwarding: Forwarding) -> None:
        self._call, self._servers, self._forwarding = call, servers, forwarding
        self._error: WireError | None = None
        owner = servers.resources.owner(call.target)
        having = [backend.name for backend in servers.with_skills()]
        # The owner of the URI is asked first: if it lists the URI, the skill of any other server would be refused.
        self._left: list[str] = sorted(having, key=lambda server: server != owner)
        self._asked = ""
        self._cancel: Cancel = cancel_nothing

    def begin(self) -> Cancel:
        """Ask the first server; return what cancels the search."""
        self._ask_next()
        return self._cancel_current

    def _ask_next(self) -> None:
        self._left = [server for server in self._left if server in self._servers.backends]  # some may be removed
        if not self._left:
            self._call.reply(self._error or self._not_found())
            return
        server = self._asked = self._left.pop(0)

        def take(outcome: Outcome) -> None:
            self._take(server, outcome)

        cancel = self._forwarding.forward(server, structs.replace(self._call, reply=take), self._call.target)
        if self._asked == server:  # else it was answered at once
            self._cancel = cancel

    def _take(self, server: str, outcome: Outcome) -> None:
        self._asked, self._cancel = "", cancel_nothing  # breaks a reference cycle
        is_given = isinstance(outcome, Result)
        if is_given and not self._servers.resources.note_skill(server, self._call.target):
            self._ask_next()  # its files would be read at another server
        elif isinstance(outcome, WireError):
            # "-32602" means that this server lacks the skill. Another error is kept for the client: this server may
            # have it.
            self._error = self._error if outcome.code == INVALID_PARAMS else outcome
            self._ask_next()
        else:
            self._call.reply(outcome)

    def _not_found(self) -> WireError:
        uri = self._call.target
        return SkillNotFound(uri, nearest(uri, self._servers.catalog.by_uri(Kind.SKILLS)))

    def _cancel_current(self, reason: Reason) -> None:
        self._left.clear()
        self._cancel(reason)
