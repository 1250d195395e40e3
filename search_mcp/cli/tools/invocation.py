"""`call`: the result of a tool, for a person or a file.

Decides what is saved. Binary data is never written to a terminal.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp.catalog.signature import signature
from search_mcp.cli import completion, output
from search_mcp.cli.command_cache import CachedEras
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG, Problem, of_call
from search_mcp.cli.session import Session, owners, read_cache, run, run_alone
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tools import engine_calls
from search_mcp.cli.tools.arguments import Word, fit, read, refuse_unknown
from search_mcp.cli.tools.description import described
from search_mcp.cli.tools.results import NO_CONTENT, NO_MESSAGE, Content, ToolResult, read_result, size_of
from search_mcp.config.schema import Config
from search_mcp.model.calls import InputRequired, Outcome
from search_mcp.model.names import Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, Raw


@takes("config", "client", "servers", "as_json", "debug")
def call(
    options: Options,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of a tool, as server.tool or as a client shows it.",
            autocompletion=completion.tool_names,
        ),
    ],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE | KEY:=JSON | '{...}' | -]...",
            help="Arguments: key=value, converted to the type in the tool's schema; key:=JSON; or one JSON object. "
            "- reads the object from stdin.",
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--output", metavar="PATH", help="Write images/binary results (or the text) to this file."),
    ] = None,
) -> int:
    """Call a tool and show its result."""
    screen = options.screen
    given, words = read(pairs or [], sys.stdin.read)
    if target is not None:
        output.check(target)
    loaded, _ = options.configuration()

    needed = owners(loaded, options.profile, [name])
    outcome: Outcome | None = None
    if needed == loaded:  # no server is known to be the only one with this tool
        outcome = read_cache(loaded, options.profile, lambda session: session.ambiguity(name))
    if outcome is None:
        outcome = _through_engine(options, needed, name, given, words)
    if outcome is None:
        outcome = run(needed, options.profile, CachedEras, partial(_invoke, name, given, words, screen))
    if isinstance(outcome, WireError) and options.as_json:
        screen.json({"error": outcome.error_object()})
    body = body_of(outcome, name, loaded)
    if not options.as_json:
        return show(body, target, screen)
    screen.raw_json(body)
    result = read_result(body)
    if target is not None:
        save(result, target, screen)
    return WRONG if result.is_error else FINE


def body_of(outcome: Outcome, name: str, config: Config) -> Raw:
    """Return the body of a result.

    Raises:
        Problem: the outcome is no result.
    """
    if isinstance(outcome, WireError):
        raise of_call(outcome, name, config.servers)
    if isinstance(outcome, InputRequired):
        raise Problem(f"{name} asks the user a question, which works only in an AI client", "call it from there")
    return payload.encode(outcome.body)


def _through_engine(
    options: Options, config: Config, name: str, given: Fields, words: Sequence[Word]
) -> Outcome | None:
    """Have the shared engine call a tool that is cached; `None` if it is not, or if no engine runs it.

    Raises:
        Misuse: an argument does not fit the tool's schema.
    """
    item = read_cache(config, options.profile, lambda session: session.find(name))
    joined = engine_calls.join(options.config, config, item.server) if item is not None else None
    if item is None or joined is None:
        return None
    client = engine_calls.Client(joined, item.server, config.settings.max_message_bytes)
    arguments = fitted(name, given, words, item.input_schema)
    outcome = run_alone(lambda: _showing_progress(partial(client.call, item.name), name, arguments, options.screen))
    # The engine's words are for a model: this command tries itself, and says the reason to a person.
    return None if engine_calls.did_not_run(outcome) else outcome


async def _invoke(name: str, given: Fields, words: Sequence[Word], screen: Terminal, session: Session) -> Outcome:
    """Call a tool of the servers that this command has started.

    Raises:
        Misuse: an argument does not fit the tool's schema.
    """
    with screen.progress(session.awaited):
        await session.settle([Kind.TOOLS])
    tool = described(session, name)
    arguments = fitted(name, given, words, tool.input_schema if tool is not None else {})
    call = partial(session.call, tool.name if tool is not None else name)
    return await _showing_progress(call, name, arguments, screen)


def fitted(name: str, given: Fields, words: Sequence[Word], schema: Any) -> Fields:
    """Convert the arguments of a tool to the types in the tool's schema.

    Raises:
        Misuse: one does not fit.
    """
    usage = signature(name, schema)
    arguments = {**given, **fit(words, schema, usage)}
    refuse_unknown(arguments, schema, usage)
    return arguments


async def _showing_progress(
    call: Callable[[Fields, Callable[[Fields], None]], Awaitable[Outcome]],
    name: str,
    arguments: Fields,
    screen: Terminal,
) -> Outcome:
    latest = [f"calling {name}"]

    def report(progress: Fields) -> None:
        latest.append(f"{name}: {_progress({key: payload.value(raw) for key, raw in progress.items()})}")
        del latest[:-1]

    with screen.progress(lambda: latest[-1]):
        return await call(arguments, report)


def _progress(fields: Mapping[str, Any]) -> str:
    done, total, message = fields.get("progress"), fields.get("total"), fields.get("message")
    amount = f"{done}/{total}" if total is not None else f"{done}"
    return f"{amount} {message}" if isinstance(message, str) and message else amount


def show(body: Raw, target: Path | None, terminal: Terminal) -> int:
    """Show a result to a person, or save it; returns the exit code."""
    result = read_result(body)
    if result.is_error:
        terminal.error("\n".join(map(_written, result.parts)) or NO_MESSAGE)
        return WRONG
    shown = result.parts
    if target is not None:
        save(result, target, terminal)
        shown = [part for part in shown if part.data is None] if result.pieces else []
    for part in shown:
        terminal.text(_written(part))
    if target is None and result.shown_structured is not None:
        terminal.json(result.shown_structured)
    elif target is None and not result.parts:
        terminal.note(NO_CONTENT)
    return FINE


def _written(part: Content) -> str:
    return part.text if part.data is None else f"[{part.text}; save it with --output PATH]"


def save(result: ToolResult, target: Path, terminal: Terminal) -> None:
    """Write the images and other binary data of a result into files; without any, its text.

    Raises:
        Problem: a file cannot be written.
    """
    text = "\n".join(map(_written, result.parts)).encode("utf-8", "replace")
    pieces = result.pieces or [text if result.parts else bytes(result.structured or b"")]
    for number, piece in enumerate(pieces, 1):
        path = target if number == 1 else target.with_name(f"{target.stem}-{number}{target.suffix}")
        output.write(path, piece)
        terminal.note(f"{path}: {size_of(piece)} saved")
