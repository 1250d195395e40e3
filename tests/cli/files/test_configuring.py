"""`config`, and the schema that editors read."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from cli.conftest import Place
from search_mcp.cli.files import schema
from search_mcp.config import jsonc, parsing
from search_mcp.model.errors import ConfigError

SHIPPED = Path(__file__).parents[3] / "config"
REMEDY = "is not set; set it where search-mcp is started, or write ${NOT_SET:-default}"
FORM = 'the program, such as "npx", and put its arguments in "args"'
BROKEN = """{
"mcpServers": {
"bad": {"command": 3, "arg": []},
"unset": {"command": "${NOT_SET}"}
},
"settings": {"listing": "all"}
}"""


def accepts(file: Any) -> bool:
    try:
        parsing.parse(json.dumps(file), source="x", variables={}, home="/h", config_dir="/c", python="/p")
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
def test_the_schema_accepts_every_valid_file(path: tuple[str, ...]) -> None:
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


def test_exactly_the_keys_of_the_file_are_described() -> None:
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
    assert Path(place.run("config", "path").out.strip()) == place.config
    ended = place.run("config", "path", "--config", "nowhere.json")
    assert (ended.code, ended.out) == (1, f"{place.folder / 'nowhere.json'}\n")
    assert ended.err.startswith("That file does not exist yet. `search-mcp import`")
    ended = place.run("check", "--config", ".")
    assert ended.code == 2
    assert "this is a folder; name the file in it, such as mcp-servers.json" in ended.err


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        ({"command": "npx -y pkg"}, 'command: contains its arguments; write "command": "npx", "args": ["-y", "pkg"]'),
        (
            {"command": "npx", "args": ["-y pkg"]},
            'args: "-y ..." is one argument; write two: "-y" and the rest',
        ),
        ({"command": "npx --token sk-s3cr3t12345678901234567890 pkg"}, '"--token", "***", "pkg"]'),
        ({"command": "/opt/my tools/server"}, ""),
        ({"command": "node", "args": ["-e", "a b"]}, ""),
    ],
)
def test_words_that_a_shell_would_split(place: Place, entry: dict[str, Any], warning: str) -> None:
    place.configure({"one": entry})
    ended = place.run("config", "validate")
    assert ended.code == 0
    assert warning in " ".join(ended.err.split())
    assert "s3cr3t" not in ended.err
    assert bool(ended.err) == bool(warning)


def test_validate(place: Place) -> None:
    place.configure({"good": {"command": "x"}, "off": {"command": "${NOT_SET}", "enabled": False}})
    ended = place.run("config", "validate")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("mcp-servers.json: 2 servers, 1 enabled\n")
    place.configure({"bad": {"command": "${NOT_SET}"}, "good": {"comand": "x", "command": "x"}})
    ended = place.run("config", "validate")
    assert (ended.code, ended.out) == (1, "")
    problem, warning = ended.err.splitlines()
    assert problem.endswith("mcpServers.bad.command: environment variable NOT_SET, used in command, " + REMEDY)
    assert 'did you mean "command"?' in warning
    ended = place.run("config", "validate", "--json")
    assert (ended.code, ended.err) == (1, "")
    assert (ended.json["ok"], ended.json["faults"], len(ended.json["warnings"])) == (False, [], 1)
    assert [problem["key"] for problem in ended.json["problems"]] == ["mcpServers.bad.command"]


def test_validate_a_broken_file(place: Place) -> None:
    path = place.folder / "broken.json"
    path.write_text(BROKEN)
    ended = place.run("config", "validate", "--config", "broken.json")
    assert (ended.code, ended.out) == (2, "")
    assert [line.partition(f"{path}:")[::2] for line in ended.err.splitlines()] == [
        (
            "error: ",
            f'3: mcpServers.bad.command: "command" must be a string; write {FORM}',
        ),
        ("error: ", '6: settings.listing: "listing" must be "auto", "light", "full" or "search"; write "auto"'),
        ("error: ", f"4: mcpServers.unset.command: environment variable NOT_SET, used in command, {REMEDY}"),
        ("warning: ", '3: mcpServers.bad.arg: unknown key, ignored; did you mean "args"?'),
    ]
    ended = place.run("config", "validate", "--config", "broken.json", "--json")
    assert (ended.code, ended.err) == (2, "")
    assert ended.json["faults"][1] == {
        "file": str(path),
        "line": 6,
        "key": "settings.listing",
        "problem": '"listing" must be "auto", "light", "full" or "search"',
        "remedy": 'write "auto"',
    }
    assert [len(ended.json[each]) for each in ("faults", "problems", "warnings")] == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "problem", "line"), [(None, "there is no such file", None), ('{"a"\n', "not valid JSON", 2)]
)
def test_validate_a_file_that_is_not_a_configuration(
    place: Place, text: str | None, problem: str, line: int | None
) -> None:
    if text is not None:
        (place.folder / "broken.json").write_text(text)
    ended = place.run("config", "validate", "--config", "broken.json", "--json")
    assert (ended.code, ended.err) == (2, "")
    (fault,) = ended.json["faults"]
    assert fault["problem"].startswith(problem)
    assert (ended.json["ok"], fault["line"]) == (False, line)
    ended = place.run("config", "validate", "--config", "broken.json")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_other_commands_name_the_first_fault_and_say_where_the_others_are(place: Place) -> None:
    path = place.folder / "broken.json"
    path.write_text(BROKEN)
    for words in (["list"], ["serve"]):
        ended = place.run(*words, "--config", "broken.json")
        assert (ended.code, ended.out) == (2, "")
        assert f'{path}:3: mcpServers.bad.command: "command" must be a string' in ended.err
        assert ended.err.endswith(f"(and 1 more: search-mcp config validate --config {path} names all)\n")


def test_schema(place: Place) -> None:
    assert place.run("config", "schema").json == schema.of_file()
