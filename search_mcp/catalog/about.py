"""The purpose of a server in one line, from its configuration, its own texts and its lists.

All texts but the configured description are untrusted: only their beginning is read, as one line. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, takewhile

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item
from search_mcp.config.schema import ServerConfig
from search_mcp.model.sentences import on_one_line
from search_mcp.model.servers import ServerCapabilities

LONGEST_READ = 4000
"""Most characters of a server's instructions that are read."""
TOOLS_NAMED = 6
"""Most tools that are named of a server without a description of itself."""
TOOLS_READ = 200
"""Most tools of a server of which these are chosen."""
_GENERIC = frozenset({"mcp", "server", "servers", "the", "a", "an", "for", "of", "model", "context", "protocol"})

_compiled = cache(re.compile)
_WORD = r"[^\W_]+"
_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+"
_FENCE = r"\s*(?:```|~~~)"
_LIST_ITEM = r"\A\s*(?:[-*+]|\d{1,3}[.)])\s+"
_NOT_TEXT = r"\s*(?:#|>|\||<|[-=*_]{3,}\s*$|$)"  # a heading, a quotation, a table, a tag, a rule, an empty line
_MARKS = r"\*\*|__|`"
_LINK = r"!?\[([^\[\]]*)\]\([^()\s]*\)"


def about(config: ServerConfig, capabilities: ServerCapabilities | None, tools: Iterable[Item], length: int) -> str:
    """Write the purpose of a server in at most `limit` characters; empty if it is unknown.

    Texts of the server are in quotation marks, so that a model does not take them for the user's.
    """
    for text, is_its_own in _candidates(config, capabilities, tools):
        if text:
            return f'"{brief(text, length - 2).replace(chr(34), chr(39))}"' if is_its_own else brief(text, length)
    return ""


def _candidates(
    config: ServerConfig, capabilities: ServerCapabilities | None, tools: Iterable[Item]
) -> Iterator[tuple[str, bool]]:
    """Yield descriptions of a server, best first, and whether each is a text of the server."""
    title = on_one_line(capabilities.title) if capabilities is not None else ""
    new, known = _words(title, config.name)
    yield config.description or "", False
    yield title if new > max(known, 1) else "", True  # at least two words that are not in its name
    said = first_sentence(capabilities.instructions) if capabilities is not None else ""
    yield "" if "instructions" in said.casefold() else said, True  # such a sentence is about the text, not the server
    yield ", ".join(config.tags), False
    names = [item.own for item in islice(tools, TOOLS_READ)]
    more = ", …" if len(names) > TOOLS_NAMED else ""
    yield f"{', '.join(telling(names)[:TOOLS_NAMED])}{more}" if names else "", False
    yield title if new > known else "", True


def telling(names: Sequence[str]) -> Sequence[str]:
    """Order the names of tools: first one for each verb, behind the words that all names begin with."""
    words = [_compiled(_NAME_WORD).findall(name) or [name] for name in names]
    columns = zip(*words, strict=False) if len(words) > 1 else ()
    shared = sum(1 for _ in takewhile(lambda column: len({*column}) == 1, columns))
    verbs = ["".join(each[shared : shared + 1]).casefold() for each in words]
    first = dict(zip(reversed(verbs), reversed(names), strict=True))
    return list(dict.fromkeys([*(name for name in names if name in first.values()), *names]))


def first_sentence(instructions: str) -> str:
    """Return the first plain sentence of a text that may be Markdown, else the first item of a list."""
    lines = list(_plain_lines(instructions[:LONGEST_READ]))
    paragraph: list[str] = []
    for line in lines:
        if line and not _compiled(_LIST_ITEM).match(line):
            paragraph.append(line)
        elif paragraph:
            break
    text = " ".join(paragraph) or next(filter(None, lines), "")
    text = _compiled(_LIST_ITEM).sub("", text) if not paragraph else text
    return on_one_line(_compiled(_MARKS).sub("", _compiled(_LINK).sub(r"\1", text)))


def _plain_lines(text: str) -> Iterator[str]:
    """Yield the lines of paragraphs and lists, and an empty line for everything else."""
    is_code = False
    for line in text.splitlines():
        if _compiled(_FENCE).match(line):
            is_code = not is_code
        yield "" if is_code or _compiled(_FENCE).match(line) or _compiled(_NOT_TEXT).match(line) else line


def _words(title: str, name: str) -> tuple[int, int]:
    """Count the words of a title that are not in a server's name, and those that are."""
    words = {word.casefold() for word in _compiled(_WORD).findall(title)} - _GENERIC
    said = "".join(_compiled(_WORD).findall(name)).casefold()
    known = {word for word in words if word in said}
    return len(words - known), len(known)
