"""Questions of servers to the user: who asks, what may be asked, and URL elicitation in each era's words.

Decides what of a question reaches the client. A question comes as a request of a legacy server, within an unfinished
answer or a task of a modern one, or within an error of revision 2025-11-25. That revision has an id for every URL,
tells when it was dealt with, and asks in an error too; 2026-07-28 has none of it: the client makes its request again.
"""

import re
import secrets
from collections import Counter
from collections.abc import Callable
from functools import partial

from search_mcp.dialects import names
from search_mcp.model.calls import CallLater, InputRequired, Question, Result
from search_mcp.model.errors import MisbehavedError
from search_mcp.model.names import Ask
from search_mcp.model.visible import INVISIBLE
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import SERVER_ERROR, ProtocolError, WireError, invalid_request
from search_mcp.wire.inflight import Cancel, Reason, cancel_nothing
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Raw, Struct, UnsetType, replace

CONSENT = "search-mcp: url elicitation"
"""The state of a call that a legacy server refused until the user opens a URL; its retry is a call of its own."""

OF_THE_USER = frozenset({Ask.ELICIT, Ask.SAMPLE})
"""What a person has to answer or approve; the roots are the client's own to tell."""
MOST_OPEN = 4
"""Questions of one server that may wait for the user at once. "Clients SHOULD implement rate limiting"."""
MOST_AT_ONCE = 16
"""Questions of one unfinished answer, or of one task: those to the client itself, which nobody sees, as well."""
MOST_COLONS = 100_000
"""Of the text of a question, or of all of an answer: it has no more members, and takes some milliseconds to open."""
LARGEST_ERROR_DATA = 1 << 16
"""Bytes of what an error says of the URLs that are to be opened."""
FORGOTTEN_SECONDS = 60.0
"""How long a modern client's open question counts: a client that drops its call does not say so."""
LONGEST_MESSAGE = 1 << 20
"""Bytes of an elicitation's message; nobody reads a longer one, and it would have to be searched as a whole."""

_NONE = payload.encode("none")

# What hides the beginning of a message: spaces, controls, characters that nobody sees or that reorder others.
# One class of characters: a choice between two would take memory for each of a million of them.
_UNSEEN_START = rf"\A[\s\x00-\x20\x7f-\xa0\u2800\U000e0000-\U000e0fff{INVISIBLE[1:-1]}]+"
# What moves a terminal's cursor, and so writes over what stands before: all controls but tabs and the ends of lines.
_CURSOR_CONTROL = r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
# "MUST only allow `http://` and `https://` schemes", the former "only acceptable for loopback addresses". No user
# before the host, which would be read as the host, and no letters but ASCII, of which others look like another.
_WEB_ADDRESS = (
    r"(https://([a-z0-9._-]+|\[[0-9a-f:.]+\])|http://(localhost|127(\.[0-9]{1,3}){3}|\[::1\]))"
    r"(:[0-9]*)?([/?#][^\s\\]*)?"
)


def refused(why: ValueError) -> MisbehavedError:
    """Make the error that ends a call whose server asks what may not be asked."""
    return MisbehavedError(f"its question to the user is refused: {why}")


def too_many() -> ProtocolError:
    """Make the error for a question beyond those that may be open."""
    return ProtocolError(SERVER_ERROR, f"Too many questions: {MOST_OPEN} of this server wait for the user already")


class OpenQuestions:
    """The number of questions of each server that wait for one client's user."""

    def __init__(self, later: CallLater | None = None) -> None:
        """Make a counter; with `later`, a question that was never answered stops counting after a while."""
        self._later = later
        self._open: Counter[str] = Counter()  # by server

    def put(self, question: Question, put: Callable[[Question], Cancel]) -> Cancel:
        """Put a question to the client, or refuse it at once if too many of its server are open."""
        if question.ask not in OF_THE_USER:
            return put(question)
        if self._open[question.server] >= MOST_OPEN:
            question.answer(too_many())
            return cancel_nothing
        counted = _CountedQuestion(question, self._open)
        self._open[question.server] += 1
        if self._later is not None:
            counted.stop_timer = self._later(FORGOTTEN_SECONDS, counted.close)
        withdraw = put(replace(question, answer=counted.answer))
        return partial(counted.cancel, withdraw)


