"""The search for a skill that no server lists: servers with skills are asked one after another (`skills/get`)."""

from functools import partial

from search_mcp.gateway.forwarding import Forwarding
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call, Outcome, Result
from search_mcp.model.errors import SkillNotFound
from search_mcp.model.names import Kind
from search_mcp.model.similar import nearest
from search_mcp.wire.errors import WireError
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

    def ask_next(self) -> None:
        """Ask the next server, or answer that no server has the skill."""
        self._left = [server for server in self._left if server in self._servers.backends]  # some may be removed
        if not self._left:
            self._call.reply(self._error or self._not_found())
            return
        server = self._left.pop(0)
        self._call.reply.steps.append(partial(self._take, server))
        self._forwarding.forward(server, self._call, self._call.target)

    def _take(self, server: str, outcome: Outcome | None) -> Outcome | None:
        if isinstance(outcome, Result):
            if self._servers.resources.note_skill(server, self._call.target):
                return outcome  # else its files would be read at another server
        elif isinstance(outcome, WireError):
            # "-32602" means that this server lacks the skill. Another error is kept for the client: this server may
            # have it.
            self._error = self._error if outcome.code == INVALID_PARAMS else outcome
        else:
            return outcome
        self.ask_next()
        return None

    def _not_found(self) -> WireError:
        uri = self._call.target
        return SkillNotFound(uri, nearest(uri, self._servers.catalog.by_uri(Kind.SKILLS)))
