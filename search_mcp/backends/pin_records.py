"""The accepted definitions of one server, and the comparison of a listing with them.

Decides whether a definition counts as the same, as the same with fewer members, as changed or as new. Nothing that a
server chooses, such as a revision, makes an unknown definition known. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerCapabilities, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw, Struct, field, replace

TOOLS: Final = Kind.TOOLS.value
PROMPTS: Final = Kind.PROMPTS.value
ABOUT: Final = "instructions"
"""The section of a server's description of itself: one definition, of its title and its instructions."""
SECTIONS: Final = (TOOLS, PROMPTS, ABOUT)
COMPARED: Final = {Kind.TOOLS: TOOLS, Kind.PROMPTS: PROMPTS}
"""The sections of the lists that are compared; resources normally change."""

MOST_NAMES: Final = 10_000
"""Limit of names that are stored for one section; further names stay unknown."""
MOST_ACCEPTED: Final = 8
"""Limit of accepted definitions of one name; the oldest is dropped."""
RECORD_BYTES: Final = 32 << 20
"""Limit of the accepted definitions in one record, in bytes: twice the limit of a server's lists."""
OPEN_BYTES: Final = 8 << 20
"""Limit of the definitions that wait to be accepted, in bytes."""
MOST_LABELS: Final = 8
"""Limit of kinds of clients whose open definitions are stored; the oldest are dropped."""
CANONICAL_BYTES: Final = 256 << 10
"""Larger definitions are compared byte by byte: decoding and sorting them would block all other threads."""

Seen = Mapping[str, Mapping[str, bytes]]
"""Definitions by section and name, as `canonical` writes them."""


class Listed(Struct, frozen=True):
    """The lists of a server; `None` for a list that was not requested, or that the server did not return."""

    tools: ServerList | None = None
    prompts: ServerList | None = None
    capabilities: ServerCapabilities | None = None