class _CountedQuestion(Struct, eq=False):
    """A question that counts as open until it is answered, withdrawn or forgotten."""

    question: Question
    open: Counter[str]
    """The number of open questions, by server."""
    is_open: bool = True
    stop_timer: Callable[[], None] | None = None

    def answer(self, answer: Result | WireError) -> None:
        self.close()
        self.question.answer(answer)

    def cancel(self, withdraw: Cancel, reason: Reason) -> None:
        self.close()
        withdraw(reason)

    def close(self) -> None:
        """Stop counting the question, once."""
        if not self.is_open:
            return
        self.is_open = False
        self.open[self.question.server] -= 1
        if self.stop_timer is not None:
            self.stop_timer()


def require_few_members(questions: Raw | UnsetType) -> None:
    """Raise if the text of a question, or of several, has too many members to be opened.

    Raises:
        ValueError: it has.
    """
    if questions is not UNSET and bytes(questions).count(b":") > MOST_COLONS:
        raise ValueError("it is longer than a person would read")


def admitted(server: str, ask: Ask, params: Fields) -> Fields:
    """Write a question as the user may be asked it: an elicitation says who asks, a sampling shares no context.

    Raises:
        ValueError: it may not be asked; the text says why.
    """
    if ask is Ask.ELICIT:
        _require_safe_url(params)
        # "Clients MUST provide clear indication of which server is requesting information": to the client all are us.
        return {**params, "message": _labelled(server, params.get("message"))}
    if ask is Ask.SAMPLE and payload.string(params.get("includeContext", _NONE)) != "none":
        # "`thisServer`: Include context from the requesting server": to the client that is all servers here.
        return {**params, "includeContext": _NONE}
    return params


def admitted_requests(server: str, raw: Raw) -> Fields:
    """Write the questions of an unfinished answer, or of a task, as the user may be asked them.

    Raises:
        ValueError: one of them may not be asked, or there are too many.
    """
    require_few_members(raw)
    requests = payload.fields(raw) if _is_object(raw) else {}
    if len(requests) > MOST_AT_ONCE:
        raise ValueError(f"these are more than {MOST_AT_ONCE} questions at once")
    if sum(map(_asks_the_user, requests.values())) > MOST_OPEN:
        raise ValueError(f"these are more than {MOST_OPEN} questions at once")
    return {key: _admitted_request(server, raw) for key, raw in requests.items()}


def admitted_in(server: str, body: Fields) -> Fields:
    """Write the questions of a task, in what a server tells of it, as the user may be asked them.

    Raises:
        ValueError: one of them may not be asked, or there are too many.
    """
    if names.INPUT_REQUESTS not in body or not _is_object(body[names.INPUT_REQUESTS]):
        return body
    return {**body, names.INPUT_REQUESTS: payload.encode(admitted_requests(server, body[names.INPUT_REQUESTS]))}


def admitted_error(server: str, error: ErrorObject) -> WireError | ErrorObject:
    """Write the questions that stand in a legacy server's error; any other error is left as it is."""
    if error.code != names.URL_ELICITATION_REQUIRED or error.data is UNSET:
        return error
    try:
        if len(memoryview(error.data)) > LARGEST_ERROR_DATA:
            raise ValueError(f"the data of its error has more than {LARGEST_ERROR_DATA:,} bytes")
        elicitations = _elicitations(error)
        if elicitations is None:
            return replace(error, data=UNSET)
        if len(elicitations) > MOST_OPEN:
            raise ValueError(f"these are more than {MOST_OPEN} questions at once")
        return _with_elicitations(error, [admitted(server, Ask.ELICIT, each) for each in elicitations])
    except ValueError as exc:
        return refused(exc)


def renamed_in_error(error: ErrorObject, rename: Callable[[str], str]) -> ErrorObject:
    """Give the URLs of an error the ids that the client knows them by."""
    if error.code != names.URL_ELICITATION_REQUIRED:
        return error
    elicitations = _elicitations(error)
    return (
        error if elicitations is None else _with_elicitations(error, [renamed(each, rename) for each in elicitations])
    )


def elicitation_id(params: Fields) -> str | None:
    """Read the id of a URL, or of the news of one."""
    return payload.string(params.get(names.ELICITATION_ID))


def renamed(params: Fields, rename: Callable[[str], str]) -> Fields:
    """Give a URL, or the news of one, the id that the client knows it by."""
    given = elicitation_id(params)
    known = None if given is None else rename(given)
    return params if known == given else {**params, names.ELICITATION_ID: payload.encode(known)}


def _elicitations(error: ErrorObject) -> list[Fields] | None:
    """Read what an error asks for; `None` if its data is not what the protocol says."""
    data = payload.object_or_empty(error.data if isinstance(error.data, Raw) else None)
    try:
        return [payload.fields(each) for each in payload.items(data["elicitations"])]
    except (KeyError, ValueError):
        return None


