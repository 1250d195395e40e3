"""OAuth as steps: generators that yield HTTP requests, are sent the responses, and return a result.

The steps decide; `fetching` makes the requests. Pure.
"""

from collections.abc import Generator, Mapping
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import urlencode

from search_mcp.wire.structs import Struct, field

T = TypeVar("T")

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


class Request(Struct, frozen=True):
    """One HTTP request of a login; redirects are not followed."""

    purpose: str
    """The requested content, as it is named in messages, such as `protected resource metadata`."""
    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __repr__(self) -> str:  # the body and the headers may contain secrets
        return f"<Request {self.method} {self.purpose}>"


class Response(Struct, frozen=True):
    """The response to a request, or the reason why there is none."""

    status: int = 0
    """HTTP status; 0 without a response."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers by their names in lower case."""
    body: bytes = b""
    failure: str = ""
    """The reason why there is no response, in one sentence."""

    def __repr__(self) -> str:
        return f"<Response {self.status or self.failure}>"

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return not self.status or self.status >= 500 or self.status == 429


Steps: TypeAlias = Generator[Request, Response, T]


def get(purpose: str, url: str) -> Request:
    """Return a request for a metadata document."""
    return Request(purpose, url, headers={"accept": JSON})


def post_form(purpose: str, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Request:
    """Return a request with a form, such as one to a token endpoint."""
    content = {"accept": JSON, "content-type": FORM, **(headers or {})}
    return Request(purpose, url, "POST", content, urlencode(form).encode())
