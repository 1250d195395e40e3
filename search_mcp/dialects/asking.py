"""Questions of servers to the user: checks, limits, labels with the server's name, and URL elicitation of each era.

A question is a request of a legacy server, a part of an intermediate result or of a task of a modern server, or a part
of an error of revision 2025-11-25. That revision gives every URL an id, reports when the user is done with it, and can
ask in an error. Revision 2026-07-28 has none of these: the client repeats its request instead.
"""

import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from search_mcp.dialects import names
from search_mcp.model.calls import InputRequired, Link, Outcome, Question, Result
from search_mcp.model.errors import MisbehavedError
from search_mcp.model.names import Ask
from search_mcp.model.visible import INVISIBLE
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import SERVER_ERROR, PeerError, ProtocolError, WireError, invalid_request
from search_mcp.wire.payload import LARGE_BYTES, SMALL_BYTES
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Raw, UnsetType, replace

CONSENT = "search-mcp: url elicitation"
"""The `requestState` of a call that a legacy server refuses until the user opens a URL; the retry is a new call."""

_URL, _TOOLS = "url", "tools"  # parts of the capabilities for elicitation and sampling

OF_THE_USER = frozenset({Ask.ELICIT, Ask.SAMPLE})
"""Questions that a person answers or approves; the client itself knows the roots."""
MOST_OPEN = 4
"""Most open questions of one server to a legacy client, those for the roots included, and most in one result to a user:
thousands would use up the requests that the client may be sent. "Clients SHOULD implement rate limiting"."""
MOST_AT_ONCE = 16
"""Most questions of one intermediate result or task, including those that the client answers without the user."""
MOST_COLONS = 100_000
"""Most colons of a question, or of all in one result: a bound on members, so that decoding takes milliseconds."""

OF_ANY_CLIENT: Final = {
    names.ASK_CAPABILITY[Ask.ELICIT]: payload.encode({"form": {}, _URL: {}}),
    names.ASK_CAPABILITY[Ask.SAMPLE]: payload.encode({_TOOLS: {}}),
    "extensions": payload.encode({names.APPS_EXTENSION: {"mimeTypes": ["text/html;profile=mcp-app"]}}),
}
"""The capabilities that are declared to a server which clients share: all that it can ask of some client in a call. A
question is refused if its own client does not declare what it needs. No roots: they are those of one client."""

_NONE = payload.encode("none")

# Characters that can hide the beginning of a message: spaces, controls, invisible and reordering characters.
# This is one character class because alternatives would take memory for each of a million characters.
_UNSEEN_START = rf"\A[\s\x00-\x20\x7f-\xa0\u2800\U000e0000-\U000e0fff{INVISIBLE[1:-1]}]+"
# Controls that move the cursor of a terminal, so that text overwrites what is before it: all but tabs and line ends.
_CURSOR_CONTROL = r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
# "MUST only allow `http://` and `https://` schemes", the former "only acceptable for loopback addresses". No user
# name, which can be mistaken for the host, and only ASCII letters, because others look alike.
_WEB_ADDRESS = (
    r"(https://([a-z0-9._-]+|\[[0-9a-f:.]+\])|http://(localhost|127(\.[0-9]{1,3}){3}|\[::1\]))"
    r"(:[0-9]*)?([/?#][^\s\\]*)?"
)


def refused(why: ValueError) -> MisbehavedError:
    """Make the error that ends a call whose server asks a forbidden question."""
    return MisbehavedError(f"its question to the user is refused: {why}")


def too_many(most: int) -> ProtocolError:
    """Make the error that ends a question because its server has too many open."""
    return ProtocolError(SERVER_ERROR, f"Too many questions: {most} of this server are not answered yet")


