"""STYLE, section 2, executed: which module may know which, and what none of them may do.

A module's room is its package. An import against the order of the rooms needs a row in `EXCEPTIONS` with its
reason, and a row that nothing needs any more fails too.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import search_mcp
from search_mcp.dialects import names

PACKAGE = Path(search_mcp.__file__).parent

# Imports point from a later room to an earlier one; inside a room, anywhere but in a circle.
ROOMS = [
    *("root", "wire", "model", "config", "catalog", "dialects", "search"),
    *("backends", "gateway", "fronts", "clients", "cli"),
]
LEAVES = {
    # rooms that know only these others
    "search": {"wire", "model"},
    "clients": {"root", "wire", "model", "config", "catalog"},
    "dialects": {"wire", "model", "catalog"},
}
TOP = {"__main__"}  # outside of every room: it starts whatever was asked for

EXCEPTIONS: dict[tuple[str, str], str] = {}  # an import against the order, and its reason


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its name without the package's, parsed."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def imported(module: ast.Module) -> Iterator[str]:
    """The full names of what a module imports: of modules, or of things in them."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(module: ast.Module) -> Iterator[str]:
    """The full names of what a module imports by name, with `import_module`, where that is written out."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            if isinstance(name, ast.Constant):
                yield str(name.value)
            else:
                assert isinstance(name, ast.JoinedStr), "the name of a module is written where it is imported"
                assert ast.unparse(name.values[0])  # modules of the package that it stands in: no other room


@cache
def knows(name: str) -> set[str]:
    """The modules of ours that one imports."""
    found = [*imported(modules()[name]), *named(modules()[name])]
    ours = (full.removeprefix("search_mcp.") for full in found if full.startswith("search_mcp."))
    return {full if full in modules() else full.rpartition(".")[0] for full in ours} - {"", name}


def is_in(name: str, patterns: list[str]) -> bool:
    return any(name == each or (each.endswith(".*") and f"{name}.".startswith(each[:-1])) for each in patterns)


def room(name: str) -> str:
    first = name.partition(".")[0]
    return first if first and (PACKAGE / first).is_dir() else "root"


def may(name: str, other: str) -> bool:
    here, there = room(name), room(other)
    if here in LEAVES and there != here:
        return there in LEAVES[here]
    return ROOMS.index(here) >= ROOMS.index(there)


def test_every_module_has_a_room() -> None:
    assert sorted({room(name) for name in modules()} - set(ROOMS)) == []


def test_imports_point_to_earlier_rooms() -> None:
    wrong = [
        (name, other) for name in modules() if name not in TOP for other in sorted(knows(name)) if not may(name, other)
    ]
    assert [pair for pair in wrong if pair not in EXCEPTIONS] == []
    assert sorted(set(EXCEPTIONS) - set(wrong)) == []


KNOW_PROCESSES = {"backends.dependencies", "backends.transports"}  # they choose the kind of channel


def test_a_supervisor_knows_a_channel_and_no_process() -> None:
    process = "backends.process."
    backends = [name for name in modules() if name.startswith("backends.") and not name.startswith(process)]
    found = {name for name in backends if any(f"{other}.".startswith(process) for other in knows(name))}
    assert found == KNOW_PROCESSES


def test_there_are_no_cycles() -> None:
    """Of modules; what one loads by name when it needs it counts."""
    try:
        tuple(TopologicalSorter({name: knows(name) for name in modules()}).static_order())
    except CycleError as exc:
        pytest.fail(f"imports in a circle: {' -> '.join(reversed(exc.args[1]))}")


# What none of them may do


def walk_functions(module: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from ast.walk(node)


def texts(module: ast.Module) -> Iterator[ast.Constant]:
    """Every string and bytes literal that is not a docstring."""
    remarks = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in remarks:
            yield node


def words(given: object) -> Iterator[str]:
    """Every string in a value of `names`."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        yield from (word for pair in given.items() for each in pair for word in words(each))
    elif isinstance(given, tuple | frozenset):
        yield from (word for each in given for word in words(each))


SPELT = {word for key, value in vars(names).items() if key.isupper() for word in words(value)}
METHODS = {word for word in SPELT if re.fullmatch(r"[a-z]+(/[A-Za-z_]+)+", word)}
VERSIONS = {*names.LEGACY, *names.MODERN}
PARTS = [*METHODS, *VERSIONS, "notifications/", names.RESULT_TYPE, "io.modelcontextprotocol/"]


def protocol_words(module: ast.Module) -> Iterator[str]:
    for node in texts(module):
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
        if text in (names.INITIALIZE, names.PING) or any(part in text for part in PARTS):
            yield text


