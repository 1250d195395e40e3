"""Every regular expression of the package takes time in proportion to its text, whatever the text is.

The expressions and the ways in which they are used are found in the source, so a new one is tested, too. The hostile
texts are made of the expression: what some of its parts match, many times, and then a character that fits nothing.
"""

import ast
import importlib
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]  # the parser that `re` itself uses
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType, ModuleType
from typing import Any

import pytest

import search_mcp

_PACKAGE = Path(search_mcp.__file__).parent
_USES = ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_ANCHORED = {"match": "match", "fullmatch": "fullmatch"}
"""Uses that begin at the beginning of a text only; the others do what `finditer` does."""
_FLAGS = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
"""Places of the flags among the arguments; 2 for the others."""
MADE_LATE = {
    "re.sub(self.refused, '_', whole)": "the profiles of known clients: one set of characters",
    "re.sub(self.client.variables, '${\\\\1}', text)": "known clients: one placeholder without a repeated part",
    "re.finditer(_pattern(text), text)": "two expressions that are tested, one after the other",
    "re.sub(_pattern(text), lambda match: self._value_or_source(match, path), text)": "the same",
    "re.compile(pattern)": "of a model, in a process with limits",
    "re.compile(f'{re.escape(_folded(name))}(-\\\\d+)?/')": "a text as it is, and a number behind it",
    're.compile(f"""\\\\s*;.*\\\\bextra == [\'"]{extra}[\'"].*""")': "the dependencies of our own package",
    "_compiled(controls)": "a set of characters",
    "re.finditer(re.escape(pair), word[0], re.IGNORECASE)": "a text as it is",
    "re.compile(f'\\\\b(?:{phrases})\\\\b', re.IGNORECASE)": "texts as they are",
    "re.search(pattern, model.lower())": "a table of our own, against the name of a model",
}
"""Expressions that are known only while the program runs, and why they are not tested."""
EVERYWHERE = ("${A:-", "$${", "?k", "&key=", "://a@", "/*", "//", '"\\', "'", "<a ", "[a](", "`", "\\", " ", "\n", "a")
"""Fragments for every expression."""
SHORT, LONG = 2_000, 64_000
SUSPECTS = 4
"""How many of the short texts, those that took longest, are tried as long ones."""
MOST_CPU_SECONDS = 0.5
"""For one long text; the slowest linear expression takes 0.04 s, the fastest quadratic one 2 s."""

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of CPU time")


