"""Texts of servers, made fit for lines of ours: one line, nothing invisible, nothing that reorders. Pure.

A server chooses its names, descriptions and errors; none may pass for a line that search-mcp wrote.
"""


def visible(text: str) -> str:
    r"""Show control, invisible and reordering characters as `\u{200b}`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text)


def one_line(text: str) -> str:
    """Put a text into one line, with everything in it visible."""
    return visible(" ".join(text.split()))


def indented(text: str, mark: str) -> str:
    """Put a mark before each line of a text, so that each can be told from a line of ours."""
    return "\n".join(f"{mark}{visible(line)}".rstrip() for line in text.splitlines())


def visible_json(text: str) -> str:
    """Write JSON in one line, with what would be invisible escaped; it means the same."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _json_escape(each) for each in text)


def quoted(text: str, longest: int) -> str:
    """Write a text as a JSON string on one line, cut to so many characters."""
    shown = text[:longest]
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{visible_json(escaped)}{"…" if len(shown) < len(text) else ""}"'


def _json_escape(character: str) -> str:
    if character in " \t\r\n":
        return {"\t": "\\t", "\r": "\\r", "\n": "\\n"}.get(character, character)
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
