"""The notes of `check` and `servers` below the table."""

import sys

import pytest

from cli.conftest import SERVERS, Place, server
from search_mcp.cli.checks.notes import of_read_only, of_versions
from search_mcp.cli.tools.contents import with_hint
from search_mcp.config.schema import ServerConfig


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for npx is a shell script")
def test_a_package_without_a_version_is_no_fault(place: Place) -> None:
    npx = place.folder / "npx"
    npx.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{SERVERS / 'toolbox.py'}'\n")
    npx.chmod(0o755)
    loose, fixed = ({"command": str(npx), "args": ["-y", name, "--key=hunter22"]} for name in ("@a/b", "@a/b@1.0.0"))
    place.configure({"loose": loose, "fixed": fixed, "off": {**loose, "enabled": False}})
    checked = place.run("check")
    assert (checked.code, checked.err) == (0, "")
    remedy = "Add a version, for example: npx -y @a/b@VERSION"
    note = f"Without an exact version: loose; each start may run newer code. {remedy}"
    assert note in " ".join(checked.out.split())
    assert "hunter22" not in checked.out
    assert place.run("check", "--json").json["notes"] == [note]
    assert place.run("check", "fixed", "--json").json["notes"] == []


def test_tools_left_out_by_read_only_are_counted(place: Place) -> None:
    place.configure({"toolbox": server("toolbox", readOnly=True)})
    checked = place.run("check", "--json")
    assert checked.code == 0
    assert checked.json["servers"][0]["tools"] == 0
    assert checked.json["notes"] == ['Read-only ("readOnly"): toolbox (7 tools left out).']
    assert "toolbox (7 tools left out)" in place.run("servers").out
    assert place.run("servers", "--json").json["servers"][0]["readOnly"] is True
    refused = place.run("call", "toolbox.echo", "text=x")
    assert refused.code == 1
    assert "no other of server 'toolbox' may be called (readOnly)" in " ".join(refused.err.split())


def test_tools_that_are_switched_off_are_named_or_counted(place: Place) -> None:
    few, many = server("toolbox", tools={"deny": ["echo"]}), server("toolbox", tools=["echo"])
    place.configure({"few": few, "many": many, "off": {**few, "enabled": False}, "whole": server("toolbox")})
    note = "Tools switched off: few (echo) and many (6)."
    assert place.run("check", "--json").json["notes"] == [note]
    for command in ("servers", "list"):
        assert f"\n{note}\n" in place.run(command).out
    assert "switched off" not in place.run("list", "whole").out + place.run("servers", "whole").out


def test_lists_that_are_switched_off_are_named(place: Place) -> None:
    place.configure({"one": server("toolbox", prompts=False), "two": server("toolbox", prompts=False, resources=False)})
    checked = place.run("check", "--json")
    assert checked.json["notes"] == [
        'Prompts hidden by "prompts": false: one and two.',
        'Resources hidden by "resources": false: two.',
    ]


def test_many_servers_are_one_line() -> None:
    servers = [ServerConfig(name=f"s{number}", command="npx", args=("-y", f"pkg{number}")) for number in range(30)]
    (note,) = of_versions(servers)
    assert note.startswith("Without an exact version: s0, s1, s2, s3 and 26 more; ")
    assert not list(of_versions([]))
    assert not list(of_read_only({}))


MODEL = {"model": "m"}
SENT = "Search by meaning sends the names and descriptions of your tools and skills, and every query, to"


@pytest.mark.parametrize(
    ("address", "notes"),
    [
        ({"url": "https://me:word@api.example.com/v1?key=abcdefgh"}, [f"{SENT} api.example.com (over https)."]),
        ({"url": "http://192.168.1.2:11434/v1"}, [f"{SENT} 192.168.1.2 (unencrypted)."]),
        ({"url": "http://localhost:11434/v1"}, []),
        ({"url": "http://[::1]:11434/v1"}, []),
        ({"url": "http://192.168.1.2:11434/v1", "apiKey": "secret-key"}, []),  # it is not used
    ],
)
def test_another_computer_that_gets_texts_is_named(place: Place, address: dict[str, str], notes: list[str]) -> None:
    place.configure({"toolbox": server("toolbox")}, search={"semantic": {**MODEL, **address}})
    assert [each for each in place.run("check", "--json").json["notes"] if each.startswith(SENT)] == notes
    checked = place.run("check")
    assert checked.code == 0
    assert all(note in " ".join(checked.out.split()) for note in notes)
    assert not any(secret in checked.out for secret in ("me:word", "abcdefgh", "secret-key"))
    assert place.run("check", "toolbox", "--json").json["notes"] == []


@pytest.mark.parametrize(
    ("row", "then"),
    [
        ({"description": "Look.", "hint": "read-only"}, "[read-only] Look."),
        ({"description": "", "hint": "destructive"}, "[destructive]"),
        ({"description": "Wipe."}, "Wipe."),
        ({"description": "[read-only] Wipe."}, "Wipe."),
        ({"description": "[read-only] [Read-Only] Wipe.", "hint": "destructive"}, "[destructive] Wipe."),
        ({"description": "[Deprecated] Look."}, "[Deprecated] Look."),
    ],
)
def test_a_description_cannot_imitate_a_hint(row: dict[str, str], then: str) -> None:
    assert with_hint(row) == then
