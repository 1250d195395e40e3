"""One end of a JSON-RPC connection: turns received bytes into messages, and messages into bytes to send.

Matches responses with requests; the ids of the two sides are independent. Methods are opaque: the `Receiver` handles
messages, and the caller of `abandon` supplies the cancellation to send. Everything happens inside `feed`, in the order
in which the bytes arrived.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from search_mcp.wire import framing, messages
from search_mcp.wire.batch import Batch, BatchSlot
from search_mcp.wire.errors import SERVER_ERROR, InternalError, PeerError, ProtocolError, WireError, invalid_request
from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Answer, Inflight, Reason, Request, RequestFailure, Sent, Way, Write
from search_mcp.wire.messages import Invalid, Message
from search_mcp.wire.receiver import ConnectionEndedError, Receiver, RequestFailedError
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Params, Raw, RequestId, UnsetType

log = logging.getLogger(__name__)


class Peer:
    """A JSON-RPC endpoint.

    `write` takes whole lines and does not block. `limit` is in bytes of one received line. Without a `header`, every
    received line is a message. `first_id` is the id of the first request that is sent.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[bytes], None],
        receiver: Receiver,
        limit: int,
        header: bytes | None = framing.CONTENT_LENGTH,
        first_id: int = 1,
    ) -> None:
        self._name = name
        self._send_bytes = write
        self._receiver = receiver
        self._limit = limit
        self._lines = framing.LineDecoder(limit, header)
        self._inflight = Inflight(_next_id=first_id)
        self.answers_received = 0
        """Answers to requests that were in flight."""
        self._paused = False
        self._unread: deque[Line] = deque()  # lines that arrived while paused
        self._is_traced = log.isEnabledFor(logging.DEBUG)  # cached for a chunk: the check is as slow as decoding
        self._way: Way | None = None  # of the message that is handled, if it came on its own
        self._answers: int | None = None
        self._ended = False
        self._half_closed = False
        self._all_answered: asyncio.Event | None = None  # set, and dropped, when no received request is open

    def __repr__(self) -> str:
        return f"<Peer {self._name} inflight={len(self._inflight)}{' ended' if self._ended else ''}>"

    # Bytes

    def feed(self, chunk: bytes, answers: int | None = None) -> None:
        """Handle every message that these bytes complete; bytes after the end are ignored.

        `answers` is the only request that they may answer, 0 if there is none, `None` if they may answer any.
        """
        if not self._ended:
            self._answers = answers
            self._is_traced = log.isEnabledFor(logging.DEBUG)
            self._unread.extend(self._lines.feed(chunk))
            self._read()

    def take(self, line: bytes, way: Way) -> None:
        """Handle one message that came on its own, as over HTTP."""
        self._is_traced = log.isEnabledFor(logging.DEBUG)
        self._way = way
        try:
            self._on_line(line, way.write)
        finally:
            self._way = None

    def flush(self) -> None:
        """Handle a last line that has no line ending."""
        self._unread.extend(self._lines.flush())
        self._read()

    def pause(self) -> None:
        """Handle no more messages until `resume`; those of the current chunk are kept, and no more should be fed."""
        self._paused = True

    def resume(self) -> None:
        """Handle the messages that arrived while paused, and those that follow."""
        self._paused = False
        self._read()
        self._signal_if_all_answered()

    def _read(self) -> None:
        while self._unread and not self._paused and not self._ended:
            self._on_line(self._unread.popleft(), self._write)

    def end(self) -> None:
        """End the connection: retire all requests in flight and write nothing more."""
        if self._ended:
            return
        self.flush()
        self._ended = True
        self._unread.clear()
        for sent in self._inflight.drain_sent():
            self._guarded(sent.settle, None)
        for request in self._inflight.drain_received():
            if request.cancel is not None:
                self._guarded(request.cancel, None)
            request.skip()
        self._signal_if_all_answered()

    def _write(self, line: bytes) -> None:
        if self._ended:
            return
        if self._is_traced:
            log.debug("> %s %s", self._name, messages.shown(line))
        self._send_bytes(framing.framed(line) if self._lines.speaks_headers else line)

    # Sent requests

    def request(
        self,
        method: str,
        params: Params | Callable[[int], Params],
        settle: Callable[[Answer], None],
        report: Callable[[Fields], None] | None = None,
        stream: Write | None = None,
    ) -> int:
        """Send a request; return its id, or 0 if it cannot be sent.

        `settle` is called once, unless the request is abandoned. `report` is called for progress under the id as the
        token; the parameters are made of it then. `stream` is that of the received request that it belongs to.
        """
        if self._ended or self._half_closed:
            settle(None)
            return 0
        message_id = self._inflight.send(Sent(settle, report))
        if message_id == 0:
            settle(ErrorObject(SERVER_ERROR, f"{len(self._inflight)} requests to it are unanswered"))
            return 0
        line = messages.request(message_id, method, params(message_id) if callable(params) else params)
        (stream or self._write)(line)
        return message_id

    async def ask(self, method: str, params: Params) -> Raw:
        """Send a request and wait for its result; on cancellation, its response is ignored.

        Raises:
            PeerError: the other side answered with an error.
            RequestFailedError: it will not be answered.
            ConnectionEndedError: the connection ended.
        """
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def settle(answer: Answer) -> None:
            if not answered.done():  # the task may have been cancelled in this turn of the event loop
                answered.set_result(answer)

        message_id = self.request(method, params, settle)
        try:
            answer = await answered
        finally:
            self._inflight.settle(message_id)
        if answer is None:
            raise ConnectionEndedError
        if isinstance(answer, ErrorObject):
            raise PeerError(answer)
        if isinstance(answer, RequestFailure):
            raise RequestFailedError(answer)
        return answer

    def fail(self, message_id: int, failure: RequestFailure) -> None:
        """Settle a sent request that will not be answered, unless it was retired before."""
        if (sent := self._inflight.settle(message_id)) is not None:
            self._guarded(sent.settle, failure)

    def is_waiting(self, message_id: int) -> bool:
        """Return whether a sent request is unanswered."""
        return self._inflight.waiting(message_id) is not None

    def abandon(self, message_id: int, method: str, params: Params) -> bool:
        """Retire a sent request and send this notification; return false if it was retired before."""
        if self._inflight.settle(message_id) is None:
            return False
        self.notify(method, params)
        return True

    def half_close(self) -> None:
        """Record that the other side sends nothing more: only responses to its requests are still written."""
        self._half_closed = True
        for sent in self._inflight.drain_sent():
            self._guarded(sent.settle, None)

    def notify(self, method: str, params: Params, stream: Write | None = None) -> None:
        """Send a notification, on the stream of the received request that it belongs to, if that has one."""
        if not self._half_closed:
            (stream or self._write)(messages.notification(method, params))

    def report(self, token: RequestId | None, params: Fields) -> None:
        """Report progress on the sent request with this token; ignore it if that is not in flight."""
        sent = self._inflight.waiting(token)
        if sent is not None and sent.report is not None:
            sent.report(params)

    @property
    def unanswered(self) -> int:
        """The number of unanswered sent requests."""
        return len(self._inflight)

    # Received requests

    def answer(self, request: Request, result: Raw) -> None:
        """Answer a request with a result, unless it was cancelled meanwhile."""
        if self._retire(request):
            request.write(messages.result(request.id, result))

    def refuse(self, request: Request, error: WireError) -> None:
        """Answer a request with an error, unless it was cancelled meanwhile."""
        if self._retire(request):
            request.write(messages.failure(request.id, error.error_object()))

    def drop(self, request: Request) -> None:
        """Retire a request without a response, where the protocol allows none."""
        if self._retire(request):
            request.skip()

    async def answered(self) -> None:
        """Wait until no received request is unanswered."""
        while self._has_open_requests():
            if self._all_answered is None:
                self._all_answered = asyncio.Event()
            await self._all_answered.wait()

    def _retire(self, request: Request) -> bool:
        """Retire a received request; return false if it was retired before."""
        if not self._inflight.retire(request):
            return False
        request.cancel = None  # it may refer back to the request
        if self._all_answered is not None:
            self._signal_if_all_answered()
        return True

    def _signal_if_all_answered(self) -> None:
        if self._all_answered is not None and not self._has_open_requests():
            self._all_answered.set()
            self._all_answered = None

    def _has_open_requests(self) -> bool:
        return bool(self._unread) or self._inflight.has_received()

    def refuse_all(self, error: WireError) -> None:
        """Answer every open request with an error."""
        for request in self._inflight.open_requests():
            self.refuse(request, error)

    def is_open(self, request: Request) -> bool:
        """Return whether a received request is still unanswered."""
        return self._inflight.is_open(request)

    def cancelled(self, message_id: RequestId | None, reason: Reason) -> None:
        """Cancel a received request, as the other side demands; ignore an id that is not in flight."""
        request = self._inflight.received(message_id)
        if request is not None:
            self.cancel(request, reason)

    def cancel(self, request: Request, reason: Reason = None) -> None:
        """Cancel a received request, unless it was answered or cancelled before."""
        if self.is_open(request):
            cancel = request.cancel
            self.drop(request)
            if cancel is not None:
                cancel(reason)

    def cancel_way(self, way: Way) -> None:
        """Cancel the received request that came with this way."""
        for request in [each for each in self._inflight.open_requests() if each.way is way]:
            self.cancel(request)

    # Messages

    def _on_line(self, line: Line, write: Write) -> None:
        if isinstance(line, framing.Oversize):
            message = f"Parse error: a message of {line.size:,} bytes, over the limit of {self._limit:,}"
            described = messages.describe_unreadable(line)
            # It may be well-formed, so its sender waits for an answer under its id.
            message_id = None if described.is_answer else described.id
            self._on_invalid(Invalid(messages.PARSE_ERROR, message, message_id), line, write)
            self._give_up_on(described, message)
            return
        if self._is_traced:
            log.debug("< %s %s", self._name, messages.shown(line))
        decoded = messages.decode(line)
        if isinstance(decoded, Message):
            self._on_message(decoded, write, len(line))
        elif isinstance(decoded, list):
            self._on_batch(decoded, line, write)
        else:
            self._on_invalid(decoded, line, write)
            if decoded.code == messages.PARSE_ERROR:
                self._give_up_on(messages.describe_unreadable(line), decoded.message)

    def _give_up_on(self, invalid: Invalid, message: str) -> None:
        """Settle the request whose response could not be decoded."""
        lost = self._settle(invalid.id) if invalid.is_answer else None
        if lost is not None:
            error = ErrorObject(messages.INTERNAL_ERROR, f"unreadable answer: {message}")
            self._guarded(lost.settle, error)

    def _on_batch(self, elements: list[Message | Invalid], line: bytes, write: Write) -> None:
        batch = Batch(write) if self._way is None else Batch(write, self._way.dropped)
        size = len(line) // len(elements)
        for element in elements:
            if isinstance(element, Invalid):
                self._on_invalid(element, line, batch.slot())
            elif element.method is UNSET or element.id is UNSET:
                self._on_message(element, write, size)
            else:
                self._on_message(element, batch.slot(), size)
        batch.close()

    def _on_message(self, message: Message, write: Callable[[bytes], None], size: int) -> None:
        if message.method is UNSET:
            self._on_response(message)
        elif message.id is UNSET or message.id is None:
            self.hear(message.method, message.params)
        else:
            self._on_request(Request(message.id, message.method, message.params, write, size, self._way))

    def _on_invalid(self, invalid: Invalid, line: Line, write: Callable[[bytes], None]) -> None:
        if invalid.is_answer and self._inflight.waiting(invalid.id) is not None:
            # The two sides' ids overlap: an error under this id would answer a request of the other side.
            self._give_up_on(invalid, invalid.message)
            if isinstance(write, BatchSlot):
                write.skip()
            return
        try:
            error = self._receiver.on_invalid(invalid, line)
        except Exception:  # a bug must cost its own message only; the next one is served
            log.exception("! %s: bug while refusing a line", self._name)
            error = None
        if error is not None:
            write(messages.failure(invalid.id, error))
        elif isinstance(write, BatchSlot):
            write.skip()

    def _on_request(self, request: Request) -> None:
        if self._inflight.is_full():
            busy = ProtocolError(SERVER_ERROR, "Too many requests are unanswered; try again after some were answered")
            request.write(messages.failure(request.id, busy.error_object()))
        elif not self._inflight.receive(request):
            error = invalid_request(f"Invalid Request: id {request.id!r} is already in use")
            request.write(messages.failure(request.id, error.error_object()))
        else:
            self.serve(request)

    def hear(self, method: str, params: Raw | UnsetType) -> None:
        """Pass a notification to the receiver, also one that was held back."""
        self._guarded(self._receiver.on_notification, method, params)

    def serve(self, request: Request) -> None:
        """Pass a registered request, also one that was held back, to the receiver, whose error is the answer."""
        try:
            self._receiver.on_request(request)
        except WireError as error:
            self.refuse(request, error)
        except Exception:  # a bug must cost its own message only; the next one is served
            log.exception("! %s: bug while serving %s", self._name, request.method)
            self.refuse(request, InternalError())

    def _settle(self, message_id: object) -> Sent | None:
        """Retire the request that is answered, if it is in flight and may be answered here."""
        if self._answers is not None and message_id != self._answers:
            log.debug("! %s answered request %r where only %d may be answered", self._name, message_id, self._answers)
            return None
        sent = self._inflight.settle(message_id)
        if sent is not None:
            self.answers_received += 1
        return sent

    def _on_response(self, message: Message) -> None:
        sent = self._settle(message.id)
        if sent is None:
            log.debug("! %s answered request %r, which is not in flight", self._name, message.id)
        elif message.result is not UNSET and (message.error is UNSET or bytes(message.error) == b"null"):
            self._guarded(sent.settle, message.result)
        elif message.error is not UNSET:
            self._guarded(sent.settle, messages.error_object(message.error))

    def _guarded(self, act: Callable[..., None], *args: object) -> None:
        try:
            act(*args)
        except Exception:  # a bug must cost its own message only; the next one is served
            log.exception("! %s: bug", self._name)
