"""The imports that a module may have, and the rules for the content of all modules.

The package is a row of rooms, its folders: a module imports from its own room and from earlier ones. An import against
this order needs a row in `EXCEPTIONS` with its reason. A row that is not needed fails the test too.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import search_mcp
from search_mcp.dialects import names

PACKAGE = Path(search_mcp.__file__).parent

ROOMS = (
    *(
        "root",
        "wire",
        "model",
        "config",
        "http",
        "catalog",
        "auth",
        "dialects",
        "search",
        "semantic",
        "backends",
        "pool",
    ),
    *("usage", "own_tools", "results", "gateway", "fronts", "engine", "clients", "cli", "page"),
)
FEWER_ROOMS = {
    # rooms that import from these others only
    "search": {"wire", "model"},
    "semantic": {"root", "wire", "model", "config", "http", "search"},
    "clients": {"root", "wire", "model", "config", "catalog"},
    "dialects": {"wire", "model", "catalog"},
    "auth": {"root", "wire", "model", "config", "http"},
    "http": {"model", "config"},
}
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Reason for each exception, by importing and imported module."""
STARTER = "__main__"
"""Module that starts every command; it may import from every room."""
CHOOSE_CHANNELS = {"backends.dependencies", "backends.transports"}
"""Modules of `backends/` that may import from `backends/process/`."""


# Imports


@cache
def modules() -> dict[str, ast.Module]:
    """Parse every module; the keys are names inside the package, empty for the package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


@cache
def imported(module: ast.Module) -> tuple[str, ...]:
    """Return the full names of imported modules, or of imported objects in them, also of imports inside functions."""
    found: list[str] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(found)


def named(module: ast.Module) -> Iterator[ast.expr]:
    """Yield the arguments of `import_module`, as expressions."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            # `import_module(name)`, or `partial(import_module, name)`
            words = [node.func, *node.args]
            for called, name in pairwise(words):
                if ast.unparse(called).rpartition(".")[2] == "import_module":
                    yield name


def imported_first(module: ast.Module) -> tuple[str, ...]:
    """Return the same of the imports that are carried out when the module is loaded."""
    return imported(ast.Module([node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)], []))


def dependencies_of(names: Iterable[str]) -> frozenset[str]:
    """Return the modules of the package among these names."""
    ours = (full.removeprefix("search_mcp.") for full in names if full.startswith("search_mcp."))
    return frozenset(full if full in modules() else full.rpartition(".")[0] for full in ours) - {""}


@cache
def dependencies(name: str) -> frozenset[str]:
    """Return the modules of the package that a module imports."""
    return dependencies_of(imported(modules()[name])) - {name}


def room(name: str) -> str:
    first = name.partition(".")[0]
    return first if first and (PACKAGE / first).is_dir() else "root"


def may_import(importing: str, imported_room: str) -> bool:
    if importing in FEWER_ROOMS:
        return imported_room in {importing, *FEWER_ROOMS[importing]}
    return ROOMS.index(importing) >= ROOMS.index(imported_room)


def test_every_module_has_a_room() -> None:
    assert {room(name) for name in modules()} == set(ROOMS)


def test_imports_point_to_earlier_rooms() -> None:
    wrong = {
        (name, other)
        for name in modules()
        for other in dependencies(name)
        if name != STARTER and not may_import(room(name), room(other))
    }
    assert sorted(wrong - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - wrong) == []


def test_imports_have_no_cycle() -> None:
    try:
        tuple(TopologicalSorter({name: dependencies(name) for name in modules()}).static_order())
    except CycleError as exc:
        pytest.fail(f"import cycle: {' -> '.join(reversed(exc.args[1]))}")


def test_a_name_that_is_composed_for_an_import_stays_in_its_room() -> None:
    """Such a name identifies no module to check; it must begin with the name of its room."""
    for importing, module in modules().items():
        for name in named(module):
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                assert isinstance(name, ast.JoinedStr), importing
                beginning = name.values[0]
                assert isinstance(beginning, ast.Constant), importing
                assert beginning.value == f"search_mcp.{room(importing)}.", importing