def standard_output(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.__stdout__"):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    yield from (full for full in imported(module) if full in ("sys.stdout", "sys.__stdout__"))


def inner_imports(module: ast.Module) -> Iterator[str]:
    for node in walk_functions(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def prints(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id == "print":
            yield f"line {node.lineno}: print"


def orphaned_tasks(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in ("create_task", "ensure_future", "run_coroutine_threadsafe"):
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


IMPURE_LIBRARIES = {
    "time",
    "random",
    "secrets",
    "datetime",
    "logging",
    "asyncio",
    "anyio",
    "threading",
    "subprocess",
    "socket",
}


def impurities(module: ast.Module) -> Iterator[str]:
    yield from (full for full in imported(module) if full.partition(".")[0] in IMPURE_LIBRARIES)
    for node in ast.walk(module):
        if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith):
            yield f"line {node.lineno}: {type(node).__name__}"
        elif isinstance(node, ast.Name) and node.id in ("open", "input"):
            yield f"line {node.lineno}: {node.id}"


def json_library(module: ast.Module) -> Iterator[str]:
    yield from (full for full in imported(module) if full.partition(".")[0] == "msgspec")


def command_libraries(module: ast.Module) -> Iterator[str]:
    yield from (full for full in imported(module) if full.partition(".")[0] in ("rich", "typer", "click"))


def file_libraries(module: ast.Module) -> Iterator[str]:
    yield from (full for full in imported(module) if full.partition(".")[0] in ("tomlkit", "ruamel"))


@dataclass(frozen=True)
class Rule:
    finds: Callable[[ast.Module], Iterator[str]]
    example: str
    """Source that breaks it."""
    holds_in: list[str]
    """Empty: everywhere."""
    but_not_in: list[str]


PURE = ["wire.*", "model.*", "config.*", "catalog.*", "search.*"]
IMPURE = [
    # with what each needs of the world
    "wire.peer",  # waits, for `ask`; logs
    "wire.write_buffer",  # the event loop's turns
    "config.gate",  # logs
    "config.location",  # files
    "config.trust",  # files
    "config.watching",  # files
]

JSON = ["wire.structs", "wire.payload", "wire.messages"]

RULES = {
    "only dialects know the protocol's words": Rule(
        protocol_words, 'x = b\'{"method":"tools/call"}\'', [], ["dialects.*"]
    ),
    "only stdio touches sys.stdout": Rule(standard_output, "sys.stdout.write('x')", [], ["fronts.stdio"]),
    "imports are at module top": Rule(inner_imports, "def f():\n if x:\n  import y", [], []),
    "only commands print": Rule(prints, "f(print)", [], ["cli.*"]),
    "every task has an owner": Rule(orphaned_tasks, "asyncio.create_task(f())", [], []),
    "pure is pure": Rule(impurities, "from time import monotonic", PURE, IMPURE),
    "only wire knows the JSON library": Rule(
        json_library, "import msgspec.json", [], ["wire.structs", "wire.payload", "wire.messages"]
    ),
    "only commands load their libraries": Rule(command_libraries, "from rich.table import Table", [], ["cli.*"]),
    "only the editors of a format load its library": Rule(
        file_libraries, "from ruamel.yaml import YAML", [], ["clients.toml_text", "clients.yaml_text"]
    ),
}

REVISIONS = "a user pins a revision in the configuration; which ones there are is checked there, by a Literal"
SHOWN = "the demonstration names to a person what a client sends"
ALLOWED = {
    # rule: {(module, what was found): why}
    "only dialects know the protocol's words": {
        **{("config.schema", version): REVISIONS for version in VERSIONS},
        **{("cli.demonstration", method): SHOWN for method in ("tools/call", "tools/list")},
    },
}


@pytest.mark.parametrize("label", RULES)
def test_rules(label: str) -> None:
    rule, allowed = RULES[label], ALLOWED.get(label, {})
    found = {
        (name, what)
        for name, module in modules().items()
        if (not rule.holds_in or is_in(name, rule.holds_in)) and not is_in(name, rule.but_not_in)
        for what in rule.finds(module)
    }
    assert sorted(found - set(allowed)) == []
    assert sorted(set(allowed) - found) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rules_find_what_breaks_them(rule: Rule) -> None:
    assert list(rule.finds(ast.parse(rule.example)))


INNOCENT = '''
"""Decides about `tools/call` and `resultType` of 2025-11-25; knows no sys.stdout, prints nothing."""
import json
from collections.abc import Iterator
PATH = "a/b"
'''


def test_rules_leave_the_innocent_alone() -> None:
    assert [label for label, rule in RULES.items() if list(rule.finds(ast.parse(INNOCENT)))] == []


def test_the_vocabulary_is_read_off_names() -> None:
    assert {"tools/call", "notifications/cancelled", "server/discover", "elicitation/create"} <= METHODS