def _modules() -> Iterator[tuple[ModuleType, ast.Module]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        yield importlib.import_module(name), ast.parse(path.read_text(encoding="utf-8"))


def _value(node: ast.expr, module: ModuleType) -> Any:
    try:
        return eval(compile(ast.Expression(node), "", "eval"), vars(module))  # our own source
    except (NameError, AttributeError, TypeError):
        return None


def _compiled(node: ast.expr, module: ModuleType) -> Any:
    """Return the expression that part of the source means."""
    if isinstance(node, ast.Call) and not node.args:  # a function that makes it on first use
        returned = getattr(_value(node.func, module), "__annotations__", {}).get("return")
        return _value(node, module) if "Pattern" in str(returned) else None
    is_simple = isinstance(node, ast.Name) or ast.unparse(node).startswith(("re.compile(", "_compiled("))
    return _value(node, module) if is_simple else None


def _with_flags(call: ast.Call, use: str, module: ModuleType) -> Any:
    pattern = _value(call.args[0], module)
    flags = [each.value for each in call.keywords if each.arg == "flags"] or call.args[_FLAGS.get(use, 2) :][:1]
    return None if pattern is None else re.compile(pattern, *(_value(each, module) for each in flags))


def _found() -> tuple[dict[re.Pattern[Any], set[str | None]], set[str]]:
    """Return all expressions with their uses, `None` for a search, and the code that makes others."""
    found: dict[re.Pattern[Any], set[str]] = {}
    late = set[str]()
    for module, tree in _modules():
        for value in vars(module).values():
            if isinstance(value, re.Pattern):
                found.setdefault(value, set())
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            made = ast.unparse(call.func)
            if made in {f"re.{use}" for use in _USES} or made == "_compiled":
                pattern, use = _with_flags(call, made.removeprefix("re."), module), made.removeprefix("re.")
                if pattern is None:
                    late.add(ast.unparse(call))
                    continue
            elif isinstance(call.func, ast.Attribute) and call.func.attr in _USES:
                pattern, use = _compiled(call.func.value, module), call.func.attr
            else:
                continue
            if isinstance(pattern, re.Pattern):
                found.setdefault(pattern, set()).add(use)
    return {
        pattern: {*map(_ANCHORED.get, uses - {"compile", "_compiled"})} or {None} for pattern, uses in found.items()
    }, late


# Texts that an expression almost matches


def _examples(part: tuple[Any, Any]) -> list[str]:
    kind, value = part
    match kind:
        case kinds.IN:
            return [each for each in "a1-_.:/=$%@ \t\n\"'`{[(*?&~é" if _is_in(value, each)][:3] or _first(value)
        case kinds.LITERAL | kinds.NOT_LITERAL | kinds.ANY:
            return [chr(value)] if kind is kinds.LITERAL else [each for each in "a -" if ord(each) != value]
        case kinds.MAX_REPEAT | kinds.MIN_REPEAT | kinds.POSSESSIVE_REPEAT:
            return [each * max(value[0], 1) for each in _runs(value[2])]
        case kinds.BRANCH:
            return [each for branch in value[1] for each in _runs(branch)[:2]][:12]
        case kinds.SUBPATTERN | kinds.ATOMIC_GROUP:
            return _runs(_inside(part)[0])
    return [""]


def _is_in(members: Sequence[Any], character: str) -> bool:
    tree = parser.SubPattern(parser.State(), [(kinds.IN, list(members))])
    return re._compiler.compile(tree).match(character) is not None  # type: ignore[attr-defined]


def _first(members: Sequence[Any]) -> list[str]:
    return [chr(value if kind is kinds.LITERAL else value[0]) for kind, value in members if kind is not kinds.CATEGORY]


def _runs(parts: Sequence[Any]) -> list[str]:
    """Return texts that parts in a row match: the first example of each, and others in its place."""
    examples = [_examples(each) or [""] for each in parts]
    texts = ["".join(each[0] for each in examples)]
    for place, others in enumerate(examples):
        texts += [
            "".join(other if place == at else each[0] for at, each in enumerate(examples)) for other in others[1:4]
        ]
    return texts


def _inside(part: tuple[Any, Any]) -> list[Any]:
    kind, value = part
    match kind:
        case kinds.MAX_REPEAT | kinds.MIN_REPEAT | kinds.POSSESSIVE_REPEAT:
            return [value[2]]
        case kinds.SUBPATTERN:
            return [value[3]]
        case kinds.BRANCH:
            return list(value[1])
        case kinds.ASSERT | kinds.ASSERT_NOT:
            return [value[1]]
        case kinds.ATOMIC_GROUP:
            return [value]
    return []


def _fragments(parts: Sequence[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what matches some parts in a row, at any depth, and what matches the parts before them."""
    for start in range(len(parts)):
        lead = before + _runs(parts[:start])[0]
        for end in range(start + 1, min(len(parts), start + 8) + 1):
            yield from ((lead, run) for run in _runs(parts[start:end]))
        for inner in _inside(parts[start]):
            yield from _fragments(inner, lead)


def _repeated(pattern: re.Pattern[Any]) -> set[tuple[str, str]]:
    """Return beginnings, each with a fragment to repeat after it."""
    found = {("", each) for each in EVERYWHERE}
    for lead, run in _fragments([*parser.parse(pattern.pattern, pattern.flags)]):
        found |= {(lead, run), ("", run), ("", lead + run), ("", f"{lead}{run} "), (lead, f"{run} ")}
    return {(lead, run) for lead, run in found if 0 < len(run) < 200}


class _TooSlow(Exception):
    pass


def _cpu_seconds(use: Callable[[Any], object], text: str | bytes) -> float:
    started = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_SECONDS)
    try:
        use(text)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - started


def _text(pattern: re.Pattern[Any], lead: str, run: str, length: int) -> Any:
    text = f"{lead}{run * (length // len(run))}\0"
    return text.encode() if isinstance(pattern.pattern, bytes) else text


def _too_slow(pattern: re.Pattern[Any], use: str | None) -> tuple[str, str] | None:
    """Return a beginning and a fragment with which an expression takes too long."""
    tried = getattr(pattern, use) if use else lambda text: deque(pattern.finditer(text), maxlen=0)
    taken: dict[tuple[str, str], float] = {}
    for length in (SHORT, LONG):
        texts = sorted(taken, key=lambda each: -taken[each])[:SUSPECTS] if taken else _repeated(pattern)
        for each in texts:
            try:
                taken[each] = _cpu_seconds(tried, _text(pattern, *each, length))
            except _TooSlow:
                return each
    return None


def test_every_expression_takes_time_in_proportion_to_its_text() -> None:
    def stop(signal: int, frame: FrameType | None) -> None:
        raise _TooSlow

    found, late = _found()
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        slow = {
            f"{use or 'search'} {pattern.pattern!r}": each
            for pattern, uses in found.items()
            for use in uses
            if (each := _too_slow(pattern, use)) is not None
        }
    finally:
        signal.signal(signal.SIGVTALRM, before)

    assert slow == {}
    assert late == {*MADE_LATE}
    assert len(found) > 150  # they were found