def test_only_the_choice_of_a_channel_imports_processes() -> None:
    process = "backends.process."
    backends = [name for name in modules() if name.startswith("backends.") and not name.startswith(process)]
    found = {name for name in backends if any(f"{other}.".startswith(process) for other in dependencies(name))}
    assert found == CHOOSE_CHANNELS


def test_nothing_loads_the_http_client_before_it_is_needed() -> None:
    """It takes longer than the start of `serve`."""
    loaded: set[str] = set()
    waiting = ["fronts.serve", "engine.process", "cli.app"]
    while waiting:
        name = waiting.pop()
        loaded.add(name)
        assert not [each for each in imported_first(modules()[name]) if each.startswith("httpx2")], name
        waiting += dependencies_of(imported_first(modules()[name])) - loaded


# Rules for the content

Search = Callable[[ast.Module], Iterator[str]]


def protocol_words(module: ast.Module) -> Iterator[str]:
    """Yield the strings, docstrings excepted, that contain a method, a version or a reserved key of the protocol."""
    docstrings = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docstrings:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if text in (names.INITIALIZE, names.PING) or any(part in text for part in PROTOCOL_PARTS):
                yield text


def strings(value: object) -> Iterator[str]:
    """Yield every string in a constant of `names`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (word for pair in value.items() for each in pair for word in strings(each))
    elif isinstance(value, tuple | frozenset):
        yield from (word for each in value for word in strings(each))


CONSTANTS = {word for key, value in vars(names).items() if key.isupper() for word in strings(value)}
METHODS = {word for word in CONSTANTS if re.fullmatch(r"[a-z]+(/[A-Za-z_]+)+", word)}
VERSIONS = {*names.LEGACY, *names.MODERN}
PROTOCOL_PARTS = [*METHODS, *VERSIONS, "notifications/", names.RESULT_TYPE, "io.modelcontextprotocol/"]


def standard_output(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.__stdout__"):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    yield from (full for full in imported(module) if full in ("sys.stdout", "sys.__stdout__"))


def imports_by_string(module: ast.Module) -> Iterator[str]:
    """Find imports by a constant name, which neither a type checker nor a reader follows."""
    yield from (ast.unparse(name) for name in named(module) if isinstance(name, ast.Constant))


def prints(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id == "print":
            yield f"line {node.lineno}: print"


def asked_pipes(module: ast.Module) -> Iterator[str]:
    """Find `is_reading`, which the pipes of Python 3.11.2, that of Debian 12, do not have; its sockets do."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and node.attr == "is_reading":
            yield f"line {node.lineno}: is_reading"


