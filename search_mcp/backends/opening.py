"""The opening of a connection to a server, and the different ways in which that fails."""

import anyio

from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.lifecycle import Ended, Next
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import CannotOpenError, CannotSpeakError
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening, ServerCapabilities
from search_mcp.wire.inflight import Fate
from search_mcp.wire.receiver import ConnectionEndedError, RequestFailedError


async def opened(
    connection: Connection, config: ServerConfig, dependencies: Dependencies, opening: Opening, era: Era
) -> ServerCapabilities | Ended:
    """Open a connection, in this era if it is not known which one the server speaks."""
    # Loaded with the first connection, not before `initialize` is answered.
    from search_mcp.dialects.back.opening import negotiate

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
        return Ended(how, Next.OTHER_ERA, is_era_known=False)
    except CannotSpeakError as exc:
        return Ended(str(exc), Next.GIVE_UP, is_era_known=False)
    except RequestFailedError as exc:  # this says nothing about its era
        what_next = Next.UNAUTHORIZED if exc.failure.fate is Fate.UNAUTHORIZED else Next.RETRY
        return Ended(str(exc), what_next, exc.failure.retry_after_seconds)
    except CannotOpenError as exc:
        return Ended(str(exc), is_era_known=False)
    except TimeoutError:
        how = f"it did not answer within {config.start_timeout_seconds:g} s of being started"
        return Ended(connection.why_not_opened(how), is_era_known=False)
