"""Errors of logins. Their texts contain no token, code, verifier or secret."""

from collections.abc import Mapping

from search_mcp.model.sentences import cut
from search_mcp.model.visible import one_line

LONGEST_QUOTE = 200
"""Most characters of a server's text in a message."""


class AuthError(Exception):
    """A login is not possible, and another attempt would fail in the same way."""


class AddressRefused(AuthError):
    """A server named an address that it may not make search-mcp contact."""

    def __init__(self, purpose: str, url: str, why: str) -> None:
        super().__init__(purpose, url, why)
        self.purpose, self.url, self.why = purpose, url, why

    def __str__(self) -> str:
        return f"the address of its {self.purpose} is not used: {self.why}: {quoted(self.url)}"


class SeveralHosts(AuthError):
    """The user would log in at one host, and another one would get the tokens; a person has to accept that."""

    def __init__(self, hosts: Mapping[str, str]) -> None:
        """Make the error; `hosts` are those of the parts of the authorization server, by part."""
        super().__init__(hosts)
        self.hosts = hosts

    def __str__(self) -> str:
        return (
            f"its login uses several hosts, which you have to accept: {', '.join(dict.fromkeys(self.hosts.values()))}"
        )


class Unauthorized(AuthError):
    """A request was refused, and only the user can help: `search-mcp auth login`; the text may be empty."""


class NotNeeded(AuthError):
    """The server answers without a login, and offers none."""


class Unavailable(AuthError):
    """A server did not answer, or failed temporarily: the same request may succeed later."""


class Refused(AuthError):
    """An authorization server answered with an error of OAuth."""

    def __init__(self, purpose: str, code: str, description: str = "") -> None:
        super().__init__(purpose, code, description)
        self.purpose, self.code, self.description = purpose, code, description

    def __str__(self) -> str:
        why = f": {quoted(self.description)}" if self.description else ""
        return f"the authorization server refused the {self.purpose} ({quoted(self.code)}){why}"


def quoted(text: str) -> str:
    """Write a server's text on one line, cut to a bounded length."""
    return cut(one_line(text[: LONGEST_QUOTE + 1]), LONGEST_QUOTE)