class OpenQuestions:
    """The questions of each server that one legacy client has not answered."""

    def __init__(self) -> None:
        self._open: defaultdict[str, set[Pending[Result | WireError]]] = defaultdict(set)  # their answers, by server

    def put(self, question: Question, put: Callable[[Question], None]) -> None:
        """Put a question to the client, or refuse it if too many of its server are open."""
        answer, answers = question.answer, self._open[question.server]
        if len(answers) >= MOST_OPEN:
            answer(too_many(MOST_OPEN))
            return
        answers.add(answer)
        answer.ends.append(lambda _answer: answers.discard(answer))
        put(question)


def require_few_members(questions: Raw | UnsetType) -> None:
    """Check that the text of one or more questions has few enough members to be decoded.

    Raises:
        ValueError: it has too many.
    """
    if questions is not UNSET and bytes(questions).count(b":") > MOST_COLONS:
        raise ValueError("it is too long for a person to read")


def admitted(server: str, ask: Ask, params: Fields) -> Fields:
    """Return a question as it may be asked: an elicitation names its server, a sampling includes no context.

    Raises:
        ValueError: it may not be asked; the text says why.
    """
    if ask is Ask.ELICIT:
        _require_safe_url(params)
        # "Clients MUST provide clear indication of which server is requesting information":
        # the client sees only search-mcp.
        return {**params, "message": _labelled(server, params.get("message"))}
    if ask is Ask.SAMPLE and payload.string(params.get("includeContext", _NONE)) != "none":
        # "`thisServer`: Include context from the requesting server": to the client, this means all servers.
        return {**params, "includeContext": _NONE}
    return params


def admitted_requests(server: str, raw: Raw) -> Fields:
    """Return the questions of an intermediate result, or of a task, as they may be asked.

    Raises:
        ValueError: one of them may not be asked, or there are too many.
    """
    require_few_members(raw)
    requests = payload.fields(raw) if _is_object(raw) else {}
    if len(requests) > MOST_AT_ONCE:
        raise ValueError(f"it asks more than {MOST_AT_ONCE} questions at once")
    if sum(map(_asks_the_user, requests.values())) > MOST_OPEN:
        raise ValueError(f"it asks more than {MOST_OPEN} questions at once")
    return {key: _admitted_request(server, raw) for key, raw in requests.items()}


def admitted_in(server: str, body: Fields) -> Fields:
    """Return the state of a task with its questions as they may be asked.

    Raises:
        ValueError: one of them may not be asked, or there are too many.
    """
    if names.INPUT_REQUESTS not in body or not _is_object(body[names.INPUT_REQUESTS]):
        return body
    return {**body, names.INPUT_REQUESTS: payload.encode(admitted_requests(server, body[names.INPUT_REQUESTS]))}


def admitted_error(server: str, error: ErrorObject) -> WireError | ErrorObject:
    """Return an error of a legacy server with the questions in it as they may be asked; other errors are unchanged."""
    if error.code != names.URL_ELICITATION_REQUIRED or error.data is UNSET:
        return error
    try:
        if len(error.data) > SMALL_BYTES:
            raise ValueError(f"the data of its error has more than {SMALL_BYTES:,} bytes")
        elicitations = _elicitations(error)
        if elicitations is None:
            return replace(error, data=UNSET)
        if len(elicitations) > MOST_OPEN:
            raise ValueError(f"it asks more than {MOST_OPEN} questions at once")
        return _with_elicitations(error, [admitted(server, Ask.ELICIT, each) for each in elicitations])
    except ValueError as exc:
        return refused(exc)


def renamed_in_error(error: ErrorObject, rename: Callable[[str], str]) -> ErrorObject:
    """Replace the ids of the URLs in an error by the client's ids."""
    if error.code != names.URL_ELICITATION_REQUIRED:
        return error
    elicitations = _elicitations(error)
    return (
        error if elicitations is None else _with_elicitations(error, [renamed(each, rename) for each in elicitations])
    )


def elicitation_id(params: Fields) -> str | None:
    """Return the id in a URL elicitation, or in a notification about one."""
    return payload.string(params.get(names.ELICITATION_ID))


