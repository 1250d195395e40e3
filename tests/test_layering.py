"""STYLE, section 2, executed: which module may know which, and what none of them may do.

Everything allowed is data here. A new module needs a place in `GROUPS`; whatever goes against the order needs
a row in `EXCEPTIONS` with its reason, and a row that nothing needs any more fails too.
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

# Imports point from a later group to an earlier one. `x.*` is everything in `x`, its `__init__` included.
GROUPS = {
    "wire": ["jsonrpc"],
    "facts": ["errors", "profiles", "model", "visible"],
    "pure": [
        "inflight",
        "config",
        "diagnosis",
        "placeholders",
        "secrecy",
        "jsonc",
        "catalog",
        "definitions",
        "list_limits",
        "about",
        "schemas",
        "arguments",
        "views",
        "resources",
        "suggest",
        "baseline",
        "search.*",
        "backend.lifecycle",
        "backend.limit",
        "backend.environment",
        "dialects.names",
        "dialects.detect",
    ],
    "conversation": ["dialects.*"],
    "shell": [
        "peer",
        "stdio",
        "cache",
        "trust",
        "approvals",
        "gate",
        "files",
        "errands",
        "outlet",
        "edits",
        "logs",
        "backend.process",
        "backend.guardian",
        "backend.jobs",
        "backend.journal",
        "backend.last_uses",
    ],
    "actors": ["backend.*", "tools", "tool_index", "tasks", "awaited", "presentation", "router", "front"],
    "edge": ["aggregate", "server", "__main__", "cli.*", "clients.*"],
}
ORDER = list(GROUPS)
BARE = {"", "backend"}  # packages whose `__init__` holds no more than a docstring and the version: anybody may

WITHIN = {
    # inside a group: who may import whom
    "model": ["errors", "profiles"],
    "config": ["jsonc", "placeholders", "secrecy"],
    "placeholders": ["jsonc", "secrecy"],
    "diagnosis": ["config", "jsonc", "placeholders"],
    "catalog": ["config", "definitions"],
    "about": ["catalog", "config", "views"],
    "arguments": ["catalog", "config", "schemas", "views"],
    "views": ["catalog", "definitions", "schemas", "suggest"],
    "resources": ["catalog"],
    "search.*": ["search.*"],
    "dialects.detect": ["dialects.names"],
    "dialects.front": ["dialects"],
    "dialects.front_legacy": ["dialects", "dialects.asking", "dialects.front", "dialects.params", "dialects.task_ids"],
    "dialects.parked": ["dialects", "dialects.asking", "dialects.params"],
    "dialects.subscription": ["dialects", "dialects.params"],
    "dialects.front_modern": [
        "dialects",
        "dialects.front",
        "dialects.params",
        "dialects.parked",
        "dialects.subscription",
        "dialects.asking",
    ],
    "dialects.back": ["dialects.asking", "dialects.params"],
    "dialects.back_legacy": ["dialects.asking", "dialects.back", "dialects.params", "dialects.task_ids"],
    "dialects.back_modern": ["dialects.asking", "dialects.back", "dialects.params"],
    "dialects.opening": ["dialects", "dialects.back_legacy", "dialects.back_modern"],
    "cache": ["files"],
    "trust": ["files"],
    "approvals": ["files"],
    "gate": ["approvals"],
    "stdio": ["outlet"],
    "backend.process": ["backend.guardian", "backend.jobs", "backend.journal", "errands", "outlet"],
    "backend.journal": ["errands"],
    "backend.last_uses": ["errands"],
    "backend.known": ["backend.surroundings"],
    "backend.life": ["backend.surroundings"],
    "backend.supervisor": ["backend.known", "backend.life", "backend.surroundings"],
    "presentation": ["tools"],
    "router": ["awaited", "presentation", "tasks", "tools"],
    "server": ["aggregate"],
    "clients.*": ["clients.*"],
    "cli.*": ["cli.*", "clients.*", "server", "aggregate"],
}

SPEAKS = (
    "a dialect speaks through its peer: it answers, asks and notifies, and hands over what to send when it gives up"
)
EXCEPTIONS = {
    # against the order: who imports whom, and why that is right
    ("dialects.front", "peer"): "progress is reported to a request only while the peer holds it open",
    ("dialects.params", "peer"): "a cancellation, read alike in both eras, is the peer's to carry out",
    ("dialects.front_legacy", "peer"): SPEAKS,
    ("dialects.front_modern", "peer"): SPEAKS,
    ("dialects.subscription", "peer"): SPEAKS,
    ("dialects.back_legacy", "peer"): SPEAKS,
    ("dialects.back_modern", "peer"): SPEAKS,
    ("dialects.opening", "peer"): "a backend is opened by a conversation, and the conversation is the peer's",
}


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


@cache
def knows(name: str) -> set[str]:
    """The modules of ours that one imports."""
    ours = (full.removeprefix("search_mcp.") for full in imported(modules()[name]) if full.startswith("search_mcp."))
    return {full if full in modules() else full.rpartition(".")[0] for full in ours} - BARE


def is_in(name: str, patterns: list[str]) -> bool:
    return any(name == each or (each.endswith(".*") and f"{name}.".startswith(each[:-1])) for each in patterns)


def group(name: str) -> str | None:
    """The group of a module; one that is listed by its own name before one that takes in its package."""
    exact = [label for label, patterns in GROUPS.items() if name in patterns]
    return next(iter(exact + [label for label, patterns in GROUPS.items() if is_in(name, patterns)]), None)


def may(name: str, other: str) -> bool:
    here, there = group(name), group(other)
    assert here is not None, f"{name} has no place in GROUPS"
    assert there is not None, f"{other} has no place in GROUPS"
    if here == there:
        return any(is_in(name, [who]) and is_in(other, whom) for who, whom in WITHIN.items())
    return ORDER.index(here) > ORDER.index(there)


def test_every_module_has_a_place() -> None:
    assert [name for name in modules() if name not in BARE and group(name) is None] == []


def test_imports_point_to_earlier_groups() -> None:
    wrong = [
        (name, other) for name in modules() if name not in BARE for other in sorted(knows(name)) if not may(name, other)
    ]
    assert [pair for pair in wrong if pair not in EXCEPTIONS] == []
    assert sorted(set(EXCEPTIONS) - set(wrong)) == []


def test_there_are_no_cycles() -> None:
    try:
        tuple(TopologicalSorter({name: knows(name) for name in modules()}).static_order())
    except CycleError as exc:
        pytest.fail(f"imports in a circle: {' -> '.join(reversed(exc.args[1]))}")


def test_bare_packages_are_bare() -> None:
    for name in BARE:
        assert list(imported(modules()[name])) == []


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


IMPURE = {"time", "random", "secrets", "datetime", "logging", "asyncio", "anyio", "threading", "subprocess", "socket"}


def impurities(module: ast.Module) -> Iterator[str]:
    yield from (full for full in imported(module) if full.partition(".")[0] in IMPURE)
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


PURE = [pattern for label in ("wire", "facts", "pure") for pattern in GROUPS[label]]

RULES = {
    "only dialects know the protocol's words": Rule(
        protocol_words, 'x = b\'{"method":"tools/call"}\'', [], ["dialects.*"]
    ),
    "only stdio touches sys.stdout": Rule(standard_output, "sys.stdout.write('x')", [], ["stdio"]),
    "imports are at module top": Rule(inner_imports, "def f():\n if x:\n  import y", [], []),
    "only commands print": Rule(prints, "f(print)", [], ["cli.*"]),
    "every task has an owner": Rule(orphaned_tasks, "asyncio.create_task(f())", [], []),
    "pure is pure": Rule(impurities, "from time import monotonic", PURE, []),
    "only jsonrpc knows the JSON library": Rule(json_library, "import msgspec.json", [], ["jsonrpc"]),
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
        **{("config", version): REVISIONS for version in VERSIONS},
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
