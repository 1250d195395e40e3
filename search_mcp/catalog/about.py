"""What a server is for, in one line: chosen from what the user, the server and its lists say of it.

Everything but the description is text of an untrusted server: only its beginning is read, as one line. Pure.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item
from search_mcp.config.schema import ServerConfig
from search_mcp.model.servers import ServerCapabilities

LONGEST_READ = 4000
"""Characters of a server's instructions that are looked at."""
LONGEST_TITLE = 200
TOOLS_NAMED = 3
"""Tools that are named of a server that says nothing of itself."""
_GENERIC = frozenset({"mcp", "server", "servers", "the", "a", "an", "for", "of", "model", "context", "protocol"})

_compiled = cache(re.compile)
_WORD = r"[^\W_]+"
_FENCE = r"\s*(?:```|~~~)"
_LIST_ITEM = r"\s*(?:[-*+]|\d{1,3}[.)])\s+"
_NOT_TEXT = r"\s*(?:#|>|\||<|[-=*_]{3,}\s*$|$)"  # a heading, a quotation, a table, a tag, a rule, nothing
_MARKS = r"\*\*|__|`"
_LINK = r"!?\[([^\[\]]*)\]\([^()\s]*\)"


def about(config: ServerConfig, capabilities: ServerCapabilities | None, tools: Iterable[Item], length: int) -> str:
    """Say what a server is for, in at most so many characters; nothing where nothing is known.

    Its own words stand in quotation marks: a model might take them for the user's.
    """
    for text, is_its_own in _candidates(config, capabilities, tools):
        if text:
            return f'"{brief(text, length - 2).replace(chr(34), chr(39))}"' if is_its_own else brief(text, length)
    return ""


def _candidates(
    config: ServerConfig, capabilities: ServerCapabilities | None, tools: Iterable[Item]
) -> Iterator[tuple[str, bool]]:
    """Give what may be said of a server, best first, and whether it says so itself."""
    title = _one_line(capabilities.title[:LONGEST_TITLE]) if capabilities is not None else ""
    new, known = _words(title, config.name)
    yield config.description or "", False
    yield title if new > max(known, 1) else "", True  # two words at least that its name does not say
    yield first_sentence(capabilities.instructions) if capabilities is not None else "", True
    yield ", ".join(config.tags), False
    yield title if new > known else "", True
    names = [item.own for item in islice(tools, TOOLS_NAMED)]
    yield f"tools: {', '.join(names)}" if names else "", False


def first_sentence(instructions: str) -> str:
    """Give the first plain sentence of a text that may be Markdown; an item of a list where there is nothing else."""
    lines = list(_plain_lines(instructions[:LONGEST_READ]))
    paragraph: list[str] = []
    for line in lines:
        if line and not _compiled(_LIST_ITEM).match(line):
            paragraph.append(line)
        elif paragraph:
            break
    text = " ".join(paragraph) or next(filter(None, lines), "")
    text = _compiled(_LIST_ITEM).sub("", text, count=1) if not paragraph else text
    return _one_line(_compiled(_MARKS).sub("", _compiled(_LINK).sub(r"\1", text)))


def _plain_lines(text: str) -> Iterator[str]:
    """Give the lines of paragraphs and lists, and an empty one for everything else."""
    is_code = False
    for line in text.splitlines():
        if _compiled(_FENCE).match(line):
            is_code = not is_code
        yield "" if is_code or _compiled(_FENCE).match(line) or _compiled(_NOT_TEXT).match(line) else line


def _words(title: str, name: str) -> tuple[int, int]:
    """Count the words of a title that a server's name does not say, and those that it does."""
    words = {word.casefold() for word in _compiled(_WORD).findall(title)} - _GENERIC
    said = "".join(_compiled(_WORD).findall(name)).casefold()
    known = {word for word in words if word in said}
    return len(words - known), len(known)


def _one_line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
