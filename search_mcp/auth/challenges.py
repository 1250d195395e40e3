"""The challenges in the `WWW-Authenticate` headers of a response that refuses a request. Pure."""

import re
from collections.abc import Iterable, Mapping

from search_mcp.wire.structs import Struct, field

LONGEST_HEADER = 16_384
"""Characters of the header that are read; servers and clients limit all headers together to about as much."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_PARAMETER = re.compile(rf"({_TOKEN})[ \t]*+=[ \t]*+(?:\"((?:[^\"\\]|\\.)*+)\"|({_TOKEN}))", re.DOTALL)
_SCHEME = re.compile(rf"({_TOKEN})(?=[ \t,]|$)(?:[ \t]++[A-Za-z0-9._~+/-]++=*+(?=[ \t]*+(?:,|$)))?")
_BETWEEN = re.compile(r"[ \t,]++")


class Challenge(Struct, frozen=True):
    """One challenge: its scheme and its parameters by name, both in lower case."""

    scheme: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the request needs, in order."""
        return tuple(self.parameters.get("scope", "").split())

    @property
    def error(self) -> str:
        return self.parameters.get("error", "")

    @property
    def metadata_url(self) -> str | None:
        """The address of the protected resource metadata."""
        return self.parameters.get("resource_metadata") or None


def challenges(values: Iterable[str]) -> list[Challenge]:
    """Read the values of all `WWW-Authenticate` headers of a response; malformed parts are skipped."""
    found: list[tuple[str, dict[str, str]]] = []
    for value in values:
        text, at = value[:LONGEST_HEADER], 0
        while at < len(text):
            if between := _BETWEEN.match(text, at):
                at = between.end()
            elif (parameter := _PARAMETER.match(text, at)) and found:
                name, quoted, plain = parameter.groups()
                content = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
                found[-1][1].setdefault(name.lower(), content)
                at = parameter.end()
            elif scheme := _SCHEME.match(text, at):
                found.append((scheme[1].lower(), {}))
                at = scheme.end()
            else:
                at += 1
    return [Challenge(scheme, parameters) for scheme, parameters in found]


def bearer(values: Iterable[str]) -> Challenge | None:
    """Return the challenge to log in with OAuth, if there is one.

    A server that asks only for another scheme, such as `Basic`, has no OAuth. A response without the header names no
    scheme, so OAuth is tried.
    """
    found = challenges(values)
    if not found:
        return Challenge("bearer")
    return next((each for each in found if each.scheme == "bearer"), None)