class Record(Struct, frozen=True):
    """The accepted definitions of one server."""

    sections: frozenset[str] = frozenset()
    """Sections with a baseline: they were listed once, and every definition that is listed later has to be accepted."""
    accepted: Mapping[str, Mapping[str, tuple[bytes, ...]]] = field(default_factory=dict)
    """By section and name, oldest first."""
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names whose absence was accepted: they are not reported as gone."""
    waiting: Mapping[str, Seen] = field(default_factory=dict)
    """By kind of client: the definitions of its last listing that are not accepted."""


class Verdict(Struct, frozen=True):
    """The result of comparing a listing with the accepted definitions."""

    changed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By section: the names whose definitions are not accepted."""
    new: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By section: the names without any accepted definition."""
    about: tuple[str, str] | None = None
    """The accepted title and instructions, if there are any."""
    trouble: str = ""
    """The reason why nothing can be compared; empty if there is none."""
    is_news: bool = False
    """Whether this listing changes the record, which then has to be written."""
    begins: bool = False
    """Whether a section of this listing is a baseline, which is valid only after it is written."""

    @property
    def is_about_changed(self) -> bool:
        """Return whether the title or the instructions are not accepted."""
        return ABOUT in self.changed.get(ABOUT, ()) or ABOUT in self.new.get(ABOUT, ())

    def marked(self, server_list: ServerList, kind: Kind) -> ServerList:
        """Mark the entries of a server list that are not accepted."""
        section = COMPARED[kind]
        changed, new = self.changed.get(section, frozenset()), self.new.get(section, frozenset())
        is_same = (changed, new, self.trouble) == (server_list.changed, server_list.new, server_list.trouble)
        if is_same and not server_list.is_pending:
            return server_list
        return replace(server_list, changed=changed, new=new, trouble=self.trouble, is_pending=False)


class Open(Struct, frozen=True):
    """A definition that is not accepted, and the newest accepted one of its name; `None` if there is none."""

    section: str
    name: str
    before: bytes | None
    now: bytes | None
    is_of_another_client: bool = False


# Comparing definitions


def seen(listed: Listed) -> Seen:
    """Return all listed definitions in the form in which they are compared."""
    found: dict[str, Mapping[str, bytes]] = {}
    for section, page in ((TOOLS, listed.tools), (PROMPTS, listed.prompts)):
        if page is not None:
            found[section] = {entry.key: canonical(entry.fields) for entry in page.entries}
    if listed.capabilities is not None:
        about = {"instructions": listed.capabilities.instructions, "title": listed.capabilities.title}
        found[ABOUT] = {ABOUT: payload.encode_bytes(about)}
    return found


def canonical(definition: Fields) -> bytes:
    """Encode a definition so that equal ones give equal bytes, without the members that are not compared."""
    compared = {key: definition[key] for key in sorted(definition) if key != "_meta"}
    if meta := _compared_meta(definition.get("_meta")):
        compared["_meta"] = payload.encode(meta)
    if sum(len(raw) for raw in compared.values()) <= CANONICAL_BYTES:
        compared = {key: Raw(payload.canonical(raw)) for key, raw in compared.items()}
    return payload.encode_bytes(compared)


def _compared_meta(raw: Raw | None) -> Fields:
    """Return the members of `_meta` that clients act on: keys with a vendor's prefix, and `ui`.

    "prefixes are used to differentiate": a key without a prefix has a meaning to its server only, and may be a time.
    """
    meta = payload.object_or_empty(raw)
    return {key: meta[key] for key in sorted(meta) if "/" in key or key == "ui"}


def is_known(definition: bytes, accepted: Sequence[bytes]) -> bool:
    """Return whether a definition equals an accepted one, apart from missing members that may be left out."""
    return definition in accepted or any(_is_part(definition, whole) for whole in accepted)


_HARMLESS_WITHOUT: Final = frozenset({"title", "outputSchema", "icons", "execution"})
"""Members that older revisions do not know, and whose absence gives no further permission."""
_CAREFUL_WITHOUT: Final = {
    "readOnlyHint": b"true",
    "destructiveHint": b"false",
    "idempotentHint": b"true",
    "openWorldHint": b"false",
}
"""Annotations whose absence makes clients more careful; not `destructiveHint: true`: some read absence as false."""


def _is_part(definition: bytes, whole: bytes) -> bool:
    part, every = payload.object_or_empty(Raw(definition)), payload.object_or_empty(Raw(whole))
    return part.keys() <= every.keys() and all(_may_become(key, every[key], part.get(key)) for key in every)


def _may_become(key: str, before: Raw, now: Raw | None) -> bool:
    if now is not None and bytes(now) == bytes(before):
        return True
    if key in ("annotations", "_meta"):
        is_leavable = _is_careful_without if key == "annotations" else _is_meta_leavable
        return _may_lose_members(before, now, is_leavable)
    if key in ("title", "instructions") and now is not None:
        return bytes(now) == b'""'  # of a server's description of itself
    return now is None and key in _HARMLESS_WITHOUT


def _may_lose_members(before: Raw, now: Raw | None, is_leavable: Callable[[str, Raw], bool]) -> bool:
    try:
        every, part = payload.fields(before), payload.fields(now) if now is not None else {}
    except ValueError:
        return False
    return part.keys() <= every.keys() and all(
        bytes(part[key]) == bytes(raw) if key in part else is_leavable(key, raw) for key, raw in every.items()
    )


def _is_careful_without(annotation: str, raw: Raw) -> bool:
    return annotation == "title" or bytes(raw) == _CAREFUL_WITHOUT.get(annotation)


def _is_meta_leavable(key: str, raw: Raw) -> bool:
    """Return whether a client without MCP Apps may get a tool without this key: not if models must not see the tool."""
    visibility = payload.object_or_empty(raw).get("visibility") if key == "ui" else None
    is_for_models = visibility is None or "model" in (payload.value(visibility) or ())
    return key == "ui/resourceUri" or (key == "ui" and is_for_models)


# Comparing a listing with a record


def judge(record: Record, label: str, listing: Seen) -> tuple[Record, Verdict]:
    """Compare a listing for one kind of client with a record; return the record with the listing, and the verdict."""
    after, begins = record, False
    changed: dict[str, frozenset[str]] = {}
    new: dict[str, frozenset[str]] = {}
    waiting: dict[str, Mapping[str, bytes]] = {}
    for section, definitions in listing.items():
        if section not in record.sections:
            after, begins = _with_baseline(after, section, definitions), True
        accepted = after.accepted.get(section, {})
        unknown = [name for name, each in definitions.items() if not is_known(each, accepted.get(name, ()))]
        changed[section] = frozenset(name for name in unknown if name in accepted)
        new[section] = frozenset(unknown) - changed[section]
        waiting[section] = {name: definitions[name] for name in unknown}
    after = _with_open(after, label, waiting)
    return after, Verdict(changed, new, about(after), is_news=after != record, begins=begins)


def about(record: Record) -> tuple[str, str] | None:
    """Return the title and the instructions that were accepted last."""
    accepted = record.accepted.get(ABOUT, {}).get(ABOUT, ())
    if not accepted:
        return None
    said = payload.object_or_empty(Raw(accepted[-1]))
    return payload.string(said.get("title")) or "", payload.string(said.get("instructions")) or ""


def _with_baseline(record: Record, section: str, definitions: Mapping[str, bytes]) -> Record:
    begun = replace(record, sections=record.sections | {section})
    return with_accepted(begun, {section: definitions})


def with_accepted(record: Record, listing: Seen) -> Record:
    """Accept these definitions, up to the limits of a record; none of them stays open."""
    accepted = {section: dict(names) for section, names in record.accepted.items()}
    room = RECORD_BYTES - sum(map(len, _all_accepted(record)))
    for section, definitions in listing.items():
        names = accepted.setdefault(section, {})
        for name, definition in definitions.items():
            room -= len(definition)
            if room < 0 or (name not in names and len(names) >= MOST_NAMES):
                break
            others = [each for each in names.get(name, ()) if each != definition]
            names[name] = (*others[-(MOST_ACCEPTED - 1) :], definition)
    waiting = {label: _without(sections, listing) for label, sections in record.waiting.items()}
    return replace(record, accepted=accepted, waiting={label: rest for label, rest in waiting.items() if rest})


def _without(sections: Seen, listing: Seen) -> Seen:
    rest = {
        section: {name: each for name, each in names.items() if listing.get(section, {}).get(name) != each}
        for section, names in sections.items()
    }
    return {section: names for section, names in rest.items() if names}


def _all_accepted(record: Record) -> Iterator[bytes]:
    return (each for names in record.accepted.values() for definitions in names.values() for each in definitions)


def _with_open(record: Record, label: str, waiting: Seen) -> Record:
    """Replace the open definitions of this kind of client by those of its newest listing."""
    before = record.waiting.get(label, {})
    now = {**before, **waiting}
    now = {section: names for section, names in now.items() if names}
    if now == before:
        return record
    rest = {other: sections for other, sections in record.waiting.items() if other != label}
    newest = dict(islice(((label, now), *reversed(rest.items())), MOST_LABELS))
    return replace(record, waiting={label: each for label, each in reversed(_within_room(newest).items()) if each})


def _within_room(newest_first: Mapping[str, Seen]) -> dict[str, Seen]:
    room = OPEN_BYTES
    kept: dict[str, dict[str, dict[str, bytes]]] = {}
    for label, sections in newest_first.items():
        for section, names in sections.items():
            for name, definition in names.items():
                room -= len(definition)
                if room >= 0:
                    kept.setdefault(label, {}).setdefault(section, {})[name] = definition
    return dict(kept)


# Showing and accepting open definitions


def opened(record: Record, label: str, listing: Seen) -> list[Open]:
    """Return all definitions that differ from the accepted ones, in this listing and in those of other clients."""
    found = [
        Open(section, name, _newest(record, section, name), definition)
        for section, definitions in listing.items()
        if section in record.sections
        for name, definition in definitions.items()
        if not is_known(definition, record.accepted.get(section, {}).get(name, ()))
    ]
    told = {(each.section, each.name, each.now) for each in found}
    for other, sections in record.waiting.items():
        for section, definitions in sections.items():
            for name, definition in definitions.items():
                if (other != label or section not in listing) and (section, name, definition) not in told:
                    told.add((section, name, definition))
                    found.append(Open(section, name, _newest(record, section, name), definition, True))
    return [*found, *_gone(record, listing)]


def _gone(record: Record, listing: Seen) -> Iterator[Open]:
    for section, definitions in listing.items():
        known = record.accepted.get(section, {})
        for name in sorted(known.keys() - definitions.keys() - record.absent.get(section, frozenset())):
            yield Open(section, name, _newest(record, section, name), None)


def _newest(record: Record, section: str, name: str) -> bytes | None:
    accepted = record.accepted.get(section, {}).get(name, ())
    return accepted[-1] if accepted else None


def with_all_accepted(record: Record, accepted: Iterable[Open]) -> Record:
    """Accept exactly these definitions, and the absence of those that are gone."""
    absent = {section: set(names) for section, names in record.absent.items()}
    rounds: list[dict[str, dict[str, bytes]]] = []  # more than one if a name has several definitions
    for each in accepted:
        if each.now is None:
            absent.setdefault(each.section, set()).add(each.name)
            continue
        absent.get(each.section, set()).discard(each.name)
        free = next((some for some in rounds if each.name not in some.get(each.section, {})), None)
        if free is None:
            rounds.append(free := {})
        free.setdefault(each.section, {})[each.name] = each.now
    for definitions in reversed(rounds):  # the first round is the listing that was shown; it has to stay the newest
        record = with_accepted(record, definitions)
    gone = {section: frozenset(names) for section, names in absent.items() if names}
    return replace(record, absent=gone)