def renamed(params: Fields, rename: Callable[[str], str]) -> Fields:
    """Replace the id in a URL elicitation, or in a notification about one, by the client's id."""
    given = elicitation_id(params)
    known = None if given is None else rename(given)
    return params if known == given else {**params, names.ELICITATION_ID: payload.encode(known)}


def _elicitations(error: ErrorObject) -> list[Fields] | None:
    """Return the elicitations in an error; `None` if its data is malformed."""
    data = payload.object_or_empty(error.data if isinstance(error.data, Raw) else None)
    try:
        return [payload.fields(each) for each in payload.items(data["elicitations"])]
    except (KeyError, ValueError):
        return None


def _with_elicitations(error: ErrorObject, elicitations: list[Fields]) -> ErrorObject:
    data = payload.object_or_empty(error.data if isinstance(error.data, Raw) else None)
    return replace(error, data=payload.encode({**data, "elicitations": elicitations}))


def _admitted_request(server: str, raw: Raw) -> Raw:
    """Return one question as it may be asked; unknown ones are left for the client to refuse."""
    if not _is_object(raw):
        return raw
    request = payload.fields(raw)
    ask = names.ASKS.get(payload.string(request.get("method")) or "")
    if ask not in OF_THE_USER or not _is_object(request.get("params", structs.EMPTY)):
        return raw
    params = payload.fields(request.get("params", structs.EMPTY))
    written = admitted(server, ask, params)
    return raw if written is params else payload.encode({**request, "params": payload.encode(written)})


def asks_for_roots(requests: Fields | None) -> bool:
    """Return whether one of these questions is for the client's roots."""
    asked = (payload.object_or_empty(each).get("method") for each in (requests or {}).values())
    return any(names.ASKS.get(payload.string(method) or "") is Ask.ROOTS for method in asked)


def _asks_the_user(raw: Raw) -> bool:
    return names.ASKS.get(payload.string(payload.object_or_empty(raw).get("method")) or "") in OF_THE_USER


def _is_object(raw: Raw) -> bool:
    return memoryview(raw)[0] == ord("{")


def _labelled(server: str, message: Raw | None) -> Raw:
    """Put the server's name before a message, whose bytes are kept unless a part of it could hide the name."""
    name = "".join(each if each.isprintable() else "_" for each in server).translate(_NO_BRACKETS)
    label = payload.encode(f"[{name}] ")
    if message is None:
        return label
    text = payload.string(message) if len(message) <= LARGE_BYTES else None
    if text is None:
        raise ValueError("message must be a string, and short enough for a person to read")
    clean = re.sub(_CURSOR_CONTROL, "\ufffd", re.sub(_UNSEEN_START, "", text))
    if clean == text:
        return Raw(bytes(label)[:-1] + bytes(message)[1:])
    return payload.encode(f"[{name}] {clean}")


_NO_BRACKETS = str.maketrans("[]", "()")


def _require_safe_url(params: Fields) -> None:
    """Check that a URL to open is a safe web address.

    Raises:
        ValueError: it is not.
    """
    if not _is_url(params) and "url" not in params:
        return
    url = payload.string(params.get("url"))
    if url is None or not _is_safe(url):
        raise ValueError("url must be an https address of a plain host name, or an http address of this machine")


def _is_safe(url: str) -> bool:
    return url.isprintable() and re.fullmatch(_WEB_ADDRESS, url, re.IGNORECASE | re.ASCII) is not None


def without_id(params: Fields) -> Fields:
    """Return a legacy server's elicitation for a modern client."""
    return payload.without(params, names.ELICITATION_ID)


def with_id(params: Fields) -> Fields:
    """Return a modern server's elicitation with an id, which a legacy client needs; `without_id` removes it again.

    An id from the server has no meaning in its era, and could be the id of another server.
    """
    if not _is_url(params):
        return params
    return {**params, names.ELICITATION_ID: payload.encode(secrets.token_urlsafe(16))}


