"""Progress of the client's requests, under the client's own tokens."""

from search_mcp.dialects import names
from search_mcp.wire.inflight import Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Fields, RequestId


class ProgressReport:
    """Reports progress to one request of the client, under its own token, while it is open."""

    def __init__(self, peer: Peer, request: Request, token: RequestId) -> None:
        self._peer, self._request, self._token = peer, request, token

    def __call__(self, params: Fields) -> None:
        if self._peer.is_open(self._request):
            self._pass_on(params)

    def _pass_on(self, params: Fields) -> None:
        self._peer.notify(names.PROGRESS, {**params, names.PROGRESS_TOKEN: self._token})


class TaskProgressReport(ProgressReport):
    """Reports progress to a request that may become a task, also after its response."""

    def __call__(self, params: Fields) -> None:
        self._pass_on(params)
