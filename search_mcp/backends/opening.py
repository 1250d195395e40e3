"""The opening of a connection to a server, and the errors with which an opening or a connection ends."""

import anyio

from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import CannotOpenError, CannotReachError, CannotSpeakError, NotLoggedInError
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening, ServerCapabilities
from search_mcp.wire.peer import ConnectionEndedError


class EndedError(Exception):
    """The connection to the server ended, or could not be opened; the text is the reason."""

    def __init__(self, reason: str, retry_after_seconds: float = 0.0, *, is_era_known: bool = True) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds
        """Time that the server wants to be left alone."""
        self.is_era_known = is_era_known
        """Whether the next start may count on the era in which the server was opened before."""


class HopelessError(EndedError):
    """Another start would end in the same way until something else is changed."""


class NeedsLoginError(EndedError):
    """Another start would end in the same way until the user has logged in; the text may be empty."""


class SessionLostError(EndedError):
    """The server does not know the session any more: the next connection can be opened at once."""


class ExitedOnOpeningError(EndedError):
    """It ended before it was open, perhaps because of the request that it was probed with."""


class RestartedError(EndedError):
    """It is to be restarted."""


async def opened(
    connection: Connection, config: ServerConfig, dependencies: Dependencies, opening: Opening, era: Era
) -> ServerCapabilities:
    """Open a connection, in this era if it is not known which one the server speaks.

    Raises:
        EndedError: it could not be opened, or it ended.
    """
    from search_mcp.dialects.back.opening import negotiate  # not before `initialize` is answered

    try:
        with anyio.fail_after(config.start_timeout_seconds):
            return await negotiate(
                connection.peer,
                opening,
                pinned=config.protocol,
                first=era,
                probe_seconds=None if connection.is_http else dependencies.probe_seconds,
            )
    except ConnectionEndedError:
        how = connection.why_not_opened(connection.channel.how_it_ended())
        raise ExitedOnOpeningError(how, is_era_known=False) from None
    except CannotSpeakError as exc:
        raise HopelessError(str(exc), is_era_known=False) from exc
    except NotLoggedInError as exc:
        raise NeedsLoginError(str(exc)) from exc
    except CannotReachError as exc:  # this says nothing about its era
        raise EndedError(str(exc), exc.retry_after_seconds) from exc
    except CannotOpenError as exc:
        raise EndedError(str(exc), is_era_known=False) from exc
    except TimeoutError:
        how = f"it did not answer within {config.start_timeout_seconds:g} s of being started"
        raise EndedError(connection.why_not_opened(how), is_era_known=False) from None
