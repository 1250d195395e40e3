"""The HTTP requests to one server, with its session and the token of its login, which errors do not show."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx2

from search_mcp.auth.access import UNAUTHORIZED, Access
from search_mcp.auth.errors import AuthError, Unauthorized
from search_mcp.backends.remote import trouble
from search_mcp.backends.remote.reading import Paced
from search_mcp.config.secrets import Redactor, spellings
from search_mcp.dialects import http_headers
from search_mcp.http.client import beginning, send
from search_mcp.http.failures import RefusedError
from search_mcp.logs import Conceal
from search_mcp.wire import messages
from search_mcp.wire.messages import Message
from search_mcp.wire.structs import Raw

MOST_TOKENS = 4
"""Tokens that are taken out of messages: answers to earlier requests may quote the tokens before."""
MOST_ATTEMPTS = {401: 2, 403: 4}
"""Times that a request is sent, by the status of the last refusal; a server may ask for more scopes in steps."""


class NoLogin:
    """Stands in for `Access` where the entry excludes a login; `why` completes "it needs a login, ..."."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def token(self) -> None:
        return None

    async def refused(self, _sent: str | None, status: int, _headers: Iterable[str]) -> None:
        """Explain the refusal.

        Raises:
            AuthError: always.
        """
        raise AuthError(self._why if status == UNAUTHORIZED else "")


class Requests:
    """Sends requests, and knows what to hide of them."""

    def __init__(self, client: httpx2.AsyncClient, login: Access | NoLogin, conceal: Conceal) -> None:
        self.session: str | None = None
        """The id of the session; `None` without one."""
        self.redact = Redactor()
        """Takes the tokens out of a text."""
        self._client, self._login = client, login
        self._conceal = conceal  # is told of the tokens
        self._tokens: list[str] = []  # those sent last
        self._hidden: list[bytes] = []  # spellings of the tokens

    def note_session(self, response: httpx2.Response) -> None:
        """Keep the id that a response gives the session."""
        session = response.headers.get(http_headers.SESSION)
        # "The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E)."
        if session is not None and _SESSION_ID.fullmatch(session):
            self.session = session

    @asynccontextmanager
    async def sent(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request with the session and the token; once more with a new token.

        Raises:
            Unauthorized: it needs a login.
            AuthError, RefusedError: it cannot have a token, or has no access.
        """
        if self.session is not None:
            headers = {**headers, http_headers.SESSION: self.session}
        response = await self._authorized(method, url, headers, body)
        try:
            yield response
        finally:
            if not response.is_closed:  # it was not read to its end
                with anyio.CancelScope(shield=True):
                    await response.aclose()

    async def _authorized(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes | None
    ) -> httpx2.Response:
        attempts = 0
        while True:
            attempts += 1
            token = await self._login.token()
            if token is not None and token not in self._tokens:
                self._hide(token)
            authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
            response = await send(self._client, method, url, {**headers, **authorization}, body)
            status = response.status_code
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Paced(response.stream)
            if status not in MOST_ATTEMPTS:
                return response
            try:
                answer = await beginning(response)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
            challenges, clause = response.headers.get_list("www-authenticate"), ""
            try:
                await self._login.refused(token, status, challenges)
            except Unauthorized:
                raise
            except AuthError as exc:
                clause = str(exc)
            else:
                if attempts < MOST_ATTEMPTS[status]:
                    continue
            raise RefusedError(trouble.of_status(status, response.headers, answer, clause).reason)

    def _hide(self, token: str) -> None:
        """Take a token out of messages and the log from now on: servers quote what they are sent."""
        self._tokens = [*self._tokens[1 - MOST_TOKENS :], token]
        hidden = spellings(self._tokens)
        self.redact = Redactor(hidden)
        self._hidden = sorted(map(str.encode, hidden), key=len, reverse=True)
        self._conceal(hidden)

    def without_tokens(self, line: bytes) -> bytes:
        """Take tokens out of an error, or of what is no message; other messages pass as they are."""
        if not any(each in line for each in self._hidden):
            return line
        decoded = messages.decode(line)
        if isinstance(decoded, Message) and not isinstance(decoded.error, Raw):
            return line
        for each in self._hidden:
            line = line.replace(each, b"***")
        return line


_SESSION_ID = re.compile(r"[\x21-\x7e]{1,4096}")
