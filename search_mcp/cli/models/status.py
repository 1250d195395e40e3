"""What is known of search by meaning: its setting, the sentence model, the vectors. Reads files and changes nothing."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from search_mcp import installer
from search_mcp.cli.counting import enumerated, megabytes
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import EmbeddingsAddress
from search_mcp.semantic import choice, models, vector_store
from search_mcp.semantic.choice import Setting
from search_mcp.semantic.lines import Local
from search_mcp.semantic.models import NETWORK, Model, ModelError
from search_mcp.wire.structs import Struct

EXTRA = "semantic"
"""The extra with what the default model needs."""
BROKEN = "the configuration cannot be used; correct it first"
"""The problem of a setting that is not known."""


class Configured(Struct, frozen=True):
    """The setting, as a command reads it."""

    setting: Setting
    file: str = ""
    """The configuration; empty without a good one."""
    problem: str = ""
    """The reason why the setting is not known; empty if it is."""


class File(Struct, frozen=True):
    """A file of the installed model."""

    name: str
    bytes: int | None
    """`None` if it is missing."""
    unchanged: bool


class Status(Struct, frozen=True):
    """All that is known of search by meaning."""

    configured: Configured
    reason: str
    """The reason why tools are ranked by words alone, though something else is wanted; empty without one."""
    is_on: bool
    folder: str
    model: Model | None
    model_problem: str
    files: list[File]
    vectors_file: str
    vectors: int
    """Vectors of the installed model."""
    other_vectors: int
    vectors_bytes: int
    vectors_problem: str
    missing: list[str]
    """Libraries that are not installed."""


def look(configured: Configured, folder: Path, vectors: Path) -> Status:
    """Look at the setting, the installed model and the vectors; this reads all of the model."""
    chosen = choice.choose(configured.setting, folder)
    model, problem, files = _model_in(folder)
    counts, vectors_problem = _counts(vectors)
    of_model = counts.pop(model.identity, 0) if model is not None else 0
    is_used = isinstance(chosen.opening, Local)
    reason = configured.problem or chosen.reason
    return Status(
        configured=configured,
        reason=reason or (problem if is_used else ""),
        is_on=chosen.opening is not None and not reason,
        folder=str(folder),
        model=model,
        model_problem=problem,
        files=files,
        vectors_file=str(vectors),
        vectors=of_model,
        other_vectors=sum(counts.values()),
        vectors_bytes=vectors.stat().st_size if vectors.exists() else 0,
        vectors_problem=vectors_problem,
        missing=choice.missing_libraries(choice.libraries_of(configured.setting, folder)),
    )


def _model_in(folder: Path) -> tuple[Model | None, str, list[File]]:
    """Return the installed model, its first fault, and its files."""
    if not (folder / models.DESCRIPTION).exists():
        return None, "", []
    try:
        model = models.read(folder)
    except ModelError as exc:
        return None, str(exc), []
    files, problem = [], ""
    for name, digest in model.digests.items():
        path, fault = folder / name, ""
        try:
            models.check_file(path, digest)
        except ModelError as exc:
            fault = f"{exc}; `search-mcp semantic setup` installs it anew"
        problem = problem or fault
        files.append(File(name, path.stat().st_size if path.is_file() else None, unchanged=not fault))
    return model, problem, files


def _counts(path: Path) -> tuple[dict[str, int], str]:
    try:
        return vector_store.counts(path), ""
    except (OSError, sqlite3.Error) as exc:
        return {}, f"cannot be read: {exc}"


def as_json(found: Status) -> dict[str, Any]:
    """Return the status for scripts."""
    model, setting = found.model, found.configured.setting
    return {
        "state": "unusable" if found.reason else "on" if found.is_on else "off",
        "reason": found.reason or None,
        "config": found.configured.file or None,
        "setting": {"url": setting.public_url, "model": setting.model}
        if isinstance(setting, EmbeddingsAddress)
        else setting,
        "missingLibraries": found.missing,
        "model": {
            "name": model.name,
            "licence": model.licence or None,
            "source": model.source or None,
            "knowsAllLanguages": model.knows_all_languages,
            "folder": found.folder,
            "files": [{"name": each.name, "bytes": each.bytes, "unchanged": each.unchanged} for each in found.files],
        }
        if model is not None
        else None,
        "modelProblem": found.model_problem or None,
        "vectors": {
            "file": found.vectors_file,
            "count": found.vectors,
            "ofOtherModels": found.other_vectors,
            "bytes": found.vectors_bytes,
            "problem": found.vectors_problem or None,
        },
    }


def show(found: Status, screen: Terminal) -> None:
    """Show the status."""
    state = "cannot be used" if found.reason else "on" if found.is_on else "off"
    screen.heading(f"Search by meaning: {state}")
    rows = [("Reason", found.reason)] if found.reason else []
    rows.append(("Setting", _written(found.configured)))
    rows += _about_model(found)
    rows.append(("Vectors", _about_vectors(found)))
    is_onnx = found.model is not None and NETWORK in found.model.digests
    addition = installer.add("onnx" if is_onnx else EXTRA, found.missing)
    if found.missing:
        rows.append(("Missing", f"{enumerated(found.missing)}; {addition.remedy}:"))
    for label, text in rows:
        screen.paragraph(f"{label}: {text}", indent=2)
    if found.missing:
        screen.command_line(addition.command)


def _written(configured: Configured) -> str:
    setting = configured.setting
    if isinstance(setting, EmbeddingsAddress):
        return f"{setting.model} at {setting.public_url}, which this command does not contact"
    if configured.problem:
        return "not known"
    return "none, so a model is used if one is installed" if setting is None else f'"{setting}"'


def _about_model(found: Status) -> Iterator[tuple[str, str]]:
    model, setting = found.model, found.configured.setting
    is_address = isinstance(setting, EmbeddingsAddress)
    if model is None and is_address and not found.model_problem:
        return
    if model is None:
        yield "Model", found.model_problem or "none is installed; `search-mcp semantic setup` installs one"
        return
    yield "Model", f"{model.name}, installed but not used" if is_address or setting == "off" else model.name
    if model.licence:
        yield "Licence", model.licence
    if model.source:
        yield "From", model.source
    yield "Languages", "all" if model.knows_all_languages else "English"
    yield "Folder", found.folder
    for each in found.files:
        size = "missing" if each.bytes is None else megabytes(each.bytes)
        yield "File", f"{each.name}, {size}{', unchanged' if each.unchanged else ', changed' if each.bytes else ''}"


def _about_vectors(found: Status) -> str:
    if found.vectors_problem:
        return f"{found.vectors_file} {found.vectors_problem}"
    if not found.vectors_bytes:
        return "none yet"
    others = f", and {found.other_vectors:,} of other models" if found.other_vectors else ""
    is_address = isinstance(found.configured.setting, EmbeddingsAddress)
    of_which = " of the installed model" if is_address and found.model is not None else ""
    return f"{found.vectors:,}{of_which}{others}, {megabytes(found.vectors_bytes)} in {found.vectors_file}"
