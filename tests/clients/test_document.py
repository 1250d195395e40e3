"""Documents of all formats: byte order marks, and edits that change nothing else."""

import codecs

import pytest

from search_mcp.clients import document
from search_mcp.clients.document import Format
from search_mcp.model.errors import ConfigError

FORMATS: list[tuple[Format, bytes]] = [
    ("json", b'{"servers": {"a": {"command": "x"}}}'),
    ("jsonc", b'{"servers": {"a": {"command": "x",},} /* mine */}'),
    ("toml", b'[servers.a]\ncommand = "x"\n'),
    ("yaml", b"servers:\n  a:\n    command: x\n"),
]
ENTRY = {"command": "y", "args": ["z"]}


@pytest.mark.parametrize(("format_", "data"), FORMATS)
def test_put_and_drop(format_: Format, data: bytes) -> None:
    before = document.read(data, format_, "f")
    assert before.members(("servers",)) == {"a": {"command": "x"}}
    longer = before.put(("servers", "b"), ENTRY)
    assert longer.members(("servers",)) == {"a": {"command": "x"}, "b": ENTRY}
    assert longer.put(("servers", "b"), ENTRY) is longer
    assert longer.drop(("servers", "b")).data == data
    assert longer.drop(("servers", "c")) is longer
    assert before.drop(("servers", "a")).members(("servers",)) == {}


@pytest.mark.parametrize("format_", ["json", "jsonc", "toml", "yaml"])
def test_an_empty_file(format_: Format) -> None:
    empty = document.read(b"", format_, "f")
    assert empty.members(("servers",)) == {}
    assert empty.put(("servers", "b"), ENTRY).members(("servers", "b")) == ENTRY


@pytest.mark.parametrize(("format_", "data"), FORMATS)
def test_a_byte_order_mark_is_kept_except_in_strict_json(format_: Format, data: bytes) -> None:
    marked = document.read(codecs.BOM_UTF8 + data, format_, "f").put(("servers", "b"), ENTRY)
    assert marked.data.startswith(codecs.BOM_UTF8) == (format_ != "json")


REFUSED: list[tuple[Format, bytes, str]] = [
    ("json", b"[]", "f: the file must hold one object; correct it, or start with an empty file"),
    ("json", b'{"servers": []}', 'f: servers: "servers" is not an object; correct or remove it'),
    (
        "json",
        b'{"servers": {"a": 1, "a": 2}}',
        "f:1: servers.a: this key is already on line 1; rename or remove one of",
    ),
    ("json", "é".encode("latin-1"), "f:1: the file is not UTF-8; save it as UTF-8"),
    ("toml", b"servers = {}", "f: it is written in a way that cannot be edited safely"),
    ("toml", b"servers.a = {command = 'x'}\n[servers]\n", "f:2: not valid TOML"),
    ("yaml", b"servers: {a: {command: x}}", "f: it is written in a way that cannot be edited safely"),
    ("yaml", b"{a: 1}", "f: it is written in a way that cannot be edited safely"),
    ("yaml", b"x: &all\n  a: 1\nservers: *all\n", "f: it is written in a way that cannot be edited safely"),
    ("yaml", b"- a\n", "f: the file must hold one object"),
]


@pytest.mark.parametrize(("format_", "data", "complaint"), REFUSED)
def test_refuses_text_that_cannot_be_edited_safely(format_: Format, data: bytes, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        document.read(data, format_, "f").put(("servers", "b"), ENTRY)
    assert str(caught.value).startswith(complaint)


def test_a_member_whose_text_no_longer_fits_is_restored_by_its_value() -> None:
    file = document.read(b'{"a": {}}', "json", "f")
    for text in ('"b": 2', "} broken {"):
        assert file.paste(("a", "b"), text, 1).value == {"a": {"b": 1}}


def test_a_member_whose_text_cannot_be_separated_is_removed_without_it() -> None:
    file = document.read(b'a = """\n# no comment"""\n[b]\nc = 1\n', "toml", "f")
    left, text = file.cut(("b",))
    assert (left.value, text) == ({"a": "# no comment"}, None)
