"""The command or address of a held server on one line, as a person decides on it."""

from search_mcp.config.schema import ServerConfig
from search_mcp.config.secrets import shown_text, shown_url, shown_words
from search_mcp.model.sentences import LONGEST_REASON, cut, on_one_line
from search_mcp.wire import payload


def held_command(server: ServerConfig) -> str:
    """Write a server's command, as a shell reads it, or its address: with placeholders, without secrets, shortened.

    The commands and files that its secrets come from follow.
    """
    entry = payload.value(server.program) or {}
    if server.remote is not None:
        line = shown_url(next(str(entry[key]) for key in ("httpUrl", "url", "serverUrl") if key in entry))
    else:  # `shlex` is imported for held servers only, not at every start
        import shlex

        line = shlex.join(filter(None, shown_words(entry)))
    if server.unfilled is not None:
        line += "".join(
            f"; {each.key} is from {each.kind}: {shown_text(each.argument)}" for each in server.unfilled.sources
        )
    return cut(on_one_line(line), LONGEST_REASON)  # `search-mcp check --accept` shows all of it
