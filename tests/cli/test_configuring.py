"""`config`, and the schema that editors read."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from cli.conftest import Place
from search_mcp import config, jsonc
from search_mcp.cli import schema
from search_mcp.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "config"


def accepts(file: Any) -> bool:
    try:
        config.parse(json.dumps(file), source="x", variables={}, home="/h", config_dir="/c", python="/p")
    except ConfigError:
        return False
    return True


VALUES: list[Any] = [
    *(None, True, 0, 1, 16, -1, 0.5, "", "x", "auto", "eager", "light", "info", "__", "2025-11-25", "2026-01-01"),
    *([], ["a"], [1], {}, {"a": "b"}, {"a": 1}, {"allow": ["a"]}, {"allow": None}, {"deny": "a"}, {"deny": [1]}),
]
KEYS = [
    *(("mcpServers", "a", key) for key in schema.of_file()["$defs"]["Entry"]["properties"]),
    *(("settings", key) for key in schema.of_file()["$defs"]["Settings"]["properties"]),
    *(("mcpServers",), ("settings",), ("mcpServers", "a"), ("mcpServers", ""), ("unknown",), ("mcpServers", "a", "?")),
]


@pytest.mark.parametrize("path", KEYS, ids=".".join)
def test_the_schema_accepts_what_is_accepted(path: tuple[str, ...]) -> None:
    validator = jsonschema_rs.validator_for(schema.of_file())
    for value in VALUES:
        file: dict[str, Any] = {"mcpServers": {"a": {"command": "x"}}}
        place = file
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = copy.deepcopy(value)
        assert validator.is_valid(file) == accepts(file), (file, [str(each) for each in validator.iter_errors(file)])


def test_a_file_without_servers_is_refused() -> None:
    assert not jsonschema_rs.validator_for(schema.of_file()).is_valid({})


def test_every_key_is_described_and_nothing_else() -> None:
    described = set()
    for definition in schema.of_file()["$defs"].values():
        for key, each in definition["properties"].items():
            assert each["description"].endswith((".", ". ")), key
            described.add(key)
    assert described | {"$schema", "mcpServers", "settings"} == set(schema.ABOUT)


def test_the_shipped_schema_is_current() -> None:
    shipped = json.loads((SHIPPED / "mcp-servers.schema.json").read_text(encoding="utf-8"))
    assert shipped == schema.of_file(), "search-mcp config schema > config/mcp-servers.schema.json"


def test_the_shipped_configuration_refers_to_it_and_validates() -> None:
    text = (SHIPPED / "mcp-servers.json").read_text(encoding="utf-8")
    file = jsonc.parse(text, source="x").value
    assert isinstance(file, dict)
    assert (SHIPPED / str(file["$schema"])).is_file()
    jsonschema_rs.validator_for(schema.of_file()).validate(file)


def test_path(place: Place) -> None:
    place.configure({})
    assert Path(place.run("config", "path").out.strip()) == place.folder / "config" / "mcp-servers.json"
    ended = place.run("config", "path", "--config", "nowhere.json")
    assert (ended.code, ended.out) == (2, "")


def test_validate(place: Place) -> None:
    place.configure({"good": {"command": "x"}, "off": {"command": "${NOT_SET}", "enabled": False}})
    ended = place.run("config", "validate")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("mcp-servers.json: 2 servers, 1 of them enabled\n")
    place.configure({"bad": {"command": "${NOT_SET}"}, "good": {"comand": "x", "command": "x"}})
    ended = place.run("config", "validate")
    assert (ended.code, ended.out) == (1, "")
    problem, warning = ended.err.splitlines()
    assert problem.startswith("error: bad: environment variable NOT_SET, used in command, is not set")
    assert 'did you mean "command"?' in warning
    told = place.run("config", "validate", "--json").json
    assert (told["ok"], list(told["problems"]), len(told["warnings"])) == (False, ["bad"], 1)


def test_validate_a_broken_file(place: Place) -> None:
    place.configure({"bad": {"command": 3}})
    ended = place.run("config", "validate")
    assert (ended.code, ended.out) == (2, "")
    assert '"command" must be a string' in ended.err


def test_schema(place: Place) -> None:
    assert place.run("config", "schema").json == schema.of_file()
