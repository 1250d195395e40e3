"""Elicitation in URL mode, which the eras ask for in different words.

Decides how one is written as the other. 2025-11-25 has an id for every URL, tells when it was dealt with, and asks in
an error too; 2026-07-28 has none of it: the client makes its request again.
"""

import secrets

from search_mcp import jsonrpc
from search_mcp.dialects import names
from search_mcp.errors import invalid_request
from search_mcp.jsonrpc import ErrorObject, Fields, Raw
from search_mcp.model import Ask, InputRequired

CONSENT = "search-mcp: url elicitation"
"""The state of a call that a legacy server refused until the user opens a URL; its retry is a call of its own."""


def without_id(params: Fields) -> Fields:
    """Write a legacy server's elicitation for a modern client."""
    return jsonrpc.without(params, names.ELICITATION_ID)


def with_id(params: Fields) -> Fields:
    """Write a modern server's elicitation for a legacy client, which wants an id; nobody will refer to it."""
    if not _is_url(params) or names.ELICITATION_ID in params:
        return params
    return {**params, names.ELICITATION_ID: jsonrpc.encode(secrets.token_urlsafe(16))}


def asked_in_error(error: ErrorObject) -> InputRequired | None:
    """Write what a legacy server asks for in an error as a modern one asks; `None` if the error does not say."""
    data = jsonrpc.object_or_empty(error.data if isinstance(error.data, Raw) else None)
    try:
        asked = [jsonrpc.fields(each) for each in jsonrpc.items(data["elicitations"])]
    except (KeyError, ValueError):
        return None
    method = names.ASK_METHOD[Ask.ELICIT]
    questions = [jsonrpc.encode({"method": method, "params": without_id(params)}) for params in asked]
    requests = {f"{Ask.ELICIT.value}-{number}": question for number, question in enumerate(questions, 1)}
    return InputRequired(requests, jsonrpc.encode(CONSENT)) if requests else None


def require_consent(responses: Raw | None) -> None:
    """Check that the user agreed to every URL: otherwise the call would only ask again.

    Raises:
        ProtocolError: there is one that the user did not agree to.
    """
    answers = [jsonrpc.object_or_empty(each) for each in jsonrpc.object_or_empty(responses).values()]
    if not answers or any(jsonrpc.string(answer.get("action")) != "accept" for answer in answers):
        raise invalid_request("Invalid Request: this needs a URL to be opened, and the user did not agree to it")


def needs_more(unfinished: InputRequired, capabilities: Fields) -> bool:
    """Whether a client is asked to open a URL that did not declare that mode."""
    questions = map(jsonrpc.object_or_empty, (unfinished.requests or {}).values())
    asked = any(_is_url(jsonrpc.object_or_empty(question.get("params"))) for question in questions)
    return asked and "url" not in jsonrpc.object_or_empty(capabilities.get(names.ELICITATION))


def _is_url(params: Fields) -> bool:
    return jsonrpc.string(params.get("mode")) == "url"
