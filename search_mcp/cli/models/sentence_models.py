"""`semantic`: the sentence model with which the search finds tools by their meaning.

A sentence model makes a vector (a list of numbers) of a text, and similar vectors of texts with similar meanings.

Decides what is shown before a model is installed, and the remedy of each failure; `status` shows the installed
model. Only `setup` uses the network: it runs the package manager.
"""

import contextlib
import importlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_mcp import installer
from search_mcp.cli.counting import enumerated, megabytes
from search_mcp.cli.groups import command_group
from search_mcp.cli.help_text import Command
from search_mcp.cli.models import status as semantic_status
from search_mcp.cli.models.status import BROKEN, EXTRA, Configured
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG, Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.config import location
from search_mcp.config.schema import EmbeddingsAddress
from search_mcp.folders import model_folder, vectors_file
from search_mcp.installer import Addition
from search_mcp.model.errors import ConfigError
from search_mcp.semantic import installing, known_models, trial
from search_mcp.semantic.choice import FOR_ONNX, FOR_VECTORS, missing_libraries, setting_of
from search_mcp.semantic.models import Model, ModelError
from search_mcp.semantic.trial import Trial
from search_mcp.wire.structs import replace

app = command_group("Set up search by meaning, show its state, and remove it.")


# setup


@app.command(cls=Command, epilog="search-mcp semantic setup\nsearch-mcp semantic setup --from ./model")
@takes("config", "debug")
def setup(
    options: Options,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Copy the model in this folder (model.onnx, tokenizer.json, optionally model.json).",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Install a sentence model, so that the search finds tools by their meaning, too."""
    with _explained():
        done = _install_default(options.screen, yes) if source is None else _copy(source, options.screen, yes)
    if done is None:
        options.screen.note("Nothing was changed.")
        return WRONG
    name, tried = done
    options.screen.paragraph(installed(name, tried))
    options.screen.note(in_use(_configured(options)))
    return FINE


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Report an error of the block in one sentence.

    Raises:
        Problem: there was one.
    """
    place = model_folder()
    try:
        yield
    except ModelError as exc:
        raise Problem(f"the model cannot be used: {exc}") from exc
    except TimeoutError as exc:
        raise Problem("another process is installing or removing a model", "wait until it has ended") from exc
    except OSError as exc:
        where = exc.filename or place
        raise Problem(
            f"{where}: {exc.strerror or exc}", f"check the permissions and free space of {place.parent}"
        ) from exc


def _install_default(screen: Terminal, is_sure: bool) -> tuple[str, Trial] | None:
    """Install the default model, unless it is there; `None` if the user does not want it."""
    place, model = model_folder(), known_models.DEFAULT
    addition = missing(EXTRA, [*missing_libraries(FOR_VECTORS), *known_models.missing_package()])
    if addition is None and installing.is_installed(place, model):
        screen.note(f"{model.name} is installed already.")
        return model.name, _tried(place, screen)
    show_planned(model, known_models.SIZE, place, screen, known_models.LANGUAGES, addition)
    if not screen.agrees("Install it?", is_sure=is_sure):
        return None
    if addition is not None:
        run(addition, screen)
    return _put(known_models.default_files(), model, screen)


def missing(extra: str, names: Sequence[str]) -> Addition | None:
    """Return how packages of an extra are added; `None` if nothing is missing.

    Raises:
        Misuse: no command adds them to this environment; the remedy is the one that starts search-mcp with them.
    """
    if not names:
        return None
    addition = installer.add(extra, names)
    if not addition.installs:
        raise _needs(names, addition)
    return addition


def _needs(names: Sequence[str], addition: Addition) -> Misuse:
    verb = "is" if len(names) == 1 else "are"
    return Misuse(f"search by meaning needs {enumerated(names)}, which {verb} not installed", *addition)


def show_planned(
    model: Model, size: int, place: Path, screen: Terminal, languages: str = "", addition: Addition | None = None
) -> None:
    """Show what is going to be installed."""
    screen.heading(model.name)
    for label, text in (
        ("Size", megabytes(size)),
        ("From", model.source),
        ("Licence", model.licence or "not known"),
        ("Languages", languages),
        ("To", str(place)),
        ("Runs first", addition.command if addition else ""),
    ):
        if text:
            screen.paragraph(f"{label}: {text}", indent=2)


def run(addition: Addition, screen: Terminal) -> None:
    """Run the command that adds packages to this environment.

    Raises:
        Problem: it failed.
    """
    remedy = "run the command yourself", addition.command
    words = addition.command if sys.platform == "win32" else shlex.split(addition.command)
    try:
        with screen.progress(lambda: "installing the packages"):
            done = subprocess.run(
                words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
            )
    except OSError as exc:
        raise Problem(f"the packages were not installed: {exc.strerror}", *remedy) from exc
    if done.returncode:
        lines = [each.strip() for each in done.stderr.splitlines() if each.strip()] or [f"exit code {done.returncode}"]
        errors = [each for each in lines if each.lower().startswith("error:")]  # hints and notices may follow
        reason = (errors or lines)[-1]
        raise Problem(f"the packages were not installed: {reason}", *remedy)
    importlib.invalidate_caches()


class Progress:
    """The progress of copying files."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._sizes: dict[str, int] = {}
        self._name = ""

    def tell(self, name: str, size: int) -> None:
        """Record how many bytes of a file are there."""
        self._name, self._sizes[name] = name, size

    def describe(self) -> str:
        """Return how much is there."""
        there = sum(self._sizes.values())
        return f"{there / self._size:4.0%}  {there / 1e6:.1f} of {megabytes(self._size)}  {self._name}"


def _copy(source: Path, screen: Terminal, is_sure: bool) -> tuple[str, Trial] | None:
    """Copy a model from a folder; `None` if the user does not want it."""
    source = source.expanduser().absolute()
    if names := missing_libraries(FOR_ONNX):
        raise _needs(names, installer.add("onnx", names))
    try:
        files, given = installing.found(source), installing.described(source)
    except ModelError as exc:
        raise Misuse(str(exc), "name a folder with model.onnx and tokenizer.json, and perhaps model.json") from exc
    show_planned(replace(given, source=str(source)), _size(files), model_folder(), screen)
    if not screen.agrees("Copy it?", is_sure=is_sure):
        return None
    return _put(files, given, screen)


def _put(files: dict[str, Path], given: Model, screen: Terminal) -> tuple[str, Trial]:
    """Copy a model to its place, if it works."""
    place, size = model_folder(), _size(files)
    with installing.prepared(place) as folder:
        if lacking := installing.missing_bytes(folder, size):
            raise Problem(f"the disk of {folder.parent} is too full", f"free {megabytes(lacking)} there")
        progress = Progress(size)
        with screen.progress(progress.describe):
            model = installing.copied(files, given, folder, progress.tell)
        installing.describe(folder, model)
        try:
            tried = _tried(folder, screen)
        except trial.UselessError as exc:
            raise Problem(f"the model is of no use: {exc}", "check its pooling and prefixes in model.json") from exc
        installing.put_in_place(folder, place)
    return model.name, tried


def _size(files: dict[str, Path]) -> int:
    return sum(path.stat().st_size for path in files.values())


def _tried(folder: Path, screen: Terminal) -> Trial:
    with screen.progress(lambda: "trying the model"):
        return trial.tried(folder)


def installed(name: str, tried: Trial) -> str:
    """Write that a model works, with the proof."""
    return (
        f'{name} is installed and works: "{trial.QUERY}" is more similar to "{trial.SIMILAR}" '
        f'({tried.similar:.2f}) than to "{trial.OTHER}" ({tried.other:.2f}).'
    )


def in_use(configured: Configured) -> str:
    """Write whether the search uses the installed model."""
    if configured.problem:
        return "No search works before the configuration is corrected."
    if configured.setting == "off":
        return 'The search does not use it: "semantic" is "off" in the configuration.'
    if isinstance(configured.setting, EmbeddingsAddress):
        return 'The search does not use it: "semantic" is an address in the configuration.'
    return (
        "With the first search of each client, the model starts to read the descriptions of its tools, in the "
        "background. Until that is done, tools are ranked by words alone."
    )


# status


@app.command(cls=Command, epilog="search-mcp semantic status\nsearch-mcp semantic status --json")
@takes("config", "as_json", "debug")
def status(options: Options) -> int:
    """Show the sentence model, its vectors, and whether they are used."""
    found = semantic_status.look(_configured(options), model_folder(), vectors_file())
    if options.as_json:
        options.screen.json(semantic_status.as_json(found))
    else:
        semantic_status.show(found, options.screen)
    return WRONG if found.reason or found.model_problem else FINE


def _configured(options: Options) -> Configured:
    """Read the setting; the default if there is no configuration yet."""
    if (read := options.usable_configuration()) is not None:
        config, path = read
        return Configured(setting_of(config), str(path))
    return Configured(None, problem=BROKEN if _has_configuration() else "")


def _has_configuration() -> bool:
    try:
        location.locate(None, os.environ)
    except ConfigError:
        return False
    return True


# remove


@app.command(cls=Command, epilog="search-mcp semantic remove")
@takes("debug")
def remove(options: Options, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> int:
    """Delete the sentence model and all vectors."""
    screen, place, vectors = options.screen, model_folder(), vectors_file()
    existing = [each for each in (place, vectors.parent) if each.exists()]
    for each in existing:
        screen.text(str(each))
    if existing and not screen.agrees("Delete the model and the vectors?", is_sure=yes):
        screen.note("Nothing was changed.")
        return WRONG
    with _explained():
        found = installing.remove(place, vectors)
    if found:
        screen.text("Deleted. The search ranks tools by words alone, unless the configuration has an address.")
    else:
        screen.text("There is no model and no vector.")
    return FINE
