"""The file with the accepted definitions of one server: a header line, then one line for each name. Pure.

No single step takes long: each line is read and written alone.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from search_mcp.backends.pin_records import ABOUT, Record, about
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, Struct, field


class _Header(Struct, frozen=True):
    version: Literal[2]
    lines: int
    sections: list[str]
    about: list[Raw]


class _Line(Struct, frozen=True, omit_defaults=True):
    section: str
    name: str
    accepted: list[Raw] = field(default_factory=list)
    absent: bool = False
    waiting: dict[str, Raw] = field(default_factory=dict)


def written(record: Record) -> bytes:
    """Encode a record."""
    lines = [payload.encode_bytes(line) for line in _lines(record)]
    said = [Raw(each) for each in record.accepted.get(ABOUT, {}).get(ABOUT, ())]
    header = _Header(2, len(lines), sorted(record.sections), said)
    return b"\n".join([payload.encode_bytes(header), *lines, b""])


def _lines(record: Record) -> Iterator[_Line]:
    names: dict[tuple[str, str], None] = {}
    for section, accepted in record.accepted.items():
        names.update(dict.fromkeys((section, name) for name in accepted if section != ABOUT))
    for section, absent in record.absent.items():
        names.update(dict.fromkeys((section, name) for name in sorted(absent)))
    for sections in record.waiting.values():
        names.update(dict.fromkeys((section, name) for section, each in sections.items() for name in each))
    for section, name in names:
        yield _Line(
            section,
            name,
            [Raw(each) for each in record.accepted.get(section, {}).get(name, ()) if section != ABOUT],
            name in record.absent.get(section, ()),
            {
                label: Raw(sections[section][name])
                for label, sections in record.waiting.items()
                if name in sections.get(section, {})
            },
        )


def read(lines: Iterable[bytes]) -> Record:
    """Decode the output of `written`.

    Raises:
        ValueError: the record is damaged, or of another version.
    """
    rest = iter(lines)
    header = payload.typed(next(rest, b""), _Header)
    accepted: dict[str, dict[str, tuple[bytes, ...]]] = {section: {} for section in header.sections}
    if header.about:
        accepted[ABOUT] = {ABOUT: tuple(map(bytes, header.about))}
    absent: dict[str, set[str]] = {}
    waiting: dict[str, dict[str, dict[str, bytes]]] = {}
    texts = list(rest)
    for text in texts:
        line = payload.typed(text, _Line)
        if line.accepted:
            accepted.setdefault(line.section, {})[line.name] = tuple(map(bytes, line.accepted))
        if line.absent:
            absent.setdefault(line.section, set()).add(line.name)
        for label, definition in line.waiting.items():
            waiting.setdefault(label, {}).setdefault(line.section, {})[line.name] = bytes(definition)
    if len(texts) != header.lines:
        raise ValueError(f"it has {len(texts)} lines of {header.lines}")
    gone = {section: frozenset(names) for section, names in absent.items()}
    return Record(frozenset(header.sections), accepted, gone, waiting)


def read_about(line: bytes) -> tuple[str, str] | None:
    """Decode the accepted title and instructions from the first line of a record; `None` if there are none.

    Raises:
        ValueError: the line is damaged, or of another version.
    """
    accepted = tuple(map(bytes, payload.typed(line, _Header).about))
    return about(Record(accepted={ABOUT: {ABOUT: accepted}}))
