"""The capabilities of both sides: those shown to the client, and those that the client has to declare."""

from search_mcp import __version__
from search_mcp.dialects import Gateway, MergedCapabilities, asking, names
from search_mcp.dialects.params import extensions as declared_extensions
from search_mcp.model.calls import Question
from search_mcp.model.names import Ask, Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError, invalid_params, method_not_found
from search_mcp.wire.structs import EMPTY, Fields

_READS_DIRECTORIES = payload.encode({names.DIRECTORY_READ: True})
SERVER_INFO = {"name": "search-mcp", "title": "search-mcp", "version": __version__}


def capabilities(offered: MergedCapabilities, of_client: Fields) -> dict[str, object]:
    """Write the capabilities of all backends together as those of one server, for a client with these capabilities."""
    body: dict[str, object] = {"tools": {"listChanged": True}}
    if Kind.PROMPTS in offered.kinds:
        body["prompts"] = {"listChanged": True}
    # "A server declaring this extension therefore MUST also declare the `resources` capability."
    if not offered.kinds.isdisjoint((Kind.RESOURCES, Kind.SKILLS)):
        body["resources"] = {"subscribe": offered.subscribe, "listChanged": True}
    if offered.completions:
        body["completions"] = {}
    if offered.logging:
        body["logging"] = {}
    if offered.tasks:
        body["tasks"] = _united([payload.value(each) for each in offered.tasks])
    if extensions := _extensions(offered, declared_extensions(of_client)):
        body["extensions"] = extensions
    return body


def _extensions(offered: MergedCapabilities, of_client: Fields) -> Fields:
    """Return the extensions that a client with these extensions is offered, with their settings.

    While a server is unknown, an extension that the client declared is offered, as every kind of list is: a legacy
    client asks once in a session. If no server has the extension, that changes nothing: "The server is the sole
    decider" whether a call becomes a task, and a tool has an app only if its definition names one. An extension that
    the client did not declare is not offered before a server has it. Skills are a kind of list, and offered as one:
    their extension knows no declaration of a client.
    """
    extensions: Fields = {}
    for name in names.OFFERED_EXTENSIONS:
        if name in offered.extensions:
            extensions[name] = offered.extensions[name]
        elif offered.may_have_more_extensions and name in of_client:
            extensions[name] = EMPTY
    if Kind.SKILLS in offered.kinds:
        # "An empty object indicates support for the extension with no optional features."
        extensions[names.SKILLS_EXTENSION] = _READS_DIRECTORIES if offered.reads_directories else EMPTY
    return extensions


def _united(capabilities: list[object]) -> dict[str, object]:
    """Merge nested objects: the result has every key of any of them."""
    objects = [each for each in capabilities if isinstance(each, dict)]
    keys = dict.fromkeys(key for each in objects for key in each)
    return {key: _united([each[key] for each in objects if key in each]) for key in keys}


def _refusal(caller_capabilities: Fields, question: Question, page_remedy: str) -> WireError | None:
    """Return the error for a question that needs a capability which the client did not declare; `None` if it did."""
    method, capability = names.ASK_METHOD[question.ask], names.ASK_CAPABILITY[question.ask]
    if capability not in caller_capabilities:
        return method_not_found(f"{method} (the client did not declare the {capability} capability)")
    # "Server sends an `elicitation/create` request with a mode not declared in client capabilities: `-32602`"; for
    # tools: "The client MUST return an error if this field is provided but ClientCapabilities.sampling.tools is not
    # declared."
    mode = asking.needed_mode(question.ask, question.params)
    if mode is None or mode in payload.object_or_empty(caller_capabilities[capability]):
        return None
    remedy = page_remedy if question.ask is Ask.ELICIT else ""
    why = f"{method} needs {capability}.{mode}, which the client did not declare{remedy}"
    return invalid_params(f"Invalid params: {why}")


def refuse_or_keep(gateway: Gateway, caller_capabilities: Fields, question: Question) -> WireError | None:
    """Return the error for a question that the client cannot answer; an address in it is kept for the page."""
    refusal = _refusal(caller_capabilities, question, gateway.page_remedy)
    if refusal is not None and question.ask is Ask.ELICIT:
        gateway.note_links(asking.links_in(question.server, question.params))
    return refusal