def asked_in_error(error: ErrorObject) -> InputRequired | None:
    """Turn a legacy server's error that asks for input into a modern result; `None` if the error has no questions."""
    method = names.ASK_METHOD[Ask.ELICIT]
    asked = _elicitations(error) or ()
    questions = [payload.encode({"method": method, "params": without_id(params)}) for params in asked]
    requests = {f"{Ask.ELICIT.value}-{number}": question for number, question in enumerate(questions, 1)}
    return InputRequired(requests, payload.encode(CONSENT)) if requests else None


def can_open_urls(capabilities: Fields) -> bool:
    """Return whether a client declared URL elicitation."""
    return _URL in payload.object_or_empty(capabilities.get(names.ELICITATION))


def needed_mode(ask: Ask, params: Fields) -> str | None:
    """Return the part of a capability that a question needs; `None` if it needs none."""
    if ask is Ask.ELICIT and _is_url(params):
        return _URL
    return _TOOLS if ask is Ask.SAMPLE and not params.keys().isdisjoint((_TOOLS, "toolChoice")) else None


def to_open_url(server: str, message: str, url: str) -> Fields:
    """Return an elicitation that asks the user to open an address.

    Raises:
        ValueError: it is no safe web address.
    """
    params = {"mode": _URL, "message": message, "url": url}
    return admitted(server, Ask.ELICIT, with_id({key: payload.encode(value) for key, value in params.items()}))


def of_elicitation(identifier: str) -> Fields:
    """Return the parameters of a notification about an elicitation."""
    return {names.ELICITATION_ID: payload.encode(identifier)}


def is_accepted(answer: Result) -> bool:
    """Return whether the user agreed."""
    return payload.string(answer.fields().get("action")) == "accept"


def require_consent(responses: Raw | None) -> None:
    """Check that the user agreed to every URL; otherwise the server would only ask again.

    Raises:
        ProtocolError: the user did not agree to all.
    """
    answers = [payload.object_or_empty(each) for each in payload.object_or_empty(responses).values()]
    if not answers or any(payload.string(answer.get("action")) != "accept" for answer in answers):
        raise invalid_request("Invalid Request: this needs a URL to be opened, and the user did not agree to it")


def needs_more(unfinished: InputRequired, capabilities: Fields) -> bool:
    """Return whether a result asks for a URL, and the client did not declare that mode."""
    return any(map(_is_url, _asked(unfinished))) and not can_open_urls(capabilities)


ON_THE_PAGE: Final = "; the user can open the address on the page of `search-mcp ui`"
"""The end of the error where a client cannot show an address, and the page shows those of this client."""


def links(server: str, outcome: Outcome, capabilities: Fields) -> list[Link]:
    """Return the addresses that an outcome asks a client's user to open, if the client cannot show them."""
    asked: Sequence[Fields] = ()
    if isinstance(outcome, InputRequired):
        asked = _asked(outcome)
    elif isinstance(outcome, PeerError) and outcome.code == names.URL_ELICITATION_REQUIRED:
        asked = _elicitations(outcome.error) or ()
    if not asked or can_open_urls(capabilities):
        return []
    return [found for params in asked for found in links_in(server, params)]


def links_in(server: str, params: Fields) -> Iterator[Link]:
    """Yield the address that an elicitation asks the user to open."""
    url = payload.string(params.get("url"))
    if _is_url(params) and url is not None and _is_safe(url):
        yield Link(server, payload.string(params.get("message")) or "", url)


def _asked(unfinished: InputRequired) -> list[Fields]:
    questions = map(payload.object_or_empty, (unfinished.requests or {}).values())
    return [payload.object_or_empty(question.get("params")) for question in questions]


def _is_url(params: Fields) -> bool:
    return payload.string(params.get("mode")) == _URL