def orphaned_tasks(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in ("create_task", "ensure_future", "run_coroutine_threadsafe"):
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


def threads_to_join(module: ast.Module) -> Iterator[str]:
    """Find worker threads for which the end of the process waits."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and node.attr in ("to_thread", "run_in_executor"):
            yield f"line {node.lineno}: {node.attr}"


def imports_of(*libraries: str) -> Search:
    """Return a search for imports of these libraries."""
    return lambda module: (full for full in imported(module) if full.partition(".")[0] in libraries)


TIME_AND_CHANCE = ("time", "datetime", "random", "secrets")
INPUT_AND_OUTPUT = ("logging", "asyncio", "anyio", "threading", "subprocess", "socket")


def impurities(module: ast.Module) -> Iterator[str]:
    yield from imports_of(*TIME_AND_CHANCE, *INPUT_AND_OUTPUT)(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith):
            yield f"line {node.lineno}: {type(node).__name__}"
        elif isinstance(node, ast.Name) and node.id in ("open", "input"):
            yield f"line {node.lineno}: {node.id}"


@dataclass(frozen=True)
class Rule:
    search: Search
    violation: str
    """Source text that breaks the rule."""
    except_in: tuple[str, ...] = ()
    """Rooms and modules where the rule does not apply."""
    only_in: tuple[str, ...] = ROOMS
    """Rooms where the rule applies."""


PURE_ROOMS = ("wire", "model", "config", "catalog", "auth", "search")
IMPURE_MODULES = (
    *("auth.access", "auth.callback", "auth.fetching", "auth.interactive", "auth.renewal", "auth.store"),
    "wire.decoders",  # a lock
    "wire.peer",  # waits for answers, and logs
    "wire.pending",  # logs
    "wire.write_buffer",  # waits for turns of the event loop
    "config.gate",  # logs
    "config.location",  # reads files
    "config.scanning",  # reads folders
    "config.trust",  # reads and writes files
    "config.watches",  # events for tasks that follow the same files
    "config.watching",  # follows edits of files
)

RULES = {
    # A relay repeats a few words in a module of its own, because it loads the standard library only.
    "only dialects know the protocol's words": Rule(
        protocol_words, 'x = b\'{"method":"tools/call"}\'', ("dialects", "engine.open_requests")
    ),
    "only standard_streams touches sys.stdout": Rule(
        standard_output, "sys.stdout.write('x')", ("fronts.standard_streams",)
    ),
    "no pipe is asked whether it is read": Rule(asked_pipes, "transport.is_reading()", ("engine.connection",)),
    "an import is a statement": Rule(imports_by_string, "import_module('search_mcp.x')"),
    "only commands print": Rule(prints, "f(print)", ("cli",)),
    "every task has an owner": Rule(orphaned_tasks, "asyncio.create_task(f())"),
    "no thread holds up the end": Rule(threads_to_join, "anyio.to_thread.run_sync(f)"),
    "pure is pure": Rule(impurities, "from time import monotonic", IMPURE_MODULES, PURE_ROOMS),
    "only wire knows the JSON library": Rule(
        imports_of("msgspec"), "import msgspec.json", ("wire.structs", "wire.decoders", "wire.payload", "wire.messages")
    ),
    "only commands load their libraries": Rule(
        imports_of("rich", "typer", "click"), "from rich.table import Table", ("cli",)
    ),
    "only the editors of a format load its library": Rule(
        imports_of("tomlkit", "ruamel"), "import ruamel.yaml", ("clients.toml_text", "clients.yaml_text")
    ),
}

REVISIONS = "the revisions that a user may pin in the configuration are a Literal there"
SHOWN = "the demonstration shows what a client sends"
ALLOWED = {
    # rule: {(module, finding): reason}
    "only dialects know the protocol's words": {
        **{("config.schema", version): REVISIONS for version in VERSIONS},
        **{("cli.demonstration", method): SHOWN for method in ("tools/call", "tools/list")},
    },
}


OF_RELAYS = (
    *("engine.relay", "engine.lines", "engine.open_requests", "engine.setting", "engine.hello"),
    *("engine.joining", "engine.meeting", "engine.starting", "fronts.standard_streams"),
)
"""Modules that a process loads that serves through a shared engine."""


def test_a_relay_loads_the_standard_library_and_its_own_modules_only() -> None:
    for name in OF_RELAYS:
        first = imported_first(modules()[name])
        theirs = {each for each in first if each.partition(".")[0] not in sys.stdlib_module_names}
        allowed = {f"search_mcp.{each}" for each in (*OF_RELAYS, "engine", "fronts", "__version__")}
        assert {each for each in theirs if not {each, each.rpartition(".")[0]} & allowed} == set(), name


@pytest.mark.parametrize("label", RULES)
def test_every_module_keeps_the_rule(label: str) -> None:
    rule, allowed = RULES[label], ALLOWED.get(label, {})
    found = {
        (name, what)
        for name, module in modules().items()
        if room(name) in rule.only_in and not {name, room(name)} & {*rule.except_in}
        for what in rule.search(module)
    }
    assert sorted(found - allowed.keys()) == []
    assert sorted(allowed.keys() - found) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_finds_its_violation(rule: Rule) -> None:
    assert list(rule.search(ast.parse(rule.violation)))


INNOCENT = '''
"""Decides about `tools/call` and `resultType` of 2025-11-25; knows no sys.stdout, prints nothing."""
import json
from collections.abc import Iterator
PATH = "a/b"
'''


def test_no_rule_finds_anything_in_an_innocent_module() -> None:
    assert [label for label, rule in RULES.items() if list(rule.search(ast.parse(INNOCENT)))] == []


def test_the_methods_are_read_from_names() -> None:
    assert {"tools/call", "notifications/cancelled", "server/discover", "elicitation/create"} <= METHODS