def _with_elicitations(error: ErrorObject, elicitations: list[Fields]) -> ErrorObject:
    data = payload.object_or_empty(error.data if isinstance(error.data, Raw) else None)
    return replace(error, data=payload.encode({**data, "elicitations": elicitations}))


def _admitted_request(server: str, raw: Raw) -> Raw:
    """Write one question; what is none that the protocol knows is left for the client to refuse."""
    if not _is_object(raw):
        return raw
    request = payload.fields(raw)
    ask = names.ASKS.get(payload.string(request.get("method")) or "")
    if ask not in OF_THE_USER or not _is_object(request.get("params", structs.EMPTY)):
        return raw
    params = payload.fields(request.get("params", structs.EMPTY))
    written = admitted(server, ask, params)
    return raw if written is params else payload.encode({**request, "params": payload.encode(written)})


def _asks_the_user(raw: Raw) -> bool:
    return names.ASKS.get(payload.string(payload.object_or_empty(raw).get("method")) or "") in OF_THE_USER


def _is_object(raw: Raw) -> bool:
    return memoryview(raw)[0] == ord("{")


def _labelled(server: str, message: Raw | None) -> Raw:
    """Put the server's name before a message; the rest of it keeps its bytes unless something in it could hide that."""
    name = "".join(each if each.isprintable() else "_" for each in server).translate(_NO_BRACKETS)
    label = payload.encode(f"[{name}] ")
    if message is None:
        return label
    text = payload.string(message) if len(memoryview(message)) <= LONGEST_MESSAGE else None
    if text is None:
        raise ValueError("message must be a string, and no longer than a person would read")
    clean = re.sub(_CURSOR_CONTROL, "\ufffd", re.sub(_UNSEEN_START, "", text))
    if clean == text:
        return Raw(bytes(label)[:-1] + bytes(message)[1:])
    return payload.encode(f"[{name}] {clean}")


_NO_BRACKETS = str.maketrans("[]", "()")


def _require_safe_url(params: Fields) -> None:
    """Raise if the user would be sent to anything but a web page."""
    if not _is_url(params) and "url" not in params:
        return
    url = payload.string(params.get("url"))
    if url is None or not url.isprintable() or not re.fullmatch(_WEB_ADDRESS, url, re.IGNORECASE | re.ASCII):
        raise ValueError("url must be an https address of a plain host name, or an http address of this very machine")


def without_id(params: Fields) -> Fields:
    """Write a legacy server's elicitation for a modern client."""
    return payload.without(params, names.ELICITATION_ID)


def with_id(params: Fields) -> Fields:
    """Write a modern server's elicitation for a legacy client, which wants an id; nobody will refer to it.

    One that the server wrote means nothing in its era, and could be another server's.
    """
    if not _is_url(params):
        return params
    return {**params, names.ELICITATION_ID: payload.encode(secrets.token_urlsafe(16))}


def asked_in_error(error: ErrorObject) -> InputRequired | None:
    """Write what a legacy server asks for in an error as a modern one asks; `None` if the error does not say."""
    method = names.ASK_METHOD[Ask.ELICIT]
    asked = _elicitations(error) or ()
    questions = [payload.encode({"method": method, "params": without_id(params)}) for params in asked]
    requests = {f"{Ask.ELICIT.value}-{number}": question for number, question in enumerate(questions, 1)}
    return InputRequired(requests, payload.encode(CONSENT)) if requests else None


def require_consent(responses: Raw | None) -> None:
    """Check that the user agreed to every URL: otherwise the call would only ask again.

    Raises:
        ProtocolError: there is one that the user did not agree to.
    """
    answers = [payload.object_or_empty(each) for each in payload.object_or_empty(responses).values()]
    if not answers or any(payload.string(answer.get("action")) != "accept" for answer in answers):
        raise invalid_request("Invalid Request: this needs a URL to be opened, and the user did not agree to it")


def needs_more(unfinished: InputRequired, capabilities: Fields) -> bool:
    """Whether a client is asked to open a URL that did not declare that mode."""
    questions = map(payload.object_or_empty, (unfinished.requests or {}).values())
    asked = any(_is_url(payload.object_or_empty(question.get("params"))) for question in questions)
    return asked and "url" not in payload.object_or_empty(capabilities.get(names.ELICITATION))


def _is_url(params: Fields) -> bool:
    return payload.string(params.get("mode")) == "url"
