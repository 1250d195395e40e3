"""Progress of the client's requests, under the client's own tokens."""

from search_mcp.dialects import names
from search_mcp.wire import payload
from search_mcp.wire.inflight import Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Fields, Raw, RequestId


class ProgressReport:
    """Reports progress to one request of the client, under its own token, while it is open."""

    def __init__(self, peer: Peer, request: Request, token: RequestId) -> None:
        self._peer, self._request, self._token = peer, request, token
        self._last: Raw | None = None  # the progress that was reported last
        self._least: Raw | None = None  # the progress when the call was made again

    def __call__(self, params: Fields) -> None:
        if self._peer.is_open(self._request):
            self._pass_on(params)

    def begin_again(self) -> None:
        """Report only progress beyond that reported so far: the call is made again and begins anew.

        "The `progress` value MUST increase with each notification".
        """
        self._least = self._last

    def _pass_on(self, params: Fields) -> None:
        progress = params.get("progress")
        if self._least is not None and not _is_more(progress, self._least):
            return
        self._last = progress
        self._peer.notify(names.PROGRESS, {**params, names.PROGRESS_TOKEN: self._token}, self._request.stream)


def _is_more(progress: Raw | None, least: Raw) -> bool:
    """Return whether one progress is beyond another; malformed values cannot be compared and pass."""
    values = [payload.value(each) for each in (progress, least) if each is not None]
    if len(values) < 2 or not all(isinstance(each, int | float) for each in values):
        return True
    return bool(values[0] > values[1])


class TaskProgressReport(ProgressReport):
    """Reports progress to a request that may become a task, also after its response."""

    def __call__(self, params: Fields) -> None:
        self._pass_on(params)
