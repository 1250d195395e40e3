"""`semantic`: the sentence model with which the search finds tools by their meaning.

A sentence model makes a vector (a list of numbers) of a text, and similar vectors of texts with similar meanings.

Decides what is shown before a model is fetched, and which remedy each failure has; `semantic_status` shows what there
is. Only `setup` uses the network.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_mcp import installer
from search_mcp.cli.counting import counted, enumerated, megabytes
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
from search_mcp.model.errors import ConfigError
from search_mcp.semantic import installing, known_models, trial
from search_mcp.semantic.choice import missing_libraries, setting_of
from search_mcp.semantic.models import Model, ModelError
from search_mcp.semantic.trial import Trial

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
            help="Copy the model in this folder (model.onnx, tokenizer.json and perhaps model.json) instead of "
            "fetching one.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Install a sentence model, so that the search finds tools by their meaning, too."""
    require_libraries(missing_libraries("local"))
    with _explained():
        done = _install_known(options.screen, yes) if source is None else _copy(source, options.screen, yes)
    if done is None:
        options.screen.note("Nothing was changed.")
        return WRONG
    name, tried = done
    options.screen.paragraph(installed(name, tried))
    options.screen.note(in_use(_configured(options)))
    return FINE


def require_libraries(missing: Sequence[str]) -> None:
    """Check that the libraries are installed.

    Raises:
        Misuse: one is missing; the remedy is the command that installs it.
    """
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        what = f"search by meaning needs {enumerated(missing)}, which {verb} not installed"
        raise Misuse(what, *installer.add(EXTRA, missing))


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


def _install_known(screen: Terminal, is_sure: bool) -> tuple[str, Trial] | None:
    """Fetch the known model, unless it is installed; `None` if the user does not want it."""
    place, known = model_folder(), known_models.MINILM
    if installing.is_installed(place, known.model):
        screen.note(f"{known.model.name} is installed already; nothing was fetched.")
        return known.model.name, _tried(place, screen)
    show_planned(known.model, known.size, len(known.files), place, screen, known.languages)
    if not screen.agrees("Fetch it?", is_sure=is_sure):
        return None
    with installing.prepared(place) as folder:
        installing.keep_only(folder, {each.name for each in known.files})
        _require_room(folder, known.size)
        _fetch(known, folder, screen)
        installing.describe(folder, known.model)
        tried = _tried(folder, screen)
        installing.put_in_place(folder, place)
    return known.model.name, tried


def show_planned(
    model: Model, size: int, files: int, place: Path, screen: Terminal, languages: str = "", source: str = ""
) -> None:
    """Show what is going to be fetched or copied."""
    screen.heading(model.name)
    for label, text in (
        ("Size", f"{megabytes(size)} in {counted(files, 'file')}"),
        ("From", source or model.source),
        ("Licence", model.licence or "not known"),
        ("Languages", languages),
        ("To", str(place)),
    ):
        if text:
            screen.paragraph(f"{label}: {text}", indent=2)


def _require_room(folder: Path, needed: int) -> None:
    if missing := installing.missing_bytes(folder, needed):
        raise Problem(f"the disk of {folder.parent} is too full", f"free {megabytes(missing)} there")


def _fetch(known: known_models.KnownModel, folder: Path, screen: Terminal) -> None:
    from search_mcp.semantic import fetching  # with the HTTP library

    progress = Progress(known.size)
    try:
        with screen.progress(progress.describe):
            fetching.fetch(known.address, known.files, folder, progress.tell)
    except fetching.FetchError as exc:
        raise Problem(exc.what, exc.remedy) from exc
    except KeyboardInterrupt:
        screen.note("Interrupted. Nothing is installed; the same command continues where this ended.")
        raise


class Progress:
    """The progress of fetching or copying files."""

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
    place = model_folder()
    source = source.expanduser().absolute()
    try:
        files, given = installing.found(source), installing.described(source)
    except ModelError as exc:
        raise Misuse(str(exc), "name a folder with model.onnx and tokenizer.json, and perhaps model.json") from exc
    size = sum(path.stat().st_size for path in files.values())
    show_planned(given, size, len(files), place, screen, source=str(source))
    if not screen.agrees("Copy it?", is_sure=is_sure):
        return None
    with installing.prepared(place) as folder:
        try:
            installing.keep_only(folder, set())
            _require_room(folder, size)
            progress = Progress(size)
            with screen.progress(progress.describe):
                model = installing.copied(files, given, folder, progress.tell)
            installing.describe(folder, model)
            tried = _tried(folder, screen)
            installing.put_in_place(folder, place)
        except trial.UselessError as exc:
            installing.discard(folder)
            raise Problem(f"the model is of no use: {exc}", "check its pooling and prefixes in model.json") from exc
        except BaseException:
            installing.discard(folder)
            raise
    return model.name, tried


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
