"""Addresses that servers asked the user to open, and that the client could not show."""

from collections.abc import Callable

import pytest

from search_mcp.dialects import asking, names
from search_mcp.gateway.links import KEPT_SECONDS, MOST_LINKS, Links
from search_mcp.model.calls import InputRequired, Link, Outcome
from search_mcp.model.names import Ask
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError
from search_mcp.wire.structs import ErrorObject

URL = {"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in", "elicitationId": "1"}
SIGN_IN = Link("a", "Sign in", "https://example.com/sign-in")


def required(params: object) -> Outcome:
    """Return an intermediate result with one question."""
    question = {"method": names.ASK_METHOD[Ask.ELICIT], "params": params}
    return InputRequired({"who": payload.encode(question)}, None)


def refused(params: object) -> Outcome:
    """Return the error of a legacy server that asks for an address to be opened."""
    data = payload.encode({"elicitations": [params]})
    return PeerError(ErrorObject(names.URL_ELICITATION_REQUIRED, "open it", data))


@pytest.mark.parametrize("outcome", [required, refused])
@pytest.mark.parametrize(
    ("params", "declared", "found"),
    [
        (URL, {}, [SIGN_IN]),
        (URL, {"form": {}}, [SIGN_IN]),
        (URL, {"url": {}}, []),
        ({**URL, "url": "javascript:alert(1)"}, {}, []),
        ({**URL, "url": "https://user@example.com"}, {}, []),
        ({"mode": "form", "message": "Name?"}, {}, []),
    ],
)
def test_an_address_is_kept_if_it_is_safe_and_the_client_cannot_show_it(
    outcome: Callable[[object], Outcome], params: object, declared: object, found: list[Link]
) -> None:
    capabilities = {names.ELICITATION: payload.encode(declared)}
    assert asking.links("a", outcome(params), capabilities) == found


def test_addresses_are_dropped_when_they_are_old_or_too_many() -> None:
    now = 0.0
    links = Links(lambda: now)
    made = [Link("a", "", f"https://example.com/{number}") for number in range(MOST_LINKS + 1)]
    links.note(made)
    assert links.waiting() == made[1:]
    links.drop(made[1])
    assert links.waiting() == made[2:]
    now = KEPT_SECONDS + 1
    assert links.waiting() == []
